//! The layers of known frames, the same whatever the parts; and a queue that runs dry, stops, starves.

use super::software::gather;
use super::{INFO, Rx, describe, plain};
use crate::fixture::{KEY, chained, received};
use corelane_runtime::packet::{
    Burst, Csum, L3, L4, Level, MetaFlags, Partial, SegFlags, SegKind, Segmentation, Tunnel,
};
use corelane_runtime::port::{Direction, QueueReport, RxQueue};
use corelane_runtime::stage::{Progress, StageContext};
use corelane_runtime::testing::Harness;
use corelane_wire::layers;
use corelane_wire::testing::{
    Extension, FrameBuilder, Geneve, Gre, Ipv4, Ipv6, Tcp, Udp, Vxlan, address_v6, strategies,
};
use proptest::prelude::*;
use std::collections::VecDeque;

/// A queue over frames.
struct Frames(VecDeque<Vec<u8>>);

impl RxQueue for Frames {
    fn rx(&mut self, burst: &mut Burst, budget: usize, ctx: &mut StageContext<'_>) -> Progress {
        let mut got = 0;
        while got < budget {
            let Some(frame) = self.0.front() else { break };
            let Some(mut packet) = ctx.buffers.receive(frame) else { return Progress::Starved };
            packet.meta_mut().orig_len = packet.len();
            burst.push(packet).expect("room for the budget");
            self.0.pop_front();
            got += 1;
        }
        if got == 0 { Progress::Done } else { Progress::Worked(got) }
    }

    fn report(&self) -> QueueReport {
        QueueReport::new("frames", Direction::Rx)
    }
}

fn harness() -> Harness {
    Harness::source(Rx::new(Box::new(Frames(VecDeque::new())), 7, KEY), &INFO).home(0, 64, 4)
}

fn tcp_frame(payload: usize) -> Vec<u8> {
    FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).payload_len(payload).build()
}

#[test]
fn layers_of_a_tagged_padded_frame() {
    let frame = FrameBuilder::new()
        .vlan(5)
        .ipv4(Ipv4 { options: vec![1; 4], ..Ipv4::default() })
        .tcp(Tcp { options: vec![1; 12], ..Tcp::default() })
        .payload(b"ab")
        .pad_to(60)
        .trailer(&[0; 30])
        .build();
    let mut harness = harness();
    let packet = received(&mut harness, &frame, &[]);
    let meta = packet.meta();
    assert_eq!(meta.layers.count, 1);
    let level = Level { l2: 0, l3: 18, l4: 42, payload: 74, l3_kind: L3::V4, l4_kind: L4::Tcp };
    assert_eq!(meta.layers.levels[0], level);
    assert_eq!((packet.payload_len(), meta.trailer), (2, 30));
    assert_eq!(meta.flags, MetaFlags::PARSED | MetaFlags::HASHED);
    harness.release([packet]);
}

#[test]
fn the_payload_is_the_innermost_that_a_checksum_covers() {
    let inner = FrameBuilder::new().ipv6(Ipv6::default()).udp(Udp::default()).payload(b"12345");
    let tunnel = |inner: Vec<u8>| {
        let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::vxlan());
        outer.vxlan(Vxlan::default()).payload(&inner).build()
    };
    let mut harness = harness();
    let packet = received(&mut harness, &tunnel(inner.build()), &[]);
    assert_eq!((packet.meta().layers.count, packet.payload_len()), (2, 5));
    // Inside is ICMP: what the outer checksum covers is all there is.
    let ping = Ipv4 { protocol: Some(1), ..Ipv4::default() };
    let inner = FrameBuilder::new().ipv4(ping).bytes(&[8, 0, 0, 0, 0, 0, 0, 0]).build();
    let opaque = received(&mut harness, &tunnel(inner.clone()), &[]);
    assert_eq!(opaque.payload_len() as usize, 8 + inner.len());
    harness.release([packet, opaque]);
}

#[test]
fn how_the_inner_level_is_carried() {
    let outer = || FrameBuilder::new().ipv4(Ipv4::default());
    let packet = || FrameBuilder::bare().ipv6(Ipv6::default()).tcp(Tcp::default()).payload(b"hi");
    let frame = || FrameBuilder::new().ipv6(Ipv6::default()).tcp(Tcp::default()).payload(b"hi");
    let gpe = Vxlan { flags: 0x0c, next_protocol: 3, ..Vxlan::default() };
    let erspan = Gre { protocol: Some(0x88be), ..Gre::default() };
    let cases = [
        (outer().udp(Udp::vxlan()).vxlan(Vxlan::default()).inside(frame()), Tunnel::Vxlan),
        (outer().udp(Udp::geneve()).geneve(Geneve::default()).inside(frame()), Tunnel::Geneve),
        (outer().udp(Udp::geneve()).geneve(Geneve::default()).inside(packet()), Tunnel::Geneve),
        (outer().gre(Gre::default()).inside(frame()), Tunnel::Gre),
        (outer().gre(Gre::default()).inside(packet()), Tunnel::Gre),
        (outer().inside(packet()), Tunnel::Ip),
        (outer().udp(Udp::vxlan()).vxlan(gpe).inside(frame()), Tunnel::Other),
        (outer().gre(erspan).inside(frame()), Tunnel::Other),
    ];
    let mut harness = harness();
    for (builder, tunnel) in cases {
        let packet = received(&mut harness, &builder.build(), &[]);
        let layers = packet.meta().layers;
        assert_eq!((layers.count, layers.tunnel), (2, tunnel));
        assert_eq!((packet.payload_len(), layers.levels[1].l4_kind), (2, L4::Tcp));
        assert_eq!(packet.meta().flags, MetaFlags::PARSED | MetaFlags::HASHED);
        harness.release([packet]);
    }
    // What is inside is no IP packet: then there is no level inside.
    let arp = outer().udp(Udp::geneve()).geneve(Geneve::default()).payload(&[0x08; 60]);
    let packet = received(&mut harness, &arp.build(), &[]);
    let layers = packet.meta().layers;
    assert_eq!((layers.count, layers.tunnel), (1, Tunnel::None));
    harness.release([packet]);
}

#[test]
fn facts_that_keep_a_packet_from_being_joined() {
    let fragment = Ipv4 { more_fragments: true, dont_fragment: false, ..Ipv4::default() };
    let extension = |extension| Ipv6 { extensions: vec![extension], ..Ipv6::default() };
    let atomic = extension(Extension::Fragment { offset: 0, more: false, id: 1 });
    let home = extension(Extension::HomeAddress(address_v6(9)));
    let long = Ipv4 { total_length: Some(900), ..Ipv4::default() };
    let none = Ipv4 { total_length: Some(0), ..Ipv4::default() };
    let v4 = |ip| FrameBuilder::new().ipv4(ip);
    let v6 = |ip| FrameBuilder::new().ipv6(ip);
    let cases = [
        (v4(Ipv4::default()), MetaFlags::empty()),
        (v4(fragment), MetaFlags::FRAGMENT),
        (v6(atomic), MetaFlags::FRAGMENT),
        (v6(home), MetaFlags::ODD_PSEUDO),
        (v6(extension(Extension::Jumbo)), MetaFlags::OVERRUN),
        (v4(long), MetaFlags::OVERRUN),
        (v4(none), MetaFlags::OVERRUN),
    ];
    let mut harness = harness();
    for (builder, facts) in cases {
        let frame = builder.tcp(Tcp::default()).payload_len(100).build();
        let packet = received(&mut harness, &frame, &[]);
        let found = packet.meta().flags - MetaFlags::PARSED - MetaFlags::HASHED;
        assert_eq!(found, facts, "{frame:02x?}");
        harness.release([packet]);
    }
}

#[test]
fn a_joined_packet_is_as_long_as_its_frame_whatever_its_length_fields_say() {
    for total_length in [0, 40, 1500, 8, u16::MAX] {
        let ip = Ipv4 { total_length: Some(total_length), ..Ipv4::default() };
        let inner = || FrameBuilder::new().ipv4(ip.clone()).tcp(Tcp::default()).payload_len(70_000);
        let udp = Udp { length: Some(total_length), ..Udp::geneve() };
        let outer = FrameBuilder::new().ipv4(ip.clone()).udp(udp).geneve(Geneve::default());
        let gre = FrameBuilder::new().ipv4(ip.clone()).gre(Gre::default());
        for (frame, payload) in
            [(inner(), 54), (outer.inside(inner()), 104), (gre.inside(inner()), 92)]
        {
            let mut harness = harness();
            let mut packet = harness.packet(&frame.build());
            let flags = SegFlags::empty();
            let request = Segmentation { kind: SegKind::Tcp4, gso_size: 1400, count: 50, flags };
            packet.set_segmentation(request);
            describe(&mut packet, KEY, &mut harness.buffers).expect("a buffer");
            assert_eq!(packet.payload_len(), 70_000, "total length {total_length}");
            let innermost = packet.meta().layers.innermost().expect("a level").payload;
            assert_eq!((innermost, packet.meta().trailer), (payload, 0));
            assert!(!packet.meta().flags.contains(MetaFlags::OVERRUN));
            harness.release([packet]);
        }
    }
}

#[test]
fn the_quick_look_knows_the_usual_packets() {
    for v6 in [false, true] {
        for udp in [false, true] {
            let start = FrameBuilder::new();
            let ip = if v6 { start.ipv6(Ipv6::default()) } else { start.ipv4(Ipv4::default()) };
            let l4 = if udp { ip.udp(Udp::default()) } else { ip.tcp(Tcp::default()) };
            let frame = l4.payload_len(7).pad_to(90).build();
            let quick = plain::look(&frame, 90).expect("a usual packet");
            assert_eq!(quick.payload, 7);
        }
    }
}

#[test]
fn a_hash_of_the_device_is_kept() {
    let mut harness = harness();
    let mut packet = harness.packet(&tcp_frame(9));
    packet.meta_mut().hash = 4711;
    packet.meta_mut().flags |= MetaFlags::HASHED;
    packet.meta_mut().l4[0] = Csum::Good;
    describe(&mut packet, KEY, &mut harness.buffers).expect("a buffer");
    assert_eq!((packet.meta().hash, packet.meta().l4[0]), (4711, Csum::Good));
    harness.release([packet]);
}

#[test]
fn bursts_are_bounded_and_the_end_is_told() {
    let frames: VecDeque<_> = (0..70).map(tcp_frame).collect();
    let mut harness = Harness::source(Rx::new(Box::new(Frames(frames.clone())), 7, KEY), &INFO);
    assert_eq!(harness.poll(5), Progress::Worked(5));
    assert_eq!(harness.poll(1000), Progress::Worked(32));
    assert_eq!(harness.poll(1000), Progress::Worked(32));
    assert_eq!(harness.poll(1000), Progress::Worked(1));
    assert_eq!(harness.poll(1000), Progress::Done);
    let packets = harness.take();
    assert!(packets.iter().all(|packet| packet.meta().port == 7));
    let bytes: u64 = packets.iter().map(|packet| u64::from(packet.payload_len())).sum();
    assert_eq!(harness.tally().payload_bytes, bytes);
    let got: Vec<_> = packets.into_iter().map(|packet| harness.unpack(packet)).collect();
    assert_eq!(got, Vec::from(frames));
    harness.finish();
}

#[test]
fn a_stopped_source_brings_in_nothing_new() {
    let frames = (0..70).map(tcp_frame).collect();
    let mut harness = Harness::source(Rx::new(Box::new(Frames(frames)), 7, KEY), &INFO);
    assert_eq!(harness.poll(3), Progress::Worked(3));
    harness.stop();
    assert_eq!(harness.poll(32), Progress::Done);
    harness.finish();
}

#[test]
fn without_buffers_it_waits_and_loses_nothing() {
    let frames: VecDeque<_> = (0..40).map(tcp_frame).collect();
    let rx = Rx::new(Box::new(Frames(frames.clone())), 7, KEY);
    let mut harness = Harness::source(rx, &INFO).home(0, 16, 0);
    let mut got = Vec::new();
    loop {
        match harness.poll(32) {
            Progress::Done => break,
            Progress::Worked(_) | Progress::Starved => got.extend(harness.take_frames()),
            Progress::Idle(_) => panic!("a file is never idle"),
        }
    }
    assert_eq!(got, Vec::from(frames));
    harness.finish();
}

proptest! {
    #[test]
    fn parts_make_no_difference(
        builder in strategies::frame(),
        cuts in prop::collection::vec(1_usize..400, 0..6),
    ) {
        let frame = builder.build();
        let mut harness = harness();
        let whole = received(&mut harness, &frame, &[]);
        let parts = received(&mut harness, &frame, &cuts);
        prop_assert_eq!(format!("{:?}", whole.meta()), format!("{:?}", parts.meta()));
        prop_assert_eq!(whole.payload_len(), parts.payload_len());
        prop_assert!(parts.data().len() >= frame.len().min(256));
        prop_assert_eq!(harness.unpack(parts), frame);
        harness.release([whole]);
    }

    #[test]
    fn the_quick_look_finds_what_the_walk_finds_or_nothing(
        sound in strategies::frame(),
        hostile in strategies::hostile(),
        prefix in 0_usize..120,
    ) {
        for frame in [sound.build(), hostile] {
            for seen in [&frame[..], &frame[..prefix.min(frame.len())]] {
                let len = frame.len() as u32;
                let walked = gather(&layers(seen, len), len, false);
                let quick = plain::look(seen, len);
                prop_assert!(quick.is_none_or(|quick| quick == walked), "{quick:?} {walked:?}");
            }
        }
    }

    #[test]
    fn any_bytes_give_layers_that_lie_in_the_packet(
        frame in strategies::hostile(),
        cuts in prop::collection::vec(0_usize..300, 0..4),
        joined in any::<bool>(),
    ) {
        let mut harness = harness();
        let mut packet = chained(&mut harness, &frame, &cuts);
        if joined {
            let flags = SegFlags::empty();
            let request = Segmentation { kind: SegKind::Tcp4, gso_size: 10, count: 2, flags };
            packet.set_segmentation(request);
        }
        describe(&mut packet, KEY, &mut harness.buffers).expect("a buffer");
        let layers = packet.meta().layers;
        for level in &layers.levels[..usize::from(layers.count)] {
            for offset in [level.l2, level.l3, level.l4, level.payload] {
                prop_assert!(u32::from(offset) <= packet.len());
                prop_assert!(usize::from(offset) <= packet.data().len());
            }
        }
        prop_assert!(packet.payload_len() + u32::from(packet.meta().trailer) <= packet.len());
        harness.release([packet]);
    }

    #[test]
    fn both_directions_of_a_flow_have_one_hash_and_flows_differ(
        a in any::<([u8; 4], [u8; 16], u16)>(),
        b in any::<([u8; 4], [u8; 16], u16)>(),
        v6 in any::<bool>(),
    ) {
        type End = ([u8; 4], [u8; 16], u16);
        let hash = |src: End, dst: End| {
            let start = FrameBuilder::new();
            let ip = if v6 {
                start.ipv6(Ipv6 { src: src.1, dst: dst.1, ..Ipv6::default() })
            } else {
                start.ipv4(Ipv4 { src: src.0, dst: dst.0, ..Ipv4::default() })
            };
            let tcp = Tcp { src_port: src.2, dst_port: dst.2, ..Tcp::default() };
            let mut harness = harness();
            let packet = received(&mut harness, &ip.tcp(tcp).build(), &[]);
            let hash = packet.meta().hash;
            harness.release([packet]);
            hash
        };
        prop_assert_eq!(hash(a, b), hash(b, a));
        let other = (a.0, a.1, a.2 ^ 1);
        prop_assert_ne!(hash(a, b), hash(other, b));
    }
}

#[test]
fn hashes_spread() {
    let mut buckets = [0_u32; 16];
    let mut harness = harness();
    for src_port in 0..4096_u16 {
        let tcp = Tcp { src_port, ..Tcp::default() };
        let frame = FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).build();
        let packet = received(&mut harness, &frame, &[]);
        buckets[packet.meta().hash as usize % 16] += 1;
        harness.release([packet]);
    }
    // Expected 256 each; six standard deviations are 93.
    assert!(buckets.iter().all(|&n| (163..=349).contains(&n)), "{buckets:?}");
}

#[test]
fn a_checksum_to_be_finished_is_that_of_the_level_it_begins_at() {
    let inner = FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).payload(b"hi");
    let around = |frame: &[u8]| {
        let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::vxlan());
        outer.vxlan(Vxlan::default()).payload(frame).build()
    };
    let once = around(&inner.build());
    let twice = around(&once);
    // Frame, where the checksum begins, the level that is.
    let cases = [(&inner.build(), 34, 0), (&once, 34, 0), (&once, 84, 1), (&twice, 134, 1)];
    let mut harness = harness();
    for (frame, start, level) in cases {
        let mut packet = chained(&mut harness, frame, &[]);
        packet.meta_mut().request(0, Partial { start, field: start + 6 });
        describe(&mut packet, KEY, &mut harness.buffers).expect("a buffer");
        let meta = packet.meta();
        assert_eq!(meta.l4[level], Csum::Partial, "at {start}");
        assert_eq!(meta.l4[1 - level], Csum::Unknown, "at {start}");
        assert_eq!(meta.partial[level], Partial { start, field: start + 6 });
        harness.release([packet]);
    }
}
