//! Capture files put together field by field, in either byte order.
//!
//! It promises the layout of the drafts, and lets a test break any rule of them.

use crate::capture::format::ByteOrder;
use crate::capture::format::ByteOrder::{Big, Little};

pub(super) const ORDERS: [ByteOrder; 2] = [Little, Big];

pub(super) fn u16(order: ByteOrder, value: u16) -> [u8; 2] {
    match order {
        Little => value.to_le_bytes(),
        Big => value.to_be_bytes(),
    }
}

pub(super) fn u32(order: ByteOrder, value: u32) -> [u8; 4] {
    match order {
        Little => value.to_le_bytes(),
        Big => value.to_be_bytes(),
    }
}

pub(super) fn words(order: ByteOrder, values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|&value| u32(order, value)).collect()
}

/// A classic file header with the given link word.
pub(super) fn pcap_header(order: ByteOrder, magic: u32, link: u32) -> Vec<u8> {
    let mut bytes = words(order, &[magic]);
    bytes.extend(u16(order, 2));
    bytes.extend(u16(order, 4));
    bytes.extend(words(order, &[0, 0, 65535, link]));
    bytes
}

/// A classic record; `extra` stands between its header and its data.
pub(super) fn pcap_record(
    order: ByteOrder,
    time: (u32, u32),
    orig_len: u32,
    extra: &[u8],
    data: &[u8],
) -> Vec<u8> {
    let mut bytes = words(order, &[time.0, time.1, data.len() as u32, orig_len]);
    bytes.extend(extra);
    bytes.extend(data);
    bytes
}

/// A pcapng block around `body`, which is padded to four bytes.
pub(super) fn block(order: ByteOrder, kind: u32, body: &[u8]) -> Vec<u8> {
    let body = padded(body);
    let length = 12 + body.len() as u32;
    let mut bytes = words(order, &[kind, length]);
    bytes.extend(body);
    bytes.extend(u32(order, length));
    bytes
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while !bytes.len().is_multiple_of(4) {
        bytes.push(0xaa);
    }
    bytes
}

/// A section header of version 1.0 with a length that is wrong on purpose.
pub(super) fn section(order: ByteOrder) -> Vec<u8> {
    let mut body = words(order, &[0x1a2b_3c4d]);
    body.extend(u16(order, 1));
    body.extend(u16(order, 0));
    body.extend([0x11; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

/// Options, each padded, without the end mark.
pub(super) fn options(order: ByteOrder, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (code, value) in options {
        bytes.extend(u16(order, *code));
        bytes.extend(u16(order, value.len() as u16));
        bytes.extend(padded(value));
    }
    bytes
}

pub(super) fn interface(order: ByteOrder, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
    let mut body = u16(order, link).to_vec();
    body.extend(u16(order, 0));
    body.extend(u32(order, snaplen));
    body.extend(options);
    block(order, 1, &body)
}

pub(super) fn enhanced(
    order: ByteOrder,
    interface: u32,
    ticks: u64,
    orig_len: u32,
    data: &[u8],
    options: &[u8],
) -> Vec<u8> {
    let (high, low) = ((ticks >> 32) as u32, ticks as u32);
    let mut body = words(order, &[interface, high, low, data.len() as u32, orig_len]);
    body.extend(padded(data));
    body.extend(options);
    block(order, 6, &body)
}

/// The obsolete packet block, whose drop count is not zero.
pub(super) fn obsolete(
    order: ByteOrder,
    interface: u16,
    ticks: u64,
    orig_len: u32,
    data: &[u8],
) -> Vec<u8> {
    let mut body = u16(order, interface).to_vec();
    body.extend(u16(order, 77));
    let (high, low) = ((ticks >> 32) as u32, ticks as u32);
    body.extend(words(order, &[high, low, data.len() as u32, orig_len]));
    body.extend(data);
    block(order, 2, &body)
}

pub(super) fn simple(order: ByteOrder, orig_len: u32, data: &[u8]) -> Vec<u8> {
    let mut body = u32(order, orig_len).to_vec();
    body.extend(data);
    block(order, 3, &body)
}
