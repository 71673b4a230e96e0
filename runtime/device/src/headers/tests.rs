//! The devices' parser on frames made by hand, and on any bytes.

use super::*;
use proptest::prelude::*;

fn frame(ethertype: u16, packet: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ethertype.to_be_bytes(), packet].concat()
}

/// IPv6 to `next`, with a payload length of `payload`.
fn v6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, payload.len() as u8, next, 64];
    packet.extend((0..32).collect::<Vec<u8>>());
    packet.extend(payload);
    packet
}

#[test]
fn tags_and_options_move_the_transport_header() {
    let mut packet = vec![0; 60];
    packet[..10].copy_from_slice(&[0x46, 0, 0, 44, 0, 0, 0x40, 0, 64, TCP]);
    packet[20..24].copy_from_slice(&[1, 1, 1, 0]);
    let tagged = [&[2; 12][..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7, 8, 0], &packet].concat();
    let headers = Headers::parse(&tagged).unwrap();
    assert_eq!((headers.l3, headers.l4, headers.end), (22, 46, 66));
    assert!(headers.options && !headers.odd_pseudo && !headers.fragment);
    assert_eq!(headers.l4_len(tagged.len()), Some(20));
    assert_eq!(headers.l4_len(65), None, "the datagram ends behind such a frame");
}

#[test]
fn a_source_route_makes_the_pseudo_header_odd() {
    let mut packet = vec![0; 40];
    packet[..10].copy_from_slice(&[0x47, 0, 0, 40, 0, 0, 0, 0, 64, UDP]);
    packet[20..28].copy_from_slice(&[1, 131, 7, 4, 10, 0, 0, 1]);
    assert!(Headers::parse(&frame(0x0800, &packet)).unwrap().odd_pseudo);
}

#[test]
fn extension_headers_are_walked_up_to_a_later_fragment() {
    let hop = [[44, 0, 1, 4, 0, 0, 0, 0], [UDP, 0, 0, 9, 0, 0, 0, 1], [0; 8]].concat();
    let headers = Headers::parse(&frame(0x86dd, &v6(0, &hop))).unwrap();
    assert_eq!((headers.protocol, headers.l4), (UDP, 14 + 40 + 16));
    assert!(headers.fragment && headers.options && !headers.odd_pseudo);
    let destination = [[UDP, 0, 1, 4, 0, 0, 0, 0], [0; 8]].concat();
    assert!(Headers::parse(&frame(0x86dd, &v6(60, &destination))).unwrap().odd_pseudo);
}

#[test]
fn both_directions_hash_the_same_and_a_port_makes_a_difference() {
    let there = frame(0x86dd, &v6(UDP, &[0, 1, 0, 2, 0, 8, 9, 9]));
    let mut back = there.clone();
    let (source, destination) = (&there[22..38], &there[38..54]);
    back[22..38].copy_from_slice(destination);
    back[38..54].copy_from_slice(source);
    back[54..58].copy_from_slice(&[0, 2, 0, 1]);
    assert_eq!(flow_hash(&there), flow_hash(&back));
    back[55] = 3;
    assert_ne!(flow_hash(&there), flow_hash(&back));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..3) {
        let bytes = match kind {
            0 => frame(0x0800, &bytes),
            1 => frame(0x86dd, &bytes),
            _ => bytes,
        };
        flow_hash(&bytes);
        if let Some(headers) = Headers::parse(&bytes) {
            prop_assert!(headers.l4 <= bytes.len());
        }
    }
}
