//! The keys that every port has: read, checked, and where nothing acts on one yet, that is said.

use super::address::{self, Cidr, Wrong};
use super::{About, Loader};
use crate::error::near;
use crate::spec::{Common, Word};
use crate::text::Mapped;
use crate::text::params::string_value;
use crate::text::tree::{Field, Kind, Node};
use corelane_runtime::stage::spec::KeyInfo;
use serde::Deserialize;
use std::net::IpAddr;

/// Keys that every port has.
pub(super) const KEYS: [&str; 11] = [
    "queues",
    "mtu",
    "mac",
    "addresses",
    "gateway",
    "rss",
    "on_full",
    "promiscuous",
    "caps",
    "verify",
    "takeover",
];
/// Of those, the ones that nothing acts on yet, and what does not happen.
const LATER: [(&str, &str, &str); 3] = [
    ("rss", "ports still spread packets in their own way", "setting it is to come"),
    ("promiscuous", "no port filters by address yet", "every packet comes in either way"),
    ("takeover", "no port can take over an interface yet", "ports on interfaces are to come"),
];

/// Every host must take an IPv4 packet of that size in one piece (RFC 791, section 3.2).
const MTU_MIN: u32 = 68;
/// The largest that an IPv4 packet can say it is.
const MTU_MAX: u32 = 65_535;
/// More than any device has in one direction.
const QUEUES_MAX: u32 = 1024;

const RSS_KEYS: &[KeyInfo] = &[
    KeyInfo {
        name: "fields",
        kind: "a list of `Ip` and `Port`",
        default: Some("[Ip, Port]"),
        doc: "what the hash is taken over",
    },
    KeyInfo {
        name: "symmetric",
        kind: "true or false",
        default: Some("true"),
        doc: "whether both directions of a connection get the same hash",
    },
];

/// What `rss` may say. Nothing acts on it yet, so it is only read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rss {
    fields: Vec<RssField>,
    symmetric: bool,
}

impl Default for Rss {
    fn default() -> Rss {
        Rss { fields: vec![RssField::Ip, RssField::Port], symmetric: true }
    }
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
enum RssField {
    Ip,
    Port,
}

/// What the addresses of a port say, to hold its gateway against.
#[derive(Default)]
struct Networks {
    given: bool,
    /// Whether one of them could not be read.
    unknown: bool,
    list: Vec<Cidr>,
}

impl Loader {
    pub(super) fn common(&mut self, fields: &[Field]) -> Common {
        let mut common = Common::default();
        let mut networks = Networks::default();
        let mut gateway = None;
        for field in fields {
            let (key, value) = (self.slice(field.key).to_owned(), &field.value);
            if !value.is_whole() {
                networks.unknown |= key == "addresses";
                continue; // that is noted
            }
            self.later(&key, field);
            match key.as_str() {
                "queues" => common.queues = self.queues(value),
                "mtu" => {
                    common.mtu = self.number(value, "mtu", "a number of bytes", MTU_MIN..=MTU_MAX);
                }
                "mac" => common.mac = self.address(value, &key, address::mac),
                "addresses" => {
                    networks = self.addresses(value);
                    common.addresses = networks.list.iter().map(Cidr::pair).collect();
                    common.addresses_at = Some(value.span);
                }
                "gateway" => gateway = Some(value),
                "rss" => self.rss(value),
                "on_full" => {
                    let drop = self.choice(value, &key, &[("Wait", false), ("Drop", true)]);
                    common.drop_when_full = drop.unwrap_or(false);
                }
                "caps" => common.caps = Some(self.caps(value)),
                "verify" => common.verify = self.flag(value, &key).unwrap_or(false),
                _ => {
                    self.flag(value, &key);
                }
            }
        }
        if let Some(value) = gateway {
            common.gateways = self.gateways(value, &networks);
        }
        common
    }

    /// Says once a file what a key does not do yet.
    fn later(&mut self, key: &str, field: &Field) {
        let Some((_, nothing, until)) = LATER.iter().find(|(later, ..)| *later == key) else {
            return;
        };
        if self.problems.first("not-yet", &format!("key {key}")) {
            let message = format!("`{key}`: {nothing}");
            let help = Some((*until).to_owned());
            self.problems.warning(&self.text, field.key, "not-yet", message, help);
        }
    }

    fn queues(&mut self, node: &Node) -> Option<u16> {
        if self.slice(node.span) == "Auto" {
            return None;
        }
        if matches!(node.kind, Kind::Call(_) | Kind::Str) {
            let what = format!("`Auto`, or a number of queues from 1 to {QUEUES_MAX}");
            let meant = near(self.slice(node.span).trim_matches('"'), ["Auto"]);
            let help = meant.map(|_| "write `Auto`".to_owned());
            self.expected_or(node, "queues", &what, help);
            return None;
        }
        let what = "`Auto`, or a number of queues";
        let number = self.number(node, "queues", what, 1..=QUEUES_MAX)?;
        u16::try_from(number).ok()
    }

    fn flag(&mut self, node: &Node, key: &str) -> Option<bool> {
        self.choice(node, key, &[("true", true), ("false", false)])
    }

    /// What is written between the quotes, or the value as it stands.
    fn caps(&mut self, node: &Node) -> Word {
        let written = self.slice(node.span);
        let text = match &node.kind {
            Kind::Str => string_value(written),
            _ => None,
        };
        Word { text: text.unwrap_or_else(|| written.to_owned()), span: node.span }
    }

    fn address<T>(
        &mut self,
        node: &Node,
        key: &str,
        read: impl Fn(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let text: String = self.value(node, key, "an address in quotes")?;
        match read(&text) {
            Ok(address) => Some(address),
            Err((message, help)) => {
                self.advise(node.span, "bad-value", message, help);
                None
            }
        }
    }

    fn addresses(&mut self, node: &Node) -> Networks {
        let mut networks = Networks { given: true, ..Networks::default() };
        let Kind::List(nodes) = &node.kind else {
            self.expected(node, "addresses", "a list such as [\"192.0.2.1/24\"]");
            return Networks { unknown: true, ..networks };
        };
        for node in nodes {
            match self.address(node, "addresses", address::cidr) {
                Some(read) if networks.list.contains(&read) => {
                    let message = "this address is in the list already";
                    self.advise(node.span, "bad-value", message, "keep one of them");
                }
                Some(read) => networks.list.push(read),
                None => networks.unknown = true,
            }
        }
        networks
    }

    /// One gateway, or a list of one for each family.
    fn gateways(&mut self, node: &Node, networks: &Networks) -> Vec<IpAddr> {
        let nodes = match &node.kind {
            Kind::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut gateways: Vec<IpAddr> = Vec::new();
        for node in nodes {
            let Some(gateway) = self.address(node, "gateway", address::host) else { continue };
            self.gateway(node, gateway, networks);
            match gateways.iter().find(|other| other.is_ipv4() == gateway.is_ipv4()) {
                Some(other) => {
                    let message = format!("there is a gateway of its family already, {other}");
                    self.advise(node.span, "bad-value", message, "keep one of them");
                }
                None => gateways.push(gateway),
            }
        }
        gateways
    }

    /// A gateway is a neighbour: it must be in a network of the port.
    fn gateway(&mut self, node: &Node, gateway: IpAddr, networks: &Networks) {
        if networks.list.iter().any(|network| network.address == gateway) {
            let message = format!("the gateway {gateway} is an address of the port itself");
            self.advise(node.span, "bad-value", message, "give that of the router");
            return;
        }
        let on_link = match gateway {
            IpAddr::V6(address) => address.is_unicast_link_local(),
            IpAddr::V4(_) => false,
        };
        if networks.unknown || on_link {
            return;
        }
        if !networks.given {
            let message = format!("the port has a gateway, {gateway}, but no address");
            self.advise(node.span, "bad-value", message, "give it `addresses` too");
        } else if !networks.list.iter().any(|network| network.holds(gateway)) {
            let message =
                format!("the gateway {gateway} is in no network of the port's `addresses`");
            let help = "a gateway is a neighbour: give one of that network";
            self.advise(node.span, "bad-value", message, help);
        }
    }

    fn rss(&mut self, node: &Node) {
        let mut args = Mapped::default();
        args.copy(self.text.text(), node.span);
        let read: Option<Rss> = self.typed(&args, &About::new("`rss`", node.span, RSS_KEYS));
        let Some(Rss { fields, .. }) = read else { return };
        if fields.is_empty() {
            let message = "`rss`: a hash over nothing sends every packet to one queue";
            self.advise(node.span, "bad-value", message, "write `fields: [Ip, Port]`");
        }
    }
}
