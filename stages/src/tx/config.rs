//! How `Tx` is written in a description, what it declares, and how it is built.

use super::Tx;
use crate::{checksum_fill, config, gso};
use corelane_runtime::Error;
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, Reason, StageConfig, StageInfo, StageSpec,
};
use serde::Deserialize;

/// What `Tx` is. Behind its own reasons and counters stand those of the finishing steps it works with once a
/// port can do less than it could.
pub const INFO: StageInfo = StageInfo {
    name: "Tx",
    summary: "Hands packets to a port.",
    role: Role::Sink,
    subject: Some("port"),
    keys: &[
        KeyInfo { name: "port", kind: "port", default: None, doc: "the port to write" },
        KeyInfo {
            name: "finish",
            kind: "Auto | Never",
            default: Some("Auto"),
            doc: "Never: no Gso and ChecksumFill are added before it; refused where a packet might need one",
        },
    ],
    drop_reasons: &[
        "too_big",
        "tx_full",
        "too_many_segments",
        "bad_segmentation",
        "impossible_request",
    ],
    counters: &[
        "refinished",
        "refinished.cut",
        "refinished.segments",
        "refinished.uncut",
        "refinished.rechunked",
        "refinished.left",
        "refinished.reused",
        "refinished.summed",
        "refinished.ipv4",
    ],
};

/// The port takes no frame, or segment, that long.
pub(super) const TOO_BIG: Reason = Reason(0);
/// The port had no room, and what it has no room for is to be dropped.
pub(super) const TX_FULL: Reason = Reason(1);

/// Packets finished anew.
pub(super) const REFINISHED: CounterId = CounterId(0);

/// Where the reasons and counters of `Gso` begin.
pub(super) const GSO: (Reason, CounterId) = (Reason(2), CounterId(1));
/// Where those of `ChecksumFill` begin.
pub(super) const FILL: (Reason, CounterId) =
    (Reason(GSO.0.0 + gso::INFO.drop_reasons.len()), CounterId(GSO.1.0 + gso::INFO.counters.len()));

const _: () = {
    assert!(FILL.0.0 + checksum_fill::INFO.drop_reasons.len() == INFO.drop_reasons.len());
    assert!(FILL.1.0 + checksum_fill::INFO.counters.len() == INFO.counters.len());
};

/// The kind of stage `Tx`.
#[derive(Clone, Copy, Debug)]
pub struct TxSpec;

/// Arguments of `Tx`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TxConfig {
    /// Port to write.
    pub port: String,
    /// Whether the finishing steps are added before it.
    #[serde(default)]
    pub finish: Finish,
}

/// Whether cutting and filling steps are added before a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Finish {
    /// They are, unless the description has them.
    #[default]
    Auto,
    /// They are not; where a packet might need one the plan is refused.
    Never,
}

impl StageSpec for TxSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn example(&self) -> &'static str {
        "Tx(\"port\")"
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(config::parse::<TxConfig>(args)?))
    }
}

impl StageConfig for TxConfig {
    fn traits(&self) -> Traits {
        let unfinished = self.finish == Finish::Never;
        Traits { port: Some(self.port.clone()), unfinished, ..Traits::default() }
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let missing = || Error::user(&self.port, "there is no such port; declare it under `ports`");
        let caps = ctx.port_caps(&self.port).ok_or_else(missing)?;
        let drops = ctx.drops_when_full(&self.port);
        let queue = ctx.open_tx(&self.port)?;
        // A queue cannot be opened twice, so this stage is not restarted after a panic.
        Ok(Built::Stage(Box::new(Tx::new(queue, caps).dropping_when_full(drops)), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_finishing_steps_stand_behind_its_own() {
        let reasons = |info: StageInfo| info.drop_reasons.iter().copied();
        let steps = reasons(gso::INFO).chain(reasons(checksum_fill::INFO));
        assert!(reasons(INFO).skip(GSO.0.0).eq(steps));
        // `left` means two things: a superpacket left whole, a checksum left to the port.
        let gso = gso::INFO.counters.iter().map(|name| name.replace("left", "uncut"));
        let fill = checksum_fill::INFO.counters.iter().map(|name| (*name).to_owned());
        let steps = gso.chain(fill).map(|name| format!("refinished.{name}"));
        assert!(INFO.counters.iter().skip(GSO.1.0).map(|name| (*name).to_owned()).eq(steps));
    }
}
