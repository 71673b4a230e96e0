//! A finished merge becomes a superpacket: its header is written once, here.
//!
//! It promises that a merge of one leaves as it came, and that a superpacket's header, meta and books agree:
//! lengths of the whole (0 where they exceed 16 bits: meta is the truth), the IPv4 header sum right, the L4
//! checksum partial, PSH and FIN of the last segment.

use super::held::Held;
use super::sums::pseudo;
use super::tunnel;
use corelane_runtime::packet::{Packet, Partial, Segmentation};
use corelane_sum::{Sum, update};
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::tcp::TcpHeader;
use corelane_wire::udp::UdpHeader;
use corelane_wire::view_mut;

/// The packet that leaves.
#[inline]
pub(super) fn finish(held: Held) -> Packet {
    if held.train.head().segments() == 1 {
        return held.train.into_packet();
    }
    let Held { key, first, .. } = held;
    let tcp_flags = held.flags();
    let flags = held.seg_flags();
    let mut packet = held.train.into_packet();
    let len = packet.len();
    let transport_len = len - u32::from(first.places.l4);
    let field = first.places.l4 + if key.is_udp() { 6 } else { 16 };
    if let Some(data) = packet.data_mut() {
        let (l3, l4) = (usize::from(first.places.l3), usize::from(first.places.l4));
        write_network(data, l3, len, key.is_v6());
        let sum = pseudo(data, &key, l3, transport_len).canonical();
        if key.is_udp() {
            if let Some(header) = view_mut::<UdpHeader>(data, l4) {
                header.length.set(u16::try_from(transport_len).unwrap_or(0));
                header.checksum.set(sum);
            }
        } else if let Some(header) = view_mut::<TcpHeader>(data, l4) {
            header.set_flags(tcp_flags);
            header.checksum.set(sum);
        }
    }
    let count = packet.segments();
    packet.set_segmentation(Segmentation {
        kind: key.kind(),
        gso_size: first.payload,
        count,
        flags,
    });
    let meta = packet.meta_mut();
    meta.forget_known();
    meta.request(key.level(), Partial { start: first.places.l4, field });
    meta.orig_len = len;
    if key.is_tunnelled() {
        tunnel::finish(&mut packet, len);
    }
    packet
}

/// Writes the length of an IP packet that starts at `l3` and is the rest of `len` bytes.
pub(super) fn write_network(data: &mut [u8], l3: usize, len: u32, v6: bool) {
    let datagram = len - l3 as u32;
    if v6 {
        if let Some(header) = view_mut::<Ipv6Header>(data, l3) {
            let length = datagram - Ipv6Header::LEN as u32;
            header.payload_length.set(u16::try_from(length).unwrap_or(0));
        }
    } else if let Some(header) = view_mut::<Ipv4Header>(data, l3) {
        let new = u16::try_from(datagram).unwrap_or(0);
        let old = Sum::from_u16(header.total_length.get());
        // The sum was known to be right, so changing it by the difference keeps it right.
        header.checksum.set(update(header.checksum.get(), old, Sum::from_u16(new)));
        header.total_length.set(new);
    }
}
