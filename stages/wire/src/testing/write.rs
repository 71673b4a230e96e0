//! Headers as bytes, for the builder: each from its fields and what follows it.
//!
//! It promises what the builder promises, one header at a time, and nothing else.

use super::headers::{Arp, Checksum, Extension, Icmp, Ipv4, Ipv6, Tcp, Udp};
use super::tunnels::{Geneve, Gre};
use super::{slow_pseudo_header, slow_sum};

/// The addresses a checksum below an IP header covers.
pub(super) struct Addresses {
    pub(super) src: Vec<u8>,
    pub(super) dst: Vec<u8>,
}

/// RFC 8200 section 8.1 and RFC 6275 section 11.3: where the packet will be when its checksum is
/// checked.
pub(super) fn final_addresses(ip: &Ipv6) -> Addresses {
    let mut found = Addresses { src: ip.src.into(), dst: ip.dst.into() };
    for extension in &ip.extensions {
        match extension {
            Extension::HomeAddress(home) => found.src = home.to_vec(),
            Extension::Routing { kind, left, addresses } if *left > 0 => {
                let last = if *kind == 4 { addresses.first() } else { addresses.last() };
                found.dst = last.map_or(found.dst, |last| last.to_vec());
            }
            _ => {}
        }
    }
    found
}

fn padded(bytes: &[u8], unit: usize) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(unit), 0);
    padded
}

fn header_options(options: &[u8]) -> Vec<u8> {
    let mut options = padded(options, 4);
    options.truncate(40);
    options
}

/// Writes a checksum: `sum` is over everything with the field zero, `pseudo` over the pseudo header
/// alone.
fn put_checksum(bytes: &mut [u8], what: Checksum, sum: u16, pseudo: u16, udp: bool) {
    let right = match !sum {
        0xffff if !udp => 0,
        0 if udp => 0xffff,
        right => right,
    };
    let value = match what {
        Checksum::Right => right,
        Checksum::OtherZero => match right {
            0 => 0xffff,
            0xffff => 0,
            other => other,
        },
        Checksum::Partial => pseudo,
        // Never 0, which UDP would take for "none"; never the other zero, which would be right.
        Checksum::Wrong if right == 0xfffe || right == 0xffff => 0x0001,
        Checksum::Wrong => right + 1,
        Checksum::Value(value) => value,
    };
    bytes.copy_from_slice(&value.to_be_bytes());
}

pub(super) fn ipv4(header: &Ipv4, next: u8, body: &[u8]) -> Vec<u8> {
    let options = header_options(&header.options);
    let len = 20 + options.len();
    let total_length = header.total_length.unwrap_or((len + body.len()) as u16);
    let flags = u16::from(header.dont_fragment) << 14 | u16::from(header.more_fragments) << 13;
    let mut bytes = vec![0x40 | (len / 4) as u8, header.tos];
    bytes.extend(total_length.to_be_bytes());
    bytes.extend(header.id.to_be_bytes());
    bytes.extend((flags | (header.fragment_offset / 8)).to_be_bytes());
    bytes.extend([header.ttl, header.protocol.unwrap_or(next), 0, 0]);
    bytes.extend(header.src);
    bytes.extend(header.dst);
    bytes.extend(options);
    let sum = slow_sum(&[&bytes]);
    put_checksum(&mut bytes[10..12], header.checksum, sum, 0, false);
    bytes
}

pub(super) fn ipv6(header: &Ipv6, next: u8, body: &[u8]) -> Vec<u8> {
    let mut next = header.next_header.unwrap_or(next);
    let extension_len = |extension| extension_header(extension, 0, 0).1.len();
    let payload_length = header.extensions.iter().map(extension_len).sum::<usize>() + body.len();
    let mut extensions = Vec::new();
    for extension in header.extensions.iter().rev() {
        let (number, mut bytes) = extension_header(extension, next, payload_length);
        bytes.append(&mut extensions);
        extensions = bytes;
        next = number;
    }
    let length = match header.payload_length {
        Some(length) => length,
        None if header.extensions.contains(&Extension::Jumbo) => 0,
        None => payload_length as u16,
    };
    let first = 6 << 28 | u32::from(header.traffic_class) << 20 | header.flow_label & 0xf_ffff;
    let mut bytes = first.to_be_bytes().to_vec();
    bytes.extend(length.to_be_bytes());
    bytes.extend([next, header.hop_limit]);
    bytes.extend(header.src);
    bytes.extend(header.dst);
    bytes.extend(extensions);
    bytes
}

/// Protocol number and bytes of an extension header before one of type `next`, in a datagram of
/// this payload length.
fn extension_header(extension: &Extension, next: u8, payload_length: usize) -> (u8, Vec<u8>) {
    let usual = |body: &[u8]| {
        let mut bytes = padded(&[&[next, 0], body].concat(), 8);
        bytes[1] = (bytes.len() / 8 - 1) as u8;
        bytes
    };
    match extension {
        Extension::HopByHop(options) => (0, usual(options)),
        Extension::Jumbo => {
            let length = (payload_length as u32).to_be_bytes();
            (0, usual(&[&[0xc2, 4], &length[..]].concat()))
        }
        Extension::Destination(options) => (60, usual(options)),
        // Two bytes of padding first: the address belongs at 8n + 6.
        Extension::HomeAddress(home) => (60, usual(&[&[1, 0, 201, 16], &home[..]].concat())),
        Extension::Routing { kind, left, addresses } => {
            (43, usual(&[&[*kind, *left, 0, 0, 0, 0], &addresses.concat()[..]].concat()))
        }
        Extension::Fragment { offset, more, id } => {
            let mut bytes = vec![next, 0];
            bytes.extend((offset & 0xfff8 | u16::from(*more)).to_be_bytes());
            bytes.extend(id.to_be_bytes());
            (44, bytes)
        }
        Extension::Authentication(words) => {
            let mut bytes = vec![next, words + 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
            bytes.resize(12 + 4 * usize::from(*words), 0x5a);
            (51, bytes)
        }
        Extension::Other(number, body) => (*number, usual(body)),
    }
}

pub(super) fn tcp(header: &Tcp, addresses: &Addresses, body: &[u8]) -> Vec<u8> {
    let options = header_options(&header.options);
    let len = 20 + options.len();
    let words = header.header_words.map_or(len / 4, usize::from) as u16;
    let mut bytes = header.src_port.to_be_bytes().to_vec();
    bytes.extend(header.dst_port.to_be_bytes());
    bytes.extend(header.seq.to_be_bytes());
    bytes.extend(header.ack.to_be_bytes());
    bytes.extend((words << 12 | header.flags.bits()).to_be_bytes());
    bytes.extend(header.window.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(header.urgent.to_be_bytes());
    bytes.extend(options);
    let length = (len + body.len()) as u32;
    let pseudo = slow_pseudo_header(&addresses.src, &addresses.dst, length, 6);
    let sum = slow_sum(&[&pseudo, &bytes, body]);
    put_checksum(&mut bytes[16..18], header.checksum, sum, slow_sum(&[&pseudo]), false);
    bytes
}

pub(super) fn udp(header: &Udp, addresses: &Addresses, body: &[u8]) -> Vec<u8> {
    let len = 8 + body.len();
    let length = header.length.unwrap_or(u16::try_from(len).unwrap_or(0));
    let mut bytes = header.src_port.to_be_bytes().to_vec();
    bytes.extend(header.dst_port.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0]);
    // A length that is said is also what the checksum covers, as far as there are bytes.
    let covered = match header.length {
        Some(length) if length >= 8 => usize::from(length).min(len),
        _ => len,
    };
    let pseudo = slow_pseudo_header(&addresses.src, &addresses.dst, covered as u32, 17);
    let sum = slow_sum(&[&pseudo, &bytes, &body[..covered - 8]]);
    put_checksum(&mut bytes[6..8], header.checksum, sum, slow_sum(&[&pseudo]), true);
    bytes
}

/// An ICMP message; `v6` says of which kind.
pub(super) fn icmp(header: &Icmp, addresses: &Addresses, v6: bool, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![header.kind, header.code, 0, 0];
    bytes.extend(header.rest.to_be_bytes());
    let length = (bytes.len() + body.len()) as u32;
    let pseudo = match v6 {
        true => slow_pseudo_header(&addresses.src, &addresses.dst, length, 58),
        false => Vec::new(),
    };
    let sum = slow_sum(&[&pseudo, &bytes, body]);
    put_checksum(&mut bytes[2..4], header.checksum, sum, slow_sum(&[&pseudo]), false);
    bytes
}

pub(super) fn arp(packet: &Arp) -> Vec<u8> {
    let mut bytes = vec![0, 1, 8, 0, 6, 4];
    bytes.extend(packet.operation.to_be_bytes());
    bytes.extend(packet.sender_mac);
    bytes.extend(packet.sender_ip);
    bytes.extend(packet.target_mac);
    bytes.extend(packet.target_ip);
    bytes
}

/// A Geneve header before a packet of type `next`.
pub(super) fn geneve(header: &Geneve, next: u16) -> Vec<u8> {
    let mut options = padded(&header.options, 4);
    options.truncate(252);
    let flags = u8::from(header.control) << 7 | u8::from(header.critical) << 6;
    let mut bytes = vec![header.version << 6 | (options.len() / 4) as u8, flags];
    bytes.extend(header.protocol.unwrap_or(next).to_be_bytes());
    bytes.extend((header.vni << 8).to_be_bytes());
    bytes.extend(options);
    bytes
}

/// A GRE header before a packet of type `next`.
pub(super) fn gre(header: &Gre, next: u16, body: &[u8]) -> Vec<u8> {
    let mut flags = header.more_flags;
    flags |= u16::from(header.checksum.is_some()) << 15;
    flags |= u16::from(header.key.is_some()) << 13;
    flags |= u16::from(header.sequence.is_some()) << 12;
    let mut bytes = flags.to_be_bytes().to_vec();
    bytes.extend(header.protocol.unwrap_or(next).to_be_bytes());
    let fields = [header.checksum.map(|_| 0), header.key, header.sequence];
    bytes.extend(fields.into_iter().flatten().flat_map(u32::to_be_bytes));
    if let Some(checksum) = header.checksum {
        let sum = slow_sum(&[&bytes, body]);
        put_checksum(&mut bytes[4..6], checksum, sum, 0, false);
    }
    bytes
}
