//! `VlanPush`: a VLAN tag is put on, the same for all or by the tunnel that a packet came out of.

use super::{config, tag};
use crate::rewrite::edit::has_link;
use corelane_runtime::packet::{Burst, Packet};
use corelane_runtime::stage::{OutputId, Outputs, Reason, Stage, StageContext};

/// Which identifier a packet gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Vid {
    /// This one.
    Fixed(u16),
    /// That of the row with its tunnel's identifier; sorted by that.
    ByTunnel(Vec<(u32, u16)>),
}

/// Puts tags on.
#[derive(Clone, Debug)]
pub struct VlanPush {
    pub(super) vid: Vid,
    /// Type, and what of the control information is not the identifier.
    pub(super) tpid: u16,
    pub(super) priority: u16,
    pub(super) otherwise: Option<OutputId>,
}

impl VlanPush {
    /// The control information for a packet; `None` where no row is for it.
    fn tci(&self, packet: &Packet) -> Option<u16> {
        let vid = match &self.vid {
            Vid::Fixed(vid) => *vid,
            Vid::ByTunnel(rows) => {
                let id = packet.meta().taken.tunnel_id()?;
                rows[rows.binary_search_by_key(&id, |row| row.0).ok()?].1
            }
        };
        Some(self.priority | vid)
    }

    fn refuse(
        &self,
        packet: Packet,
        reason: Reason,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) {
        match self.otherwise {
            Some(output) => out.send(output, packet),
            None => ctx.drop(packet, reason),
        }
    }
}

impl Stage for VlanPush {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        while let Some(packet) = burst.first_mut() {
            let tci = self.tci(packet);
            let link = has_link(packet);
            if let Some(tci) = tci.filter(|_| link)
                && tag::push(packet, self.tpid, tci, ctx.buffers).is_err()
            {
                return;
            }
            let Some(packet) = burst.pop() else { return };
            match tci {
                _ if !link => self.refuse(packet, config::NOT_ETHERNET, out, ctx),
                None => self.refuse(packet, config::NO_ROW, out, ctx),
                Some(_) => {
                    ctx.count(config::PUSHED, 1);
                    out.next(packet);
                }
            }
        }
    }
}
