//! `Pcap(read: "in.pcap", write: "out.pcapng", loop: false)`: capture files.
//!
//! With the common key `caps` a plan is made as if the files were that NIC, to see what it would be; it cannot be
//! run, as a file does no NIC's work.

use super::{PortConfig, too_many_queues, wrong};
use crate::spec::Common;
use corelane_device::caps::Record;
use corelane_device::{Pcap, PcapConfig};
use corelane_runtime::Error;
use corelane_runtime::offload::{Caps, Facts, Limits};
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
    /// The NIC that plans are made for.
    record: Option<Record>,
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
    if common.verify {
        return Err(wrong("verify", "a capture file has no hardware to try; take `verify` off"));
    }
    let config = Config { spec, mtu: common.mtu, record: common.record.clone() };
    match too_many_queues(common, &config.facts()) {
        mistakes if mistakes.is_empty() => Ok(Box::new(config)),
        mistakes => Err(mistakes),
    }
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

    fn writes(&self) -> Vec<&Path> {
        self.spec.write.iter().map(Path::new).collect()
    }

    fn ignores(&self) -> &'static [(&'static str, &'static str)] {
        // Whoever puts headers on what leaves wants to know where from.
        match self.spec.write {
            Some(_) => &[],
            None => &[("mac", "nothing leaves by a capture that is only read")],
        }
    }

    fn only_planned(&self) -> Option<&'static str> {
        let why = "a capture file has no hardware to do what `caps` says";
        self.record.as_ref().map(|_| why)
    }

    fn has_one_writer(&self) -> bool {
        true
    }

    fn drop_reasons(&self) -> Vec<&'static str> {
        vec!["too_large_for_pool", "unsupported_request", "write_error"]
    }

    fn facts(&self) -> Facts {
        if let Some(record) = &self.record {
            let mut facts = record.facts.clone();
            facts.limits.mtu = self.mtu.or(facts.limits.mtu);
            return facts;
        }
        let limits = Limits { mtu: self.mtu, ..Limits::default() };
        Facts::new(Caps::MULTI_PART, limits)
    }

    fn open(&self, name: &str, queues: usize) -> Result<Box<dyn Port>, Error> {
        // What asks for no work of hardware a file can do as well.
        let asks = |record: &&Record| !(record.facts.granted - Caps::MULTI_PART).is_empty();
        if let Some(record) = self.record.as_ref().filter(asks) {
            let caps = &record.name;
            let message = format!(
                "is a capture file, which has no hardware and cannot do what `caps` says ({caps}); take `caps` off, or run an emulated one: --port '{name}=Emulated(..)'"
            );
            return Err(Error::user(format!("port {name}"), message));
        }
        let mut config = PcapConfig::new(name);
        config.read = self.spec.read.as_ref().map(Into::into);
        config.write = self.spec.write.as_ref().map(Into::into);
        config.repeat = self.spec.repeat;
        config.queues = queues;
        config.mtu = self.mtu;
        Ok(Box::new(Pcap::open(config)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_if(caps: &str) -> Common {
        let record = super::super::record(caps, Path::new("")).ok();
        Common { record, ..Common::default() }
    }

    #[test]
    fn a_plan_takes_the_record_and_a_run_is_refused_with_the_cure() {
        let args = Args { text: "(read: \"x.pcap\")" };
        let common = Common { mtu: Some(900), ..as_if("mlx5-like") };
        let port = configure(args, &common).unwrap();
        let facts = port.facts();
        assert!(facts.granted.contains(Caps::RX_COMPLETE));
        assert_eq!((facts.limits.mtu, facts.queues), (Some(900), Some(128)));
        let error = port.open("wan", 1).err().unwrap();
        assert!(error.user && error.what == "port wan", "{error}");
        assert!(error.message.contains("has no hardware"), "{error}");
        assert!(error.message.contains("--port 'wan=Emulated(..)'"), "{error}");
    }

    #[test]
    fn a_file_has_nothing_to_verify_and_is_read_by_as_many_as_want() {
        let args = || Args { text: "(read: \"x.pcap\")" };
        let error = |common: &Common| configure(args(), common).err().unwrap().remove(0).message;
        let verify = Common { verify: true, ..Common::default() };
        assert!(error(&verify).contains("take `verify` off"));
        let queues = Common { queues: Some(4), ..Common::default() };
        assert_eq!(configure(args(), &queues).unwrap().facts().queues, None);
    }
}
