//! What packets may look like from step to step: what each stage makes of those that come.
//!
//! A set says "may": where nothing is known of a stage, it is taken to do anything it could. So a plan that
//! passes never hands a port what it cannot take, and one that is refused might have been harmless.

use super::carried::{self, Carried};
use super::{Verdict, Where};
use crate::check::{CheckedPort, CheckedStage};
use corelane_runtime::offload::{Caps, Facts, Limits, Looks, Need, Side};
use corelane_runtime::packet::LARGE_ROOM;

/// Bytes before the IP header: Ethernet and two VLAN tags.
const LINK_MAX: u32 = 22;
/// Bytes of the longest IP packet whose length field can say so.
const IP_MAX: u32 = 65_535;
/// Bytes of the longest headers in front of a payload to be cut: link, IPv4 and TCP with all options.
const HEADERS_MAX: u16 = 22 + 60 + 60;

/// What packets may look like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    /// Whether any packet comes at all.
    pub(super) any: bool,
    pub(super) looks: Looks,
    /// Most bytes of a frame, superpackets left out.
    pub(super) frame: u32,
    /// Most bytes of a packet.
    pub(super) largest: u32,
    /// Packets keep their order within a flow only, no longer that in which a port received them.
    pub(super) by_flow: bool,
    /// Whether no stage has yet held superpackets against the limits of the port they leave by.
    pub(super) unfitted: bool,
    /// The tunnels that stages here put packets into.
    pub(super) carried: Carried,
}

impl Flow {
    /// What may come from two sides.
    pub(super) fn or(self, other: &Flow) -> Flow {
        Flow {
            carried: self.carried.or(&other.carried, self.any, other.any),
            any: self.any || other.any,
            looks: self.looks | other.looks,
            frame: self.frame.max(other.frame),
            largest: self.largest.max(other.largest),
            by_flow: self.by_flow || other.by_flow,
            unfitted: self.unfitted || other.unfitted,
        }
    }

    /// What comes from a source without a port.
    pub(super) fn from_nowhere() -> Flow {
        let (frame, largest) = (LARGE_ROOM, LARGE_ROOM);
        let looks = Looks::UNCHECKED;
        Flow { any: true, looks, frame, largest, ..Flow::default() }
    }

    /// What comes from a port.
    pub(super) fn from_port(port: &CheckedPort) -> Flow {
        let Facts { granted, limits, .. } = &port.facts;
        let frame = limits.mtu.map_or(LARGE_ROOM, |mtu| mtu.saturating_add(LINK_MAX));
        let mut looks = Looks::UNCHECKED;
        let tcp = Looks::BARE_TCP4 | Looks::BARE_TCP6;
        if granted.contains(Caps::RX_HW_GRO) {
            looks |= tcp | Looks::FIXED_TCP | Looks::CWR_ALL | Looks::PAD_LAST;
        }
        // Who sends on this host (virtio, tap, veth) leaves cutting to the device as well.
        if granted.contains(Caps::RX_PARTIAL) {
            looks |= Looks::PARTIAL | Looks::BARE | Looks::ECN | Looks::FOREIGN;
        }
        let joined = if looks.has_supers() { IP_MAX + LINK_MAX } else { 0 };
        Flow {
            any: true,
            looks,
            frame,
            largest: frame.max(joined),
            by_flow: false,
            unfitted: looks.has_supers(),
            carried: Carried::default(),
        }
    }

    /// What a stage hands on of what comes, with what was decided about its needs.
    pub(super) fn through(
        &self,
        stage: &CheckedStage,
        needs: &[Need],
        verdicts: &[Verdict],
        exit: Option<&Facts>,
    ) -> Flow {
        let traits = &stage.traits;
        let mut out = self.clone();
        let exits = needs.iter().zip(verdicts).filter(|(need, _)| need.side == Side::Exit);
        let here = |place: Where| !matches!(place, Where::Hardware | Where::Both);
        for (need, _) in exits.filter(|(_, verdict)| here(verdict.place)) {
            out.looks -= need.about;
        }
        if traits.cuts {
            out = out.cut(self, exit);
        }
        if traits.checks {
            out.looks -= Looks::UNCHECKED;
        }
        if traits.coalesces || !traits.makes.is_empty() {
            out = out.joined(stage);
        }
        if traits.edits_payload {
            out.looks |= out.looks.bared();
        }
        out = out.carry(stage);
        out.looks = out.looks.settled();
        let adds = traits.adds.saturating_add(traits.tags);
        out.frame = out.frame.saturating_add(adds);
        out.largest = out.largest.saturating_add(adds).max(out.frame);
        out
    }

    /// Behind a stage that cuts what the port cannot of which this is known; `self` are the superpackets it leaves.
    fn cut(mut self, came: &Flow, exit: Option<&Facts>) -> Flow {
        // The sums of pieces that came as one are not known, so those of the segments are still to be made.
        for (bare, partial) in [
            (Looks::BARE_TCP4, Looks::PARTIAL_TCP4),
            (Looks::BARE_TCP6, Looks::PARTIAL_TCP6),
            (Looks::BARE_UDP4, Looks::PARTIAL_UDP4),
            (Looks::BARE_UDP6, Looks::PARTIAL_UDP6),
        ] {
            if came.looks.contains(bare) {
                self.looks |= partial | carried::unfinished(came.looks);
            }
        }
        match exit {
            Some(Facts { granted, limits, .. }) => {
                let supers = Looks::SUPER | Looks::BARE | Looks::REFINED;
                let here = self.looks.beyond(*granted) & supers | came.carried.unfound(limits);
                self.looks -= here;
                if here.intersects(Looks::CARRIED) && granted.contains(Caps::GSO_PARTIAL) {
                    self.looks |= Looks::REPEATED;
                }
                self.unfitted = false;
                self.largest = self.largest.min(limits.tso_bytes.max(self.frame));
            }
            None => {
                self.looks -= Looks::SUPER | Looks::BARE | Looks::REFINED;
                self.largest = self.frame;
            }
        }
        if !self.looks.has_supers() {
            self.largest = self.frame;
        }
        self
    }

    /// Behind a stage that puts packets into a tunnel, or takes them out.
    fn carry(mut self, stage: &CheckedStage) -> Flow {
        let traits = &stage.traits;
        let before = (self.looks, self.carried.clone());
        if let Some(tunnel) = traits.encapsulates {
            self.looks = carried::into(tunnel, traits.tunnel_sum, self.looks);
            self.carried = Carried::into(tunnel, &traits.tunnel_ports);
        } else if traits.decapsulates.is_some() {
            self.looks -= Looks::CARRIED | Looks::PARTIAL_INSIDE;
            self.carried = Carried::default();
        }
        if !stage.outputs.is_empty() {
            // What it cannot put in, or take out, goes there as it came.
            self.looks |= before.0;
            self.carried = self.carried.or(&before.1, true, true);
        }
        self
    }

    fn joined(mut self, stage: &CheckedStage) -> Flow {
        let made = match stage.traits.makes {
            makes if makes.is_empty() => {
                Looks::SUPER | Looks::BARE | Looks::REFINED | Looks::PARTIAL
            }
            makes => makes,
        };
        self.looks |= made;
        if made.has_supers() {
            let most = stage.traits.largest;
            let most = if most > 0 { most } else { IP_MAX + LINK_MAX };
            self.largest = self.largest.max(most);
            self.unfitted = true;
        }
        self.by_flow |= stage.traits.coalesces;
        self
    }

    /// Why superpackets might exceed the limits of the port they leave by: what of it, how much may come, and
    /// how much the port takes.
    pub(super) fn over(&self, limits: &Limits) -> Option<(&'static str, u32, u32)> {
        if !self.looks.has_supers() || !self.unfitted {
            return None;
        }
        let header = u32::from(HEADERS_MAX);
        let all = [
            ("bytes", self.largest, limits.tso_bytes),
            ("header bytes", header, u32::from(limits.header_len)),
            ("segments", u32::from(u16::MAX), u32::from(limits.tso_segments)),
        ];
        all.into_iter().find(|(_, come, taken)| come > taken)
    }

    /// Kinds of superpackets, as written in capabilities.
    pub(super) fn kinds(&self) -> Vec<&'static str> {
        let kinds = [
            ("tcp4", Looks::SUPER_TCP4 | Looks::BARE_TCP4),
            ("tcp6", Looks::SUPER_TCP6 | Looks::BARE_TCP6),
            ("udp4", Looks::SUPER_UDP4 | Looks::BARE_UDP4),
            ("udp6", Looks::SUPER_UDP6 | Looks::BARE_UDP6),
        ];
        named(&kinds, self.looks)
    }

    /// How they may differ from plain ones.
    pub(super) fn refinements(&self) -> Vec<&'static str> {
        let all = [
            ("one id", Looks::FIXED_TCP | Looks::FIXED_UDP),
            ("cwr on the first", Looks::ECN),
            ("cwr on all", Looks::CWR_ALL),
            ("padded last", Looks::PAD_LAST),
            ("several parts", Looks::PARTS),
            ("uneven or hidden", Looks::FOREIGN),
            ("in vxlan", Looks::VXLAN | Looks::VXLAN_SUM),
            ("in geneve", Looks::GENEVE | Looks::GENEVE_SUM),
            ("in gre", Looks::GRE | Looks::GRE_SUM),
            ("in ip in ip", Looks::IPIP),
            ("one outer id", Looks::OUTER_ID),
            ("udp in a tunnel", Looks::UDP_INSIDE),
            ("repeated headers", Looks::REPEATED),
        ];
        named(&all, self.looks)
    }
}

fn named(names: &[(&'static str, Looks)], looks: Looks) -> Vec<&'static str> {
    names.iter().filter(|(_, bits)| looks.intersects(*bits)).map(|(name, _)| *name).collect()
}
