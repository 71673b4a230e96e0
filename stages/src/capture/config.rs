//! How `Capture` is written in a description, and the file it opens.

use super::{Capture, File};
use crate::config;
use corelane_runtime::Error;
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, Sharing, StageConfig, StageInfo, StageSpec,
};
use serde::Deserialize;
use std::sync::{Arc, Mutex};

/// Bytes of a record that tcpdump and tshark read at most.
const SNAP: u32 = 262_144;

/// What `Capture` is.
pub const INFO: StageInfo = StageInfo {
    name: "Capture",
    summary: "Writes every packet to a pcapng file, with a comment on its checksums, and passes it on.",
    role: Role::Middle,
    subject: Some("file"),
    keys: &[
        KeyInfo {
            name: "file",
            kind: "text",
            default: None,
            doc: "the file, created or emptied at the start",
        },
        KeyInfo {
            name: "snap",
            kind: "whole number",
            default: Some("262144"),
            doc: "bytes kept of each packet; more than the default is read by few tools",
        },
    ],
    drop_reasons: &[],
    counters: &["written", "not_written", "audit_bytes"],
};

/// Packets written, to the buffer at least.
pub(super) const WRITTEN: CounterId = CounterId(0);
/// Packets that are not in the file.
pub(super) const NOT_WRITTEN: CounterId = CounterId(1);
/// Bytes read to say what the right checksum would be.
pub(super) const AUDIT_BYTES: CounterId = CounterId(2);

/// The kind of stage `Capture`.
#[derive(Clone, Copy, Debug)]
pub struct CaptureSpec;

/// Arguments of `Capture`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureConfig {
    /// The file.
    pub file: String,
    /// Bytes kept of each packet.
    #[serde(default = "snap")]
    pub snap: u32,
}

fn snap() -> u32 {
    SNAP
}

impl StageSpec for CaptureSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn doc(&self) -> &'static str {
        "The comment names each level with the state of its checksums, for a wrong one what was found and what would \
         be right, and says of a superpacket how it is to be cut. Writing is a system call now and then: this is for \
         looking at packets, not for the fast path. What cannot be written, on a full disk for instance, is counted \
         and makes the run fail; the packets pass all the same."
    }

    fn example(&self) -> &'static str {
        "Capture(\"seen.pcapng\")"
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        let config: CaptureConfig = config::parse(args)?;
        let classic = config.file.ends_with(".pcap") || config.file.ends_with(".cap");
        if classic {
            let message = "classic pcap has no place for comments; name the file `.pcapng`";
            return Err(vec![ConfigError::at("file", message)]);
        }
        if config.snap == 0 {
            return Err(vec![ConfigError::at(
                "snap",
                "0 bytes are no packet; leave `snap` out to keep all",
            )]);
        }
        Ok(Box::new(config))
    }
}

impl StageConfig for CaptureConfig {
    fn traits(&self) -> Traits {
        // One file has one writer.
        let writes = vec![self.file.clone()];
        Traits { sharing: Sharing::Exclusive, writes, ..Traits::default() }
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let file = File { sink: ctx.open_capture(&self.file)?, packets: 0 };
        let (file, snap) = (Arc::new(Mutex::new(file)), self.snap);
        // A stage that is made again goes on with the same file.
        Ok(Built::restartable(move || Capture::new(Arc::clone(&file), snap)))
    }
}
