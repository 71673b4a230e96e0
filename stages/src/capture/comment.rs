//! What is said of a packet: the state of its checksums, level by level, and how it is to be cut.
//!
//! One line, its parts set apart by semicolons, in words that do not depend on who looks. For a wrong checksum it says what would be
//! right, for which the payload is read. It allocates nothing in a string that is long enough.

use crate::checksum_validate::counters::Outcome;
use crate::checksum_validate::scope::{Scope, Subject, subjects};
use crate::payload::Sums;
use corelane_runtime::packet::{Csum, L3, L4, MetaFlags, Packet, SegKind};
use corelane_sum::Sum;
use std::fmt::Write;

/// Writes the comment of the packet with that number. Returns how many payload bytes were read for it.
pub(super) fn write(text: &mut String, number: u64, packet: &Packet) -> u64 {
    text.clear();
    // Writing to a string does not fail.
    let _ = write!(text, "packet {number}");
    let meta = packet.meta();
    let subjects = subjects(packet);
    let mut sums = Sums::of(packet);
    let levels = usize::from(meta.layers.count);
    let deeper = meta.flags.contains(MetaFlags::DEEPER);
    if deeper {
        let _ = text.write_str("; further out: not shown");
    }
    for (index, subject) in subjects.iter().enumerate().take(levels) {
        let level = match (deeper, index) {
            (true, 1) => "innermost",
            (false, 0) => "outer",
            _ => "inner",
        };
        if meta.layers.levels[index].l3_kind == L3::V4 {
            let _ = write!(text, "; {level} ipv4: ");
            network(text, packet, index);
        }
        let name = match meta.layers.levels[index].l4_kind {
            L4::Tcp => "tcp",
            L4::Udp => "udp",
            L4::Other | L4::None => continue,
        };
        let _ = write!(text, "; {level} {name}: ");
        transport(text, packet, index, subject, &mut sums);
    }
    cut(text, packet);
    sums.read()
}

/// The state of an IPv4 header checksum.
fn network(text: &mut String, packet: &Packet, index: usize) {
    let state = packet.meta().l3[index];
    let _ = text.write_str(match state {
        Csum::Good => "good",
        Csum::Bad => "bad",
        Csum::Partial => "unfinished",
        Csum::Unknown => "not checked",
    });
    let l3 = usize::from(packet.meta().layers.levels[index].l3);
    let len = packet.data().get(l3).map_or(0, |byte| usize::from(byte & 0x0f) * 4);
    if let (Csum::Bad, Some(header)) = (state, packet.data().get(l3..l3 + len.max(20))) {
        let found = u16::from_be_bytes([header[10], header[11]]);
        let right = (Sum::of(header) - Sum::from_u16(found)).checksum();
        let _ = write!(text, ", found {found:#06x}, right {right:#06x}");
    }
}

/// The state of a TCP or UDP checksum.
fn transport(
    text: &mut String,
    packet: &Packet,
    index: usize,
    subject: &Subject,
    sums: &mut Sums<'_>,
) {
    let state = packet.meta().l4[index];
    let _ = match (state, subject) {
        (Csum::Good, _) => text.write_str("good"),
        (Csum::Partial, Subject::Open(scope)) => {
            write!(text, "unfinished, holds {:#06x}", scope.field)
        }
        (Csum::Partial, _) => text.write_str("unfinished"),
        (Csum::Bad, Subject::Open(scope)) if !packet.is_super() => {
            let right = right(scope, sums);
            write!(text, "bad, found {:#06x}, right {right:#06x}", scope.field)
        }
        (Csum::Bad, _) => text.write_str("bad"),
        (Csum::Unknown, Subject::Settled { outcome, .. }) => text.write_str(settled(*outcome)),
        (Csum::Unknown, Subject::Open(scope)) if scope.looks_partial() => {
            write!(text, "looks unfinished, holds {:#06x}", scope.field)
        }
        (Csum::Unknown, _) => text.write_str("not checked"),
    };
}

/// What is said of a checksum that cannot be computed.
fn settled(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Zero => "none",
        Outcome::Overrun => "cannot be checked: the datagram ends behind the frame",
        Outcome::Unverifiable => "cannot be checked: not all that it covers is here",
        Outcome::Good | Outcome::Corrupt | Outcome::Partial => "not checked",
    }
}

/// What the field should hold.
fn right(scope: &Scope, sums: &mut Sums<'_>) -> u16 {
    let sum = scope.pseudo() + sums.range(scope.from, scope.to) - Sum::from_u16(scope.field);
    if scope.udp { sum.udp_checksum() } else { sum.checksum() }
}

/// How a superpacket is to be cut.
fn cut(text: &mut String, packet: &Packet) {
    let request = packet.segmentation();
    let kind = match request.kind {
        SegKind::None => return,
        SegKind::Tcp4 => "tcp4",
        SegKind::Tcp6 => "tcp6",
        SegKind::Udp4 => "udp4",
        SegKind::Udp6 => "udp6",
    };
    let _ = write!(text, "; super {kind} {} x {}", request.count, request.gso_size);
}
