//! What the rows of a table say of packets that come: which identifiers there are, who may send, and what is learned.
//!
//! It promises that only the ends of a row teach anything about it, and only addresses of one station.

use crate::tunnel::tenants::{Learned, Tenant};
use corelane_runtime::Time;
use std::net::IpAddr;

/// The rows.
pub(super) struct Rows {
    /// By identifier, in order, with the ends that may send.
    rows: Vec<(u32, Vec<IpAddr>)>,
    learned: Learned,
}

impl Rows {
    pub(super) fn new(tenants: &[Tenant], learned: Learned) -> Rows {
        let row = |tenant: &Tenant| (tenant.vni, tenant.ends());
        let mut rows: Vec<_> = tenants.iter().map(row).collect();
        rows.sort_unstable_by_key(|(vni, _)| *vni);
        Rows { rows, learned }
    }

    /// Whether there is a row for this identifier, and whether it has this end.
    pub(super) fn has(&self, vni: u32, end: IpAddr) -> (bool, bool) {
        let at = self.rows.binary_search_by_key(&vni, |(vni, _)| *vni).ok();
        let row = at.and_then(|at| self.rows.get(at));
        (row.is_some(), row.is_some_and(|(_, ends)| ends.contains(&end)))
    }

    /// The sender of an inner frame was seen behind an end. True if that was news.
    pub(super) fn note(
        &self,
        vni: u32,
        mac: [u8; 6],
        end: IpAddr,
        now: Time,
        cursor: &mut usize,
    ) -> bool {
        let one = mac[0] & 1 == 0 && mac != [0; 6];
        one && self.learned.note(vni, mac, end, now, cursor)
    }
}
