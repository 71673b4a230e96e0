//! A slow look at what came out: byte indices and sums taken byte by byte.
//!
//! It promises to ask the same of both sides, and to share no code with either. It says what is wrong in words, for
//! whoever runs the bench; rows hold yes or no.

use corelane_wire::testing::slow_sum;
use dpdk_sys::Kind;
use std::collections::BTreeMap;

/// A packet's flow, as bytes: addresses and ports of the innermost headers.
type Flow = Vec<u8>;

fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1])
}

/// Where the innermost IP header starts, and the TCP header behind it.
fn places(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Tcp4 => (14, 34),
        Kind::Tcp6 => (14, 54),
        Kind::VxlanTcp4 => (64, 84),
    }
}

fn flow_of(frame: &[u8], kind: Kind) -> Flow {
    let (l3, l4) = places(kind);
    let addresses = if kind == Kind::Tcp6 { l3 + 8..l3 + 40 } else { l3 + 12..l3 + 20 };
    [&frame[addresses], &frame[l4..l4 + 4]].concat()
}

fn payload_at(frame: &[u8], l4: usize) -> usize {
    l4 + usize::from(frame[l4 + 12] >> 4) * 4
}

fn sequence(frame: &[u8], l4: usize) -> u32 {
    (word(frame, l4 + 4) as u32) << 16 | word(frame, l4 + 6) as u32
}

/// Whether packets that were joined hold the streams of those that went in: every flow's payload, in order, at the
/// sequence numbers that it had, in headers whose lengths are those of the packet. Checksums are another matter.
pub(super) fn joined_rightly(kind: Kind, into: &[Vec<u8>], out: &[Vec<u8>]) -> Result<(), String> {
    if out.len() > into.len() {
        return Err(format!("{} packets went in, {} came out", into.len(), out.len()));
    }
    for packet in out {
        lengths_agree(kind, packet)?;
    }
    let (sent, got) = (streams(kind, into)?, streams(kind, out)?);
    if sent == got { Ok(()) } else { Err("a stream is not what was sent".to_owned()) }
}

/// First sequence number and bytes of every flow.
fn streams(kind: Kind, packets: &[Vec<u8>]) -> Result<BTreeMap<Flow, (u32, Vec<u8>)>, String> {
    let (_, l4) = places(kind);
    let mut streams: BTreeMap<Flow, (u32, Vec<u8>)> = BTreeMap::new();
    for packet in packets {
        let first = sequence(packet, l4);
        let (start, bytes) = streams.entry(flow_of(packet, kind)).or_insert((first, Vec::new()));
        let next = start.wrapping_add(bytes.len() as u32);
        if first != next {
            return Err(format!("sequence number {first} where {next} comes next"));
        }
        bytes.extend(&packet[payload_at(packet, l4)..]);
    }
    Ok(streams)
}

fn lengths_agree(kind: Kind, packet: &[u8]) -> Result<(), String> {
    let (l3, _) = places(kind);
    let length = |at: usize, of: usize| {
        let (said, is) = (word(packet, at), packet.len() - of);
        if said == is { Ok(()) } else { Err(format!("length {said} at byte {at}, {is} bytes")) }
    };
    match kind {
        Kind::Tcp4 => length(l3 + 2, l3),
        Kind::Tcp6 => length(l3 + 4, l3 + 40),
        Kind::VxlanTcp4 => length(16, 14).and(length(38, 34)).and(length(l3 + 2, l3)),
    }
}

/// Whether segments are, byte for byte, the frames that were joined before. Without `sums` their IPv4 and TCP checksums
/// are left out.
pub(super) fn cut_rightly(
    kind: Kind,
    frames: &[Vec<u8>],
    segments: &[Vec<u8>],
    sums: bool,
) -> Result<(), String> {
    if frames.len() != segments.len() {
        return Err(format!("{} segments in the place of {}", segments.len(), frames.len()));
    }
    for (index, (frame, segment)) in frames.iter().zip(segments).enumerate() {
        let (frame, segment) = match sums {
            true => (frame.clone(), segment.clone()),
            false => (without_sums(kind, frame), without_sums(kind, segment)),
        };
        if frame != segment {
            let at = frame.iter().zip(&segment).take_while(|(a, b)| a == b).count();
            return Err(format!("segment {index} differs at byte {at}"));
        }
    }
    Ok(())
}

fn without_sums(kind: Kind, frame: &[u8]) -> Vec<u8> {
    let (l3, l4) = places(kind);
    let mut frame = frame.to_vec();
    let inner = (kind != Kind::Tcp6).then_some(l3 + 10);
    let outer = (kind == Kind::VxlanTcp4).then_some(24);
    for at in inner.into_iter().chain(outer).chain([l4 + 16]) {
        frame[at..at + 2].fill(0);
    }
    frame
}

/// Finishes a checksum that was put off: the field holds its seed, and covers all from `start` on.
pub(super) fn finish(packet: &mut [u8], start: usize, field: usize, udp: bool) {
    let sum = !slow_sum(&[&packet[start..]]);
    let sum = if udp && sum == 0 { 0xffff } else { sum };
    packet[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Says on standard error what is wrong with whose result; yes or no for the row.
pub(super) fn verdict(who: &str, case: &str, result: Result<(), String>) -> bool {
    if let Err(what) = &result {
        eprintln!("  {who} in {case}: {what}");
    }
    result.is_ok()
}
