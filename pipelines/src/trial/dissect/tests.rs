//! Frames that do not say everything, or say it wrong.

use super::*;

/// Ethernet, IPv4 of `length` bytes, UDP to `port`, and what is given.
fn frame(length: u16, port: u16, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend([0x9c, 0x40]);
    frame.extend(port.to_be_bytes());
    frame.extend(((8 + rest.len()) as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(rest);
    frame
}

fn kinds(frame: &[u8], like: &[Kind]) -> Vec<(Kind, usize)> {
    dissect(frame, like).iter().map(|seen| (seen.kind, seen.len)).collect()
}

#[test]
fn padding_is_no_payload() {
    let mut padded = frame(33, 53, b"hello");
    padded.resize(60, 0);
    let found = kinds(&padded, &[]);
    assert_eq!(found[3..], [(Kind::Payload, 5), (Kind::Trailer, 13)]);
}

#[test]
fn what_is_looked_for_behind_a_port_of_nobody_is_found() {
    let vxlan = [[8, 0, 0, 0, 0, 0, 42, 0].as_slice(), &[0; 14]].concat();
    let unusual = frame(50, 4000, &vxlan);
    assert_eq!(kinds(&unusual, &[])[3..], [(Kind::Payload, 22)]);
    let like = [Kind::Eth, Kind::Ipv4, Kind::Udp, Kind::Vxlan];
    assert_eq!(kinds(&unusual, &like)[3..], [(Kind::Vxlan, 8), (Kind::Eth, 14)]);
    let usual = frame(50, 4789, &vxlan);
    assert_eq!(kinds(&usual, &[])[3..], [(Kind::Vxlan, 8), (Kind::Eth, 14)]);
    let like = [Kind::Eth, Kind::Ipv4, Kind::Udp, Kind::Payload];
    assert_eq!(kinds(&usual, &like)[3..], [(Kind::Payload, 22)], "only bytes were asked for");
}

#[test]
fn later_fragments_have_no_header_of_the_next_layer() {
    let mut later = frame(33, 53, b"hello");
    later[21] = 1; // 8 bytes in
    assert_eq!(kinds(&later, &[])[2..], [(Kind::Payload, 13)]);
}
