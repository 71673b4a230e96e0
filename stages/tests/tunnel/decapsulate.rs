//! What `Decap` takes, and what it refuses for which reason.

use crate::rig::{bytes_of, decap, received, through};
use crate::vectors;
use corelane_runtime::packet::Csum;

/// The reason for which a vector is refused here, `None` where it is taken.
fn right(name: &str) -> Option<&'static str> {
    Some(match name {
        "F03" | "F06" | "F34" | "F104" => "bad_checksum",
        "F08" | "F09" | "F10" | "F11" | "F12" | "F14" | "F15" => "bad_header",
        // The other implementation reads extensions here that this end was not told of.
        "F13" | "F16" | "F102" => "bad_header",
        "F17" => "outer_options",
        "F20" | "F21" => "fragment",
        // It does not look at the length in the UDP header (H19).
        "F26" | "F27" => "bad_length",
        "F25" | "F28" | "F29" => "too_short",
        "F31" => "wrong_vni",
        "F47" => "congestion",
        "F103" => "bad_ipv4",
        _ => return None,
    })
}

/// The frame inside, where the outer datagram ends. The vectors that are taken have no options.
fn inside(outer: &[u8]) -> Vec<u8> {
    let (l4, at) = if outer[12] == 0x86 { (54, 70) } else { (34, 50) };
    let length = usize::from(u16::from_be_bytes([outer[l4 + 4], outer[l4 + 5]]));
    outer[at..l4 + length].to_vec()
}

fn state(what: &str) -> Option<Csum> {
    let (_, state) = what.split_once("[Rx L4 ")?;
    Some(match &state[..1] {
        "G" => Csum::Good,
        "P" => Csum::Partial,
        _ => Csum::Bad,
    })
}

#[test]
fn f01_to_f50_and_f100_to_f104_what_another_implementation_takes() {
    let mut taken = 0;
    for vector in vectors::of("decap") {
        let &[name, what, there, frame] = &vector[..] else { panic!("{vector:?}") };
        let outer = vectors::bytes(frame);
        let mut harness = decap("(tunnel: Vxlan(vni: 123, ecn: Rfc3168))");
        let mut packet = received(&mut harness, &outer);
        if let Some(state) = state(what) {
            packet.meta_mut().l4[0] = state;
        }
        let packets = through(&mut harness, vec![packet]);
        match right(name) {
            Some(reason) => {
                let n = harness.dropped(reason).packets;
                assert_eq!((packets.len(), n), (0, 1), "{name}: {what}");
            }
            None => {
                assert!(there.starts_with("ACCEPT") || name == "F23", "{name}: {what}: {there}");
                assert_eq!(packets.len(), 1, "{name}: {what}");
                let found = bytes_of(&packets[0]);
                let mut whole = inside(&outer);
                if let Some((_, ecn)) = there.split_once("inner ECN -> ") {
                    let ecn: u8 = ecn.parse().expect("a field");
                    let before = whole[15];
                    whole[15] = before & 0xfc | ecn;
                    // The header sum moves by what the field moved by.
                    let sum = u16::from_be_bytes([whole[24], whole[25]]);
                    let moved = sum - u16::from(whole[15]) + u16::from(before);
                    whole[24..26].copy_from_slice(&moved.to_be_bytes());
                }
                assert_eq!(found, whole, "{name}: {what}");
                taken += 1;
            }
        }
        harness.release(packets);
        harness.finish();
    }
    assert_eq!(taken, 30);
}

#[test]
fn ecn_comes_out_by_rfc_6040() {
    for vector in vectors::of("decap") {
        let &[name, what, _, frame] = &vector[..] else { panic!("{vector:?}") };
        let Some(fields) = what.strip_prefix("ecn outer ") else { continue };
        let digits: Vec<u8> = fields.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
        let right = match (digits[0], digits[1]) {
            (3, 0) => None,
            (3, _) => Some(3),
            (1, 2) => Some(1),
            (_, inner) => Some(inner),
        };
        let mut harness = decap("(tunnel: Vxlan(vni: 123))");
        let packet = received(&mut harness, &vectors::bytes(frame));
        let packets = through(&mut harness, vec![packet]);
        let found = packets.first().map(|packet| packet.data()[15] & 3);
        assert_eq!(found, right, "{name}: {what}");
        if let Some(packet) = packets.first() {
            let header = &packet.data()[14..34];
            assert_eq!(corelane_wire::testing::slow_sum(&[header]), 0xffff, "{name}");
        }
        harness.release(packets);
        harness.finish();
    }
}

#[test]
fn h13_and_h14_what_follows_the_datagram_does_not_come_out() {
    for checksum in ["0000", "0232"] {
        let outer = format!(
            "aa55aa550000001b213cab6408004500004e00004000401133ea0101025c0101025812b512b5003a{checksum}0800000000007b00{{IN}}deadbeef"
        );
        let mut harness = decap("(tunnel: Vxlan(vni: 123))");
        let packet = received(&mut harness, &vectors::bytes(&outer));
        let packets = through(&mut harness, vec![packet]);
        assert_eq!(bytes_of(&packets[0]), vectors::bytes("{IN}"));
        assert_eq!(packets[0].meta().orig_len, 42);
        harness.release(packets);
        harness.finish();
    }
}

#[test]
fn h19_a_datagram_longer_than_its_packet_is_refused() {
    let outer = "aa55aa550000001b213cab6408004500004e00004000401133ea0101025c0101025812b512b507d000000800000000007b00{IN}";
    let mut harness = decap("(tunnel: Vxlan())");
    let packet = received(&mut harness, &vectors::bytes(outer));
    assert!(through(&mut harness, vec![packet]).is_empty());
    assert_eq!(harness.dropped("bad_length").packets, 1);
    harness.finish();
}

/// F01 with other bytes at some place.
fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = vectors::bytes(
        "aa55aa550000001b213cab6408004500004e00004000401133ea0101025c0101025812b512b5003a00000800000000007b00{IN}",
    );
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    frame
}

#[test]
fn what_is_not_of_this_tunnel_goes_elsewhere() {
    let cases = [
        ("another port", changed(36, &[0x08, 0xae])),
        ("another protocol", changed(23, &[6])),
        ("another address", changed(33, &[89])),
        ("another identifier", changed(48, &[0x7c])),
        ("no IP", changed(12, &[0x12, 0x34])),
    ];
    for (what, frame) in cases {
        for elsewhere in [true, false] {
            let otherwise = if elsewhere { ", otherwise: \"rest\"" } else { "" };
            let args = format!("(tunnel: Vxlan(vni: 123, local: Own(\"wan\")){otherwise})");
            let mut harness = decap(&args);
            let packet = received(&mut harness, &frame);
            assert!(through(&mut harness, vec![packet]).is_empty());
            if elsewhere {
                let packets = harness.take_from(1);
                assert_eq!(bytes_of(&packets[0]), frame, "{what}");
                harness.release(packets);
            }
            assert_eq!(harness.tally().dropped().packets, u64::from(!elsewhere), "{what}");
            harness.finish();
        }
    }
}

#[test]
fn v9_and_v10_other_ports_and_other_addresses() {
    let custom = changed(36, &1111_u16.to_be_bytes());
    for (args, taken) in [
        ("port: 1111", true),
        ("port: [4789, 1111]", true),
        ("port: 4789", false),
        ("port: 1111, local: \"1.1.2.88\"", true),
        ("port: 1111, local: \"1.1.2.99\"", false),
    ] {
        let mut harness = decap(&format!("(tunnel: Vxlan({args}))"));
        let packet = received(&mut harness, &custom);
        let packets = through(&mut harness, vec![packet]);
        assert_eq!(packets.len(), usize::from(taken), "{args}");
        assert_eq!(harness.dropped("not_tunnel").packets, u64::from(!taken), "{args}");
        for packet in &packets {
            assert_eq!(bytes_of(packet), vectors::bytes("{IN}"));
            assert_eq!(packet.meta().taken.tunnel_id(), Some(123));
        }
        harness.release(packets);
        harness.finish();
    }
}

#[test]
fn reserved_bits_and_zero_checksums_are_a_choice() {
    let gbp = changed(42, &[0x88, 0, 0, 0x42]);
    let mut harness = decap("(tunnel: Vxlan(vni: 123, reserved: Ignore))");
    let packet = received(&mut harness, &gbp);
    let packets = through(&mut harness, vec![packet]);
    assert_eq!(packets.len(), 1);
    harness.release(packets);
    harness.finish();
    let zero = vectors::of("decap").into_iter().find(|vector| vector[0] == "F32").expect("F32");
    let mut harness = decap("(tunnel: Vxlan(vni: 123, udp6_zero_checksum: Drop))");
    let packet = received(&mut harness, &vectors::bytes(zero[3]));
    assert!(through(&mut harness, vec![packet]).is_empty());
    assert_eq!(harness.dropped("no_checksum").packets, 1);
    harness.finish();
}
