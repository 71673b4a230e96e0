//! Packets that wait until it is known whom to send them to: bounded, in order.
//!
//! They lie in one queue in the order they came. Taking those of one next hop goes through all of them once,
//! which happens once an answer, and keeps the order of the rest. Nothing is allocated after it was made.

use corelane_runtime::Time;
use corelane_runtime::packet::{Packet, Units};
use std::collections::VecDeque;
use std::net::IpAddr;

/// A next hop that is being asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) hop: IpAddr,
    /// Packets that wait for it; none where it is known and only asked for again.
    pub(super) packets: usize,
    /// Questions that may still be asked.
    pub(super) tries: u8,
    /// When to ask next, or give up.
    pub(super) ask_at: Time,
    /// Since when.
    pub(super) since: Time,
}

/// All that wait.
#[derive(Debug)]
pub(super) struct Waiting {
    packets: VecDeque<(IpAddr, Packet)>,
    wanted: Vec<Wanted>,
    units: Units,
    most: usize,
    most_each: usize,
}

impl Waiting {
    pub(super) fn new(most: usize, most_each: usize) -> Waiting {
        Waiting {
            packets: VecDeque::with_capacity(most),
            wanted: Vec::with_capacity(most),
            units: Units::default(),
            most,
            most_each,
        }
    }

    pub(super) fn units(&self) -> Units {
        self.units
    }

    /// Whether nobody is asked for.
    pub(super) fn is_idle(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether no packet waits.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Everybody who is asked for.
    pub(super) fn wanted(&self) -> &[Wanted] {
        &self.wanted
    }

    pub(super) fn at(&mut self, index: usize) -> &mut Wanted {
        &mut self.wanted[index]
    }

    pub(super) fn position(&self, hop: IpAddr) -> Option<usize> {
        self.wanted.iter().position(|wanted| wanted.hop == hop)
    }

    /// Wants to know of one more; returns its index. The packets that had to make room are given to `evict`.
    pub(super) fn want(&mut self, wanted: Wanted, mut evict: impl FnMut(Packet)) -> usize {
        if self.wanted.len() == self.most {
            // One that is known already can wait until it is used again; else whoever waits longest gives up.
            let known = self.wanted.iter().position(|wanted| wanted.packets == 0);
            let index = known.unwrap_or(0);
            self.take_all(self.wanted[index].hop, &mut evict);
            self.wanted.remove(index);
        }
        self.wanted.push(wanted);
        self.wanted.len() - 1
    }

    /// Lets a packet wait behind the others; returns the one that had to make room.
    pub(super) fn push(&mut self, index: usize, packet: Packet) -> Option<Packet> {
        let Wanted { hop, packets, .. } = self.wanted[index];
        let oldest = if packets >= self.most_each {
            self.packets.iter().position(|(other, _)| *other == hop)
        } else {
            (self.packets.len() >= self.most).then_some(0)
        };
        let evicted = oldest.and_then(|at| self.packets.remove(at));
        if let Some((other, packet)) = &evicted {
            self.left(*other, packet.units());
        }
        self.units += packet.units();
        self.wanted[index].packets += 1;
        self.packets.push_back((hop, packet));
        evicted.map(|(_, packet)| packet)
    }

    fn left(&mut self, hop: IpAddr, units: Units) {
        self.units = self.units - units;
        if let Some(index) = self.position(hop) {
            self.wanted[index].packets -= 1;
        }
    }

    /// Takes up to `most` packets of a next hop, the oldest first.
    pub(super) fn take(&mut self, hop: IpAddr, most: usize, mut take: impl FnMut(Packet)) -> usize {
        let mut taken = 0;
        for _ in 0..self.packets.len() {
            let Some((other, packet)) = self.packets.pop_front() else { break };
            if other == hop && taken < most {
                taken += 1;
                self.left(hop, packet.units());
                take(packet);
            } else {
                self.packets.push_back((other, packet));
            }
        }
        taken
    }

    /// Takes all packets of a next hop.
    pub(super) fn take_all(&mut self, hop: IpAddr, take: impl FnMut(Packet)) -> usize {
        self.take(hop, usize::MAX, take)
    }

    /// No longer asks for one; its packets were taken.
    pub(super) fn settle(&mut self, index: usize) {
        debug_assert_eq!(self.wanted[index].packets, 0, "packets would wait for ever");
        self.wanted.remove(index);
    }
}
