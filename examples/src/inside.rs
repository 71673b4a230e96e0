//! The frame inside a VXLAN, read with a few lines of its own.
//!
//! Promises the inner frame of VXLAN (RFC 7348) on UDP ports 4789 and 8472, over IPv4 or IPv6, with or without VLAN tags;
//! any other frame is left as it is. Checks nothing but what is needed to find the way in.

use crate::captures::Frame;

const PORTS: [u16; 2] = [4789, 8472];

/// Each frame, taken out of its tunnel where it is in one.
#[must_use]
pub fn inside(frames: Vec<Frame>) -> Vec<Frame> {
    frames.into_iter().map(|frame| take_out(&frame).unwrap_or(frame)).collect()
}

fn take_out(frame: &Frame) -> Option<Frame> {
    let inner = carried(&frame.data)?;
    let missing = frame.orig_len - frame.data.len() as u32;
    let orig_len = inner.len() as u32 + missing;
    Some(Frame { time: frame.time, orig_len, data: inner.to_vec() })
}

/// The bytes of the frame inside, or all of them where there is none.
#[must_use]
pub fn innermost(data: &[u8]) -> &[u8] {
    carried(data).unwrap_or(data)
}

fn carried(data: &[u8]) -> Option<&[u8]> {
    let mut l3 = 14;
    while matches!(word(data, l3 - 2)?, 0x8100 | 0x88a8) {
        l3 += 4;
    }
    let (l4, protocol) = match word(data, l3 - 2)? {
        0x0800 => (l3 + usize::from(data.get(l3)? & 15) * 4, *data.get(l3 + 9)?),
        0x86dd => (l3 + 40, *data.get(l3 + 6)?),
        _ => return None,
    };
    let is_tunnel = protocol == 17 && PORTS.contains(&word(data, l4 + 2)?);
    let end = l4 + usize::from(word(data, l4 + 4)?);
    data.get(l4 + 16..end).filter(|_| is_tunnel && data[l4 + 8] & 8 != 0)
}

fn word(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}
