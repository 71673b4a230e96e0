//! The walk against etherparse, against itself inside a tunnel, and on bytes that mean harm.

use std::cell::Cell;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;
use crate::pseudo;
use crate::testing::{slow_pseudo_header, slow_sum, strategies};

/// Offset of a part of `frame` in it.
fn offset(frame: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - frame.as_ptr() as usize
}

/// What etherparse finds, in the terms of a level: (l3, l4, payload, end of the datagram,
/// addresses).
fn with_etherparse(frame: &[u8]) -> Option<(usize, usize, usize, usize, bool)> {
    let sliced = SlicedPacket::from_ethernet(frame).ok()?;
    let net = sliced.net.as_ref()?;
    let (l3, is_v6) = match net {
        NetSlice::Ipv4(ip) => (offset(frame, ip.header().slice()), false),
        NetSlice::Ipv6(ip) => (offset(frame, ip.header().slice()), true),
        NetSlice::Arp(_) => return None,
    };
    let upper = net.ip_payload_ref()?;
    let l4 = offset(frame, upper.payload);
    let payload = match sliced.transport.as_ref()? {
        TransportSlice::Tcp(tcp) => offset(frame, tcp.payload()),
        TransportSlice::Udp(udp) => offset(frame, udp.payload()),
        _ => return None,
    };
    Some((l3, l4, payload, l4 + upper.payload.len(), is_v6))
}

#[test]
fn offsets_agree_with_etherparse() {
    let mut runner = TestRunner::default();
    let cases = runner.config().cases;
    let compared = Cell::new(0);
    let result = runner.run(&strategies::plain_frame(), |builder| {
        let frame = builder.build();
        let found = layers(&frame, frame.len() as u32).levels[0];
        prop_assert!(!found.malformed && !found.incomplete && !found.overrun);
        // It knows no SNAP and no fourth tag, and is strict about the order of extension headers.
        let Some((l3, l4, payload, end, is_v6)) = with_etherparse(&frame) else { return Ok(()) };
        compared.set(compared.get() + 1);
        let ours = (usize::from(found.l3), usize::from(found.l4), usize::from(found.payload));
        prop_assert_eq!(ours, (l3, l4, payload));
        prop_assert_eq!(found.l3_kind, if is_v6 { L3::V6 } else { L3::V4 });
        // It does not know the jumbo option either, and takes the frame's end.
        prop_assert!(found.end as usize == end || found.jumbo);
        Ok(())
    });
    result.unwrap();
    assert!(compared.get() > cases / 2, "only {} of {cases} compared", compared.get());
}

/// A level as it is `by` bytes further on.
fn moved(level: &Level, by: u32) -> Level {
    let offset = |value: u16| if value == 0 { 0 } else { value + by as u16 };
    Level {
        l2: level.l2 + by as u16,
        l3: offset(level.l3),
        l4: offset(level.l4),
        payload: offset(level.payload),
        pseudo_src: offset(level.pseudo_src),
        pseudo_dst: offset(level.pseudo_dst),
        end: level.end + by,
        limit: level.limit + by,
        l4_end: level.l4_end + by,
        ..*level
    }
}

/// The folded sum over pseudo header and covered bytes, by slow addition; `None` where nothing is
/// covered.
fn slow_l4_sum(frame: &[u8], level: &Level) -> Option<u16> {
    let Coverage::Bytes { from, to, length } = level.coverage() else { return None };
    let len = if level.l3_kind == L3::V4 { 4 } else { 16 };
    let address = |at: u16| &frame[usize::from(at)..usize::from(at) + len];
    let (src, dst) = (address(level.pseudo_src), address(level.pseudo_dst));
    let pseudo = slow_pseudo_header(src, dst, length, level.l4_kind.protocol()?);
    Some(slow_sum(&[&pseudo, &frame[from as usize..to as usize]]))
}

fn assert_plausible(frame: &[u8], frame_len: u32, found: &Layers) {
    assert!(found.count <= 2);
    for level in found.levels() {
        let prefix = frame.len() as u32;
        let offsets = [level.l2, level.l3, level.l4, level.payload].map(u32::from);
        assert!(offsets.iter().all(|&at| at <= prefix), "{level:?}");
        let reached: Vec<u32> = offsets.into_iter().skip(1).take_while(|&at| at != 0).collect();
        assert!(reached.is_sorted() && reached.iter().all(|&at| at >= offsets[0]), "{level:?}");
        assert_eq!(level.l4 != 0, level.l4_kind != L4::None, "{level:?}");
        assert!(level.payload == 0 || u32::from(level.payload) <= level.limit, "{level:?}");
        assert!(level.limit <= frame_len && level.limit <= level.end, "{level:?}");
        assert_eq!(level.overrun, level.end > level.limit, "{level:?}");
        if let Coverage::Bytes { from, to, length } = level.coverage() {
            assert!(from < to && to <= level.limit && length >= to - from, "{level:?}");
        }
        let addresses = pseudo::addresses(frame, level);
        assert_eq!(addresses.is_some(), level.l3_kind != L3::None, "{level:?}");
    }
}

proptest! {
    #[test]
    fn the_last_of_all_levels_are_those_kept(frame in strategies::hostile()) {
        let mut all = Vec::new();
        each_level(&frame, frame.len() as u32, |level| all.push(*level));
        let found = layers(&frame, frame.len() as u32);
        prop_assert_eq!(found.levels(), &all[all.len().saturating_sub(2)..]);
        prop_assert_eq!(found.deeper, all.len() > 2);
    }

    #[test]
    fn checksums_of_sound_frames_cover_what_the_level_says(builder in strategies::plain_frame()) {
        let frame = builder.build();
        let level = layers(&frame, frame.len() as u32).levels[0];
        prop_assert_eq!(slow_l4_sum(&frame, &level), Some(0xffff));
        let Coverage::Bytes { length, .. } = level.coverage() else { unreachable!() };
        let protocol = level.l4_kind.protocol().unwrap();
        let sum = pseudo::sum(&frame, &level, length, protocol).unwrap();
        let covered = &frame[usize::from(level.l4)..level.l4_end as usize];
        prop_assert!((sum + corelane_sum::Sum::of(covered)).is_valid());
    }

    #[test]
    fn an_inner_level_is_that_of_the_inner_frame(
        inner in strategies::plain_frame(),
        zero_lengths in any::<bool>(),
    ) {
        let inner = inner.build();
        let total_length = zero_lengths.then_some(0);
        let length = zero_lengths.then_some(0);
        let outer = FrameBuilder::new()
            .ipv4(Ipv4 { total_length, ..Ipv4::default() })
            .udp(Udp { length, ..Udp::vxlan() })
            .vxlan(Vxlan::default())
            .payload(&inner)
            .build();
        let found = layers(&outer, outer.len() as u32);
        let alone = layers(&inner, inner.len() as u32);
        prop_assert_eq!(found.count, 2);
        prop_assert_eq!(found.levels[1], moved(&alone.levels[0], 50));
    }

    #[test]
    fn any_bytes_give_plausible_levels(
        frame in strategies::hostile(),
        prefix in any::<prop::sample::Index>(),
        more in prop_oneof![3 => Just(0u32), 1 => any::<u32>()],
    ) {
        let frame_len = (frame.len() as u32).saturating_add(more);
        let whole = layers(&frame, frame_len);
        assert_plausible(&frame, frame_len, &whole);
        let part = &frame[..prefix.index(frame.len() + 1)];
        let found = layers(part, frame_len);
        assert_plausible(part, frame_len, &found);
        // A walk that was not stopped by the prefix has found all there is.
        if found.count > 0 && found.levels().iter().all(|level| !level.incomplete) {
            prop_assert_eq!(found, whole);
        }
    }

    #[test]
    fn every_truncation_and_bit_flip_of_the_headers(
        builder in strategies::frame(),
        flip in 0u8..8,
    ) {
        let frame = builder.build();
        for at in 0..frame.len().min(150) {
            let cut = &frame[..at];
            assert_plausible(cut, at as u32, &layers(cut, at as u32));
            let mut flipped = frame.clone();
            flipped[at] ^= 1 << flip;
            let len = flipped.len() as u32;
            assert_plausible(&flipped, len, &layers(&flipped, len));
        }
    }
}
