//! What holds for any header and any meta.

use super::super::{Agreed, Outgoing, Request, read, write};
use super::*;
use corelane_runtime::packet::{Csum, SegFlags, SegKind, Segmentation};
use proptest::prelude::*;

/// A frame, its layers, and what is to be done to it.
fn wanted() -> impl Strategy<Value = (Vec<u8>, Layers, Request)> {
    let shape = (any::<bool>(), any::<Option<bool>>(), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (0_usize..=10, 500_usize..20_000, 200_u16..9000);
    (shape, any::<bool>(), sizes).prop_map(
        |((outer6, inner, udp, sum, cut), cwr, (words, payload, size))| {
            let transport =
                if udp { vec![0; 8] } else { tcp(words * 4, if cwr { 0x90 } else { 0x10 }) };
            let header = transport.len();
            let protocol = if udp { 17 } else { 6 };
            let frame = plain(inner.unwrap_or(outer6), &transport, protocol, payload);
            let frame = match inner {
                Some(_) => vxlan(outer6, &frame, if sum { 0x1234 } else { 0 }),
                None => frame,
            };
            let layers = layers(outer6, inner, if udp { L4::Udp } else { L4::Tcp });
            let level = layers.innermost().copied().unwrap_or_default();
            let own = partial(level.l4, level.l4 + if udp { 6 } else { 16 });
            let payload = frame.len() - usize::from(level.l4) - header;
            let count = payload.div_ceil(usize::from(size));
            let possible = count > 1 && (!udp || count <= 128);
            let segmentation = (cut && possible).then_some(Segmentation {
                kind: match (udp, level.l3_kind) {
                    (false, L3::V6) => SegKind::Tcp6,
                    (false, _) => SegKind::Tcp4,
                    (true, L3::V6) => SegKind::Udp6,
                    (true, _) => SegKind::Udp4,
                },
                gso_size: size,
                count: count as u16,
                flags: SegFlags::empty(),
            });
            let around = layers.levels[0].l4;
            let outer = partial(around, around + 6).filter(|_| sum);
            let partial = match (inner, segmentation) {
                (Some(_), Some(_)) => [outer, own],
                // A header says nothing of levels for a packet that is not cut.
                _ => [own, None],
            };
            (
                frame,
                layers,
                Request {
                    partial,
                    good: [false; 2],
                    segmentation,
                    tunnel_port: partial[1].map(|_| 4789),
                },
            )
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_again((frame, layers, request) in wanted()) {
        let mut buffers = buffers();
        let packet = packet(&mut buffers, &frame, &request, layers);
        let outgoing = write(&packet).expect("a header can say it");
        let bytes = outgoing.header.to_bytes();
        let again = read(&Header::from_bytes(&bytes), &frame, frame.len() as u32, Agreed::all());
        prop_assert_eq!(again, Ok(request));
        prop_assert_eq!(outgoing.outer, None);
        buffers.release(packet);
    }

    /// Mostly near what is right, so that every rule is reached.
    #[test]
    fn nothing_that_is_believed_lies_outside_the_frame(
        (frame, layers, request) in wanted(),
        changes in prop::collection::vec((0..SIZE, any::<u8>()), 0..4),
        cut in prop::option::of(0_usize..200),
        noise in prop::collection::vec((0_usize..150, any::<u8>()), 0..4),
        agreed in prop_oneof![Just(Agreed::all()), (0_u32..0x200).prop_map(Agreed::from_bits_truncate)],
    ) {
        let mut buffers = buffers();
        let made = packet(&mut buffers, &frame, &request, layers);
        let mut bytes = write(&made).map(|outgoing| outgoing.header.to_bytes()).unwrap_or_default();
        buffers.release(made);
        for (at, value) in changes {
            bytes[at] = value;
        }
        let mut frame = frame;
        frame.truncate(cut.unwrap_or(frame.len()));
        for (at, value) in noise {
            frame.get_mut(at).into_iter().for_each(|byte| *byte = value);
        }
        let len = frame.len();
        let Ok(request) = read(&Header::from_bytes(&bytes), &frame, len as u32, agreed) else { return Ok(()) };
        for Partial { start, field } in request.partial.into_iter().flatten() {
            prop_assert!(start >= 34 && start <= field && usize::from(field) + 2 <= len);
        }
        let Some(cut) = request.segmentation else { return Ok(()) };
        let own = request.partial[1].or(request.partial[0]).expect("what is cut has a checksum");
        let payload = len - usize::from(own.start);
        prop_assert!(cut.count > 1 && usize::from(cut.count - 1) * usize::from(cut.gso_size) < payload);
    }

    #[test]
    fn any_bytes_are_a_request_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..30),
        frame in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = read(&Header::from_bytes(&bytes), &frame, frame.len() as u32, Agreed::all());
    }

    /// Whatever stages may have left in meta.
    #[test]
    fn nothing_is_asked_for_outside_the_packet(
        (frame, layers, request) in wanted(),
        numbers in prop::collection::vec((0_usize..8, prop_oneof![0_u16..200, any::<u16>()]), 0..5),
        kept in prop_oneof![Just(usize::MAX), 14_usize..200],
    ) {
        let mut buffers = buffers();
        let frame = &frame[..kept.min(frame.len())];
        let mut packet = packet(&mut buffers, frame, &request, layers);
        for (which, number) in numbers {
            let meta = packet.meta_mut();
            let [outer, inner] = &mut meta.partial;
            let field = match which {
                0 => &mut outer.start,
                1 => &mut outer.field,
                2 => &mut inner.start,
                3 => &mut inner.field,
                4 => &mut meta.layers.levels[0].l4,
                5 => &mut meta.layers.levels[1].l3,
                6 => &mut meta.layers.levels[0].l3,
                _ => {
                    meta.l4[usize::from(number % 2)] = Csum::Partial;
                    continue;
                }
            };
            *field = number;
        }
        let outgoing = write(&packet);
        buffers.release(packet);
        let Ok(Outgoing { header, outer }) = outgoing else { return Ok(()) };
        let (start, offset) = (usize::from(header.csum_start), usize::from(header.csum_offset));
        prop_assert!(start + offset + 2 <= frame.len() || header == Header::default());
        prop_assert!(usize::from(header.hdr_len) <= frame.len());
        prop_assert!(usize::from(header.inner_nh_offset) <= frame.len());
        prop_assert!(outer.is_none_or(|(field, _)| usize::from(field) + 2 <= frame.len()));
    }

    /// The slow way: finish the inner checksum over all bytes, then sum all that the outer one covers.
    #[test]
    fn the_outer_checksum_follows_from_headers((frame, layers, request) in wanted(), seeds in any::<[u16; 2]>()) {
        prop_assume!(layers.count == 2);
        let mut frame = frame;
        let [outer, inner] = &layers.levels;
        let inner_field = inner.l4 + if inner.l4_kind == L4::Udp { 6 } else { 16 };
        for (field, seed) in [(outer.l4 + 6, seeds[0]), (inner_field, seeds[1])] {
            let at = usize::from(field);
            frame[at..at + 2].copy_from_slice(&seed.to_be_bytes());
        }
        let partial = [partial(outer.l4, outer.l4 + 6), partial(inner.l4, inner_field)];
        let mut buffers = buffers();
        let packet = packet(&mut buffers, &frame, &Request { partial, segmentation: None, ..request }, layers);
        let (field, value) = write(&packet).expect("a header").outer.expect("two checksums");
        buffers.release(packet);
        prop_assert_eq!(field, outer.l4 + 6);
        let at = usize::from(inner_field);
        let finished = !slow_sum(&frame[usize::from(inner.l4)..]);
        frame[at..at + 2].copy_from_slice(&finished.to_be_bytes());
        let expected = !slow_sum(&frame[usize::from(outer.l4)..]);
        prop_assert_eq!(value, if expected == 0 { 0xffff } else { expected });
    }
}

fn slow_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for (index, &byte) in bytes.iter().enumerate() {
        sum += if index % 2 == 0 { u32::from(byte) << 8 } else { u32::from(byte) };
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
