//! Literal bytes of each header, both ways, and the option iterator.

use super::*;
use crate::{protocol, view, view_mut};

const BYTES: [u8; 40] = [
    0x6a, 0xb1, 0x23, 0x45, 0x05, 0xb4, 0x06, 0x40, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 1, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
];

fn address(last: u8) -> [u8; 16] {
    [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]
}

fn value() -> Ipv6Header {
    Ipv6Header {
        version_class_flow: Ipv6Header::first_word(0xab, 0xf1_2345),
        payload_length: U16::new(1460),
        next_header: protocol::TCP,
        hop_limit: 64,
        src: address(1),
        dst: address(2),
    }
}

#[test]
fn deconstruct() {
    let header = view::<Ipv6Header>(&BYTES, 0).unwrap();
    assert_eq!(header, &value());
    assert_eq!((header.version(), header.traffic_class(), header.ecn()), (6, 0xab, 3));
    assert_eq!(header.flow_label(), 0x1_2345);
}

#[test]
fn construct() {
    assert_eq!(value().as_bytes(), BYTES);
    assert_eq!(BYTES[Ipv6Header::SRC_AT..][..16], address(1));
    assert_eq!(BYTES[Ipv6Header::DST_AT..], address(2));
}

#[test]
fn write_over_dirty_bytes() {
    let mut bytes = [0xa5; 42];
    *view_mut(&mut bytes, 1).unwrap() = value();
    assert_eq!(bytes[1..41], BYTES);
    assert_eq!((bytes[0], bytes[41]), (0xa5, 0xa5));
}

#[test]
fn too_short() {
    assert_eq!(view::<Ipv6Header>(&BYTES, 1), None);
    assert_eq!(view::<ExtensionHeader>(&BYTES[..7], 0), None);
    assert_eq!(view::<FragmentHeader>(&BYTES[..7], 0), None);
    assert_eq!(view::<AuthenticationHeader>(&BYTES[..11], 0), None);
}

#[test]
fn extension_header() {
    let bytes = [60, 2, 4, 1, 9, 8, 7, 6];
    let header = view::<ExtensionHeader>(&bytes, 0).unwrap();
    assert_eq!(header.next_header, protocol::DESTINATION_OPTIONS);
    assert_eq!((header.routing_type, header.segments_left), (ROUTING_SEGMENT, 1));
    assert_eq!(header.header_len(), 24);
    assert_eq!(header.as_bytes(), bytes);
    let longest = ExtensionHeader { units: 255, ..*header };
    assert_eq!(longest.header_len(), 2048);
}

#[test]
fn fragment_header() {
    let bytes = [17, 0, 0x05, 0xa9, 0xde, 0xad, 0xbe, 0xef];
    let header = view::<FragmentHeader>(&bytes, 0).unwrap();
    assert_eq!((header.fragment_offset(), header.more_fragments()), (1448, true));
    assert_eq!((header.next_header, header.id.get()), (protocol::UDP, 0xdead_beef));
    let atomic = FragmentHeader { offset_more: U16::new(0x0006), ..*header };
    assert_eq!((atomic.fragment_offset(), atomic.more_fragments()), (0, false));
    assert_eq!(header.as_bytes(), bytes);
}

#[test]
fn authentication_header() {
    let bytes = [6, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 9];
    let header = view::<AuthenticationHeader>(&bytes, 0).unwrap();
    assert_eq!((header.next_header, header.header_len()), (protocol::TCP, 24));
    assert_eq!((header.spi.get(), header.sequence.get()), (256, 9));
    assert_eq!(header.as_bytes(), bytes);
}

#[test]
fn options_are_found_between_padding() {
    let header = [6, 1, 0, 0, JUMBO_OPTION, 4, 0, 1, 0, 0, 1, 2, 0, 0, 5, 0];
    let found: Vec<_> = options(&header).collect();
    let (jumbo, pad_n, empty) = (&header[6..10], &header[12..14], &header[16..]);
    assert_eq!(found, [(6, JUMBO_OPTION, jumbo), (12, 1, pad_n), (16, 5, empty)]);
}

#[test]
fn an_option_that_does_not_fit_ends_the_walk() {
    assert_eq!(options(&[6, 0, JUMBO_OPTION, 5, 0, 0, 0, 0]).count(), 0);
    assert_eq!(options(&[6, 0, 1, 0, 0, 0, 0, JUMBO_OPTION]).count(), 1);
    assert_eq!(options(&[6]).count(), 0);
    assert_eq!(options(&[]).count(), 0);
}
