//! The kinds of ports a description can name, and their arguments.
//!
//! Reads arguments into the device crate's own configuration; opens nothing before it is asked to. Knows no
//! stage and no chain.

mod emulated;
mod pcap;
mod record;
mod tap;

pub(crate) use record::{record, record_file};

use crate::spec::Common;
use corelane_runtime::Error;
use corelane_runtime::offload::Facts;
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Args, ConfigError};
use std::path::Path;

/// A port whose arguments are read.
pub(crate) trait PortConfig: Send {
    /// Whether packets can come from it.
    fn receives(&self) -> bool;
    /// Whether packets can go to it.
    fn transmits(&self) -> bool;
    /// What to write so that it receives, where it does not.
    fn to_receive(&self) -> &'static str {
        "it never does"
    }
    /// What to write so that it transmits, where it does not.
    fn to_transmit(&self) -> &'static str {
        "it never does"
    }
    /// Files it reads or writes.
    fn files(&self) -> Vec<&Path> {
        Vec::new()
    }
    /// Of those, the ones it writes.
    fn writes(&self) -> Vec<&Path> {
        Vec::new()
    }
    /// Common keys that it can do nothing with, whatever they say, and why.
    fn ignores(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Why plans can be made with it, but it cannot be run, where that is so.
    fn only_planned(&self) -> Option<&'static str> {
        None
    }
    /// The record that a plan goes by where the device is not asked before it is opened.
    fn goes_by(&self) -> Option<&'static str> {
        None
    }
    /// Whether only one `Tx` may stand on it.
    fn has_one_writer(&self) -> bool {
        false
    }
    /// Reasons for which it may lose packets: all there are.
    fn drop_reasons(&self) -> Vec<&'static str>;
    /// What it can do, as far as that is known before it is opened.
    fn facts(&self) -> Facts;
    /// Opens it, with so many queues in each direction.
    fn open(&self, name: &str, queues: usize) -> Result<Box<dyn Port>, Error>;
}

/// Reads the arguments of a kind of port.
type Configure = fn(Args<'_>, &Common) -> Result<Box<dyn PortConfig>, Vec<ConfigError>>;

/// A kind of port.
pub(crate) struct PortKind {
    /// As written in a description.
    pub(crate) name: &'static str,
    /// The key that `Name(value)` sets, if there is one.
    pub(crate) subject: Option<&'static str>,
    pub(crate) configure: Configure,
}

/// Every kind there is.
pub(crate) const KINDS: &[PortKind] = &[
    PortKind { name: "Pcap", subject: Some("read"), configure: pcap::configure },
    PortKind { name: "Emulated", subject: None, configure: emulated::configure },
    PortKind { name: "Tap", subject: Some("name"), configure: tap::configure },
];

/// The kind of that name.
pub(crate) fn kind(name: &str) -> Option<&'static PortKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// An error where the description wants more queues than the device has.
fn too_many_queues(common: &Common, facts: &Facts) -> Vec<ConfigError> {
    match (common.queues, facts.queues) {
        (Some(wanted), Some(most)) if wanted > most => wrong(
            "queues",
            format!("`queues` is {wanted}, but the device has {most}; give it fewer, or `Auto`"),
        ),
        _ => Vec::new(),
    }
}

/// An error about one key.
fn wrong(key: &str, message: impl Into<String>) -> Vec<ConfigError> {
    vec![ConfigError { span: None, key: Some(key.to_owned()), message: message.into() }]
}
