//! How `VlanPush` is written in a description, and the rows it reads.

use super::push::{Vid, VlanPush};
use crate::config;
use crate::rewrite::VID_MAX;
use corelane_runtime::Error;
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, OutputId, Reason, Row, RowError,
    StageConfig, StageInfo, StageSpec,
};
use corelane_wire::ethernet::ethertype;
use serde::Deserialize;

/// What `VlanPush` is.
pub const INFO: StageInfo = StageInfo {
    name: "VlanPush",
    summary: "Puts a VLAN tag on, in front of all others.",
    role: Role::Middle,
    subject: Some("vid"),
    keys: &[
        KeyInfo {
            name: "vid",
            kind: "whole number up to 4094",
            default: Some("none"),
            doc: "the VLAN identifier; needed where there is no `table`",
        },
        KeyInfo {
            name: "table",
            kind: "table",
            default: Some("none"),
            doc: "the rows `(vni: .., vlan: ..)` that choose the identifier by the tunnel a packet came out of",
        },
        KeyInfo {
            name: "pcp",
            kind: "whole number up to 7",
            default: Some("0"),
            doc: "priority in the tag",
        },
        KeyInfo {
            name: "tpid",
            kind: "0x8100 | 0x88a8",
            default: Some("0x8100"),
            doc: "type of the tag: customer (802.1Q) or service (802.1ad)",
        },
        KeyInfo {
            name: "otherwise",
            kind: "chain",
            default: Some("none"),
            doc: "where packets go that get no tag: no row is for them, or they have no Ethernet header",
        },
    ],
    drop_reasons: &["no_row", "not_ethernet"],
    counters: &["pushed"],
};

/// No row is for the tunnel it came out of, or it came out of none.
pub(super) const NO_ROW: Reason = Reason(0);
/// A tag needs an Ethernet header to stand in.
pub(super) const NOT_ETHERNET: Reason = Reason(1);
/// Packets that got a tag.
pub(super) const PUSHED: CounterId = CounterId(0);

/// The kind of stage `VlanPush`.
#[derive(Clone, Copy, Debug)]
pub struct VlanPushSpec;

/// Arguments of `VlanPush`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VlanPushConfig {
    /// The identifier.
    pub vid: Option<u16>,
    /// The table that chooses it.
    pub table: Option<String>,
    /// Priority.
    pub pcp: u8,
    /// Type of the tag.
    pub tpid: u16,
    /// The chain for packets that get none.
    pub otherwise: Option<String>,
    /// Tunnel identifier and VLAN of each row, sorted.
    #[serde(skip)]
    rows: Vec<(u32, u16)>,
}

impl Default for VlanPushConfig {
    fn default() -> VlanPushConfig {
        let (vid, table, otherwise, rows) = Default::default();
        VlanPushConfig { vid, table, pcp: 0, tpid: ethertype::VLAN, otherwise, rows }
    }
}

/// What of a row matters here; it may be for tunnels too.
#[derive(Deserialize)]
struct Tenant {
    vni: u32,
    vlan: Option<u16>,
}

impl StageSpec for VlanPushSpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn doc(&self) -> &'static str {
        "With `table`, the identifier is the `vlan` of the row whose `vni` is that of the tunnel the packet was last taken out of; rows \
         without a `vlan` are for others. A packet that no row is for goes to `otherwise`, or is dropped as \
         `no_row`: it must not end up in another's VLAN."
    }

    fn example(&self) -> &'static str {
        "VlanPush(10)"
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        let config: VlanPushConfig = config::parse(args)?;
        let errors = config.mistakes();
        if errors.is_empty() { Ok(Box::new(config)) } else { Err(errors) }
    }
}

impl VlanPushConfig {
    fn mistakes(&self) -> Vec<ConfigError> {
        let mut errors = Vec::new();
        match (self.vid, &self.table) {
            (None, None) => errors
                .push(ConfigError::at("vid", "`vid` must be given, or a `table` that chooses it")),
            (Some(_), Some(_)) => errors.push(ConfigError::at(
                "vid",
                "`vid` and `table` exclude each other; leave one of them out",
            )),
            (Some(vid), None) => errors.extend(wrong_vid("vid", vid)),
            (None, Some(_)) => {}
        }
        if self.pcp > 7 {
            let message = format!("{} is more than a priority can be; write at most 7", self.pcp);
            errors.push(ConfigError::at("pcp", message));
        }
        if !ethertype::is_vlan(self.tpid) {
            let message =
                format!("{:#06x} announces no VLAN tag; write 0x8100 or 0x88a8", self.tpid);
            errors.push(ConfigError::at("tpid", message));
        }
        errors
    }
}

fn wrong_vid(key: &str, vid: u16) -> Option<ConfigError> {
    let message = || format!("{vid} is no VLAN identifier; write 0 to {VID_MAX}");
    (vid > VID_MAX).then(|| ConfigError::at(key, message()))
}

impl StageConfig for VlanPushConfig {
    fn traits(&self) -> Traits {
        let outputs = self.otherwise.iter().map(|chain| ("otherwise".to_owned(), chain.clone()));
        Traits {
            outputs: outputs.collect(),
            table: self.table.clone(),
            changes_headers: true,
            tags: 4,
            ..Traits::default()
        }
    }

    fn take_rows(&mut self, rows: &[Row<'_>]) -> Result<(), Vec<RowError>> {
        let mut found: Vec<(u32, u16)> = Vec::new();
        let mut wrong = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            match tenant(row) {
                Ok(Tenant { vni, vlan: Some(vlan) }) => match found.iter().find(|row| row.0 == vni)
                {
                    Some((_, other)) if *other != vlan => {
                        let message = format!(
                            "`vni` {vni} has `vlan` {other} in another row; a tunnel has one VLAN here"
                        );
                        let error = ConfigError::at("vlan", message);
                        wrong.push(RowError { row: number, error });
                    }
                    Some(_) => {}
                    None => found.push((vni, vlan)),
                },
                Ok(_) => {}
                Err(errors) => {
                    wrong.extend(errors.into_iter().map(|error| RowError { row: number, error }));
                }
            }
        }
        found.sort_unstable();
        self.rows = found;
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    fn build(&self, _: &mut dyn BuildContext) -> Result<Built, Error> {
        let vid = match self.vid {
            Some(vid) => Vid::Fixed(vid),
            None => Vid::ByTunnel(self.rows.clone()),
        };
        let stage = VlanPush {
            vid,
            tpid: self.tpid,
            priority: u16::from(self.pcp) << 13,
            otherwise: self.otherwise.as_ref().map(|_| OutputId(1)),
        };
        Ok(Built::restartable(move || stage.clone()))
    }
}

/// Reads a row.
fn tenant(row: &Row<'_>) -> Result<Tenant, Vec<ConfigError>> {
    let tenant: Tenant = config::parse(Args { text: row.text })?;
    match tenant.vlan.and_then(|vlan| wrong_vid("vlan", vlan)) {
        Some(error) => Err(vec![error]),
        None => Ok(tenant),
    }
}
