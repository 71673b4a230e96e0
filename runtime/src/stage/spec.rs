//! The control path of a stage: its name and documentation, its configuration, and how it is built.
//!
//! Built-in stages and those of other crates go through the same traits. Nothing here runs on the packet
//! path, so it may allocate and fail; failures say where in the description they belong.

use super::{CaptureSink, OutputId, Source, Stage};
use crate::Error;
use crate::offload::{Looks, Need, Offload, PortCaps};
use crate::packet::Tunnel;
use crate::port::{RxQueue, TxQueue};
use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

/// One configuration key, as documentation.
#[derive(Clone, Copy, Debug)]
pub struct KeyInfo {
    /// As written in a description.
    pub name: &'static str,
    /// What kind of value, in words.
    pub kind: &'static str,
    /// The default as written, or `None` where the key must be given.
    pub default: Option<&'static str>,
    /// What it does.
    pub doc: &'static str,
}

/// A word that the value of a key can be, as documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The key.
    pub key: &'static str,
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// Where a stage may stand in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// First: brings packets in.
    Source,
    /// In the middle.
    Middle,
    /// Last: nothing can follow. Where it has outputs they are all named, and [`super::OutputId`] 0 is the
    /// first of them, since there is no next stage.
    Sink,
}

/// What a kind of stage is.
#[derive(Clone, Copy, Debug)]
pub struct StageInfo {
    /// As written in a description.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where it may stand.
    pub role: Role,
    /// The key that `Name(value)` sets, if there is one.
    pub subject: Option<&'static str>,
    /// Its keys.
    pub keys: &'static [KeyInfo],
    /// Names of its drop reasons, in the order of [`super::Reason`].
    pub drop_reasons: &'static [&'static str],
    /// Names of its counters, in the order of [`super::CounterId`].
    pub counters: &'static [&'static str],
}

/// The arguments of one stage in a description.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    /// RON text of a struct, `(key: value, ..)`; the subject form is already rewritten to it.
    pub text: &'a str,
}

/// Something wrong with a stage's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Byte range within [`Args::text`], if known.
    pub span: Option<(usize, usize)>,
    /// The key it is about, if known.
    pub key: Option<String>,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl ConfigError {
    /// Something wrong with the value of a key: what, and what to write instead behind a semicolon. It is shown
    /// at that value.
    pub fn at(key: impl Into<String>, message: impl Into<String>) -> ConfigError {
        ConfigError { span: None, key: Some(key.into()), message: message.into() }
    }
}

/// How replicas of a stage may share its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Each replica has its own.
    #[default]
    Replica,
    /// One owner; other cores reach it by a ring.
    Exclusive,
    /// Split by flow.
    ByFlow,
}

/// What a configured stage asks of the plan.
#[derive(Clone, Debug, Default)]
pub struct Traits {
    /// The port it stands on, for `Rx`, `Tx` and their like.
    pub port: Option<String>,
    /// Named outputs beside the next stage: key and chain.
    pub outputs: Vec<(String, String)>,
    /// It may emit more packets than it takes.
    pub multiplies: bool,
    /// It sends copies of packets by its named outputs, at most one for each packet. Those never hold it up: it
    /// asks for their room itself, and does without a copy where there is none.
    pub mirrors: bool,
    /// It may join packets, so that superpackets follow it.
    pub coalesces: bool,
    /// It cuts every superpacket its port cannot.
    pub cuts: bool,
    /// It changes payload bytes, so it is shown packets whose bytes nobody else can see
    /// ([`super::Unshared`]).
    pub edits_payload: bool,
    /// How replicas share state.
    pub sharing: Sharing,
    /// Packets it may hold back, for the pool budget.
    pub holds: u32,
    /// What reports call this instance, where its arguments say so.
    pub label: Option<String>,
    /// It changes headers, so that what the exit port could do for a packet before it says nothing of the
    /// packet after it.
    pub changes_headers: bool,
    /// It takes no superpackets: they must have been cut before.
    pub no_superpackets: bool,
    /// It takes no packets whose checksum is still to be finished.
    pub no_partial: bool,
    /// No finishing step may be added before it; where one is needed the plan is refused.
    pub unfinished: bool,
    /// What packets it makes may look like, beside those that come. A stage that coalesces and leaves this
    /// empty is taken to make any superpacket.
    pub makes: Looks,
    /// Most bytes of a packet it makes; 0: none is longer than what comes.
    pub largest: u32,
    /// Bytes that it makes IP packets longer by, at most: the headers of a tunnel.
    pub adds: u32,
    /// Bytes that it makes IP packets shorter by, at least.
    pub removes: u32,
    /// Bytes it puts in front of the IP packet, at most: VLAN tags, which no MTU counts.
    pub tags: u32,
    /// It checks checksums, so that those of packets behind it are known, wherever they can be.
    pub checks: bool,
    /// It puts packets into such a tunnel.
    pub encapsulates: Option<Tunnel>,
    /// The UDP destination ports of the tunnels it puts packets into; none where the kind has no ports.
    pub tunnel_ports: Vec<u16>,
    /// The checksum of the tunnel it puts packets into is wanted, and left to be finished.
    pub tunnel_sum: bool,
    /// Its key `oversize` says what becomes of packets that are too long for the port they leave by once they are
    /// in the tunnel.
    pub fits: bool,
    /// It takes packets out of such a tunnel.
    pub decapsulates: Option<Tunnel>,
    /// Ports whose addresses it must be told ([`PortInfo`]): each must exist and have some.
    pub addressed: Vec<String>,
    /// Ports whose names it must be told as numbers ([`BuildContext::port_number`]): each must exist.
    pub named_ports: Vec<String>,
    /// It passes nothing on to a next stage: all its outputs are named. They are counted as if there were one.
    pub ends: bool,
    /// The table whose rows it reads ([`StageConfig::take_rows`]).
    pub table: Option<String>,
    /// It makes packets that go back out of the port that others came in by ([`BuildContext::answer`]).
    pub answers: bool,
    /// Files that it writes ([`BuildContext::open_capture`]): none of them may be one that the run reads.
    pub writes: Vec<String>,
    /// What it makes has no link-layer address of a next hop: somebody behind it must find that out.
    pub unresolved: bool,
    /// It does to packets whose checksums are known to be right what it does not to others, as `oversize: [Segment]`.
    pub wants_checked: bool,
}

/// A row of a table of the description.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// RON text of a struct, `(key: value, ..)`.
    pub text: &'a str,
}

/// Something wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// Which one, from 0.
    pub row: usize,
    /// What; its span is within [`Row::text`].
    pub error: ConfigError,
}

/// What the description says of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortInfo {
    /// Its name in the description.
    pub name: String,
    /// Its number, as packets carry it ([`crate::packet::Meta::port`]).
    pub number: u16,
    /// Its link-layer address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// Largest IP packet, bytes, if there is a limit.
    pub mtu: Option<u32>,
    /// Its addresses, each with the length of its network's prefix, in the order written.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Next hops for what is on none of its networks, at most one of each family.
    pub gateways: Vec<IpAddr>,
}

/// A kind of stage.
pub trait StageSpec: Send + Sync {
    /// What it is.
    fn info(&self) -> &'static StageInfo;
    /// What there is to say beyond the summary; paragraphs, possibly none.
    fn doc(&self) -> &'static str {
        ""
    }
    /// What the words mean that values of its keys can be, as far as there is something to say.
    fn choices(&self) -> &'static [Choice] {
        &[]
    }
    /// A line for a description that is right but for names of ports, chains and files.
    fn example(&self) -> &'static str {
        self.info().name
    }
    /// Reads the arguments; reports all problems, not the first.
    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>>;
}

/// A configured stage, not yet built.
pub trait StageConfig: Send {
    /// What it asks of the plan.
    fn traits(&self) -> Traits;
    /// The work that a port could take over.
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
    /// Takes the rows of the table that [`Traits::table`] names, before anything is built.
    ///
    /// # Errors
    /// One for each mistake in each row.
    fn take_rows(&mut self, rows: &[Row<'_>]) -> Result<(), Vec<RowError>> {
        let _ = rows;
        Ok(())
    }
    /// Names of counters that this instance has beside those of its kind ([`StageInfo::counters`]), and behind
    /// them in the order of [`super::CounterId`].
    fn extra_counters(&self) -> Vec<String> {
        Vec::new()
    }
    /// Builds one instance.
    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error>;
}

/// Makes fresh instances of a stage, for restarts.
pub type Factory = Box<dyn Fn() -> Box<dyn Stage> + Send>;

/// An instance.
pub enum Built {
    /// Brings packets in.
    Source(Box<dyn Source>),
    /// A stage, and how to make another one after a panic; without that it cannot be restarted.
    Stage(Box<dyn Stage>, Option<Factory>),
}

impl Built {
    /// A stage that can be rebuilt by calling `make` again.
    pub fn restartable<S: Stage + 'static>(make: impl Fn() -> S + Send + 'static) -> Built {
        let first = Box::new(make());
        Built::Stage(first, Some(Box::new(move || Box::new(make()))))
    }
}

/// What a stage may ask for while it is built.
pub trait BuildContext {
    /// Opens the next receive queue of a port.
    fn open_rx(&mut self, port: &str) -> Result<Box<dyn RxQueue>, Error>;
    /// Opens the next transmit queue of a port.
    fn open_tx(&mut self, port: &str) -> Result<Box<dyn TxQueue>, Error>;
    /// The capabilities of a port.
    fn port_caps(&self, port: &str) -> Option<Arc<PortCaps>>;
    /// The capabilities of the one port all packets from here leave by, through stages that change no
    /// headers; `None` where there is no such port, so that everything is done in software.
    fn exit_caps(&self) -> Option<Arc<PortCaps>>;
    /// The number of a port in the description, as packets carry it.
    fn port_number(&self, port: &str) -> u16;
    /// Key for hashes of flow tables.
    fn hash_key(&self) -> u64;
    /// What the description allows the stage that is being built.
    fn offload(&self) -> Offload {
        Offload::Auto
    }
    /// What the description says of a port.
    fn port_info(&self, port: &str) -> Option<PortInfo> {
        let _ = port;
        None
    }
    /// The ports that packets here may have come in by.
    fn entries(&self) -> Vec<String> {
        Vec::new()
    }
    /// The ports that packets from here may leave by.
    fn exits(&self) -> Vec<String> {
        Vec::new()
    }
    /// Where packets go that answer those from the port of this number, for a stage that
    /// [answers](Traits::answers).
    fn answer(&self, port: u16) -> Option<OutputId> {
        let _ = port;
        None
    }
    /// Something that all stages of a run that ask for it by this name share: what was made first. It must be
    /// read and written without locks.
    fn shared(
        &mut self,
        name: &str,
        make: &mut dyn FnMut() -> Arc<dyn Any + Send + Sync>,
    ) -> Arc<dyn Any + Send + Sync> {
        let _ = name;
        make()
    }
    /// Opens a capture file to be written, pcapng.
    ///
    /// # Errors
    /// Where it cannot be created, or is read or written in this run already.
    fn open_capture(&mut self, path: &str) -> Result<Box<dyn CaptureSink>, Error> {
        Err(Error::user(format!("file {path}"), "no file can be written here"))
    }
    /// Whether packets that a port has no room for are dropped, counted, instead of waiting.
    fn drops_when_full(&self, port: &str) -> bool {
        let _ = port;
        false
    }
}
