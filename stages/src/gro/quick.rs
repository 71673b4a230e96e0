//! The short way for the usual next segment: its headers are those of the merge, byte for byte, but for what counts on.
//!
//! It promises to take only what the long way would join too, and then to do the same: a TCP segment in no tunnel, of
//! the merge's length, with checksums that are known to be good. Everything else is left to the long way, which alone
//! decides what leaves. Where to look is a guess, made of the hash that the packet came with; a wrong one costs a
//! comparison and nothing else.

use super::Gro;
use super::flow::FlowKey;
use super::held::{BothIds, Bounds, Held};
use super::segment::{CLEAN, PARTS_MAX, Places, Segment, TELLING};
use super::sums::pseudo;
use super::table::Place;
use corelane_runtime::packet::{Csum, L3, L4, Packet, Units};
use corelane_runtime::stage::StageContext;
use corelane_sum::Sum;
use corelane_wire::protocol;

/// Places that are remembered for each merge the table has room for.
const PER_FLOW: usize = 2;

/// Where the merges of recent packets were.
pub(super) struct Hints {
    slots: Box<[Hint]>,
    /// What the short way has found out of the merge in each place of the table. (Not with the merge itself, which is
    /// moved about and therefore small.)
    quick: Box<[Option<Quick>]>,
    /// Hints of an earlier one are of merges that have left.
    generation: u32,
}

#[derive(Clone, Copy)]
struct Hint {
    generation: u32,
    place: Option<Place>,
}

impl Hints {
    /// For a table of so many flows, a power of two.
    pub(super) fn new(flows: u16) -> Hints {
        let nothing = Hint { generation: 0, place: None };
        let flows = usize::from(flows);
        Hints {
            slots: vec![nothing; PER_FLOW * flows].into(),
            quick: vec![None; flows].into(),
            generation: 1,
        }
    }

    /// All merges have left.
    pub(super) fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }

    fn slot(&self, hash: u32) -> usize {
        // The length is a power of two.
        hash as usize & (self.slots.len() - 1)
    }

    /// Where to look for the merge of a packet with this hash.
    #[inline]
    fn get(&self, hash: u32) -> Option<Place> {
        let hint = self.slots.get(self.slot(hash))?;
        hint.place.filter(|_| hint.generation == self.generation)
    }

    /// A merge of packets with this hash has begun there.
    #[inline]
    pub(super) fn set(&mut self, hash: u32, place: Option<Place>) {
        let (slot, generation) = (self.slot(hash), self.generation);
        if let Some(hint) = self.slots.get_mut(slot) {
            *hint = Hint { generation, place };
        }
        if let Some(quick) = place.and_then(|place| self.quick.get_mut(place.index())) {
            *quick = None;
        }
    }
}

/// What is known of a merge that the short way may add to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quick {
    /// The sum of all that the TCP checksum covers beside payload, sequence number and itself.
    fixed: Sum,
    /// What a sender leaves for its device in the place of the checksum: the sum of the pseudo header, with the length
    /// and without.
    seeds: [u16; 2],
}

impl Quick {
    /// Of the first segment of a merge; `None` where the short way is not for its kind.
    pub(super) fn of(data: &[u8], key: &FlowKey, first: &Segment) -> Option<Quick> {
        let Places { l3, l4, payload } = first.places;
        let next = data.get(usize::from(l3) + if key.is_v6() { 6 } else { 9 })?;
        let ip = usize::from(data.get(usize::from(l3))? & 0x0f) * 4;
        let bare = usize::from(l4 - l3) == if key.is_v6() { 40 } else { ip };
        if key.is_udp() || key.is_tunnelled() || *next != protocol::TCP || !bare {
            return None;
        }
        let header = data.get(usize::from(l4)..usize::from(payload))?;
        let tcp = Fixed::read(data, l4)?;
        let length = u32::from(payload - l4) + u32::from(first.payload);
        let pseudo = pseudo(data, key, usize::from(l3), length);
        let counted = Sum::from_u32(tcp.seq()) + Sum::from_u16(tcp.tcp_checksum());
        let seeds = [pseudo.canonical(), (pseudo - Sum::from_u32(length)).canonical()];
        Some(Quick { fixed: pseudo + Sum::of(header) - counted, seeds })
    }

    /// The sum of the payload of a segment that the short way takes: right means that everything adds up to zero.
    #[inline]
    fn payload_sum(self, seq: u32, checksum: u16) -> u16 {
        let covered = self.fixed + Sum::from_u32(seq) + Sum::from_u16(checksum);
        (Sum::ZERO - covered).fold()
    }
}

impl Quick {
    /// Checks what nobody checked before; what was read of the payload is booked, and its sum is kept.
    fn verify(
        self,
        packet: &mut Packet,
        first: &Segment,
        next: &Next,
        v6: bool,
        ctx: &mut StageContext<'_>,
    ) -> bool {
        let Places { l3, l4, payload } = first.places;
        let unknown = |state| state == Csum::Unknown;
        let states = (packet.meta().l3[0], packet.meta().l4[0]);
        let header = || {
            let header = packet.data().get(usize::from(l3)..usize::from(l4));
            header.is_some_and(|header| Sum::of(header).is_valid())
        };
        if !v6 && unknown(states.0) && !header() {
            return false;
        }
        if !unknown(states.1) {
            return true;
        }
        if self.seeds.contains(&next.checksum) {
            return false;
        }
        let sum = packet.payload_sum().unwrap_or_else(|| {
            let payload = packet.data().get(usize::from(payload)..).unwrap_or(&[]);
            ctx.payload_summed(payload.len() as u64);
            let sum = Sum::of(payload).fold();
            packet.set_payload_sum(sum);
            sum
        });
        let covered = self.fixed + Sum::from_u32(next.seq) + Sum::from_u16(next.checksum);
        (covered + Sum::from_u16(sum)).is_valid()
    }
}

/// The fixed header of TCP, or of IPv4.
#[derive(Clone, Copy)]
struct Fixed<'a>(&'a [u8; 20]);

impl<'a> Fixed<'a> {
    #[inline(always)]
    fn read(data: &'a [u8], at: u16) -> Option<Fixed<'a>> {
        data.get(usize::from(at)..)?.first_chunk().map(Fixed)
    }

    #[inline(always)]
    fn two(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    #[inline(always)]
    fn four(self, at: usize) -> u32 {
        self.0[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    /// As it lies there: to be compared only.
    #[inline(always)]
    fn eight(self, at: usize) -> u64 {
        self.0[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }

    /// Of TCP.
    #[inline(always)]
    fn seq(self) -> u32 {
        self.four(4)
    }

    /// Of TCP.
    #[inline(always)]
    fn tcp_checksum(self) -> u16 {
        self.two(16)
    }

    /// Two TCP headers that differ in sequence number and checksum at most.
    #[inline(always)]
    fn goes_on_as_tcp(self, other: Fixed<'_>) -> bool {
        let ports = self.four(0) ^ other.four(0);
        // Acknowledgment number, header length, flags, window.
        let middle = self.eight(8) ^ other.eight(8);
        let urgent = self.two(18) ^ other.two(18);
        u64::from(ports) | middle | u64::from(urgent) == 0
    }

    /// Two IPv4 headers that differ in identification and checksum at most.
    #[inline(always)]
    fn goes_on_as_ipv4(self, other: Fixed<'_>) -> bool {
        // Version, header length, TOS, length; flags, offset, TTL, protocol.
        let front = self.four(0) ^ other.four(0) | self.four(6) ^ other.four(6);
        let addresses = self.eight(12) ^ other.eight(12);
        u64::from(front) | addresses == 0
    }
}

/// What counts on from segment to segment, as it stands in one.
struct Next {
    seq: u32,
    checksum: u16,
    /// IPv4 identification; 0 for IPv6.
    id: u16,
}

/// Whether the headers of a frame are those of `head` in all that must be equal, and then what counts on. Lengths must
/// be equal too.
#[inline(always)]
fn next(head: &[u8], data: &[u8], places: Places, v6: bool) -> Option<Next> {
    let Places { l3, l4, payload } = places;
    let (first, tcp) = (Fixed::read(head, l4)?, Fixed::read(data, l4)?);
    // 0xFFFF could not be restored by computing.
    if !first.goes_on_as_tcp(tcp) || tcp.tcp_checksum() == 0xffff {
        return None;
    }
    let id = if v6 {
        alike(head, data, 0, l4).then_some(0)?
    } else {
        let (first, ip) = (Fixed::read(head, l3)?, Fixed::read(data, l3)?);
        let sound = first.goes_on_as_ipv4(ip) && ip.two(10) != 0xffff;
        let around = alike(head, data, 0, l3) && alike(head, data, l3 + 20, l4);
        (sound && around).then_some(ip.two(4))?
    };
    let options = alike(head, data, l4 + 20, payload);
    options.then_some(Next { seq: tcp.seq(), checksum: tcp.tcp_checksum(), id })
}

/// Whether bytes `from..to` of both are there and equal. There are few, so no call is made.
#[inline(always)]
fn alike(first: &[u8], second: &[u8], from: u16, to: u16) -> bool {
    let range = usize::from(from)..usize::from(to);
    let (Some(first), Some(second)) = (first.get(range.clone()), second.get(range)) else {
        return false;
    };
    let (a, a_rest) = first.as_chunks::<4>();
    let (b, b_rest) = second.as_chunks::<4>();
    let words = a
        .iter()
        .zip(b)
        .fold(0, |differing, (a, b)| differing | (u32::from_ne_bytes(*a) ^ u32::from_ne_bytes(*b)));
    let rest = a_rest.iter().zip(b_rest).fold(0, |differing, (a, b)| differing | (a ^ b));
    words | u32::from(rest) == 0
}

impl Held {
    /// Finds out what the short way goes by from the first segment, alone so far or not, whose sum is then known.
    fn quicken(&mut self) -> Option<Quick> {
        let head = self.train.head();
        let quick = Quick::of(head.data(), &self.key, &self.first)?;
        if head.segments() == 1 && head.payload_sum().is_none() {
            let tcp = Fixed::read(head.data(), self.first.places.l4)?;
            let sum = quick.payload_sum(tcp.seq(), tcp.tcp_checksum());
            self.train.set_payload_sum(sum);
        }
        Some(quick)
    }

    /// What the short way needs, if `packet` is its next segment.
    #[inline(always)]
    fn usual(&self, packet: &Packet, bounds: &Bounds) -> Option<(Next, BothIds)> {
        let (meta, first, v6) = (packet.meta(), &self.first, self.key.is_v6());
        let level = &meta.layers.levels[0];
        let places = Places { l3: level.l3, l4: level.l4, payload: level.payload };
        let l3_kind = if v6 { L3::V6 } else { L3::V4 };
        let alike = places == first.places
            && (level.l3_kind, level.l4_kind) == (l3_kind, L4::Tcp)
            && packet.payload_len() == u32::from(first.payload);
        let clean = meta.flags.intersection(TELLING) == CLEAN
            && meta.layers.count == 1
            && meta.trailer == 0
            && !packet.is_super();
        let len = packet.len();
        let whole = meta.orig_len == len
            && packet.part_count() == 1
            && len == u32::from(places.payload) + u32::from(first.payload);
        let may_be_good = |state| matches!(state, Csum::Good | Csum::Unknown);
        let good = may_be_good(meta.l4[0]) && (v6 || may_be_good(meta.l3[0]));
        if !(alike && clean && whole && good) {
            return None;
        }
        let head = self.train.head();
        let next = next(head.data(), packet.data(), places, v6)?;
        let datagram = head.len() - u32::from(places.l3) + u32::from(first.payload);
        let room = head.segments() + 1 < bounds.segments
            && datagram <= bounds.bytes
            && head.part_count() <= u16::MAX - PARTS_MAX;
        if next.seq != self.next_seq || !room {
            return None;
        }
        let inner = self.ids.inner.with(next.id.wrapping_sub(first.id), head.segments())?;
        Some((next, BothIds { inner, ..self.ids }))
    }
}

impl Gro {
    /// Takes the packet into its merge if it is the usual next segment; gives it back if it is not, as it was but for
    /// the sum of its payload, if that had to be read.
    #[inline]
    pub(super) fn join_usual(
        &mut self,
        mut packet: Packet,
        ctx: &mut StageContext<'_>,
    ) -> Option<Packet> {
        let place = self.hints.get(packet.meta().hash);
        let Some(place) = place else { return Some(packet) };
        let (held, quick) = (self.table.get_mut(place), self.hints.quick.get_mut(place.index()));
        let (Some(held), Some(known)) = (held, quick) else { return Some(packet) };
        let Some((next, ids)) = held.usual(&packet, &self.bounds) else { return Some(packet) };
        let Some(quick) = known.or_else(|| held.quicken()) else { return Some(packet) };
        *known = Some(quick);
        let first = held.first;
        let v6 = held.key.is_v6();
        let good = packet.meta().l4[0] == Csum::Good && (v6 || packet.meta().l3[0] == Csum::Good);
        if !good && !quick.verify(&mut packet, &first, &next, v6, ctx) {
            return Some(packet);
        }
        if packet.payload_sum().is_none() {
            packet.set_payload_sum(quick.payload_sum(next.seq, next.checksum));
        }
        let payload = u32::from(first.payload);
        packet.pull(u32::from(first.places.payload), ctx.buffers);
        ctx.absorb_behind(&mut held.train, packet, payload);
        held.joined(&first, ids);
        self.held += Units { packets: 0, segments: 1, bytes: u64::from(payload) };
        self.merged += 1;
        None
    }
}
