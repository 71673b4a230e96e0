//! `Pcap(read: "in.pcap", write: "out.pcapng", loop: false)`: capture files.

use super::{Common, PortConfig, wrong};
use corelane_device::{Pcap, PcapConfig};
use corelane_runtime::Error;
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Args, ConfigError};
use corelane_stages::config;
use serde::Deserialize;
use std::path::Path;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Spec {
    read: Option<String>,
    write: Option<String>,
    #[serde(rename = "loop")]
    repeat: bool,
}

struct Config {
    spec: Spec,
    mtu: Option<u32>,
}

pub(super) fn configure(
    args: Args<'_>,
    common: &Common,
) -> Result<Box<dyn PortConfig>, Vec<ConfigError>> {
    let spec: Spec = config::parse(args)?;
    if spec.read.is_none() && spec.write.is_none() {
        return Err(wrong(
            "read",
            "it has no file; give it `read: \"..\"`, `write: \"..\"` or both",
        ));
    }
    if spec.repeat && spec.read.is_none() {
        return Err(wrong("loop", "only what is read can be read again and again; give it `read`"));
    }
    Ok(Box::new(Config { spec, mtu: common.mtu }))
}

impl PortConfig for Config {
    fn receives(&self) -> bool {
        self.spec.read.is_some()
    }

    fn transmits(&self) -> bool {
        self.spec.write.is_some()
    }

    fn to_receive(&self) -> &'static str {
        "give it a file to read: `read: \"..\"`"
    }

    fn to_transmit(&self) -> &'static str {
        "give it a file to write: `write: \"..\"`"
    }

    fn files(&self) -> Vec<&Path> {
        self.spec.read.iter().chain(&self.spec.write).map(Path::new).collect()
    }

    fn has_one_writer(&self) -> bool {
        true
    }

    fn open(&self, name: &str, queues: usize) -> Result<Box<dyn Port>, Error> {
        let mut config = PcapConfig::new(name);
        config.read = self.spec.read.as_ref().map(Into::into);
        config.write = self.spec.write.as_ref().map(Into::into);
        config.repeat = self.spec.repeat;
        config.queues = queues;
        config.mtu = self.mtu;
        Ok(Box::new(Pcap::open(config)?))
    }
}
