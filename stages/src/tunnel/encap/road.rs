//! Where packets go: one remote end for all, or what the rows of a table say.
//!
//! A row is found by the VLAN tag that was taken off, the end by the address inside: as written, as learned, else
//! all ends of the row. It changes nothing and sends nothing.

use super::header::Template;
use crate::tunnel::tenants::{Learned, Tenant};
use corelane_runtime::Time;
use corelane_runtime::packet::Packet;
use std::net::IpAddr;

/// VLAN IDs there are.
const VLANS: usize = 4096;
const NONE: u16 = u16::MAX;

/// The ends there are.
pub(in crate::tunnel) enum Road {
    /// One.
    One(Box<Template>),
    /// Those of rows.
    Rows(Box<Rows>),
}

/// What a packet is to go to.
pub(super) enum Way<'a> {
    /// One end.
    To(&'a Template),
    /// More than one end of this row.
    ToAll(usize),
    /// There is no row for it.
    NoRow,
    /// There is no end that it could go to.
    NoRemote,
}

pub(in crate::tunnel) struct Rows {
    rows: Vec<Line>,
    /// The row of each VLAN.
    by_vlan: Box<[u16; VLANS]>,
    /// The only row, if it is for all packets.
    for_all: Option<usize>,
    learned: Learned,
}

struct Line {
    tenant: Tenant,
    /// All ends it may send to; those that get what is for everybody come first.
    ends: Vec<(IpAddr, Template)>,
    everybody: usize,
}

impl Road {
    pub(super) fn one(template: Template) -> Road {
        Road::One(Box::new(template))
    }

    pub(super) fn rows(rows: Vec<(Tenant, Vec<(IpAddr, Template)>)>, learned: Learned) -> Road {
        let mut by_vlan = Box::new([NONE; VLANS]);
        let mut for_all = None;
        let mut lines = Vec::new();
        for (index, (tenant, ends)) in rows.into_iter().enumerate() {
            match tenant.vlan {
                Some(vlan) => by_vlan[usize::from(vlan) % VLANS] = index as u16,
                None => for_all = Some(index),
            }
            let everybody = tenant.remotes.len();
            lines.push(Line { tenant, ends, everybody });
        }
        Road::Rows(Box::new(Rows { rows: lines, by_vlan, for_all, learned }))
    }

    /// Where a packet is to go.
    #[inline]
    pub(super) fn of(&self, packet: &Packet, now: Time) -> Way<'_> {
        match self {
            Road::One(template) => Way::To(template),
            Road::Rows(rows) => rows.of(packet, now),
        }
    }

    /// The template for copy number `copy` of a packet that goes to all ends of a row.
    pub(super) fn copy(&self, row: usize, copy: usize) -> Option<&Template> {
        let Road::Rows(rows) = self else { return None };
        let line = rows.rows.get(row)?;
        line.ends.get(..line.everybody)?.get(copy).map(|(_, template)| template)
    }
}

impl Rows {
    fn of(&self, packet: &Packet, now: Time) -> Way<'_> {
        let vlan = packet.meta().taken.tci().map(|tci| usize::from(tci) % VLANS);
        let row = vlan.map(|vlan| self.by_vlan[vlan]).filter(|&row| row != NONE);
        let Some(index) = row.map(usize::from).or(self.for_all) else { return Way::NoRow };
        let (Some(line), Some(mac)) = (self.rows.get(index), packet.data().first_chunk::<6>())
        else {
            return Way::NoRow;
        };
        // A group address is nobody's own.
        let alone = mac[0] & 1 == 0;
        let known = || {
            let fixed = line.tenant.fixed(*mac);
            fixed.or_else(|| self.learned.find(line.tenant.vni, *mac, now))
        };
        let known = if alone { known() } else { None };
        let template = known.and_then(|end| line.ends.iter().find(|(remote, _)| *remote == end));
        match (template, line.everybody) {
            (Some((_, template)), _) => Way::To(template),
            (None, 0) => Way::NoRemote,
            (None, 1) => line.ends.first().map_or(Way::NoRemote, |(_, template)| Way::To(template)),
            (None, _) => Way::ToAll(index),
        }
    }
}
