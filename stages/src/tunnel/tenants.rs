//! The rows of a table: which VLAN is which virtual network, where its other ends are, and behind which of them an
//! Ethernet address is.
//!
//! It promises rows that do not contradict each other, or an error for each that does. What is learned is shared by
//! all stages that name the table, on whatever core: it is read and written without locks, and forgotten when it
//! was not seen for a while.

use super::vxlan::VNI_MAX;
use crate::config;
use crate::config::Mac;
use corelane_runtime::Time;
use corelane_runtime::shared::{Put, SharedMap};
use corelane_runtime::stage::{Args, BuildContext, ConfigError, Row, RowError};
use serde::Deserialize;
use std::any::Any;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// Addresses that are remembered for a table.
const LEARNED_MAX: usize = 16_384;
/// Parts of the table that are looked through for old entries when it is full.
const SWEPT: usize = 32;

/// A row as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    vlan: Option<u16>,
    vni: Option<u32>,
    remotes: Vec<IpAddr>,
    r#static: BTreeMap<Mac, IpAddr>,
}

/// A virtual network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tenant {
    /// The VLAN that stands for it on this side; without one it is the only row.
    pub(super) vlan: Option<u16>,
    pub(super) vni: u32,
    /// Its other ends, to which go packets for everybody and for nobody known.
    pub(super) remotes: Vec<IpAddr>,
    /// Addresses of which it is known for good behind which end they are, in order.
    fixed: Vec<(Mac, IpAddr)>,
}

impl Tenant {
    /// All ends it may send to, each once.
    pub(super) fn ends(&self) -> Vec<IpAddr> {
        let mut ends = self.remotes.clone();
        for (_, remote) in &self.fixed {
            if !ends.contains(remote) {
                ends.push(*remote);
            }
        }
        ends
    }

    /// The end behind which an address is for good.
    pub(super) fn fixed(&self, mac: [u8; 6]) -> Option<IpAddr> {
        let at = self.fixed.binary_search_by_key(&Mac(mac), |(mac, _)| *mac).ok()?;
        self.fixed.get(at).map(|(_, remote)| *remote)
    }
}

/// Reads the rows of a table.
pub(super) fn read(rows: &[Row<'_>]) -> Result<Vec<Tenant>, Vec<RowError>> {
    let (mut tenants, mut errors) = (Vec::<Tenant>::new(), Vec::new());
    for (row, text) in rows.iter().enumerate() {
        let read = config::parse::<Written>(Args { text: text.text });
        let checked = read.and_then(|written| check(written, &tenants, rows.len()));
        match checked {
            Ok(tenant) => tenants.push(tenant),
            Err(found) => errors.extend(found.into_iter().map(|error| RowError { row, error })),
        }
    }
    if errors.is_empty() { Ok(tenants) } else { Err(errors) }
}

/// What is wrong with a row beside the ones before it, if anything is.
fn check(written: Written, before: &[Tenant], rows: usize) -> Result<Tenant, Vec<ConfigError>> {
    let mut errors = Vec::new();
    let mut wrong = |key: &str, message: String| errors.push(ConfigError::at(key, message));
    let vni = written.vni.unwrap_or(VNI_MAX + 1);
    match written.vni {
        None => wrong("vni", "`vni` must be given: the identifier of the virtual network".into()),
        Some(vni) if vni > VNI_MAX => {
            wrong("vni", format!("{vni} has more than 24 bits; the largest is {VNI_MAX}"));
        }
        Some(vni) if before.iter().any(|tenant| tenant.vni == vni) => {
            wrong("vni", format!("a row before this one has {vni}, too; give each its own"));
        }
        Some(_) => {}
    }
    match written.vlan {
        Some(vlan) if vlan == 0 || vlan > 4094 => {
            wrong("vlan", format!("{vlan} is no VLAN; they go from 1 to 4094"));
        }
        Some(vlan) if before.iter().any(|tenant| tenant.vlan == Some(vlan)) => {
            wrong("vlan", format!("a row before this one has {vlan}, too; give each its own"));
        }
        None if rows > 1 => {
            wrong(
                "vlan",
                "without `vlan` a row is for all packets; give each of several one".into(),
            );
        }
        _ => {}
    }
    if written.remotes.is_empty() && written.r#static.is_empty() {
        wrong("remotes", "`remotes` must be given: the addresses of the other ends".into());
    }
    if let Some((mac, _)) = written.r#static.iter().find(|(mac, _)| mac.0[0] & 1 == 1) {
        wrong("static", format!("{} is no address of one station", show(mac)));
    }
    let fixed = written.r#static.into_iter().collect();
    let tenant = Tenant { vlan: written.vlan, vni, remotes: written.remotes, fixed };
    if errors.is_empty() { Ok(tenant) } else { Err(errors) }
}

fn show(mac: &Mac) -> String {
    mac.0.map(|byte| format!("{byte:02x}")).join(":")
}

/// What was learned of a table: behind which end an address of a virtual network was last seen.
#[derive(Clone, Debug)]
pub(super) struct Learned {
    map: Arc<SharedMap>,
    age: Time,
}

impl Learned {
    /// What all stages share that name this table.
    pub(super) fn of(table: &str, age: Time, ctx: &mut dyn BuildContext) -> Learned {
        let key = ctx.hash_key();
        let fresh = || Arc::new(SharedMap::new(LEARNED_MAX, key));
        let made: Arc<dyn Any + Send + Sync> =
            ctx.shared(&format!("learned addresses of table {table}"), &mut || fresh());
        Learned { map: made.downcast().unwrap_or_else(|_| fresh()), age }
    }

    fn key(vni: u32, mac: [u8; 6]) -> [u64; 3] {
        let mac = mac.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        [u64::from(vni), mac, 0]
    }

    /// Where an address was last seen, unless that was too long ago.
    pub(super) fn find(&self, vni: u32, mac: [u8; 6], now: Time) -> Option<IpAddr> {
        let entry = self.map.get(&Learned::key(vni, mac))?;
        let fresh = now.saturating_sub(entry.seen) <= self.age;
        let address = u128::from(entry.value[0]) << 64 | u128::from(entry.value[1]);
        fresh.then(|| Ipv6Addr::from(address).to_canonical())
    }

    /// An address was seen. True if that was news.
    pub(super) fn note(
        &self,
        vni: u32,
        mac: [u8; 6],
        remote: IpAddr,
        now: Time,
        cursor: &mut usize,
    ) -> bool {
        let address = match remote {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let address = u128::from(address);
        let value = [(address >> 64) as u64, address as u64];
        match self.map.put(&Learned::key(vni, mac), value, now) {
            Put::New | Put::Changed(_) => true,
            Put::Full => {
                // Best effort: there is place for the next one.
                self.map.sweep(cursor, SWEPT, now.saturating_sub(self.age));
                false
            }
            Put::Same | Put::Fixed | Put::Busy => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelane_runtime::stage::Nowhere;

    fn rows(texts: &[&str]) -> Result<Vec<Tenant>, Vec<(usize, String, String)>> {
        let rows: Vec<Row<'_>> = texts.iter().map(|text| Row { text }).collect();
        let said =
            |error: RowError| (error.row, error.error.key.unwrap_or_default(), error.error.message);
        read(&rows).map_err(|errors| errors.into_iter().map(said).collect())
    }

    #[test]
    fn rows_are_read_and_held_against_each_other() {
        let read = rows(&[
            r#"(vlan: 10, vni: 5010, remotes: ["192.0.2.7"])"#,
            r#"(vlan: 20, vni: 5020, remotes: ["192.0.2.7"], static: { "02:00:00:00:00:08": "192.0.2.8" })"#,
        ]);
        let read = read.expect("rows of the language");
        assert_eq!((read[0].vlan, read[0].vni, read[0].ends().len()), (Some(10), 5010, 1));
        assert_eq!(read[1].ends().len(), 2);
        assert_eq!(read[1].fixed([2, 0, 0, 0, 0, 8]), "192.0.2.8".parse().ok());
        assert_eq!(read[1].fixed([2, 0, 0, 0, 0, 9]), None);
        let wrong = rows(&[
            r#"(vlan: 10, vni: 1, remotes: ["192.0.2.7"])"#,
            r#"(vlan: 10, vni: 1, remotes: ["192.0.2.7"])"#,
            r#"(vni: 16777216, remotes: [], vlam: 3)"#,
            r#"(vlan: 4095, remotes: ["192.0.2.7"], static: { "03:00:00:00:00:08": "192.0.2.8" })"#,
        ]);
        let wrong = wrong.expect_err("four rows of which one is right");
        let at: Vec<(usize, &str)> =
            wrong.iter().map(|(row, key, _)| (*row, key.as_str())).collect();
        let right = [(1, "vni"), (1, "vlan"), (2, "vlam"), (3, "vni"), (3, "vlan"), (3, "static")];
        assert_eq!(at, right, "{wrong:?}");
        let alone = rows(&[
            r#"(vni: 7, remotes: ["192.0.2.7"])"#,
            r#"(vlan: 2, vni: 8, remotes: ["192.0.2.7"])"#,
        ]);
        assert_eq!(alone.expect_err("one is for all")[0].1, "vlan");
    }

    #[test]
    fn what_was_learned_is_forgotten_in_time() {
        let learned = Learned::of("t", 300, &mut Nowhere);
        let (mac, mut cursor) = ([2, 0, 0, 0, 0, 8], 0);
        let ends: [IpAddr; 2] = ["192.0.2.7".parse().unwrap(), "2001:db8::7".parse().unwrap()];
        assert!(learned.note(1, mac, ends[0], 1000, &mut cursor));
        assert!(!learned.note(1, mac, ends[0], 1100, &mut cursor));
        assert_eq!(learned.find(1, mac, 1200), Some(ends[0]));
        assert_eq!(learned.find(2, mac, 1200), None, "another network");
        assert!(learned.note(1, mac, ends[1], 1300, &mut cursor), "it moved");
        assert_eq!(learned.find(1, mac, 1600), Some(ends[1]));
        assert_eq!(learned.find(1, mac, 1601), None, "not seen for too long");
    }
}
