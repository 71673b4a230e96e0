//! How `Encap` is written in a description, what it asks of the plan, and how it is built.

use super::header::{Ends, Template};
use super::{Encap, Road, Settings};
use crate::config;
use crate::tunnel::finish;
use crate::tunnel::keys::{Local, OrInherit};
use crate::tunnel::names::concat;
use crate::tunnel::tenants::{self, Learned, Tenant};
use crate::tunnel::vxlan::{self, UdpChecksum, VNI_MAX, VxlanOut};
use corelane_runtime::offload::Looks;
use corelane_runtime::packet::Tunnel;
use corelane_runtime::stage::spec::{Choice, KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, OutputId, Reason, Row, RowError,
    StageConfig, StageInfo, StageSpec,
};
use corelane_runtime::{Error, stage::PortInfo};
use serde::Deserialize;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const OWN_REASONS: &[&str] = &["too_big", "no_row", "no_remote"];
const REASONS: [&str; OWN_REASONS.len() + finish::REASON_COUNT] =
    concat([OWN_REASONS, finish::REASONS[0], finish::REASONS[1]]);

/// What `Encap` is. Behind its own reasons stand those of the finishing steps it works with where a packet has
/// two levels already or is to be cut into fragments.
pub const INFO: StageInfo = StageInfo {
    name: "Encap",
    summary: "Puts packets into a tunnel; what they ask for, to be cut or summed, goes along.",
    role: Role::Middle,
    subject: Some("tunnel"),
    keys: &[
        KeyInfo {
            name: "tunnel",
            kind: "Vxlan(..)",
            default: None,
            doc: "the kind of tunnel and its ends",
        },
        KeyInfo {
            name: "oversize",
            kind: "list of: Segment | PmtuReply | FragmentOuter | Drop",
            default: Some("none: dropped"),
            doc: "what becomes of a packet that is too long for the port once it is in the tunnel: the first of these that can be done with it",
        },
        KeyInfo {
            name: "otherwise",
            kind: "chain",
            default: Some("none: dropped"),
            doc: "where packets go for which the table has no row or no other end",
        },
        KeyInfo {
            name: "mtu",
            kind: "whole number from 68",
            default: Some("the smallest of the ports it leaves by"),
            doc: "most bytes of an outer IP packet",
        },
    ],
    drop_reasons: &REASONS,
    counters: &["segmented", "replied", "fragmented", "fragments", "replicated", "finished"],
};

/// It is too long for the port once it is in the tunnel.
pub(super) const TOO_BIG: Reason = Reason(0);
/// The table has no row for it.
pub(super) const NO_ROW: Reason = Reason(1);
/// Its row has no other end it could go to.
pub(super) const NO_REMOTE: Reason = Reason(2);
/// Where the reasons of the finishing steps begin.
pub(super) const FINISH: Reason = Reason(OWN_REASONS.len());

/// Packets that are to be cut so that they fit.
pub(super) const SEGMENTED: CounterId = CounterId(0);
/// Packets whose sender was told what fits.
pub(super) const REPLIED: CounterId = CounterId(1);
/// Packets cut into fragments, and how many those were.
pub(super) const FRAGMENTED: CounterId = CounterId(2);
pub(super) const FRAGMENTS: CounterId = CounterId(3);
/// Copies made for further remote ends.
pub(super) const REPLICATED: CounterId = CounterId(4);
/// Packets finished before they went into the tunnel.
pub(super) const FINISHED: CounterId = CounterId(5);

/// What may become of TCP that is cut to fit: nobody has summed the pieces.
const CUT: Looks = Looks::BARE_TCP4.union(Looks::BARE_TCP6).union(Looks::ECN);
/// Shortest MTU that IPv4 knows (RFC 791).
const MTU_MIN: u32 = 68;
/// Longest datagram whose length fields can say so.
const IP_MAX: u32 = 65_535;
/// How far apart the first identifications of copies of a stage are.
const ID_STEP: u32 = 8192;

/// The kind of stage `Encap`.
#[derive(Clone, Copy, Debug)]
pub struct EncapSpec;

/// A kind of tunnel with its keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub enum EncapTunnel {
    /// VXLAN.
    Vxlan(VxlanOut),
}

/// What becomes of a packet that is too long once it is in the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Oversize {
    /// TCP is cut into segments that fit.
    Segment,
    /// Its sender is told what would fit.
    PmtuReply,
    /// The outer datagram is cut into IP fragments.
    FragmentOuter,
    /// It ends here.
    Drop,
}

/// Arguments of `Encap`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncapConfig {
    /// The kind of tunnel and its ends.
    pub tunnel: EncapTunnel,
    /// What becomes of packets that are too long.
    #[serde(default)]
    pub oversize: Option<Vec<Oversize>>,
    /// Where packets go that cannot be put in.
    #[serde(default)]
    pub otherwise: Option<String>,
    /// Most bytes of an outer IP packet.
    #[serde(default)]
    pub mtu: Option<u32>,
    /// Rows of the table.
    #[serde(skip)]
    tenants: Vec<Tenant>,
}

const CHOICES: &[Choice] = &[
    Choice {
        key: "tunnel",
        word: "Vxlan",
        doc: "RFC 7348, with these keys: `vni`, `local` (an address or Own(\"port\")) and `remote`, or `local` and `table`; `port: 4789`; `src_port: Entropy(49152..=65535)`, one for each flow inside, or a number; `udp_checksum: Auto` (over IPv6 only), On or Off; `ttl: 64` and `dscp: 0`, or Inherit; `ecn: Rfc6040` or Rfc3168; `df: true`; `next_hop`, a link-layer address, else it is resolved; `mac`, else the port's; `age: \"300s\"` of learned addresses",
    },
    Choice { key: "oversize", word: "Segment", doc: "TCP is cut into segments that fit" },
    Choice {
        key: "oversize",
        word: "PmtuReply",
        doc: "the sender of an IPv6 packet, or of an IPv4 packet with DF, is told what would fit",
    },
    Choice {
        key: "oversize",
        word: "FragmentOuter",
        doc: "the outer datagram is cut into IP fragments",
    },
    Choice { key: "oversize", word: "Drop", doc: "it ends here, as too_big" },
];

impl StageSpec for EncapSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn choices(&self) -> &'static [Choice] {
        CHOICES
    }

    fn example(&self) -> &'static str {
        "Encap(Vxlan(vni: 42, local: \"192.0.2.1\", remote: \"192.0.2.7\", next_hop: \"02:00:00:00:00:02\"))"
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        let config = config::parse_with::<EncapConfig>(args, &["tunnel"])?;
        config.check()?;
        Ok(Box::new(config))
    }
}

impl EncapConfig {
    fn vxlan(&self) -> &VxlanOut {
        let EncapTunnel::Vxlan(keys) = &self.tunnel;
        keys
    }

    /// What is wrong with the keys beyond their types.
    fn check(&self) -> Result<(), Vec<ConfigError>> {
        let mut errors = Vec::new();
        let mut wrong = |key: &str, message: String| errors.push(ConfigError::at(key, message));
        let keys = self.vxlan();
        if let Some(key) = keys.missing() {
            wrong("tunnel", format!("`Vxlan` needs `{key}`, or `table`"));
        }
        if keys.table.is_some() && (keys.vni.is_some() || keys.remote.is_some()) {
            wrong("tunnel", "with `table`, identifiers and remote ends are in its rows".into());
        }
        if keys.local.is_none() {
            wrong("tunnel", "`Vxlan` needs `local`: an address, or Own(\"port\")".into());
        }
        if keys.vni.is_some_and(|vni| vni > VNI_MAX) {
            wrong("tunnel", format!("`vni` has 24 bits; the largest is {VNI_MAX}"));
        }
        if let (Some(Local::Address(local)), Some(remote)) = (&keys.local, &keys.remote)
            && local.is_ipv4() != remote.is_ipv4()
        {
            wrong(
                "tunnel",
                format!("`local` {local} and `remote` {remote} are of different families"),
            );
        }
        for message in keys.senseless() {
            wrong("tunnel", message);
        }
        match self.mtu {
            Some(mtu) if mtu < MTU_MIN => {
                wrong("mtu", format!("no path takes less than {MTU_MIN} bytes"));
            }
            Some(mtu) if mtu > IP_MAX => wrong(
                "mtu",
                format!("no IP packet is longer than {IP_MAX} bytes; write at most {IP_MAX}"),
            ),
            _ => {}
        }
        if let Some(message) = self.oversize.as_deref().and_then(useless) {
            wrong("oversize", message);
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn oversize(&self) -> &[Oversize] {
        self.oversize.as_deref().unwrap_or(&[])
    }

    /// Whether some datagrams may be over IPv6.
    fn may_be_v6(&self) -> bool {
        let keys = self.vxlan();
        match (&keys.local, &keys.remote) {
            (Some(Local::Address(local)), _) => local.is_ipv6(),
            (_, Some(remote)) => remote.is_ipv6(),
            _ => self.tenants.iter().flat_map(Tenant::ends).any(|end| end.is_ipv6()),
        }
    }
}

/// What is wrong with a list of what becomes of packets that are too long.
fn useless(list: &[Oversize]) -> Option<String> {
    if list.is_empty() {
        return Some(
            "an empty list says nothing; write [Drop] where they are to end here".to_owned(),
        );
    }
    // What ends a packet leaves nothing for what stands behind it.
    let end = list.iter().position(|what| *what == Oversize::Drop);
    if let Some(behind) = end.and_then(|end| list.get(end + 1)) {
        return Some(format!(
            "`Drop` ends what comes to it, and `{behind:?}` gets nothing; write `Drop` last"
        ));
    }
    let twice = list.iter().enumerate().find(|(at, what)| list[..*at].contains(what));
    twice.map(|(_, what)| format!("`{what:?}` stands there twice; keep the first"))
}

impl VxlanOut {
    /// Values that their types allow and no tunnel can have.
    fn senseless(&self) -> Vec<String> {
        let mut said = Vec::new();
        if matches!(self.dscp, OrInherit::Fixed(dscp) if dscp > 63) {
            said.push("`dscp` has 6 bits; the largest is 63".to_owned());
        }
        if self.ttl == OrInherit::Fixed(0) {
            said.push("a datagram with `ttl: 0` is passed on by nobody; write 1 to 255".to_owned());
        }
        if self.port == 0 {
            said.push("there is no UDP port 0 to send to; leave `port` out for 4789".to_owned());
        }
        if self.age.0 == 0 {
            said.push(
                "with `age: \"0s\"` nothing is learned; write a time such as \"300s\"".to_owned(),
            );
        }
        if let (Some(Local::Address(local)), Some(remote)) = (&self.local, &self.remote)
            && local == remote
        {
            said.push(format!(
                "`local` and `remote` are both {local}; give the other end's address"
            ));
        }
        said
    }

    fn missing(&self) -> Option<&'static str> {
        let alone = self.table.is_none();
        let vni = self.vni.is_none().then_some("vni");
        vni.or(self.remote.is_none().then_some("remote")).filter(|_| alone)
    }

    fn has_checksum(&self, remote: IpAddr) -> bool {
        match self.udp_checksum {
            UdpChecksum::Auto => remote.is_ipv6(),
            UdpChecksum::On => true,
            UdpChecksum::Off => false,
        }
    }
}

impl StageConfig for EncapConfig {
    fn traits(&self) -> Traits {
        let keys = self.vxlan();
        let v6 = self.may_be_v6();
        let otherwise = self.otherwise.iter().map(|chain| ("otherwise".to_owned(), chain.clone()));
        let own = match &keys.local {
            Some(Local::Own(port)) => vec![port.clone()],
            _ => Vec::new(),
        };
        let sums = match keys.udp_checksum {
            UdpChecksum::Auto => v6,
            wanted => wanted == UdpChecksum::On,
        };
        Traits {
            outputs: otherwise.collect(),
            multiplies: true,
            changes_headers: true,
            encapsulates: Some(Tunnel::Vxlan),
            tunnel_ports: vec![keys.port],
            tunnel_sum: sums,
            fits: self.oversize.is_some(),
            adds: if v6 { 70 } else { 50 },
            addressed: own,
            table: keys.table.clone(),
            answers: self.oversize().contains(&Oversize::PmtuReply),
            makes: if self.oversize().contains(&Oversize::Segment) { CUT } else { Looks::empty() },
            unresolved: keys.next_hop.is_none(),
            wants_checked: self.oversize().contains(&Oversize::Segment),
            // What is held is one packet, being finished, cut or copied.
            holds: 1,
            ..Traits::default()
        }
    }

    fn take_rows(&mut self, rows: &[Row<'_>]) -> Result<(), Vec<RowError>> {
        self.tenants = tenants::read(rows)?;
        let Some(Local::Address(local)) = self.vxlan().local else { return Ok(()) };
        let mismatch = |(row, tenant): (usize, &Tenant)| {
            let end = tenant.ends().into_iter().find(|end| end.is_ipv4() != local.is_ipv4())?;
            let message = format!("{end} is of another family than `local` {local} of the tunnel");
            Some(RowError { row, error: ConfigError::at("remotes", message) })
        };
        let errors: Vec<RowError> = self.tenants.iter().enumerate().filter_map(mismatch).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let keys = self.vxlan();
        let exits: Vec<PortInfo> =
            ctx.exits().iter().filter_map(|port| ctx.port_info(port)).collect();
        let place = Place::of(keys, &exits, ctx)?;
        let road = match (&keys.table, keys.remote) {
            (Some(table), _) => self.rows(table, &place, ctx)?,
            (None, remote) => {
                let vni = keys.vni.unwrap_or_default();
                let remote = remote.ok_or_else(|| unbuilt("`remote` is missing".into()))?;
                Road::one(place.template(keys, remote, vni)?)
            }
        };
        let mtu = self.mtu.or_else(|| exits.iter().filter_map(|exit| exit.mtu).min());
        let answers = self.oversize().contains(&Oversize::PmtuReply);
        let entries = if answers { ctx.entries() } else { Vec::new() };
        let numbers = entries.iter().filter_map(|port| ctx.port_info(port)).map(|info| info.number);
        let answers = numbers.filter_map(|number| Some((number, ctx.answer(number)?))).collect();
        let settings = Arc::new(Settings {
            road,
            ttl: keys.ttl,
            dscp: keys.dscp,
            ecn: keys.ecn,
            src_ports: keys.src_port.0.clone(),
            key: ctx.hash_key(),
            limit: mtu.unwrap_or(IP_MAX).min(IP_MAX),
            oversize: self.oversize().to_vec(),
            otherwise: self.otherwise.is_some().then_some(OutputId(1)),
            answers,
        });
        // Copies on several cores do not use the same identifications at the same time.
        let first = AtomicU32::new(0);
        let ids = ctx.shared("identifications of tunnels", &mut || Arc::new(AtomicU32::new(0)));
        let ids = ids.downcast::<AtomicU32>().unwrap_or_else(|_| Arc::new(first));
        Ok(Built::restartable(move || {
            let id = ids.fetch_add(ID_STEP, Ordering::Relaxed);
            Encap::new(Arc::clone(&settings), id)
        }))
    }
}

fn unbuilt(message: String) -> Error {
    Error::user("Encap".to_owned(), message)
}

/// Addresses of this end.
struct Place {
    locals: Vec<IpAddr>,
    mac: [u8; 6],
}

impl Place {
    fn of(keys: &VxlanOut, exits: &[PortInfo], ctx: &dyn BuildContext) -> Result<Place, Error> {
        let own = match &keys.local {
            Some(Local::Own(port)) => {
                let missing = || unbuilt(format!("there is no port `{port}` to take `local` from"));
                Some(ctx.port_info(port).ok_or_else(missing)?)
            }
            _ => None,
        };
        let locals = match (&keys.local, &own) {
            (Some(Local::Address(address)), _) => vec![*address],
            (_, Some(info)) => info.addresses.iter().map(|(address, _)| *address).collect(),
            (..) => Vec::new(),
        };
        let port = own.as_ref().or(exits.first());
        let mac = keys.mac.map(|mac| mac.0).or(port.and_then(|port| port.mac));
        // Whoever resolves the next hop fills in both addresses.
        Ok(Place { locals, mac: mac.unwrap_or_default() })
    }

    fn template(&self, keys: &VxlanOut, remote: IpAddr, vni: u32) -> Result<Template, Error> {
        let of_family = |local: &&IpAddr| local.is_ipv4() == remote.is_ipv4();
        let local = self.locals.iter().find(of_family);
        let missing = || {
            let family = if remote.is_ipv4() { "IPv4" } else { "IPv6" };
            unbuilt(format!("`local` has no {family} address, which `{remote}` needs"))
        };
        let ends = Ends {
            local: *local.ok_or_else(missing)?,
            remote,
            src_mac: self.mac,
            dst_mac: keys.next_hop.map_or_else(|| group_mac(remote), |mac| mac.0),
            port: keys.port,
            df: keys.df,
            checksum: keys.has_checksum(remote),
        };
        Ok(Template::new(&ends, &vxlan::header(vni)))
    }
}

/// The link-layer address of a group (RFC 1112 section 6.4, RFC 2464 section 7); zeros, to be resolved, for one end.
fn group_mac(remote: IpAddr) -> [u8; 6] {
    match remote {
        IpAddr::V4(ip) if ip.is_multicast() => {
            let [_, high, middle, low] = ip.octets();
            [0x01, 0, 0x5e, high & 0x7f, middle, low]
        }
        IpAddr::V6(ip) if ip.is_multicast() => {
            let [.., a, b, c, d] = ip.octets();
            [0x33, 0x33, a, b, c, d]
        }
        _ => [0; 6],
    }
}

impl EncapConfig {
    fn rows(&self, table: &str, place: &Place, ctx: &mut dyn BuildContext) -> Result<Road, Error> {
        let keys = self.vxlan();
        let mut rows = Vec::new();
        for tenant in &self.tenants {
            let ends = tenant.ends().into_iter();
            let template = |end| Ok((end, place.template(keys, end, tenant.vni)?));
            let templates = ends.map(template).collect::<Result<Vec<_>, Error>>()?;
            rows.push((tenant.clone(), templates));
        }
        Ok(Road::rows(rows, Learned::of(table, keys.age.0, ctx)))
    }
}
