//! Superpackets that reach the end of a tunnel: trains of outer datagrams come apart, what was joined inside comes
//! out whole.

use crate::rig::{bytes_of, decap, encap, leave, received, through};
use corelane_runtime::packet::{Csum, L4, Packet, Partial, SegFlags, SegKind, Segmentation};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{
    FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan, slow_pseudo_header, slow_sum,
};

/// Frames of 250 bytes each that are carried one behind the other; TCP, UDP, or no IP at all.
fn inner(kind: u8, n: u8) -> Vec<u8> {
    let builder = FrameBuilder::new();
    match kind {
        0 => builder.ipv4(Ipv4::default()).tcp(Tcp::default()).payload(&[n; 196]).build(),
        1 => builder.ipv4(Ipv4::default()).udp(Udp::default()).payload(&[n; 208]).build(),
        2 => builder.ipv6(Ipv6::default()).udp(Udp::default()).payload(&[n; 188]).build(),
        _ => [vec![2; 12], vec![0x12, 0x34], vec![n; 236]].concat(),
    }
}

/// What a tap gives that joined the datagrams of a tunnel: one UDP header, one payload.
fn train(harness: &mut Harness, kind: u8, count: u8) -> Packet {
    let mut payload = Vec::new();
    for n in 0..count {
        payload.extend([8, 0, 0, 0, 0, 0, 42, 0]);
        payload.extend(inner(kind, n));
    }
    let udp = Udp { dst_port: 4789, ..Udp::default() };
    let frame = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload(&payload).build();
    let mut packet = harness.packet(&frame);
    let len = frame.len() as u32 - 34;
    let pseudo = slow_pseudo_header(&frame[26..30], &frame[30..34], len, 17);
    let seed = slow_sum(&[&pseudo]).to_be_bytes();
    packet.data_mut().expect("its own")[40..42].copy_from_slice(&seed);
    packet.set_segmentation(Segmentation {
        kind: SegKind::Udp4,
        gso_size: 258,
        count: count.into(),
        flags: SegFlags::empty(),
    });
    packet.meta_mut().l3[0] = Csum::Good;
    packet.meta_mut().request(0, Partial { start: 34, field: 40 });
    corelane_stages::rx::describe(&mut packet, 7, &mut harness.buffers).expect("a buffer");
    packet
}

#[test]
fn c11_a_udp_superpacket_of_vxlan_datagrams() {
    for kind in 0..4 {
        let mut harness = decap("(tunnel: Vxlan(vni: 42))");
        let packet = train(&mut harness, kind, 5);
        let packets = through(&mut harness, vec![packet]);
        assert_eq!((packets.len(), harness.counter("trains")), (5, 1), "kind {kind}");
        for (n, packet) in packets.iter().enumerate() {
            assert_eq!(bytes_of(packet), inner(kind, n as u8), "kind {kind}");
            assert_eq!(packet.meta().taken.tunnel_id(), Some(42));
            assert!(!packet.is_super());
        }
        harness.release(packets);
        harness.finish();
    }
}

#[test]
fn a_train_waits_for_room() {
    let mut harness = decap("(tunnel: Vxlan())");
    harness.set_room(1);
    let packet = train(&mut harness, 0, 6);
    harness.push(packet);
    let mut found = Vec::new();
    for _ in 0..30 {
        harness.step();
        harness.assert_balanced();
        let packets = harness.take();
        assert!(packets.len() <= 1);
        found.extend(packets.iter().map(bytes_of));
        harness.release(packets);
    }
    assert_eq!(found, (0..6).map(|n| inner(0, n)).collect::<Vec<_>>());
    harness.finish();
}

#[test]
fn what_was_joined_inside_comes_out_whole() {
    let args =
        "(tunnel: Vxlan(vni: 42, local: \"192.0.2.1\", remote: \"192.0.2.2\", udp_checksum: On))";
    for (kind, l4) in [(SegKind::Tcp4, L4::Tcp), (SegKind::Udp4, L4::Udp)] {
        let mut inwards = encap(args);
        let builder = FrameBuilder::new().ipv4(Ipv4::default());
        let builder = match l4 {
            L4::Tcp => builder.tcp(Tcp::default()),
            _ => builder.udp(Udp::default()),
        };
        let mut packet = received(&mut inwards, &builder.payload_len(3000).build());
        let before = bytes_of(&packet);
        packet.meta_mut().l4[0] = Csum::Good;
        let request = Segmentation { kind, gso_size: 1000, count: 3, flags: SegFlags::empty() };
        packet.set_segmentation(request);
        let packets = through(&mut inwards, vec![packet]);
        let mut outwards = decap("(tunnel: Vxlan(vni: 42))");
        let packets = through(&mut outwards, packets);
        let [packet] = &packets[..] else { panic!("{} packets", packets.len()) };
        let found = packet.segmentation();
        assert_eq!((found.kind, found.gso_size, found.count), (kind, 1000, 3));
        assert_eq!((packet.meta().layers.count, packet.meta().l4[0]), (1, Csum::Good));
        assert_eq!(bytes_of(packet), before);
        inwards.release(packets);
        outwards.finish();
        inwards.finish();
    }
}

#[test]
fn v5_fragments_inside_pass_through() {
    let args = "(tunnel: Vxlan(vni: 1, local: \"2001:db8::1\", remote: \"2001:db8::2\"))";
    let mut inwards = encap(args);
    let fragment = |offset, more| {
        let ip = Ipv4 { fragment_offset: offset, more_fragments: more, ..Ipv4::default() };
        FrameBuilder::new().ipv4(Ipv4 { protocol: Some(17), ..ip }).payload_len(800).build()
    };
    let frames = [fragment(0, true), fragment(800, true), fragment(1600, false)];
    let packets: Vec<Packet> = frames.iter().map(|frame| received(&mut inwards, frame)).collect();
    let packets = through(&mut inwards, packets);
    let outer = leave(inwards, packets);
    let mut outwards = decap("(tunnel: Vxlan(vni: 1))");
    let packets: Vec<Packet> = outer.iter().map(|frame| received(&mut outwards, frame)).collect();
    let packets = through(&mut outwards, packets);
    assert_eq!(packets.iter().map(bytes_of).collect::<Vec<_>>(), frames);
    outwards.release(packets);
    outwards.finish();
}

#[test]
fn v1_and_v2_there_and_back() {
    let udp = Udp {
        dst_port: 4789,
        checksum: corelane_wire::testing::Checksum::Value(0),
        ..Udp::default()
    };
    let frame = inner(0, 9);
    let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp);
    let outer = outer.vxlan(Vxlan { vni: 0x12345, ..Vxlan::default() }).payload(&frame).build();
    let mut outwards = decap("(tunnel: Vxlan(vni: 0x12345))");
    let packet = received(&mut outwards, &outer);
    let packets = through(&mut outwards, vec![packet]);
    assert_eq!(bytes_of(&packets[0]), frame, "V1");
    let args = "(tunnel: Vxlan(vni: 0x12345, local: \"192.0.2.1\", remote: \"192.0.2.2\", next_hop: \"02:00:00:00:00:02\", mac: \"02:00:00:00:00:01\"))";
    let mut inwards = encap(args);
    let packets = through(&mut inwards, packets);
    let found = bytes_of(&packets[0]);
    assert_eq!(found[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1], "V2");
    assert_eq!(found[26..34], [192, 0, 2, 1, 192, 0, 2, 2]);
    assert_eq!(found[36..42], [0x12, 0xb5, 1, 10, 0, 0]);
    assert_eq!(found[42..50], [8, 0, 0, 0, 1, 0x23, 0x45, 0]);
    assert_eq!(found[50..], frame);
    outwards.release(packets);
    inwards.finish();
    outwards.finish();
}
