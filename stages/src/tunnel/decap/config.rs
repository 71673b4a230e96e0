//! How `Decap` is written in a description, what it asks of the plan, and how it is built.

use super::learn::Rows;
use super::{Decap, Settings};
use crate::config;
use crate::tunnel::finish;
use crate::tunnel::keys::Local;
use crate::tunnel::names::concat;
use crate::tunnel::tenants::{self, Learned, Tenant};
use crate::tunnel::vxlan::{Reserved, VNI_MAX, VxlanIn, ZeroChecksum};
use corelane_runtime::Error;
use corelane_runtime::packet::Tunnel;
use corelane_runtime::stage::spec::{Choice, KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, OutputId, Reason, Row, RowError,
    StageConfig, StageInfo, StageSpec,
};
use serde::Deserialize;
use std::net::IpAddr;
use std::sync::Arc;

const OWN_REASONS: &[&str] = &[
    "not_tunnel",
    "fragment",
    "outer_options",
    "bad_length",
    "bad_ipv4",
    "bad_checksum",
    "no_checksum",
    "bad_header",
    "wrong_vni",
    "unknown_vni",
    "unknown_remote",
    "too_short",
    "congestion",
];
const REASONS: [&str; OWN_REASONS.len() + finish::REASON_COUNT] =
    concat([OWN_REASONS, finish::REASONS[0], finish::REASONS[1]]);

/// What `Decap` is. Behind its own reasons stand those of the steps that take trains apart.
pub const INFO: StageInfo = StageInfo {
    name: "Decap",
    summary: "Takes packets out of a tunnel, after checking everything about its headers.",
    role: Role::Middle,
    subject: Some("tunnel"),
    keys: &[
        KeyInfo { name: "tunnel", kind: "Vxlan(..)", default: None, doc: "the kind of tunnel" },
        KeyInfo {
            name: "otherwise",
            kind: "chain",
            default: Some("none: dropped"),
            doc: "where packets go that are not of this tunnel: other protocols, ports, addresses and identifiers, and fragments",
        },
    ],
    drop_reasons: &REASONS,
    counters: &["trains", "unverified", "learned"],
};

/// It is not a packet of this tunnel: another protocol, UDP port or address.
pub(super) const NOT_TUNNEL: Reason = Reason(0);
/// It is a fragment of an outer datagram.
pub(super) const FRAGMENT: Reason = Reason(1);
/// The outer IPv4 header has options.
pub(super) const OUTER_OPTIONS: Reason = Reason(2);
/// Outer lengths contradict each other or the frame.
pub(super) const BAD_LENGTH: Reason = Reason(3);
/// The outer IPv4 header sum is wrong.
pub(super) const BAD_IPV4: Reason = Reason(4);
/// The outer UDP checksum is wrong.
pub(super) const BAD_CHECKSUM: Reason = Reason(5);
/// A datagram over IPv6 has no checksum.
pub(super) const NO_CHECKSUM: Reason = Reason(6);
/// There is no header of this tunnel where one must be.
pub(super) const BAD_HEADER: Reason = Reason(7);
/// It has another identifier.
pub(super) const WRONG_VNI: Reason = Reason(8);
/// The table has no row with its identifier.
pub(super) const UNKNOWN_VNI: Reason = Reason(9);
/// The row of its identifier does not have its sender.
pub(super) const UNKNOWN_REMOTE: Reason = Reason(10);
/// There is no whole Ethernet header inside.
pub(super) const TOO_SHORT: Reason = Reason(11);
/// It met congestion, and its ends could not be told (RFC 6040).
pub(super) const CONGESTION: Reason = Reason(12);
/// Where the reasons of the steps that take trains apart begin.
pub(super) const FINISH: Reason = Reason(OWN_REASONS.len());

/// Trains of outer datagrams taken apart.
pub(super) const TRAINS: CounterId = CounterId(0);
/// Packets whose outer UDP checksum nobody can verify: cut by the capture, or never finished by their sender.
pub(super) const UNVERIFIED: CounterId = CounterId(1);
/// Addresses learned, or seen behind another end.
pub(super) const LEARNED: CounterId = CounterId(2);

/// The kind of stage `Decap`.
#[derive(Clone, Copy, Debug)]
pub struct DecapSpec;

/// A kind of tunnel with its keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub enum DecapTunnel {
    /// VXLAN.
    Vxlan(VxlanIn),
}

/// Arguments of `Decap`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecapConfig {
    /// The kind of tunnel.
    pub tunnel: DecapTunnel,
    /// Where packets go that are not of this tunnel.
    #[serde(default)]
    pub otherwise: Option<String>,
    /// Rows of the table.
    #[serde(skip)]
    tenants: Vec<Tenant>,
}

const CHOICES: &[Choice] = &[Choice {
    key: "tunnel",
    word: "Vxlan",
    doc: "RFC 7348, with these keys: `vni`, the one identifier taken, or `table`, rows of which others and senders that are not theirs are refused and whose stations are learned (forgotten after `age: \"300s\"`); `local`, an address or Own(\"port\"), the one destination taken; `port: 4789`, or a list; `udp6_zero_checksum: Accept` or Drop; `reserved: Zero` (a header with other bits set is refused) or Ignore; `ecn: Rfc6040` or Rfc3168",
}];

impl StageSpec for DecapSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn choices(&self) -> &'static [Choice] {
        CHOICES
    }

    fn example(&self) -> &'static str {
        "Decap(Vxlan(vni: 42))"
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        let config = config::parse_with::<DecapConfig>(args, &["tunnel"])?;
        config.check()?;
        Ok(Box::new(config))
    }
}

impl DecapConfig {
    fn vxlan(&self) -> &VxlanIn {
        let DecapTunnel::Vxlan(keys) = &self.tunnel;
        keys
    }

    /// What is wrong with the keys beyond their types.
    fn check(&self) -> Result<(), Vec<ConfigError>> {
        let mut errors = Vec::new();
        let mut wrong = |message: String| errors.push(ConfigError::at("tunnel", message));
        let keys = self.vxlan();
        if keys.vni.is_some_and(|vni| vni > VNI_MAX) {
            wrong(format!("`vni` has 24 bits; the largest is {VNI_MAX}"));
        }
        if keys.vni.is_some() && keys.table.is_some() {
            wrong("with `table`, identifiers are in its rows".into());
        }
        if keys.port.0.contains(&0) {
            wrong("nothing comes by UDP port 0; leave `port` out for 4789".into());
        }
        if keys.age.0 == 0 {
            wrong("with `age: \"0s\"` nothing is learned; write a time such as \"300s\"".into());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn locals(&self, ctx: &dyn BuildContext) -> Result<Vec<IpAddr>, Error> {
        match &self.vxlan().local {
            None => Ok(Vec::new()),
            Some(Local::Address(address)) => Ok(vec![*address]),
            Some(Local::Own(port)) => {
                let info = ctx.port_info(port).filter(|info| !info.addresses.is_empty());
                let missing = || format!("port `{port}` has no `addresses` to take `local` from");
                let info = info.ok_or_else(|| Error::user("Decap".to_owned(), missing()))?;
                Ok(info.addresses.iter().map(|(address, _)| *address).collect())
            }
        }
    }
}

impl StageConfig for DecapConfig {
    fn traits(&self) -> Traits {
        let keys = self.vxlan();
        let otherwise = self.otherwise.iter().map(|chain| ("otherwise".to_owned(), chain.clone()));
        let own = match &keys.local {
            Some(Local::Own(port)) => vec![port.clone()],
            _ => Vec::new(),
        };
        Traits {
            outputs: otherwise.collect(),
            // A train of datagrams is more than one packet.
            multiplies: true,
            holds: 1,
            changes_headers: true,
            decapsulates: Some(Tunnel::Vxlan),
            // Over IPv4 without options; over IPv6 it is 70.
            removes: 50,
            tunnel_ports: keys.port.0.clone(),
            addressed: own,
            table: keys.table.clone(),
            ..Traits::default()
        }
    }

    fn take_rows(&mut self, rows: &[Row<'_>]) -> Result<(), Vec<RowError>> {
        self.tenants = tenants::read(rows)?;
        Ok(())
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let keys = self.vxlan();
        let learned = keys.table.as_ref().map(|table| Learned::of(table, keys.age.0, ctx));
        let settings = Arc::new(Settings {
            ports: keys.port.0.clone(),
            locals: self.locals(ctx)?,
            vni: keys.vni,
            ignores_reserved: keys.reserved == Reserved::Ignore,
            takes_zero: keys.udp6_zero_checksum == ZeroChecksum::Accept,
            ecn: keys.ecn,
            rows: learned.map(|learned| Rows::new(&self.tenants, learned)),
            otherwise: self.otherwise.is_some().then_some(OutputId(1)),
            key: ctx.hash_key(),
        });
        Ok(Built::restartable(move || Decap::new(Arc::clone(&settings))))
    }
}
