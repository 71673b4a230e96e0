//! What is known of one port: advertised, granted, and in force, with limits and reasons.
//!
//! [`Facts`] is plain data, the same whether a device was just asked or a file remembers it; plans are made
//! from it. [`PortCaps`] is what stages share while packets flow: what is in force, which only goes down.

use super::{Caps, UdpPorts};
use crate::packet::Tunnel;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// How much a port takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a superpacket, headers included.
    pub tso_bytes: u32,
    /// Most segments of a superpacket.
    pub tso_segments: u16,
    /// Most header bytes in front of the payload to be cut.
    pub header_len: u16,
    /// Largest IP packet on the wire, if there is a limit.
    pub mtu: Option<u32>,
    /// UDP destination ports behind which it looks for VXLAN.
    pub vxlan_ports: UdpPorts,
    /// UDP destination ports behind which it looks for Geneve.
    pub geneve_ports: UdpPorts,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            tso_bytes: 65536,
            tso_segments: u16::MAX,
            header_len: 255,
            mtu: None,
            vxlan_ports: UdpPorts::NONE,
            geneve_ports: UdpPorts::NONE,
        }
    }
}

impl Limits {
    /// The UDP ports of a kind of tunnel that the device knows; `None` for a kind that has no UDP ports.
    pub fn ports(&self, tunnel: Tunnel) -> Option<&UdpPorts> {
        match tunnel {
            Tunnel::Vxlan => Some(&self.vxlan_ports),
            Tunnel::Geneve => Some(&self.geneve_ports),
            Tunnel::None | Tunnel::Gre | Tunnel::Ip | Tunnel::Other => None,
        }
    }

    /// Whether the device finds such a tunnel behind this UDP destination port; a kind without ports it finds
    /// behind any.
    pub fn finds(&self, tunnel: Tunnel, port: u16) -> bool {
        self.ports(tunnel).is_none_or(|ports| ports.contains(port))
    }
}

/// What a device says to the question whether it can do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It can, and agreed to.
    Yes,
    /// It cannot, or refused.
    No,
    /// Nobody could tell; taken as no.
    Unknown,
}

/// Why some capabilities are not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The bits it is about.
    pub caps: Caps,
    /// `No` or `Unknown`.
    pub answer: Answer,
    /// One sentence without a full stop.
    pub why: String,
}

/// What is known of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What the device says of itself.
    pub advertised: Caps,
    /// What it agreed to when asked the real question, as far as the bits make sense together.
    pub granted: Caps,
    /// How much it takes.
    pub limits: Limits,
    /// Most queues per direction; `None`: as many as are asked for.
    pub queues: Option<u16>,
    /// Why bits are missing, where that is known.
    pub reasons: Vec<Reason>,
}

impl Facts {
    /// A port that grants what it advertises, as far as the bits make sense together.
    pub fn new(advertised: Caps, limits: Limits) -> Facts {
        let granted = advertised.without_orphans();
        Facts { advertised, granted, limits, queues: None, reasons: Vec::new() }
    }

    /// The answer to one bit.
    pub fn answer(&self, bit: Caps) -> Answer {
        match self.reason(bit) {
            _ if self.granted.contains(bit) => Answer::Yes,
            Some(reason) => reason.answer,
            None => Answer::No,
        }
    }

    /// Why a bit is not granted, if that is known.
    pub fn why(&self, bit: Caps) -> Option<&str> {
        let known = self.reason(bit).filter(|_| !self.granted.contains(bit));
        known.map(|reason| reason.why.as_str())
    }

    fn reason(&self, bit: Caps) -> Option<&Reason> {
        self.reasons.iter().find(|reason| reason.caps.intersects(bit))
    }
}

/// What a port can do, shared by all that must know while packets flow.
#[derive(Debug)]
pub struct PortCaps {
    /// Name of the port in the description.
    pub port: String,
    /// What was known when it was opened.
    pub facts: Facts,
    effective: AtomicU64,
    /// What this run does not ask for, though it is granted.
    withheld: AtomicU64,
    /// Bit by bit why it was taken away, so that telling it needs no lock and no memory.
    causes: [OnceLock<Arc<str>>; u64::BITS as usize],
}

impl PortCaps {
    /// A port that grants what it advertises, as far as the bits make sense together.
    pub fn new(port: &str, advertised: Caps, limits: Limits) -> PortCaps {
        PortCaps::of(port, Facts::new(advertised, limits))
    }

    /// A port of which this is known.
    pub fn of(port: &str, facts: Facts) -> PortCaps {
        let effective = AtomicU64::new(facts.granted.bits());
        let causes = [const { OnceLock::new() }; u64::BITS as usize];
        let withheld = AtomicU64::new(0);
        PortCaps { port: port.to_owned(), facts, effective, withheld, causes }
    }

    /// What is in force; read once a burst.
    pub fn effective(&self) -> Caps {
        Caps::from_bits_truncate(self.effective.load(Ordering::Relaxed))
    }

    /// Does without capabilities for this run, with whatever stands on them: the port is not asked for them, and
    /// that is no loss. To be said before its queues are opened.
    pub fn withhold(&self, unasked: Caps) {
        let taken = self.demote(unasked);
        self.withheld.fetch_or(taken.bits(), Ordering::Relaxed);
    }

    /// Takes capabilities away for the rest of the run, with whatever stands on them. Returns what this call
    /// took, so that of several queues that notice the same loss one tells of it.
    pub fn demote(&self, lost: Caps) -> Caps {
        let take = |bits| Some((Caps::from_bits_truncate(bits) - lost).without_orphans().bits());
        let before = self.effective.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        let before = Caps::from_bits_truncate(before.unwrap_or_else(|bits| bits));
        before - (before - lost).without_orphans()
    }

    /// [`PortCaps::demote`] by someone who can say why: what happened, in a few words. Allocates nothing.
    pub fn demote_because(&self, lost: Caps, why: &Arc<str>) -> Caps {
        // Whoever sees the bits gone must find the reason there.
        let now = self.effective();
        for bit in now - (now - lost).without_orphans() {
            let _ = self.causes[bit.bits().trailing_zeros() as usize].set(Arc::clone(why));
        }
        self.demote(lost)
    }

    /// Why some of these capabilities were taken away, if they were and whoever did it said so.
    pub fn cause(&self, lost: Caps) -> Option<&str> {
        let causes = (lost & self.demoted()).into_iter();
        let mut causes = causes.map(|bit| &self.causes[bit.bits().trailing_zeros() as usize]);
        causes.find_map(|cause| cause.get()).map(AsRef::as_ref)
    }

    /// What was taken away since the port was opened.
    pub fn demoted(&self) -> Caps {
        let withheld = Caps::from_bits_truncate(self.withheld.load(Ordering::Relaxed));
        self.facts.granted - self.effective() - withheld
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demotion_takes_along_what_stands_on_the_lost_bit_and_never_comes_back() {
        let caps = PortCaps::new("p", Caps::asked(), Limits::default());
        let lost = caps.demote(Caps::TX_TCP4);
        let sums = Caps::TX_TCP4 | Caps::TX_GENERIC;
        let finer = Caps::TSO_FIXED_ID | Caps::TSO_ECN | Caps::TSO_CWR_ALL | Caps::TSO_PAD;
        let tunnels = Caps::TSO_TUNNELS - Caps::TSO_GRE_CSUM;
        assert_eq!(lost, sums | Caps::TSO4 | finer | tunnels | Caps::GSO_PARTIAL);
        assert_eq!(caps.demote(Caps::TX_TCP4), Caps::empty());
        assert!(!caps.effective().contains(Caps::TSO4));
        assert!(caps.effective().contains(Caps::TSO6));
    }

    #[test]
    fn what_is_withheld_is_not_in_force_and_not_lost() {
        let caps = PortCaps::new("p", Caps::all(), Limits::default());
        caps.withhold(Caps::RX_WORK);
        assert_eq!(caps.effective(), Caps::all() - Caps::RX_WORK);
        assert_eq!(caps.demoted(), Caps::empty());
        assert_eq!(caps.demote_because(Caps::RX_TCP, &Arc::from("broken")), Caps::empty());
        assert_eq!((caps.demoted(), caps.cause(Caps::RX_TCP)), (Caps::empty(), None));
        caps.demote(Caps::TSO6);
        assert_eq!(caps.demoted(), Caps::TSO6 | Caps::TSO_CWR_ALL);
    }

    #[test]
    fn a_loss_keeps_the_first_reason_that_was_given_for_it() {
        let caps = PortCaps::new("p", Caps::all(), Limits::default());
        assert_eq!(caps.cause(Caps::all()), None);
        let (first, second) = (Arc::from("refused tso6"), Arc::from("refused uso6"));
        caps.demote_because(Caps::TSO6, &first);
        assert_eq!(caps.demote_because(Caps::TSO6 | Caps::USO6, &second), Caps::USO6);
        assert_eq!(caps.cause(Caps::TSO6), Some("refused tso6"));
        assert_eq!(caps.cause(Caps::TSO_CWR_ALL), Some("refused tso6"), "it stands on it");
        assert_eq!(caps.cause(Caps::USO6), Some("refused uso6"));
        caps.demote(Caps::RX_TCP);
        assert_eq!((caps.cause(Caps::RX_TCP), caps.cause(Caps::TSO4)), (None, None));
    }
}
