//! What `Encap` makes of packets: byte for byte what others make, whatever was known of the checksums inside.

use crate::rig::{bytes_of, encap, fill, leave, received, send_home, through};
use crate::vectors;
use corelane_runtime::packet::{Csum, L3, L4, Packet, Partial, SegFlags, Tunnel};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{FrameBuilder, Ipv4, Ipv6, Tcp, Udp, slow_pseudo_header, slow_sum};
use std::collections::BTreeSet;

/// The other end of the vectors.
fn vector_args(v6: bool, more: &str) -> String {
    let (local, remote) =
        if v6 { ("2001:cafe::88", "2001:cafe::92") } else { ("1.1.2.88", "1.1.2.92") };
    format!("(tunnel: Vxlan(local: \"{local}\", remote: \"{remote}\", src_port: 57363, {more}))")
}

/// The bytes behind the outer headers of a frame.
fn inner_of(outer: &[u8]) -> &[u8] {
    if outer[12] == 0x86 { &outer[70..] } else { &outer[50..] }
}

/// Says of all checksums of a packet what a device would.
fn say(packet: &mut Packet, state: Csum) {
    let meta = packet.meta_mut();
    let level = meta.layers.levels[0];
    if meta.layers.count == 1 {
        if level.l3_kind == L3::V4 {
            meta.l3[0] = state;
        }
        if matches!(level.l4_kind, L4::Tcp | L4::Udp) {
            meta.l4[0] = state;
        }
    }
}

/// Leaves the checksum of a packet to be finished, as a sender on this host does.
fn leave_partial(packet: &mut Packet) -> bool {
    let level = packet.meta().layers.levels[0];
    let at = match (packet.meta().layers.count, level.l4_kind) {
        (1, L4::Tcp) => level.l4 + 16,
        (1, L4::Udp) => level.l4 + 6,
        _ => return false,
    };
    let l3 = usize::from(level.l3);
    let length = packet.len() - u32::from(level.l4);
    let data = packet.data_mut().expect("a packet of its own");
    let (src, dst) = match level.l3_kind {
        L3::V4 => (l3 + 12..l3 + 16, l3 + 16..l3 + 20),
        _ => (l3 + 8..l3 + 24, l3 + 24..l3 + 40),
    };
    let protocol = if level.l4_kind == L4::Tcp { 6 } else { 17 };
    let pseudo = slow_pseudo_header(&data[src], &data[dst], length, protocol);
    let field = usize::from(at);
    if level.l4_kind == L4::Udp && data[field..field + 2] == [0, 0] {
        return false;
    }
    data[field..field + 2].copy_from_slice(&slow_sum(&[&pseudo]).to_be_bytes());
    packet.meta_mut().request(0, Partial { start: level.l4, field: at });
    true
}

fn assert_frame(name: &str, found: &[u8], right: &[u8]) {
    let at = found.iter().zip(right).position(|(a, b)| a != b);
    assert!(found == right, "{name}: byte {at:?}\nfound {found:02x?}\nright {right:02x?}");
}

#[test]
fn c01_to_c18_the_frames_of_another_implementation() {
    for vector in vectors::of("encap") {
        let &[name, checksum, inside, frame] = &vector[..] else { panic!("{vector:?}") };
        let right = vectors::bytes(frame);
        let v6 = right[12] == 0x86;
        let checksum = if checksum == "on" { "On" } else { "Off" };
        let more = format!(
            "vni: 123, udp_checksum: {checksum}, mac: \"aa:66:aa:66:00:00\", next_hop: \"aa:66:aa:66:00:01\""
        );
        let states: &[Option<Csum>] = match inside {
            "bad" => &[Some(Csum::Unknown), Some(Csum::Bad)],
            _ => &[Some(Csum::Unknown), Some(Csum::Good), None],
        };
        for state in states {
            let mut harness = encap(&vector_args(v6, &more));
            let mut packet = received(&mut harness, inner_of(&right));
            match state {
                Some(state) => say(&mut packet, *state),
                None => drop_unless(leave_partial(&mut packet)),
            }
            let packets = through(&mut harness, vec![packet]);
            let frames = leave(harness, packets);
            assert_frame(&format!("{name} udp {checksum}, {state:?} inside"), &frames[0], &right);
        }
    }
}

/// Packets without a checksum to be finished are tried as they are.
fn drop_unless(_: bool) {}

#[test]
fn e18_to_e28_class_and_ttl_by_the_older_rules() {
    for vector in vectors::of("treat") {
        let &[name, inner, frame] = &vector[..] else { panic!("{vector:?}") };
        let right = vectors::bytes(frame);
        let v6 = right[12] == 0x86;
        let treatment = match name {
            "E24" | "E25" | "E27" | "E28" => "dscp: Inherit, ttl: Inherit",
            "E26" => "dscp: 26, ttl: 7, df: false",
            _ => "dscp: 0, ttl: 64",
        };
        let hop = if v6 { "06" } else { "01" };
        let more = format!(
            "vni: 1, ecn: Rfc3168, {treatment}, mac: \"aa:55:aa:55:00:00\", next_hop: \"aa:bb:cc:00:00:{hop}\""
        );
        let mut harness = encap(&vector_args(v6, &more));
        let packet = received(&mut harness, &vectors::bytes(inner));
        let packets = through(&mut harness, vec![packet]);
        assert_frame(name, &leave(harness, packets)[0], &right);
    }
}

#[test]
fn ecn_is_copied_by_rfc_6040_whatever_the_dscp() {
    for tos in [0x00, 0x01, 0x02, 0x03, 0xb8, 0xbb] {
        for (dscp, outside) in [("0", tos & 3), ("Inherit", tos), ("10", 40 | tos & 3)] {
            let frame = FrameBuilder::new().ipv4(Ipv4 { tos, ..Ipv4::default() });
            let frame = frame.udp(Udp::default()).payload(b"x").build();
            let more = format!("vni: 1, dscp: {dscp}");
            let mut harness = encap(&vector_args(false, &more));
            let packet = received(&mut harness, &frame);
            let packets = through(&mut harness, vec![packet]);
            assert_eq!(bytes_of(&packets[0])[15], outside, "tos {tos:#04x}, dscp {dscp}");
            harness.release(packets);
            harness.finish();
        }
    }
}

/// A TCP superpacket that asks to be cut, its checksum partial.
fn superpacket(harness: &mut Harness, payload: usize, size: u16) -> Packet {
    use corelane_runtime::packet::{SegKind, Segmentation};
    let frame = FrameBuilder::new().ipv4(Ipv4 { id: 7, ..Ipv4::default() });
    let frame = frame.tcp(Tcp::default()).payload_len(payload).build();
    let mut packet = received(harness, &frame);
    assert!(leave_partial(&mut packet));
    packet.meta_mut().l3[0] = Csum::Good;
    let count = payload.div_ceil(usize::from(size)) as u16;
    let before = packet.segmentation();
    let kind = SegKind::Tcp4;
    packet.set_segmentation(Segmentation { kind, gso_size: size, count, ..before });
    packet
}

#[test]
fn superpackets_go_in_whole() {
    for (checksum, state) in [("Off", Csum::Unknown), ("On", Csum::Partial)] {
        let mut harness = encap(&vector_args(false, &format!("vni: 9, udp_checksum: {checksum}")));
        let packet = superpacket(&mut harness, 4000, 1000);
        let len = packet.len();
        let packets = through(&mut harness, vec![packet]);
        let [packet] = &packets[..] else { panic!("{} packets", packets.len()) };
        let (meta, request) = (packet.meta(), packet.segmentation());
        assert_eq!((request.gso_size, request.count), (1000, 4));
        assert_eq!(request.flags, SegFlags::OUTER_FIXED_ID);
        assert_eq!((meta.layers.count, meta.layers.tunnel), (2, Tunnel::Vxlan));
        assert_eq!((meta.l3, meta.l4), ([Csum::Good; 2], [state, Csum::Partial]));
        assert_eq!(packet.len(), len + 50);
        let data = packet.data();
        assert_eq!(data[16..18], (len as u16 + 36).to_be_bytes(), "total length");
        assert_eq!(data[18..22], [0, 0, 0x40, 0], "identification 0, DF");
        if state == Csum::Partial {
            let pseudo = slow_pseudo_header(&data[26..30], &data[30..34], len + 16, 17);
            assert_eq!(data[40..42], slow_sum(&[&pseudo]).to_be_bytes(), "the seed");
        }
        harness.release(packets);
        harness.finish();
    }
}

#[test]
fn identifications_count_up_where_routers_may_fragment() {
    let mut harness = encap(&vector_args(false, "vni: 9, df: false"));
    let ordinary = |harness: &mut Harness| {
        let frame = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::default()).build();
        received(harness, &frame)
    };
    let packets =
        vec![ordinary(&mut harness), superpacket(&mut harness, 4000, 1000), ordinary(&mut harness)];
    let packets = through(&mut harness, packets);
    let ids: Vec<u8> = packets.iter().map(|packet| packet.data()[19]).collect();
    assert_eq!(ids, [0, 1, 5]);
    assert_eq!(packets[1].segmentation().flags, SegFlags::empty());
    harness.release(packets);
    harness.finish();
}

#[test]
fn a_sum_that_is_known_is_not_read_again() {
    // An outer checksum around a packet whose payload's sum is known, or whose checksum is still to be finished.
    for partial in [false, true] {
        let mut harness = encap(&vector_args(false, "vni: 9, udp_checksum: On"));
        let frame = FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default());
        let frame = frame.payload_len(1000).build();
        let mut packet = received(&mut harness, &frame);
        packet.set_payload_sum(slow_sum(&[&frame[54..]]));
        if partial {
            assert!(leave_partial(&mut packet));
        }
        let packets = through(&mut harness, vec![packet]);
        let mut fill = fill();
        let packets = through(&mut fill, packets);
        assert_eq!(fill.tally().payload_bytes_summed, 0);
        assert_eq!(harness.tally().payload_bytes_summed, 0);
        harness.release(packets);
        fill.finish();
        harness.finish();
    }
}

#[test]
fn a_third_level_goes_around_two_that_are_finished() {
    // The packet inside is a superpacket in a tunnel with both checksums put off.
    let mut first = encap(&vector_args(false, "vni: 1, udp_checksum: On"));
    let packet = superpacket(&mut first, 4000, 1000);
    let whole = bytes_of(&packet);
    let packets = through(&mut first, vec![packet]);
    let mut second = encap(&vector_args(true, "vni: 2"));
    let packets = through(&mut second, packets);
    assert_eq!(packets.len(), 4, "it was cut before");
    assert_eq!(second.counter("finished"), 1);
    for packet in &packets {
        let bytes = bytes_of(packet);
        corelane_wire::testing::assert_sound(&bytes);
        assert_eq!(packet.meta().l4.iter().filter(|&&state| state == Csum::Partial).count(), 0);
        assert_eq!(bytes[120..120 + 34], [&whole[..16], &[0x04, 0x10], &bytes[138..154]].concat());
    }
    send_home(&mut first, packets);
    second.finish();
    first.finish();
}

#[test]
fn v3_flows_differ_in_source_ports_and_packets_of_a_flow_do_not() {
    for v6 in [false, true] {
        let mut harness = encap(&vector_args(v6, "vni: 9").replace("src_port: 57363, ", ""));
        let frame = |port: u16, n: u8| {
            let udp = Udp { src_port: port, ..Udp::default() };
            let builder = FrameBuilder::new();
            let builder = match v6 {
                true => builder.ipv6(Ipv6::default()),
                false => builder.ipv4(Ipv4::default()),
            };
            builder.udp(udp).payload(&[n; 20]).build()
        };
        let mut packets = Vec::new();
        for port in 1000..1100 {
            packets.push(received(&mut harness, &frame(port, 0)));
            packets.push(received(&mut harness, &frame(port, 1)));
        }
        let packets = through(&mut harness, packets);
        let at = if v6 { 54 } else { 34 };
        let port = |packet: &Packet| u16::from_be_bytes([packet.data()[at], packet.data()[at + 1]]);
        let ports: Vec<u16> = packets.iter().map(port).collect();
        assert!(ports.iter().all(|&port| port >= 49_152));
        assert!(ports.chunks(2).all(|pair| pair[0] == pair[1]));
        assert!(ports.iter().collect::<BTreeSet<_>>().len() > 90);
        harness.release(packets);
        harness.finish();
    }
}

#[test]
fn v7_a_group_is_sent_to_by_its_own_address() {
    for (args, right) in [
        ("local: \"192.0.2.1\", remote: \"239.129.1.2\"", [0x01, 0, 0x5e, 1, 1, 2]),
        ("local: \"2001:db8::1\", remote: \"ff02::1:2\"", [0x33, 0x33, 0, 1, 0, 2]),
        // Whoever resolves it finds zeros.
        ("local: Own(\"wan\"), remote: \"192.0.2.7\"", [0; 6]),
    ] {
        let mut harness = encap(&format!("(tunnel: Vxlan(vni: 9, port: 1111, {args}))"));
        let frame = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::default()).build();
        let packet = received(&mut harness, &frame);
        let packets = through(&mut harness, vec![packet]);
        let bytes = bytes_of(&packets[0]);
        assert_eq!(bytes[..6], right);
        assert_eq!(bytes[6..12], [0xaa, 0x55, 0xaa, 0x55, 0, 0], "the port's");
        let l4 = if bytes[12] == 0x86 { 54 } else { 34 };
        assert_eq!(bytes[l4 + 2..l4 + 4], 1111_u16.to_be_bytes(), "V9");
        assert_eq!(inner_of(&bytes), frame);
        harness.release(packets);
        harness.finish();
    }
}
