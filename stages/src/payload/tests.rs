//! Sums put together against sums taken slowly, at every parity.

use super::Sums;
use crate::fixture::chained;
use corelane_runtime::packet::{L3, L4, Layers, Level, Packet};
use corelane_runtime::stage::{Declared, Stage, StageContext, StageInfo, Tally};
use corelane_runtime::testing::Harness;
use corelane_sum::Sum;
use corelane_wire::testing::slow_sum;
use proptest::prelude::*;

struct Nothing;
impl Stage for Nothing {
    fn process(
        &mut self,
        _: &mut corelane_runtime::packet::Burst,
        _: &mut corelane_runtime::stage::Outputs<'_>,
        _: &mut StageContext<'_>,
    ) {
    }
}

fn harness() -> Harness {
    let info = StageInfo { name: "Nothing", ..*crate::count::Count::spec().info() };
    Harness::new(Nothing, &info).home(0, 64, 4)
}

/// Says that the payload is `start..end`.
fn mark(packet: &mut Packet, start: usize, end: usize) {
    let level =
        Level { payload: start as u16, l3_kind: L3::V4, l4_kind: L4::Tcp, ..Level::default() };
    let layers = Layers { levels: [level, Level::default()], count: 1, ..Layers::default() };
    packet.set_layers(layers, (end - start) as u32);
}

proptest! {
    #[test]
    fn a_range_is_what_slow_addition_says_and_the_payload_is_read_once(
        bytes in prop::collection::vec(any::<u8>(), 4..600),
        cuts in prop::collection::vec(1_usize..600, 0..4),
        at in any::<[prop::sample::Index; 4]>(),
    ) {
        let mut points = at.map(|index| index.index(bytes.len() + 1));
        points.sort_unstable();
        let [from, start, end, to] = points;
        let mut harness = harness();
        let mut packet = chained(&mut harness, &bytes, &cuts);
        mark(&mut packet, start, end);
        let slow = slow_sum(&[&bytes[from..to]]);
        let mut sums = Sums::of(&packet);
        for _ in 0..2 {
            prop_assert_eq!(sums.range(from as u32, to as u32).fold() % 0xffff, slow % 0xffff);
            prop_assert_eq!(sums.read(), (end - start) as u64);
        }
        // The same, turned around: from a sum that is known to the payload's.
        let mut derived = Sums::of(&packet);
        derived.derive(from as u32, to as u32, Sum::from_u16(slow));
        let payload = derived.payload().expect("derived").fold();
        prop_assert_eq!(payload % 0xffff, slow_sum(&[&bytes[start..end]]) % 0xffff);
        prop_assert_eq!(derived.read(), 0);
        // A range that does not hold the payload says nothing of it, and reads only what it shares with it.
        let mut part = Sums::of(&packet);
        if start < end {
            part.derive(start as u32 + 1, to as u32, Sum::ZERO);
            prop_assert!(part.payload().is_none());
            let sum = part.range(start as u32 + 1, to as u32).fold();
            prop_assert_eq!(sum % 0xffff, slow_sum(&[&bytes[start + 1..to]]) % 0xffff);
            prop_assert_eq!(part.read(), (end - start - 1) as u64);
        }
        harness.release([packet]);
    }

    #[test]
    fn the_pieces_of_a_joined_packet_are_its_payload(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 1..6),
        unknown in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut harness = harness();
        let unknown = unknown.map(|index| index.index(pieces.len()));
        let mut joined: Option<Packet> = None;
        for (index, bytes) in pieces.iter().enumerate() {
            let mut packet = harness.packet(bytes);
            mark(&mut packet, 0, bytes.len());
            packet.mark_piece();
            if unknown != Some(index) {
                packet.set_payload_sum(slow_sum(&[bytes]));
            }
            match &mut joined {
                None => joined = Some(packet),
                Some(head) => {
                    let mut tally = Tally::new(0, 0);
                    let mut ctx = StageContext::new(0, &mut harness.buffers, &mut tally);
                    ctx.absorb(head, packet, bytes.len() as u32);
                }
            }
        }
        let joined = joined.expect("at least one piece");
        let all = pieces.concat();
        let mut sums = Sums::of(&joined);
        prop_assert_eq!(sums.payload().is_none(), unknown.is_some());
        let sum = sums.range(0, all.len() as u32).fold();
        prop_assert_eq!(sum % 0xffff, slow_sum(&[&all]) % 0xffff);
        let read = if unknown.is_some() { all.len() as u64 } else { 0 };
        prop_assert_eq!(sums.read(), read);
        harness.release([joined]);
    }
}
