//! Frames written out byte by byte, so that nothing under test makes what it is tested with.

mod properties;
mod rules;

use super::{Header, Request, SIZE};
use corelane_runtime::packet::{
    Buffers, HomeConfig, L3, L4, Layers, Level, Packet, Partial, Tunnel,
};

/// Addresses of Ethernet.
pub(super) const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

pub(super) fn ethernet(kind: u16) -> Vec<u8> {
    [&MACS[..], &kind.to_be_bytes()].concat()
}

pub(super) fn ip(v6: bool, protocol: u8) -> Vec<u8> {
    let mut header = if v6 { vec![0x60; 1] } else { vec![0x45; 1] };
    header.resize(if v6 { 40 } else { 20 }, 0);
    header[if v6 { 6 } else { 9 }] = protocol;
    header
}

pub(super) fn kind_of(v6: bool) -> u16 {
    if v6 { 0x86dd } else { 0x0800 }
}

/// A TCP header with `options` bytes of options and these flags.
pub(super) fn tcp(options: usize, flags: u8) -> Vec<u8> {
    let mut header = vec![0; 20 + options];
    header[12] = ((20 + options) / 4 * 16) as u8;
    header[13] = flags;
    header
}

pub(super) fn plain(v6: bool, transport: &[u8], protocol: u8, payload: usize) -> Vec<u8> {
    [&ethernet(kind_of(v6))[..], &ip(v6, protocol), transport, &vec![7; payload]].concat()
}

/// A frame in VXLAN.
pub(super) fn vxlan(v6: bool, inner: &[u8], checksum: u16) -> Vec<u8> {
    let mut udp = [0, 1, 0x12, 0xb5, 0, 0, 0, 0];
    udp[6..].copy_from_slice(&checksum.to_be_bytes());
    let vxlan = [8, 0, 0, 0, 0, 0, 5, 0];
    [&ethernet(kind_of(v6))[..], &ip(v6, 17), &udp, &vxlan, inner].concat()
}

pub(super) fn hex(text: &str) -> Header {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let mut bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
    bytes.resize(SIZE, 0);
    Header::from_bytes(&bytes)
}

pub(super) const fn partial(start: u16, field: u16) -> Option<Partial> {
    Some(Partial { start, field })
}

/// 3000 bytes over TCP over IPv4.
pub(super) fn tcp4() -> Vec<u8> {
    plain(false, &tcp(0, 0x10), 6, 3000)
}

/// The same over IPv6.
pub(super) fn tcp6() -> Vec<u8> {
    plain(true, &tcp(0, 0x10), 6, 3000)
}

pub(super) fn udp4() -> Vec<u8> {
    plain(false, &[0; 8], 17, 3000)
}

pub(super) fn buffers() -> Buffers {
    let config = HomeConfig { name: "test".into(), shells: 4, small: 4, large: 4, node: None };
    Buffers::new(&config).expect("memory")
}

/// Makes a packet of the frame, with the request and layers in its meta.
pub(super) fn packet(
    buffers: &mut Buffers,
    frame: &[u8],
    request: &Request,
    layers: Layers,
) -> Packet {
    let mut packet = buffers.receive(frame).expect("a buffer");
    request.apply(&mut packet);
    packet.set_layers(layers, 0);
    packet
}

/// Layers of one level, or of two in VXLAN.
pub(super) fn layers(outer6: bool, inner: Option<bool>, l4_kind: L4) -> Layers {
    let level = |l2: u16, v6: bool, l4_kind| {
        let (l3_kind, len) = if v6 { (L3::V6, 40) } else { (L3::V4, 20) };
        let (l3, l4) = (l2 + 14, l2 + 14 + len);
        Level { l2, l3, l4, payload: l4 + 8, l3_kind, l4_kind }
    };
    let Some(inner6) = inner else {
        let levels = [level(0, outer6, l4_kind), Level::default()];
        return Layers { levels, count: 1, tunnel: Tunnel::None };
    };
    let outer = level(0, outer6, L4::Udp);
    Layers {
        levels: [outer, level(outer.l4 + 16, inner6, l4_kind)],
        count: 2,
        tunnel: Tunnel::Vxlan,
    }
}
