//! How `Neighbour` is written in a description, what it asks of the plan, and how it is built.
//!
//! Which of its two halves an instance has is decided here, by the key or by the place in the plan.

use super::me::Me;
use super::table::Table;
use super::{Answering, Neighbour, Resolving};
use crate::config::{self, Nanoseconds};
use corelane_runtime::Error;
use corelane_runtime::stage::spec::{Choice, KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, OutputId, Reason, StageConfig, StageInfo,
    StageSpec,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What `Neighbour` is.
pub const INFO: StageInfo = StageInfo {
    name: "Neighbour",
    summary: "Answers ARP and ND for the addresses of a port, and finds out whom to send to.",
    role: Role::Middle,
    subject: Some("port"),
    keys: &[
        KeyInfo { name: "port", kind: "port", default: None, doc: "the port whose neighbours" },
        KeyInfo {
            name: "side",
            kind: "Auto | Receive | Transmit | Both",
            default: Some("Auto"),
            doc: "which half of the work is done here",
        },
        KeyInfo {
            name: "static",
            kind: "map from IP address to MAC address",
            default: Some("{}"),
            doc: "neighbours that are known for good, such as { \"192.0.2.7\": \"02:00:00:00:00:07\" }",
        },
        KeyInfo {
            name: "hold",
            kind: "whole number",
            default: Some("256"),
            doc: "packets that wait for an answer, at most; the oldest makes room",
        },
        KeyInfo {
            name: "hold_each",
            kind: "whole number",
            default: Some("32"),
            doc: "of those, packets for one next hop",
        },
        KeyInfo {
            name: "retry",
            kind: "time",
            default: Some("1s"),
            doc: "wait for an answer before asking again",
        },
        KeyInfo {
            name: "tries",
            kind: "whole number",
            default: Some("3"),
            doc: "questions before giving up",
        },
        KeyInfo {
            name: "reachable",
            kind: "time",
            default: Some("30s"),
            doc: "how long an answer is believed; then it is used and asked for again",
        },
    ],
    drop_reasons: &["unresolved", "queue_full", "no_route", "no_buffer"],
    counters: &[
        "answered",
        "unanswered",
        "learned",
        "table_full",
        "conflicts",
        "invalid",
        "resolved",
        "waited",
        "asked",
        "not_ip",
    ],
};

/// Nobody answered.
pub(super) const UNRESOLVED: Reason = Reason(0);
/// It waited longest when there was no more room.
pub(super) const QUEUE_FULL: Reason = Reason(1);
/// It is for none of the port's networks, and there is no gateway.
pub(super) const NO_ROUTE: Reason = Reason(2);
/// Its header was shared and there was no buffer to write it anew.
pub(super) const NO_BUFFER: Reason = Reason(3);

/// Questions about addresses of the port that were answered.
pub(super) const ANSWERED: CounterId = CounterId(0);
/// Those that were not: there was no way out, no room, no buffer.
pub(super) const UNANSWERED: CounterId = CounterId(1);
/// Neighbours learned, or learned anew at another link address.
pub(super) const LEARNED: CounterId = CounterId(2);
/// Neighbours for which the table had no place.
pub(super) const TABLE_FULL: CounterId = CounterId(3);
/// Packets of others that say they have an address of the port.
pub(super) const CONFLICTS: CounterId = CounterId(4);
/// ND messages that must not be believed (RFC 4861, section 7.1).
pub(super) const INVALID: CounterId = CounterId(5);
/// Packets given a link address.
pub(super) const RESOLVED: CounterId = CounterId(6);
/// Packets that had to wait for one.
pub(super) const WAITED: CounterId = CounterId(7);
/// Questions sent.
pub(super) const ASKED: CounterId = CounterId(8);
/// Packets without a destination address of either kind, passed on as they are.
pub(super) const NOT_IP: CounterId = CounterId(9);

/// The kind of stage `Neighbour`.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourSpec;

/// Which half of the work an instance does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Side {
    /// By its place.
    #[default]
    Auto,
    /// Behind `Rx`.
    Receive,
    /// Before `Tx`.
    Transmit,
    /// Both.
    Both,
}

/// Arguments of `Neighbour`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    port: String,
    #[serde(default)]
    side: Side,
    #[serde(default, rename = "static")]
    fixed: BTreeMap<String, String>,
    #[serde(default = "hold")]
    hold: u16,
    #[serde(default = "hold_each")]
    hold_each: u16,
    #[serde(default = "retry")]
    retry: Nanoseconds,
    #[serde(default = "tries")]
    tries: u8,
    #[serde(default = "reachable")]
    reachable: Nanoseconds,
}

fn hold() -> u16 {
    256
}

fn hold_each() -> u16 {
    32
}

fn retry() -> Nanoseconds {
    Nanoseconds(1_000_000_000)
}

fn tries() -> u8 {
    3
}

fn reachable() -> Nanoseconds {
    Nanoseconds(30_000_000_000)
}

/// What an instance goes by.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) hold: usize,
    pub(super) hold_each: usize,
    pub(super) retry: u64,
    pub(super) tries: u8,
    pub(super) reachable: u64,
}

/// `Neighbour`, configured.
#[derive(Clone, Debug)]
pub(super) struct NeighbourConfig {
    port: String,
    side: Side,
    fixed: Vec<(IpAddr, [u8; 6])>,
    settings: Settings,
}

impl StageSpec for NeighbourSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn doc(&self) -> &'static str {
        "Added where a port has `addresses`: behind its `Rx` it answers and learns, before its `Tx` it fills in the \
         destination MAC address of packets that have none yet (00:00:00:00:00:00). Both share one table. A packet \
         whose next hop is unknown waits, in order, while that is asked for."
    }

    fn choices(&self) -> &'static [Choice] {
        const fn of(word: &'static str, doc: &'static str) -> Choice {
            Choice { key: "side", word, doc }
        }
        const {
            &[
                of(
                    "Auto",
                    "Receive where packets come from the port, Transmit where they leave by it",
                ),
                of("Receive", "answers and learns"),
                of("Transmit", "fills in destination addresses"),
                of("Both", "does both"),
            ]
        }
    }

    fn example(&self) -> &'static str {
        "Neighbour(\"port\")"
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        let written = config::parse::<Written>(args)?;
        let (fixed, mut errors) = fixed(&written.fixed);
        for (key, zero) in [
            ("hold", written.hold == 0),
            ("hold_each", written.hold_each == 0),
            ("retry", written.retry.0 == 0),
            ("tries", written.tries == 0),
            ("reachable", written.reachable.0 == 0),
        ] {
            if zero {
                let message =
                    format!("`{key}` is 0; nothing could be found out, give it at least 1");
                errors.push(ConfigError::at(key, message));
            }
        }
        if written.hold_each > written.hold && written.hold > 0 {
            let message = format!(
                "`hold_each` is {}, more than `hold`, {}; give it at most that",
                written.hold_each, written.hold
            );
            errors.push(ConfigError::at("hold_each", message));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let settings = Settings {
            hold: usize::from(written.hold),
            hold_each: usize::from(written.hold_each),
            retry: written.retry.0,
            tries: written.tries,
            reachable: written.reachable.0,
        };
        Ok(Box::new(NeighbourConfig { port: written.port, side: written.side, fixed, settings }))
    }
}

/// The neighbours that are known for good, and what is wrong with them.
fn fixed(written: &BTreeMap<String, String>) -> (Vec<(IpAddr, [u8; 6])>, Vec<ConfigError>) {
    let (mut fixed, mut errors) = (Vec::new(), Vec::new());
    for (address, mac) in written {
        let (ip, link) = (address.parse::<IpAddr>(), mac_of(mac));
        match (ip, link) {
            (Ok(ip), Some(link)) => fixed.push((ip, link)),
            (Err(_), _) => {
                let message = format!("\"{address}\" is no IP address; such as \"192.0.2.7\"");
                errors.push(ConfigError::at("static", message));
            }
            (_, None) => {
                let message =
                    format!("\"{mac}\" is no address of one host; such as \"02:00:00:00:00:07\"");
                errors.push(ConfigError::at("static", message));
            }
        }
    }
    (fixed, errors)
}

/// The link address of one host.
fn mac_of(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut pieces = text.split(':');
    for byte in &mut mac {
        let piece = pieces.next().filter(|piece| piece.len() == 2)?;
        let digits = piece.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(piece, 16).ok().filter(|_| digits)?;
    }
    (pieces.next().is_none() && super::is_host(&mac)).then_some(mac)
}

impl StageConfig for NeighbourConfig {
    fn traits(&self) -> Traits {
        Traits {
            addressed: vec![self.port.clone()],
            // A question goes out beside what comes in, and what waited leaves with what comes.
            multiplies: true,
            answers: self.side != Side::Transmit,
            holds: match self.side {
                Side::Receive => 0,
                _ => self.settings.hold as u32,
            },
            ..Traits::default()
        }
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let what = || format!("port {}", self.port);
        let info = ctx.port_info(&self.port).ok_or_else(|| {
            Error::user(what(), "there is no such port; declare it under `ports`")
        })?;
        let me = Me::new(&info).map_err(|message| Error::user(what(), message))?;
        let key = ctx.hash_key();
        let table = Table::shared(ctx, &self.port, key);
        table.fix(&self.fixed).map_err(|message| Error::user(what(), message))?;
        let (receives, transmits) = self.halves(ctx);
        let to = ctx.answer(info.number);
        let (number, settings) = (info.number, self.settings.clone());
        Ok(Built::restartable(move || {
            let answering =
                receives.then(|| Answering::new(me.clone(), table.clone(), number, to, key));
            let resolving =
                transmits.then(|| Resolving::new(me.clone(), table.clone(), &settings, key));
            Neighbour::new(answering, resolving, table.clone(), settings.reachable)
        }))
    }
}

impl NeighbourConfig {
    /// Whether it answers here, and whether it resolves.
    fn halves(&self, ctx: &dyn BuildContext) -> (bool, bool) {
        match self.side {
            Side::Receive => (true, false),
            Side::Transmit => (false, true),
            Side::Both => (true, true),
            Side::Auto => {
                let comes = ctx.entries().contains(&self.port);
                let leaves = ctx.exits().contains(&self.port);
                // Where neither is known, as outside of a plan, it is good for both.
                (comes || !leaves, leaves || !comes)
            }
        }
    }
}

/// Where answers go; `None`: the port cannot send.
pub(super) type AnswerTo = Option<OutputId>;
