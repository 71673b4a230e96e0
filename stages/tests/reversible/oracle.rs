//! An independent look at superpackets, slow and obvious: byte indices and `slow_sum` only.
//!
//! It promises to share nothing with the stages but the meta it judges.

use corelane_runtime::packet::{Csum, L4, Packet, SegFlags, SegKind};
use corelane_wire::testing::{problems, slow_pseudo_header, slow_sum};

fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1])
}

/// Everything a superpacket that `Gro` made must be.
pub(crate) fn assert_well_formed(packet: &Packet) {
    let request = packet.segmentation();
    let bytes: Vec<u8> = packet.parts().flatten().copied().collect();
    let meta = packet.meta();
    assert!(request.count > 1, "a request for {} segments", request.count);
    assert_eq!(packet.segments(), request.count);
    assert_eq!(meta.orig_len as usize, bytes.len());
    assert_eq!(meta.trailer, 0);
    assert!(request.flags.contains(SegFlags::BY_PARTS));
    assert!(matches!(meta.layers.count, 1 | 2));
    let index = usize::from(meta.layers.count) - 1;
    let level = meta.layers.levels[index];
    let (l3, l4, at) = (usize::from(level.l3), usize::from(level.l4), usize::from(level.payload));
    let (v6, udp) = match request.kind {
        SegKind::None => panic!("a superpacket of no kind"),
        SegKind::Tcp4 => (false, false),
        SegKind::Tcp6 => (true, false),
        SegKind::Udp4 => (false, true),
        SegKind::Udp6 => (true, true),
    };
    assert_eq!(packet.payload_len() as usize, bytes.len() - at);
    assert_pieces(packet, &bytes[at..]);
    let whole = bytes.len() - l3 - if v6 { 40 } else { 0 };
    let length_at = l3 + if v6 { 4 } else { 2 };
    assert_eq!(word(&bytes, length_at), if whole > 65_535 { 0 } else { whole }, "IP length");
    if !v6 {
        let header_len = usize::from(bytes[l3] & 0x0f) * 4;
        assert_eq!(slow_sum(&[&bytes[l3..l3 + header_len]]), 0xffff, "IPv4 header sum");
        assert_eq!(meta.l3[index], Csum::Good);
    }
    let (addresses, each) = if v6 { (l3 + 8, 16) } else { (l3 + 12, 4) };
    let pseudo = slow_pseudo_header(
        &bytes[addresses..addresses + each],
        &bytes[addresses + each..addresses + 2 * each],
        (bytes.len() - l4) as u32,
        if udp { 17 } else { 6 },
    );
    let field = l4 + if udp { 6 } else { 16 };
    assert_eq!(word(&bytes, field), usize::from(slow_sum(&[&pseudo])), "seed of the checksum");
    assert_eq!(meta.l4[index], Csum::Partial);
    let request = meta.partial[index];
    assert_eq!((request.start, request.field), (l4 as u16, field as u16));
    let mut bytes = bytes;
    if whole <= 65_535 {
        finish(&mut bytes, pseudo, l4, field, udp);
    }
    if index == 1 {
        assert_outer(packet, &mut bytes);
    } else {
        assert_eq!(meta.l4[1], Csum::Unknown);
    }
    if bytes.len() - usize::from(meta.layers.levels[0].l3) <= 65_535 {
        assert_eq!(problems(&bytes), Vec::<String>::new());
    }
}

/// The outer level of a superpacket in a tunnel, whose inner checksum is finished in `bytes`; finishes the outer
/// one if there is one.
fn assert_outer(packet: &Packet, bytes: &mut [u8]) {
    let meta = packet.meta();
    let level = meta.layers.levels[0];
    let (l3, l4) = (usize::from(level.l3), usize::from(level.l4));
    let v6 = bytes[l3] >> 4 == 6;
    let whole = bytes.len() - l3 - if v6 { 40 } else { 0 };
    let length = |whole: usize| if whole > 65_535 { 0 } else { whole };
    assert_eq!(word(bytes, l3 + if v6 { 4 } else { 2 }), length(whole), "outer IP length");
    if !v6 {
        assert_eq!(slow_sum(&[&bytes[l3..l4]]), 0xffff, "outer IPv4 header sum");
        assert_eq!(meta.l3[0], Csum::Good);
    }
    if level.l4_kind != L4::Udp {
        assert_ne!(meta.l4[0], Csum::Partial);
        return;
    }
    assert_eq!(word(bytes, l4 + 4), length(bytes.len() - l4), "outer UDP length");
    if word(bytes, l4 + 6) == 0 {
        assert_eq!(meta.l4[0], Csum::Unknown);
        return;
    }
    let (addresses, each) = if v6 { (l3 + 8, 16) } else { (l3 + 12, 4) };
    let (src, dst) = bytes[addresses..addresses + 2 * each].split_at(each);
    let pseudo = slow_pseudo_header(src, dst, (bytes.len() - l4) as u32, 17);
    assert_eq!(word(bytes, l4 + 6), usize::from(slow_sum(&[&pseudo])), "outer seed");
    assert_eq!(meta.l4[0], Csum::Partial);
    let request = meta.partial[0];
    assert_eq!((request.start, request.field), (level.l4, level.l4 + 6));
    finish(bytes, pseudo, l4, l4 + 6, true);
}

/// Boundaries and sums of what was received are kept, and all but the last have the same length.
fn assert_pieces(packet: &Packet, payload: &[u8]) {
    let request = packet.segmentation();
    let pieces: Vec<_> = packet.pieces().collect();
    assert_eq!(pieces.len(), usize::from(request.count));
    let mut at = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let size = u32::from(request.gso_size);
        assert!(piece.len > 0 && piece.len <= size);
        assert!(piece.len == size || index + 1 == pieces.len(), "piece {index} is short");
        let end = at + piece.len as usize;
        let sum = slow_sum(&[&payload[at..end]]);
        let known = piece.sum.expect("the sum of a piece is known");
        let same = known == sum || matches!((known, sum), (0 | 0xffff, 0 | 0xffff));
        assert!(same, "sum of piece {index}: {known:#06x}, by hand {sum:#06x}");
        at = end;
    }
    assert_eq!(at, payload.len());
}

/// Finishes a checksum; the superpacket then is a sound frame, if a large one.
fn finish(bytes: &mut [u8], pseudo: Vec<u8>, l4: usize, field: usize, udp: bool) {
    bytes[field..field + 2].copy_from_slice(&[0, 0]);
    let checksum = match !slow_sum(&[&pseudo, &bytes[l4..]]) {
        0 if udp => 0xffff,
        checksum => checksum,
    };
    bytes[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
}
