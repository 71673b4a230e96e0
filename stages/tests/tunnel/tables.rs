//! Rows of tenants: which one a packet is of, where its frames go, and what is learned on the way back.

use crate::rig::{Place, bytes_of, config, decap_at, encap_at, received, send_home, through};
use corelane_runtime::packet::{Packet, Taken};
use corelane_runtime::stage::StageSpec;
use corelane_runtime::testing::Harness;
use corelane_stages::tunnel::{decap::DecapSpec, encap::EncapSpec};
use corelane_wire::testing::{Ethernet, FrameBuilder, Ipv4, Udp, Vxlan};
use std::net::Ipv4Addr;

const UP: &str = "(tunnel: Vxlan(local: Own(\"wan\"), table: \"tenants\"), otherwise: \"rest\")";
const DOWN: &str = "(tunnel: Vxlan(table: \"tenants\"))";
const ROWS: &[&str] = &[
    r#"(vlan: 10, vni: 5010, remotes: ["192.0.2.7"])"#,
    r#"(vlan: 20, vni: 5020, remotes: ["192.0.2.7", "192.0.2.8", "192.0.2.9"], static: { "02:00:00:00:00:08": "192.0.2.8" })"#,
];
const SECOND: u64 = 1_000_000_000;

fn frame(dst: [u8; 6], src: [u8; 6]) -> Vec<u8> {
    let link = Ethernet { dst, src, ethertype: None };
    FrameBuilder::with(link).ipv4(Ipv4::default()).udp(Udp::default()).payload_len(100).build()
}

fn station(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, n]
}

/// A frame from which a tag was popped.
fn tagged(harness: &mut Harness, vlan: u16, frame: &[u8]) -> Packet {
    let mut packet = received(harness, frame);
    packet.meta_mut().taken = Taken::vlan(0xe000 | vlan);
    packet
}

/// Where the packets that left go: remote end and identifier.
fn ends(harness: &mut Harness, packets: Vec<Packet>) -> Vec<(Ipv4Addr, u32)> {
    let end = |packet: &Packet| {
        let bytes = bytes_of(packet);
        let ip = Ipv4Addr::new(bytes[30], bytes[31], bytes[32], bytes[33]);
        (ip, u32::from_be_bytes([0, bytes[46], bytes[47], bytes[48]]))
    };
    let ends = packets.iter().map(end).collect();
    harness.release(packets);
    ends
}

fn remote(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, n)
}

#[test]
fn the_popped_tag_selects_the_row_and_the_address_the_end() {
    let mut up = encap_at(UP, ROWS, &mut Place::default());
    let cases = [
        (10, station(1), vec![(remote(7), 5010)]),
        (20, station(8), vec![(remote(8), 5020)]),
        (20, station(1), vec![(remote(7), 5020), (remote(8), 5020), (remote(9), 5020)]),
        (20, [0xff; 6], vec![(remote(7), 5020), (remote(8), 5020), (remote(9), 5020)]),
    ];
    for (vlan, dst, right) in cases {
        let packet = tagged(&mut up, vlan, &frame(dst, station(9)));
        let packets = through(&mut up, vec![packet]);
        assert_eq!(ends(&mut up, packets), right, "VLAN {vlan} to {dst:02x?}");
    }
    let stray = tagged(&mut up, 30, &frame(station(1), station(9)));
    let untagged = received(&mut up, &frame(station(1), station(9)));
    assert!(through(&mut up, vec![stray, untagged]).is_empty());
    let rest = up.take_from(1);
    assert_eq!(rest.len(), 2);
    up.release(rest);
    up.finish();
}

#[test]
fn v6_one_frame_becomes_ten_copies_that_share_its_payload() {
    let remotes: Vec<String> = (1..=10).map(|n| format!("\"192.0.2.{n}\"")).collect();
    let rows = [format!("(vni: 9, remotes: [{}])", remotes.join(", "))];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let args = "(tunnel: Vxlan(local: Own(\"wan\"), table: \"t\", udp_checksum: On))";
    let mut up = encap_at(args, &rows, &mut Place::default());
    let inner = frame([0xff; 6], station(9));
    let packet = received(&mut up, &inner);
    let packets = through(&mut up, vec![packet]);
    assert_eq!((packets.len(), up.counter("replicated")), (10, 9));
    let mut fill = crate::rig::fill();
    let packets = through(&mut fill, packets);
    let mut found = Vec::new();
    for packet in &packets {
        let bytes = bytes_of(packet);
        corelane_wire::testing::assert_sound(&bytes);
        assert_eq!(bytes[50..], inner);
        found.push(bytes[33]);
    }
    assert_eq!(found, (1..=10).collect::<Vec<u8>>());
    send_home(&mut up, packets);
    fill.finish();
    up.finish();
}

#[test]
fn copies_wait_for_room_and_for_buffers() {
    let mut up = encap_at(UP, ROWS, &mut Place::default()).home(8, 8, 2);
    up.set_room(1);
    let mut came = Vec::new();
    for _ in 0..4 {
        let packet = tagged(&mut up, 20, &frame([0xff; 6], station(9)));
        up.push(packet);
    }
    for _ in 0..200 {
        up.step();
        up.assert_balanced();
        let packets = up.take();
        came.extend(ends(&mut up, packets));
    }
    assert_eq!(came.len(), 12);
    assert!(came.chunks(3).all(|ends| ends.iter().map(|(ip, _)| ip.octets()[3]).eq([7, 8, 9])));
    up.finish();
}

fn tunnelled(from: u8, vni: u32, inner: &[u8]) -> Vec<u8> {
    let outer = Ipv4 { src: [192, 0, 2, from], dst: [1, 1, 2, 88], ..Ipv4::default() };
    let udp = Udp { dst_port: 4789, ..Udp::default() };
    let header = Vxlan { vni, ..Vxlan::default() };
    FrameBuilder::new().ipv4(outer).udp(udp).vxlan(header).payload(inner).build()
}

#[test]
fn what_comes_in_teaches_where_to_send() {
    let mut place = Place::default();
    let mut up = encap_at(UP, ROWS, &mut place);
    let mut down = decap_at(DOWN, ROWS, &mut place);
    let to = |up: &mut Harness, station: [u8; 6]| {
        let packet = tagged(up, 20, &frame(station, [2, 0, 0, 0, 0, 0xaa]));
        let packets = through(up, vec![packet]);
        ends(up, packets).len()
    };
    let from = |down: &mut Harness, end: u8, src: [u8; 6]| {
        let packet = received(down, &tunnelled(end, 5020, &frame([0xff; 6], src)));
        let packets = through(down, vec![packet]);
        assert!(packets.iter().all(|packet| packet.meta().taken == Taken::tunnel(5020)));
        let came = packets.len();
        down.release(packets);
        came
    };
    assert_eq!(to(&mut up, station(5)), 3, "nobody knows it yet");
    assert_eq!(from(&mut down, 9, station(5)), 1);
    assert_eq!((down.counter("learned"), to(&mut up, station(5))), (1, 1));
    // The same again is no news; from another end it is.
    assert_eq!(from(&mut down, 9, station(5)), 1);
    assert_eq!(from(&mut down, 7, station(5)), 1);
    assert_eq!(down.counter("learned"), 2);
    // A group teaches nothing.
    assert_eq!(from(&mut down, 9, [3, 0, 0, 0, 0, 5]), 1);
    assert_eq!(down.counter("learned"), 2);
    up.now = 300 * SECOND;
    assert_eq!(to(&mut up, station(5)), 1);
    up.now = 301 * SECOND;
    assert_eq!(to(&mut up, station(5)), 3, "not seen for too long");
    up.finish();
    down.finish();
}

#[test]
fn v8_only_ends_of_the_row_are_heard() {
    let mut down = decap_at(DOWN, ROWS, &mut Place::default());
    let packets = (1..=20).map(|end| {
        let frame = tunnelled(end, 5020, &frame([0xff; 6], station(end)));
        received(&mut down, &frame)
    });
    let packets: Vec<Packet> = packets.collect();
    let packets = through(&mut down, packets);
    assert_eq!((packets.len(), down.dropped("unknown_remote").packets), (3, 17));
    assert_eq!(down.counter("learned"), 3);
    down.release(packets);
    let packet = received(&mut down, &tunnelled(7, 5030, &frame([0xff; 6], station(1))));
    assert!(through(&mut down, vec![packet]).is_empty());
    assert_eq!(down.dropped("unknown_vni").packets, 1);
    down.finish();
}

#[test]
fn stages_say_which_table_and_which_addresses_they_need() {
    let up = config(&EncapSpec, UP, ROWS).traits();
    assert_eq!((up.table.as_deref(), up.addressed), (Some("tenants"), vec!["wan".to_owned()]));
    assert_eq!(up.outputs, [("otherwise".to_owned(), "rest".to_owned())]);
    let down = config(&DecapSpec, DOWN, ROWS).traits();
    assert_eq!(down.table.as_deref(), Some("tenants"));
    assert_eq!(DecapSpec.info().subject, Some("tunnel"));
}
