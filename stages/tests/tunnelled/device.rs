//! A port in the test: says whether it may be handed a packet, and does what such a device would, slowly.

use crate::build::sum;
use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::{Csum, L3, L4, Packet, Partial, SegFlags, SegKind, Tunnel};

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

fn get(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The frames that a device with `caps` puts on the wire for a packet.
///
/// # Panics
/// If it is asked for what it cannot do.
#[track_caller]
pub(crate) fn transmit(packet: &Packet, caps: Caps, limits: &Limits) -> Vec<Vec<u8>> {
    let bytes: Vec<u8> = packet.parts().flatten().copied().collect();
    if packet.part_count() > 1 && packet.is_super() {
        assert!(caps.contains(Caps::MULTI_PART), "several parts");
    }
    if !packet.is_super() {
        return vec![finish(packet, bytes, caps, limits)];
    }
    let request = packet.segmentation();
    assert!(packet.len() <= limits.tso_bytes && request.count <= limits.tso_segments);
    let needs = needs(packet, &bytes, limits);
    assert!(caps.contains(needs), "{:?} of {needs:?} for {packet:?}", needs - caps);
    cut(packet, &bytes)
}

/// What a device must be able to do for a packet, one that finishes no checksum it does not know.
pub(crate) fn asks(packet: &Packet, limits: &Limits) -> Caps {
    let parts = if packet.part_count() > 1 { Caps::MULTI_PART } else { Caps::empty() };
    let bytes: Vec<u8> = packet.parts().flatten().copied().collect();
    if packet.is_super() {
        return parts | needs(packet, &bytes, limits);
    }
    let partial = |index: usize| packet.meta().l4[index] == Csum::Partial;
    let both = partial(0) && partial(1);
    let around = if both { Caps::TX_OUTER_UDP } else { Caps::empty() };
    let index = usize::from(partial(1));
    let own = if partial(index) { sums(packet, &bytes, index, limits) } else { Caps::empty() };
    parts | around | own
}

/// What a device must be able to do to finish the checksum of a level.
fn sums(packet: &Packet, bytes: &[u8], index: usize, limits: &Limits) -> Caps {
    let layers = &packet.meta().layers;
    let level = layers.levels[index];
    let plain = match (level.l4_kind, level.l3_kind) {
        (L4::Tcp, L3::V4) => Caps::TX_TCP4,
        (L4::Tcp, _) => Caps::TX_TCP6,
        (_, L3::V4) => Caps::TX_UDP4,
        (_, _) => Caps::TX_UDP6,
    };
    if index == 0 {
        return plain;
    }
    let port = get(bytes, usize::from(layers.levels[0].l4) + 2);
    plain
        | match layers.tunnel {
            Tunnel::Vxlan if limits.finds(Tunnel::Vxlan, port) => Caps::TSO_VXLAN,
            Tunnel::Geneve if limits.finds(Tunnel::Geneve, port) => Caps::TSO_GENEVE,
            Tunnel::Gre => Caps::TSO_GRE,
            Tunnel::Ip => Caps::TSO_IPIP,
            _ => Caps::TX_GENERIC,
        }
}

/// What a device must be able to do for a superpacket.
fn needs(packet: &Packet, bytes: &[u8], limits: &Limits) -> Caps {
    let (meta, request) = (packet.meta(), packet.segmentation());
    let index = usize::from(meta.layers.count) - 1;
    let inner = meta.layers.levels[index];
    let mut needs = match request.kind {
        SegKind::Tcp4 => Caps::TSO4,
        SegKind::Tcp6 => Caps::TSO6,
        other => panic!("{other:?} in a tunnel"),
    };
    assert_eq!(meta.l4[index], Csum::Partial, "a device finishes what it cuts");
    let repeated = request.flags.contains(SegFlags::PARTIAL);
    if request.kind == SegKind::Tcp4 && request.flags.contains(SegFlags::FIXED_ID) && !repeated {
        needs |= Caps::TSO_FIXED_ID;
    }
    let cwr = bytes[usize::from(inner.l4) + 13] & CWR != 0;
    if request.flags.contains(SegFlags::CWR_ALL) {
        needs |= Caps::TSO_CWR_ALL;
    } else if cwr {
        needs |= Caps::TSO_ECN;
    }
    if repeated {
        assert_ne!(meta.l4[0], Csum::Partial);
        return needs | Caps::GSO_PARTIAL;
    }
    let outer = meta.layers.levels[0];
    let fixed = request.flags.contains(SegFlags::OUTER_FIXED_ID) && outer.l3_kind == L3::V4;
    if fixed && bytes[usize::from(outer.l3) + 6] & 0x40 == 0 {
        needs |= Caps::TSO_FIXED_ID;
    }
    let (l4, sum) = (usize::from(outer.l4), meta.l4[0] == Csum::Partial);
    let found = outer.l4_kind != L4::Udp || limits.finds(meta.layers.tunnel, get(bytes, l4 + 2));
    assert!(found, "the device does not look behind that port");
    assert!(sum || outer.l4_kind != L4::Udp || get(bytes, l4 + 6) == 0);
    needs
        | match (meta.layers.tunnel, sum) {
            (Tunnel::Vxlan, false) => Caps::TSO_VXLAN,
            (Tunnel::Vxlan, true) => Caps::TSO_VXLAN_CSUM,
            (Tunnel::Geneve, false) => Caps::TSO_GENEVE,
            (Tunnel::Geneve, true) => Caps::TSO_GENEVE_CSUM,
            (Tunnel::Gre, false) => {
                assert_eq!(bytes[l4] & 0x80, 0, "no device knows the checksum of GRE");
                Caps::TSO_GRE
            }
            (Tunnel::Ip, false) => Caps::TSO_IPIP,
            other => panic!("{other:?}"),
        }
}

/// Cuts a superpacket: every header anew, or repeated as it is.
fn cut(packet: &Packet, bytes: &[u8]) -> Vec<Vec<u8>> {
    let (meta, request) = (packet.meta(), packet.segmentation());
    let [outer, inner] = meta.layers.levels;
    let repeated = request.flags.contains(SegFlags::PARTIAL);
    let (headers, size) = (usize::from(inner.payload), usize::from(request.gso_size));
    let chunks: Vec<&[u8]> = bytes[headers..].chunks(size).collect();
    assert_eq!(chunks.len(), usize::from(request.count));
    assert!(!repeated || chunks.iter().all(|chunk| chunk.len() == size), "of one length");
    let mut frames = Vec::new();
    for (number, chunk) in chunks.iter().enumerate() {
        let mut frame = [&bytes[..headers], chunk].concat();
        let (first, last) = (number == 0, number + 1 == chunks.len());
        transport(&mut frame, packet, bytes.len(), number * size, first, last);
        let step = |fixed: SegFlags| if request.flags.contains(fixed) { 0 } else { number as u16 };
        if !repeated {
            lengths_and_id(&mut frame, inner.l3, inner.l3_kind, step(SegFlags::FIXED_ID));
        }
        let step = step(SegFlags::OUTER_FIXED_ID);
        if repeated {
            outer_id(&mut frame, outer.l3, outer.l3_kind, step);
        } else {
            lengths_and_id(&mut frame, outer.l3, outer.l3_kind, step);
            outer_udp(&mut frame, packet, bytes.len());
        }
        frames.push(frame);
    }
    frames
}

fn transport(
    frame: &mut [u8],
    packet: &Packet,
    whole: usize,
    from: usize,
    first: bool,
    last: bool,
) {
    let l4 = usize::from(packet.meta().layers.levels[1].l4);
    let seq = u32::from_be_bytes(frame[l4 + 4..l4 + 8].try_into().expect("4 bytes"));
    frame[l4 + 4..l4 + 8].copy_from_slice(&seq.wrapping_add(from as u32).to_be_bytes());
    if !last {
        frame[l4 + 13] &= !FIN_PSH;
    }
    if !first && !packet.segmentation().flags.contains(SegFlags::CWR_ALL) {
        frame[l4 + 13] &= !CWR;
    }
    reseed(frame, l4, l4 + 16, whole);
    let checksum = !sum(&frame[l4..]);
    put(frame, l4 + 16, checksum);
}

/// The seed holds the length of the whole; a segment has its own.
fn reseed(frame: &mut [u8], l4: usize, field: usize, whole: usize) {
    let seed = u64::from(get(frame, field)) + 0xffff_ffff * 0xffff;
    let seed = seed - (whole - l4) as u64 + (frame.len() - l4) as u64;
    let folded = (seed % 0xffff) as u16;
    put(frame, field, folded);
}

fn lengths_and_id(frame: &mut [u8], l3: u16, kind: L3, step: u16) {
    let l3 = usize::from(l3);
    let len = frame.len() - l3;
    if kind == L3::V6 {
        return put(frame, l3 + 4, (len - 40) as u16);
    }
    put(frame, l3 + 2, len as u16);
    outer_id(frame, l3 as u16, kind, step);
}

fn outer_id(frame: &mut [u8], l3: u16, kind: L3, step: u16) {
    let l3 = usize::from(l3);
    if kind == L3::V6 {
        return;
    }
    let id = get(frame, l3 + 4).wrapping_add(step);
    put(frame, l3 + 4, id);
    put(frame, l3 + 10, 0);
    let checksum = !sum(&frame[l3..l3 + 20]);
    put(frame, l3 + 10, checksum);
}

fn outer_udp(frame: &mut [u8], packet: &Packet, whole: usize) {
    let outer = packet.meta().layers.levels[0];
    if outer.l4_kind != L4::Udp {
        return;
    }
    let l4 = usize::from(outer.l4);
    let len = (frame.len() - l4) as u16;
    put(frame, l4 + 4, len);
    if packet.meta().l4[0] == Csum::Partial {
        reseed(frame, l4, l4 + 6, whole);
        let checksum = udp(!sum(&frame[l4..]));
        put(frame, l4 + 6, checksum);
    }
}

fn udp(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// Finishes the checksums of a frame that are left to the device, the inner one first.
fn finish(packet: &Packet, mut bytes: Vec<u8>, caps: Caps, limits: &Limits) -> Vec<u8> {
    let meta = packet.meta();
    let both = meta.l4 == [Csum::Partial; 2];
    assert!(!both || caps.contains(Caps::TX_OUTER_UDP), "two checksums");
    for index in [1, 0] {
        if meta.l4[index] != Csum::Partial {
            continue;
        }
        let level = meta.layers.levels[index];
        let around = index == 0 && both;
        let needed = sums(packet, &bytes, index, limits);
        let granted = caps.contains(needed) || caps.contains(Caps::TX_GENERIC) || around;
        assert!(granted, "{needed:?} of {caps:?}");
        let Partial { start, field } = meta.partial[index];
        let checksum = !sum(&bytes[usize::from(start)..]);
        let checksum = if level.l4_kind == L4::Udp { udp(checksum) } else { checksum };
        put(&mut bytes, usize::from(field), checksum);
    }
    bytes
}
