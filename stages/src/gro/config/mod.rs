//! How `Gro` is written in a description, and what it asks of the plan.

use super::counters::COUNTERS;
use super::held::Bounds;
use super::{Gro, hardware};
use crate::config::{self, Bytes, Nanoseconds};
use corelane_runtime::Error;
use corelane_runtime::offload::{Need, Offload};
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, StageConfig, StageInfo, StageSpec,
};
use serde::Deserialize;

/// What `Gro` is.
pub const INFO: StageInfo = StageInfo {
    name: "Gro",
    summary: "Joins segments of a TCP or UDP flow into superpackets that Gso restores exactly.",
    role: Role::Middle,
    subject: None,
    keys: KEYS,
    drop_reasons: &[],
    counters: COUNTERS,
};

const KEYS: &[KeyInfo] = &[
    KeyInfo {
        name: "hold",
        kind: "time",
        default: Some("none: until the end of each burst"),
        doc: "how long a merge may wait for its next segment",
    },
    KeyInfo {
        name: "flows",
        kind: "number, a power of two from 1 to 16384",
        default: Some("64"),
        doc: "merges in progress at once; the oldest leaves for a new one",
    },
    KeyInfo {
        name: "max_size",
        kind: "size from 128B to 512KiB",
        default: Some("\"65535B\""),
        doc: "most bytes of a joined IP packet; beyond 65535 its length field is 0",
    },
    KeyInfo {
        name: "max_segments",
        kind: "number from 2 to 65535",
        default: Some("max_size / 512B, rounded up"),
        doc: "most TCP segments of a superpacket",
    },
    KeyInfo {
        name: "max_datagrams",
        kind: "number from 2 to 128",
        default: Some("64"),
        doc: "most UDP datagrams of a superpacket",
    },
    KeyInfo {
        name: "max_held",
        kind: "number of packets from max_segments to 1000000",
        default: Some("1024, or max_segments if that is more"),
        doc: "most received packets held over all merges, with `hold`",
    },
    KeyInfo {
        name: "compare_window",
        kind: "true or false",
        default: Some("true"),
        doc: "false: TCP segments join though their windows differ; cutting gives all the first one",
    },
];

/// Most packets that may be held: each keeps a buffer.
const HELD_MAX: u32 = 1_000_000;
/// Bytes of the largest superpacket corelane handles.
const SIZE_MAX: u64 = 512 << 10;
/// Segments are assumed to be at least so long; shorter ones make smaller superpackets.
const SEGMENT_USUAL: u32 = 512;
/// The most datagrams that devices and kernels take in one request.
const DATAGRAMS_MAX: u16 = 128;
/// Bytes before the IP header: Ethernet and two VLAN tags.
const LINK_MAX: u32 = 22;
/// Enough for a hold of 50 us at 20 million packets a second.
const HELD_USUAL: u32 = 1024;

/// The kind of stage `Gro`.
#[derive(Clone, Copy, Debug)]
pub struct GroSpec;

/// Arguments of `Gro`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GroConfig {
    /// How long a merge may wait for its next segment; `None`: until the burst ends.
    pub hold: Option<Nanoseconds>,
    /// Merges in progress at once.
    pub flows: u16,
    /// Most bytes of a joined IP packet.
    pub max_size: Bytes,
    /// Most TCP segments of a superpacket.
    pub max_segments: Option<u16>,
    /// Most UDP datagrams of a superpacket.
    pub max_datagrams: u16,
    /// Most received packets held over all merges.
    pub max_held: Option<u32>,
    /// Whether the TCP window must be equal.
    pub compare_window: bool,
}

impl Default for GroConfig {
    fn default() -> GroConfig {
        GroConfig {
            hold: None,
            flows: 64,
            max_size: Bytes(65_535),
            max_segments: None,
            max_datagrams: 64,
            max_held: None,
            compare_window: true,
        }
    }
}

impl GroConfig {
    /// What is wrong with the values, taken one by one.
    fn errors(&self) -> Vec<ConfigError> {
        let mut errors = Vec::new();
        let mut check = |good: bool, key: &str, message: String| {
            if !good {
                errors.push(ConfigError { span: None, key: Some(key.to_owned()), message });
            }
        };
        let flows = self.flows;
        check(
            flows.is_power_of_two() && flows <= 1 << 14,
            "flows",
            format!("{flows} is not a power of two from 1 to 16384"),
        );
        let size = self.max_size.0;
        check(
            (128..=SIZE_MAX).contains(&size),
            "max_size",
            format!("{size} B is not between 128B and 512KiB"),
        );
        let datagrams = self.max_datagrams;
        check(
            (2..=DATAGRAMS_MAX).contains(&datagrams),
            "max_datagrams",
            format!("{datagrams} is not between 2 and {DATAGRAMS_MAX}"),
        );
        let segments = self.segments();
        check(segments >= 2, "max_segments", format!("{segments} is less than 2"));
        let held = self.held();
        check(
            (u32::from(segments)..=HELD_MAX).contains(&held),
            "max_held",
            format!("{held} is not between max_segments, {segments}, and {HELD_MAX}"),
        );
        let hold = self.hold.is_none_or(|hold| hold.0 > 0);
        check(hold, "hold", "a hold of 0 is written by leaving the key out".to_owned());
        errors
    }

    fn size(&self) -> u32 {
        self.max_size.0.min(SIZE_MAX) as u32
    }

    fn segments(&self) -> u16 {
        self.max_segments.unwrap_or_else(|| self.size().div_ceil(SEGMENT_USUAL) as u16).max(
            // The default for a small size is still a merge; a written value stands as it is.
            if self.max_segments.is_none() { 2 } else { 0 },
        )
    }

    fn held(&self) -> u32 {
        self.max_held.unwrap_or_else(|| HELD_USUAL.max(u32::from(self.segments())))
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            bytes: self.size(),
            segments: self.segments(),
            datagrams: self.max_datagrams,
            compare_window: self.compare_window,
        }
    }

    pub(super) fn most_held(&self) -> u64 {
        u64::from(self.held())
    }
}

impl StageSpec for GroSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        let config: GroConfig = config::parse(args)?;
        let errors = config.errors();
        if errors.is_empty() { Ok(Box::new(config)) } else { Err(errors) }
    }
}

impl StageConfig for GroConfig {
    fn traits(&self) -> Traits {
        let timed = self.hold.is_some();
        Traits {
            // What was held before comes out in front of what comes in.
            multiplies: timed,
            coalesces: true,
            makes: hardware::MAKES,
            largest: self.size() + LINK_MAX,
            // Without a hold time nothing outlives the burst it came in.
            holds: if timed { self.held() + 1 } else { 0 },
            ..Traits::default()
        }
    }

    fn needs(&self) -> Vec<Need> {
        hardware::NEEDS.to_vec()
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let (config, seed) = (*self, ctx.hash_key());
        let trusts = ctx.offload() != Offload::SoftwareOnly;
        Ok(Built::restartable(move || Gro { trusts, ..Gro::new(config, seed) }))
    }
}

#[cfg(test)]
mod tests;
