//! The tunnels that packets are in on their way to a port: which kinds, behind which UDP ports, and what that makes
//! of superpackets and unfinished checksums.
//!
//! Known is what stages of this pipeline put around packets. A packet that came in a tunnel may be in one of any
//! kind that its looks allow, behind any port.

use corelane_runtime::offload::{Limits, Looks};
use corelane_runtime::packet::Tunnel;
use std::collections::BTreeSet;

/// The tunnels that packets may be in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Carried {
    /// Put around them here: kind and UDP destination port; 0 where the kind has none.
    put: BTreeSet<(Tunnel, u16)>,
    /// Every packet is in one of these.
    all: bool,
}

/// How superpackets and unfinished checksums look in one kind of tunnel.
struct Kind {
    tunnel: Tunnel,
    supers: Looks,
    summed: Looks,
    partial: Looks,
}

const KINDS: [Kind; 4] = [
    Kind {
        tunnel: Tunnel::Vxlan,
        supers: Looks::VXLAN,
        summed: Looks::VXLAN_SUM,
        partial: Looks::PARTIAL_VXLAN,
    },
    Kind {
        tunnel: Tunnel::Geneve,
        supers: Looks::GENEVE,
        summed: Looks::GENEVE_SUM,
        partial: Looks::PARTIAL_GENEVE,
    },
    Kind {
        tunnel: Tunnel::Gre,
        supers: Looks::GRE,
        summed: Looks::GRE_SUM,
        partial: Looks::PARTIAL_GRE,
    },
    Kind {
        tunnel: Tunnel::Ip,
        supers: Looks::IPIP,
        summed: Looks::empty(),
        partial: Looks::PARTIAL_IPIP,
    },
];

impl Carried {
    /// In this tunnel all of them.
    pub(super) fn into(tunnel: Tunnel, ports: &[u16]) -> Carried {
        let put = match ports {
            [] => BTreeSet::from([(tunnel, 0)]),
            ports => ports.iter().map(|&port| (tunnel, port)).collect(),
        };
        Carried { put, all: true }
    }

    /// Those of two sides, of which packets come or do not.
    pub(super) fn or(&self, other: &Carried, any: bool, other_any: bool) -> Carried {
        let put = self.put.union(&other.put).copied().collect();
        Carried { put, all: (self.all || !any) && (other.all || !other_any) }
    }

    /// Whether every packet is in a tunnel that was put around it here.
    pub(super) fn all(&self) -> bool {
        self.all && !self.put.is_empty()
    }

    /// The UDP ports of the tunnels of a kind that were put around packets here; none if any port may come.
    pub(super) fn ports(&self, tunnel: Tunnel) -> BTreeSet<u16> {
        let ports = self.put.iter().filter(|(kind, _)| *kind == tunnel).map(|&(_, port)| port);
        if self.all { ports.collect() } else { BTreeSet::new() }
    }

    /// Superpackets in tunnels that a port with these limits never finds.
    pub(super) fn unfound(&self, limits: &Limits) -> Looks {
        let never = |kind: &&Kind| {
            let ports = self.ports(kind.tunnel);
            let known = limits.ports(kind.tunnel);
            let none = known.is_some_and(|known| known.is_empty());
            none || !ports.is_empty() && !ports.iter().any(|&port| limits.finds(kind.tunnel, port))
        };
        let kinds = KINDS.iter().filter(never);
        kinds.fold(Looks::empty(), |looks, kind| looks | kind.supers | kind.summed)
    }
}

/// What packets look like once they are in a tunnel, with a checksum of its own that is left to be finished or
/// without. What was in a tunnel before is finished by whoever puts it into another.
pub(super) fn into(tunnel: Tunnel, summed: bool, looks: Looks) -> Looks {
    let mut out = looks - Looks::CARRIED - Looks::PARTIAL_INSIDE;
    let Some(kind) = KINDS.iter().find(|kind| kind.tunnel == tunnel) else { return out };
    let tcp = Looks::SUPER_TCP4 | Looks::SUPER_TCP6 | Looks::BARE_TCP4 | Looks::BARE_TCP6;
    let udp = (Looks::SUPER | Looks::BARE) - tcp;
    if looks.intersects(tcp) {
        out |= kind.supers;
        out |= if summed { kind.summed } else { Looks::empty() };
    }
    if looks.intersects(udp) {
        out |= Looks::UDP_INSIDE;
    }
    if looks.intersects(Looks::PARTIAL - Looks::PARTIAL_IPV4) {
        out |= kind.partial;
        out |= if summed { Looks::PARTIAL_OUTER } else { Looks::empty() };
    }
    if summed {
        // Around a packet that is finished the outer checksum is the only one.
        out |= Looks::PARTIAL_UDP4 | Looks::PARTIAL_UDP6;
    }
    out
}

/// How segments look whose checksum is still to be finished, cut from superpackets that look so.
pub(super) fn unfinished(looks: Looks) -> Looks {
    let kinds = KINDS.iter().filter(|kind| looks.intersects(kind.supers | kind.summed));
    kinds.fold(Looks::empty(), |partial, kind| partial | kind.partial)
}
