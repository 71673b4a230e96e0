//! `ChecksumValidate`: every checksum of a packet is checked, the payload read at most once; no byte is changed.
#![doc = include_str!("README.md")]

mod counters;
mod hardware;
mod scope;
mod software;
#[cfg(test)]
mod tests;
mod verify;

use crate::config;
use corelane_runtime::Error;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, Outputs, Reason, Stage, StageConfig, StageContext,
    StageInfo, StageSpec,
};
use serde::Deserialize;
use verify::Wrong;

/// What `ChecksumValidate` is.
pub const INFO: StageInfo = StageInfo {
    name: "ChecksumValidate",
    summary: "Checks IPv4, TCP and UDP checksums at every level and remembers the payload's sum.",
    role: Role::Middle,
    subject: None,
    keys: &[
        KeyInfo {
            name: "on_bad",
            kind: "Mark | Drop",
            default: Some("Mark"),
            doc: "what happens to a packet with a wrong checksum",
        },
        KeyInfo {
            name: "on_partial",
            kind: "Pass",
            default: Some("Pass"),
            doc: "what happens to a packet whose checksum was never finished",
        },
        KeyInfo {
            name: "on_unverifiable",
            kind: "Pass",
            default: Some("Pass"),
            doc: "what happens to fragments, cut packets and impossible lengths",
        },
    ],
    drop_reasons: &["bad_ipv4", "bad_tcp", "bad_udp"],
    counters: counters::NAMES,
};

const BAD_IPV4: Reason = Reason(0);
const BAD_TCP: Reason = Reason(1);
const BAD_UDP: Reason = Reason(2);

/// The kind of stage `ChecksumValidate`.
#[derive(Clone, Copy, Debug)]
pub struct ChecksumValidateSpec;

/// What happens to a packet with a wrong checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum OnBad {
    /// Passed on, marked bad: never merged, never repaired.
    #[default]
    Mark,
    /// Dropped, the reason being the first wrong kind of IPv4, TCP, UDP.
    Drop,
}

/// What happens to a packet of which nothing can be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum OnDoubt {
    /// Passed on as it is, never merged.
    #[default]
    Pass,
}

/// Arguments of `ChecksumValidate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChecksumValidateConfig {
    /// Checksums that are wrong.
    pub on_bad: OnBad,
    /// Checksums that look unfinished.
    pub on_partial: OnDoubt,
    /// Checksums that cannot be verified.
    pub on_unverifiable: OnDoubt,
}

impl StageSpec for ChecksumValidateSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<ChecksumValidateConfig>(args)?))
    }
}

impl StageConfig for ChecksumValidateConfig {
    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        let on_bad = self.on_bad;
        Ok(Built::restartable(move || ChecksumValidate::new(on_bad)))
    }
}

/// Checks packets.
#[derive(Clone, Copy, Debug)]
pub struct ChecksumValidate {
    on_bad: OnBad,
}

impl ChecksumValidate {
    /// A stage that does `on_bad` with what is wrong.
    pub fn new(on_bad: OnBad) -> ChecksumValidate {
        ChecksumValidate { on_bad }
    }
}

impl Stage for ChecksumValidate {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for mut packet in burst.drain() {
            let wrong = verify::verify(&mut packet, ctx);
            match (self.on_bad, reason(wrong)) {
                (OnBad::Drop, Some(reason)) => ctx.drop(packet, reason),
                (OnBad::Drop, None) | (OnBad::Mark, _) => out.next(packet),
            }
        }
    }
}

fn reason(wrong: Wrong) -> Option<Reason> {
    let kinds = [(wrong.ipv4, BAD_IPV4), (wrong.tcp, BAD_TCP), (wrong.udp, BAD_UDP)];
    kinds.into_iter().find_map(|(is, reason)| is.then_some(reason))
}
