//! Every operation of the algebra gives what summing the bytes again would give.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{noise, one_to_ffff, slow_sum, slow_sum_at};
use crate::{Sum, copy_and_sum, update, update_udp};

#[test]
fn every_length_to_300_at_every_alignment_of_a_word() {
    let bytes = noise(316, 1);
    for start in 0..16 {
        for len in 0..=300 {
            let piece = &bytes[start..start + len];
            assert_eq!(Sum::of(piece).fold(), slow_sum(piece), "start {start}, length {len}");
        }
    }
}

#[test]
fn lengths_round_the_wide_loop_and_large_ones() {
    let bytes = noise(65_536, 2);
    for len in [1460, 1500, 1501, 4095, 4096, 4097, 9000, 65_534, 65_535, 65_536] {
        assert_eq!(Sum::of(&bytes[..len]).fold(), slow_sum(&bytes[..len]), "length {len}");
    }
}

#[test]
fn carries_survive_when_all_bits_are_set() {
    for len in 0..=300 {
        let bytes = vec![0xff; len];
        assert_eq!(Sum::of(&bytes).fold(), slow_sum(&bytes), "length {len}");
    }
    // An accumulator that only grew would overflow in a few of these additions.
    let large = Sum::of(&[0xff; 8]);
    let total: Sum = std::iter::repeat_n(large, 1_000_000).sum();
    assert_eq!(total.fold(), 0xffff);
}

#[test]
fn example_of_rfc_1071() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(Sum::of(&bytes).fold(), 0xddf2);
    assert_eq!(Sum::of(&bytes).checksum(), 0x220d);
}

#[test]
fn numbers_are_the_fields_they_stand_for() {
    for value in [0, 1, 0x00ff, 0x1234, 0xff00, 0xfffe, 0xffff] {
        assert_eq!(Sum::from_u16(value).fold(), value);
    }
    assert_eq!(Sum::from_u32(0x0001_0002).fold(), 0x0003);
    assert_eq!(Sum::from_u32(0xffff_0002).fold(), 0x0002);
}

#[test]
fn copying_copies() {
    for len in [0, 1, 63, 64, 1501, 4095, 4096, 4097, 8193, 70_001] {
        let src = noise(len, 3);
        let mut dst = vec![0xa5; len];
        assert_eq!(copy_and_sum(&src, &mut dst).fold(), slow_sum(&src), "length {len}");
        assert!(src == dst, "length {len}");
    }
}

#[test]
#[should_panic(expected = "one length")]
fn copying_refuses_unequal_lengths() {
    copy_and_sum(&[1, 2, 3], &mut [0; 2]);
}

/// Bytes with runs of the values that carry or vanish, beside random ones.
fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..max),
        vec(prop_oneof![Just(0u8), Just(0xff)], 0..max),
        vec(Just(0u8), 0..max),
    ]
}

/// Two sums of the same thing, where the code under test may hold either zero.
fn assert_same(left: Sum, right: u16) {
    let right = if right == 0 { 0xffff } else { right };
    assert_eq!(left.canonical(), right);
}

proptest! {
    #[test]
    fn of_is_the_byte_wise_sum(bytes in bytes(700)) {
        prop_assert_eq!(Sum::of(&bytes).fold(), slow_sum(&bytes));
    }

    #[test]
    fn an_offset_shifts_bytes(bytes in bytes(300), offset in 0usize..70_000) {
        prop_assert_eq!(Sum::of(&bytes).shifted(offset).fold(), slow_sum_at(&bytes, offset));
    }

    #[test]
    fn pieces_put_together_are_the_whole(bytes in bytes(400), cuts in vec(0usize..400, 0..6)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        cuts.push(bytes.len());
        let (mut chained, mut placed, mut start) = (Sum::ZERO, Sum::ZERO, 0);
        for cut in cuts {
            let piece = Sum::of(&bytes[start..cut]);
            chained = chained.then(start, piece);
            placed += piece.shifted(start);
            start = cut;
        }
        prop_assert_eq!(chained.fold(), slow_sum(&bytes));
        prop_assert_eq!(placed.fold(), slow_sum(&bytes));
    }

    #[test]
    fn a_piece_taken_out_leaves_the_others(
        bytes in bytes(300),
        a in 0usize..300,
        b in 0usize..300,
    ) {
        let (a, b) = (a.min(b).min(bytes.len()), a.max(b).min(bytes.len()));
        let mut without = bytes.clone();
        without[a..b].fill(0);
        let piece = Sum::of(&bytes[a..b]).shifted(a);
        assert_same(Sum::of(&bytes) - piece, slow_sum(&without));
        let mut taken = Sum::of(&bytes);
        taken -= piece;
        taken += piece;
        prop_assert!(taken.same_as(Sum::of(&bytes)));
    }

    #[test]
    fn any_chain_of_operations_is_exact(
        steps in vec((any::<bool>(), bytes(80), 0usize..2), 0..200),
    ) {
        let mut sum = Sum::ZERO;
        let mut exact: i64 = 0;
        for (add, bytes, offset) in steps {
            let piece = Sum::of(&bytes).shifted(offset);
            let value = i64::from(slow_sum_at(&bytes, offset));
            if add { sum += piece } else { sum -= piece }
            exact += if add { value } else { -value };
        }
        assert_same(sum, one_to_ffff(exact.rem_euclid(0xffff) as u64));
    }

    #[test]
    fn an_update_is_the_checksum_of_the_changed_packet(
        packet in vec(any::<u8>(), 2..200),
        change in vec(any::<u8>(), 0..40),
        at in 0usize..200,
    ) {
        let at = at % packet.len();
        let len = change.len().min(packet.len() - at);
        let mut changed = packet.clone();
        changed[at..at + len].copy_from_slice(&change[..len]);
        // As in a packet, something that is never zero is covered: the protocol number of a pseudo
        // header.
        let cover = |bytes: &[u8]| !one_to_ffff(u64::from(slow_sum(bytes)) + 6);
        let old = Sum::of(&packet[at..at + len]).shifted(at);
        let new = Sum::of(&changed[at..at + len]).shifted(at);
        prop_assert_eq!(update(cover(&packet), old, new), cover(&changed));
        let udp = |checksum: u16| if checksum == 0 { 0xffff } else { checksum };
        prop_assert_eq!(update_udp(udp(cover(&packet)), old, new), udp(cover(&changed)));
        prop_assert_eq!(update_udp(0, old, new), 0);
    }

    #[test]
    fn an_update_repairs_nothing(checksum: u16, old: u16, new: u16, damage in 1u16..0xffff) {
        let good = update(checksum, Sum::from_u16(old), Sum::from_u16(new));
        let damaged = Sum::from_u16(checksum) + Sum::from_u16(damage);
        let bad = update(damaged.fold(), Sum::from_u16(old), Sum::from_u16(new));
        prop_assert!(!Sum::from_u16(good).same_as(Sum::from_u16(bad)));
    }
}
