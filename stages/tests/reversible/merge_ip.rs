//! What `Gro` merges by the IP header and by size (A.4 to A.6 of the kernel's self-tests), and what the frame
//! around the packet has to do with it.

use crate::cases::{P, V4, V6, both, case, expect, p};
use crate::rig::Frame;
use corelane_stages::config::Bytes;
use corelane_stages::gro::GroConfig;
use corelane_wire::testing::{Checksum, Extension, FrameBuilder, Ipv4, Ipv6, Tcp};

// A.4 IP header.

#[test]
fn ip_fields_that_must_be_equal() {
    let edits: [fn(&mut Ipv4); 5] = [
        |ip| ip.tos = 2,
        |ip| ip.tos = 4,
        |ip| ip.ttl = 7,
        |ip| ip.dont_fragment = false,
        |ip| ip.options = vec![1; 4],
    ];
    for edit in edits {
        case(vec![p(V4, 0, 100), p(V4, 100, 100).ip4(edit)], &[100, 100]);
    }
    let edits: [fn(&mut Ipv6); 4] = [
        |ip| ip.traffic_class = 2,
        |ip| ip.traffic_class = 0xf0,
        |ip| ip.hop_limit = 7,
        |ip| ip.flow_label = 1,
    ];
    for edit in edits {
        case(vec![p(V6, 0, 100), p(V6, 100, 100).ip6(edit)], &[100, 100]);
    }
}

#[test]
fn flows_differ_by_any_address() {
    for at in 0..8 {
        let other = |ip: &mut Ipv4| (if at < 4 { &mut ip.src } else { &mut ip.dst })[at % 4] ^= 1;
        case(vec![p(V4, 0, 100), p(V4, 100, 100).ip4(other)], &[100, 100]);
    }
    let one_bucket = GroConfig { flows: 2, ..GroConfig::default() };
    for at in 0..32 {
        let other = |ip: &mut Ipv6| (if at < 16 { &mut ip.src } else { &mut ip.dst })[at % 16] ^= 1;
        let frames = vec![p(V6, 0, 100).build(), p(V6, 100, 100).ip6(other).build()];
        expect(one_bucket, frames, &[100, 100]);
    }
}

#[test]
fn ip_opt_equal_merges_and_other_does_not() {
    let stamped =
        |off| p(V4, off, 100).ip4(|ip| ip.options = [&[68, 40, 5, 0][..], &[0; 36]].concat());
    case(vec![p(V4, 0, 100), stamped(100), p(V4, 200, 100)], &[100, 100, 100]);
    case(vec![stamped(0), stamped(100)], &[200]);
}

#[test]
fn ip_frag4() {
    let fragment = p(V4, 100, 100).ip4(|ip| ip.more_fragments = true);
    case(vec![p(V4, 0, 100), fragment, p(V4, 200, 100)], &[100, 100, 100]);
}

#[test]
fn fragments_do_not_overtake_what_is_held_between_the_same_addresses() {
    let later = FrameBuilder::new()
        .ipv4(Ipv4 { fragment_offset: 1480, protocol: Some(6), ..Ipv4::default() })
        .payload_len(80);
    let held = || vec![p(V4, 0, 100).build(), p(V4, 100, 100).build()];
    let frames = [held(), vec![Frame::new(later.build())], vec![p(V4, 200, 100).build()]].concat();
    let counters = expect(GroConfig::default(), frames, &[200, 0, 100]);
    assert!(counters.contains(&("ended.unfit", 1)));
}

#[test]
fn ip_frag6_even_atomic() {
    let atomic = Extension::Fragment { offset: 0, more: false, id: 9 };
    let fragment = p(V6, 200, 100).ip6(|ip| ip.extensions = vec![atomic]);
    case(vec![p(V6, 0, 100), p(V6, 100, 100), fragment, p(V6, 300, 100)], &[200, 100, 100]);
}

#[test]
fn ip_v6ext_same_and_diff() {
    let with = |off, byte| {
        p(V6, off, 100)
            .ip6(|ip| ip.extensions = vec![Extension::Destination(vec![1, 4, byte, 0, 0, 0])])
    };
    case(vec![with(0, 0), with(100, 0)], &[200]);
    case(vec![with(0, 0), with(100, 0x11)], &[100, 100]);
    case(vec![p(V6, 0, 100), with(100, 0), p(V6, 200, 100)], &[100, 100, 100]);
}

#[test]
fn flows_behind_extension_headers_keep_their_order_between_two_addresses() {
    let with = |port: u16, off| {
        let extension = Extension::Destination(vec![1, 4, 0, 0, 0, 0]);
        p(V6, off, 100).ip6(|ip| ip.extensions = vec![extension]).tcp(|tcp| tcp.src_port = port)
    };
    case(vec![with(1, 0), with(1, 100), with(2, 0), with(2, 100)], &[200, 200]);
    case(vec![with(1, 0), with(2, 0), with(1, 100), with(2, 100)], &[100; 4]);
}

#[test]
fn a_routing_header_that_changes_the_pseudo_header_is_left_alone() {
    let routed = |off| {
        let addresses = vec![corelane_wire::testing::address_v6(77)];
        let routing = Extension::Routing { kind: 2, left: 1, addresses };
        p(V6, off, 100).ip6(|ip| ip.extensions = vec![routing])
    };
    case(vec![routed(0), routed(100)], &[100, 100]);
}

// A.5 IPv4 identification.

#[test]
fn ip_id() {
    let ids = |df: bool, ids: &[u16], expected: &[u32]| {
        let packet = |(index, id): (usize, &u16)| {
            p(V4, index as u32 * 100, 100).ip4(|ip| (ip.id, ip.dont_fragment) = (*id, df))
        };
        case(ids.iter().enumerate().map(packet).collect(), expected);
    };
    for df in [true, false] {
        ids(df, &[8, 9], &[200]);
        ids(df, &[8, 8], &[200]);
        ids(df, &[8, 9, 9], &[200, 100]);
        ids(df, &[8, 8, 9], &[200, 100]);
        ids(df, &[65_535, 0, 1], &[300]);
        ids(df, &[8, 10], &[100, 100]);
        ids(df, &[9, 8], &[100, 100]);
        ids(df, &[8, 9, 10, 12, 13], &[300, 200]);
    }
}

// A.6 Sizes.

#[test]
fn large_max_and_large_rem() {
    for (v6, mss, rest) in [(V4, 4056, 599), (V6, 4036, 899)] {
        let train = |last: usize| {
            let mut packets: Vec<P> =
                (0..16).map(|index| p(v6, index * mss, mss as usize)).collect();
            packets.push(p(v6, 16 * mss, last));
            packets.push(p(v6, 17 * mss, last));
            packets
        };
        let full = 16 * mss;
        case(train(rest), &[full + rest as u32, rest as u32]);
        let counters = case(train(rest + 1), &[full, rest as u32 + 1, rest as u32 + 1]);
        assert!(counters.contains(&("ended.size", 1)));
    }
}

#[test]
fn beyond_64_kib_the_length_fields_are_zero() {
    both(|v6| {
        let config = GroConfig { max_size: Bytes(512 << 10), ..GroConfig::default() };
        let frames = (0..100).map(|index| p(v6, index * 1400, 1400).build()).collect();
        expect(config, frames, &[140_000]);
    });
}

#[test]
fn max_size_and_max_segments_bound_a_merge() {
    // Field report D2.
    let frames = || (0..20).map(|index| p(V4, index * 1400, 1400).build()).collect::<Vec<_>>();
    let config = GroConfig { max_size: Bytes(14_040), ..GroConfig::default() };
    expect(config, frames(), &[14_000, 14_000]);
    let config = GroConfig { max_segments: Some(8), ..GroConfig::default() };
    expect(config, frames(), &[11_200, 11_200, 5_600]);
}

// Frames around the packet.

#[test]
fn vlans_and_addresses_of_the_frame_must_be_equal() {
    // DPDK R1 and R3.
    let tagged = |off, tags: &[u16]| p(V4, off, 100).tags(tags);
    case(vec![tagged(0, &[10]), tagged(100, &[10]), tagged(200, &[20])], &[200, 100]);
    case(vec![tagged(0, &[10, 20]), tagged(100, &[10, 20])], &[200]);
    case(vec![p(V4, 0, 100), tagged(100, &[10])], &[100, 100]);
    for at in 0..12 {
        let mut frames: Vec<Frame> = vec![tagged(0, &[10]).build(), tagged(100, &[10]).build()];
        frames[1].bytes[at] ^= 1;
        expect(GroConfig::default(), frames, &[100, 100]);
    }
}

#[test]
fn trailing_bytes_merge_only_as_zeros_that_fill_the_shortest_frame() {
    let trailing = |off: u32, trailer: &[u8]| {
        let builder = FrameBuilder::new().ipv4(Ipv4::default());
        let builder = builder.tcp(Tcp { seq: off, ..Tcp::default() });
        Frame::new(builder.payload_len(4).trailer(trailer).build())
    };
    let first = || trailing(0, &[]);
    // 58 bytes of headers and payload.
    expect(GroConfig::default(), vec![first(), trailing(4, &[0, 0])], &[8]);
    expect(GroConfig::default(), vec![first(), trailing(4, &[0, 1])], &[4, 4]);
    expect(GroConfig::default(), vec![first(), trailing(4, &[0, 0, 0])], &[4, 4]);
    expect(GroConfig::default(), vec![first(), trailing(4, &[0])], &[4, 4]);
    // Padding ends a merge though the segment is as long as the others, and never begins one.
    let padded = |off| trailing(off, &[0, 0]);
    expect(GroConfig::default(), vec![first(), padded(4), trailing(8, &[])], &[8, 4]);
    expect(GroConfig::default(), vec![padded(0), trailing(4, &[])], &[4, 4]);
}

#[test]
fn other_forms_of_a_zero_checksum_pass_unmerged() {
    // Payloads chosen so that the checksums come out as zero.
    let zero = |off: u32, checksum: Checksum| {
        let tcp = Tcp { seq: off, checksum, ..Tcp::default() };
        let build = |payload: &[u8]| {
            let builder = FrameBuilder::new().ipv4(Ipv4::default());
            builder.tcp(tcp.clone()).payload(payload).build()
        };
        let right = Tcp { checksum: Checksum::Right, ..tcp.clone() };
        let plain = FrameBuilder::new().ipv4(Ipv4::default()).tcp(right).payload(&[0; 100]).build();
        let mut payload = [0; 100];
        payload[..2].copy_from_slice(&plain[50..52]);
        let frame = build(&payload);
        assert!(frame[50..52] == [0, 0] || frame[50..52] == [0xff, 0xff]);
        Frame::new(frame)
    };
    let canonical = |off| zero(off, Checksum::Right);
    let other = |off| zero(off, Checksum::OtherZero);
    expect(GroConfig::default(), vec![canonical(0), canonical(100)], &[200]);
    expect(GroConfig::default(), vec![canonical(0), other(100), canonical(200)], &[100; 3]);
    let header = |off: u32, id, checksum| {
        let builder = FrameBuilder::new().ipv4(Ipv4 { id, checksum, ..Ipv4::default() });
        Frame::new(builder.tcp(Tcp { seq: off, ..Tcp::default() }).payload_len(100).build())
    };
    let plain = header(0, 0, Checksum::Right);
    let id = u16::from_be_bytes([plain.bytes[24], plain.bytes[25]]);
    let frames = |checksum| vec![header(0, id - 1, Checksum::Right), header(100, id, checksum)];
    assert_eq!(frames(Checksum::OtherZero)[1].bytes[24..26], [0xff, 0xff]);
    expect(GroConfig::default(), frames(Checksum::Right), &[200]);
    expect(GroConfig::default(), frames(Checksum::OtherZero), &[100, 100]);
}

#[test]
fn what_looks_partial_passes() {
    both(|v6| {
        let partial = |off| p(v6, off, 100).tcp(|tcp| tcp.checksum = Checksum::Partial);
        case(vec![partial(0), partial(100)], &[100, 100]);
    });
}

#[test]
fn a_capture_that_lost_only_padding_is_never_merged() {
    let cut = |off| {
        let mut frame = p(V4, off, 4).pad().build();
        frame.bytes.truncate(58);
        frame
    };
    expect(GroConfig::default(), vec![p(V4, 0, 4).build(), cut(4), cut(8)], &[4, 4, 4]);
}

#[test]
fn a_cut_capture_is_never_merged() {
    let cut = |off| {
        let mut frame = p(V4, off, 100).build();
        frame.bytes.truncate(100);
        frame
    };
    expect(GroConfig::default(), vec![p(V4, 0, 100).build(), cut(100), cut(200)], &[100, 46, 46]);
}
