//! Internet checksums, byte by byte: the plain reading of RFC 1071, apart from the code that stages use.

use super::dissect::Seen;
use super::layout::Kind;

/// The one's-complement sum of pieces that follow each other, of which all but the last have an even length.
pub(crate) fn sum(pieces: &[&[u8]]) -> u16 {
    let mut total: u64 = 0;
    for pair in pieces.iter().flat_map(|piece| piece.chunks(2)) {
        let low = pair.get(1).copied().unwrap_or(0);
        total += u64::from(u16::from_be_bytes([pair[0], low]));
    }
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    total as u16
}

/// The pseudo header of what an IP header carries: its addresses, a length and a protocol (RFC 8200 section
/// 8.1; that of IPv4 has the same sum).
pub(crate) fn pseudo(ip: &[u8], kind: Kind, length: usize, protocol: u8) -> Vec<u8> {
    let addresses = match kind {
        Kind::Ipv4 => ip.get(12..20),
        _ => ip.get(8..40),
    };
    let mut bytes = addresses.unwrap_or_default().to_vec();
    bytes.extend((length as u32).to_be_bytes());
    bytes.extend([0, 0, 0, protocol]);
    bytes
}

/// The number of a protocol whose checksum covers a pseudo header.
pub(crate) fn with_pseudo(kind: Kind) -> Option<u8> {
    match kind {
        Kind::Tcp => Some(6),
        Kind::Udp => Some(17),
        Kind::Icmp6 => Some(58),
        _ => None,
    }
}

/// Whether the checksum of a header of a frame is right: that of `layers[index]`.
pub(crate) fn is_right(frame: &[u8], layers: &[Seen], index: usize) -> bool {
    let Some(seen) = layers.get(index) else { return false };
    let header = frame.get(seen.at..seen.at + seen.len).unwrap_or_default();
    let all = frame.get(seen.at..seen.end).unwrap_or_default();
    let covered: &[u8] = if seen.kind == Kind::Ipv4 { header } else { all };
    let Some(protocol) = with_pseudo(seen.kind) else { return sum(&[covered]) == 0xffff };
    // Of a UDP datagram 0 says that there is none.
    if seen.kind == Kind::Udp && header.get(6..8) == Some(&[0, 0]) {
        return false;
    }
    let before = layers.iter().take(index).rev();
    let ip = before.into_iter().find(|layer| matches!(layer.kind, Kind::Ipv4 | Kind::Ipv6));
    let Some(ip) = ip else { return false };
    let ip_header = frame.get(ip.at..ip.at + ip.len).unwrap_or_default();
    sum(&[&pseudo(ip_header, ip.kind, covered.len(), protocol), covered]) == 0xffff
}
