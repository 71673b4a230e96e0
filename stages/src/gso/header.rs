//! The headers of the segments: written from numbers taken once from the superpacket.
//!
//! It promises header cost: a payload is never read. Where the sum of a segment's payload is known, its
//! checksum is finished; otherwise it stays partial, seeded for its own length. PSH and FIN are on the last
//! segment only, CWR on the first only unless it was received on all.

use super::shape::network_is_sound;
use corelane_runtime::packet::{Csum, MetaFlags, Packet, Partial, SegFlags, SegKind, Segmentation};
use corelane_sum::{Sum, update};
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::tcp::{TcpFlags, TcpHeader};
use corelane_wire::udp::UdpHeader;
use corelane_wire::{protocol, view, view_mut};

/// How the IPv4 header sum of a segment is made.
#[derive(Clone, Copy, Debug)]
enum NetworkSum {
    /// Anew, from the sum of what all segments share.
    Computed(Sum),
    /// From the superpacket's, which is wrong or unknown, by the difference: nothing is repaired.
    Updated { checksum: u16, old: Sum },
}

/// What all segments of a superpacket share, and the numbers they count on from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    pub(super) request: Segmentation,
    l3: u16,
    l4: u16,
    /// Bytes of all headers.
    pub(super) header_len: u32,
    id: u16,
    seq: u32,
    flags: TcpFlags,
    network: NetworkSum,
    /// Pseudo header without length.
    pseudo: Sum,
    /// Transport header without sequence number, flags, length and checksum.
    transport: Sum,
}

/// Where a packet made stands in the superpacket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// Wire segments before it.
    pub(super) segments_before: u16,
    /// Payload bytes before it.
    pub(super) bytes_before: u32,
    /// Nothing comes after it.
    pub(super) last: bool,
}

impl Template {
    /// Reads the headers of a superpacket, which are contiguous; `None` if they are not what its layers say.
    pub(super) fn read(packet: &Packet) -> Option<Template> {
        let level = &packet.meta().layers.levels[0];
        let request = packet.segmentation();
        let data = packet.data();
        let (l3, l4) = (usize::from(level.l3), usize::from(level.l4));
        let header = data.get(l4..usize::from(level.payload))?;
        let (addresses, id, network) = if is_v6(request.kind) {
            let addresses = data.get(l3 + Ipv6Header::SRC_AT..l3 + Ipv6Header::LEN)?;
            (addresses, 0, NetworkSum::Computed(Sum::ZERO))
        } else {
            let ip = view::<Ipv4Header>(data, l3)?;
            let addresses = data.get(l3 + Ipv4Header::LEN - 8..l3 + Ipv4Header::LEN)?;
            let whole = Sum::of(data.get(l3..l3 + ip.header_len())?);
            let old = Sum::from_u16(ip.total_length.get()) + Sum::from_u16(ip.id.get());
            let checksum = ip.checksum.get();
            let network = if network_is_sound(packet, level) {
                NetworkSum::Computed(whole - old - Sum::from_u16(checksum))
            } else {
                NetworkSum::Updated { checksum, old }
            };
            (addresses, ip.id.get(), network)
        };
        let number = if is_udp(request.kind) { protocol::UDP } else { protocol::TCP };
        let mut template = Template {
            request,
            l3: level.l3,
            l4: level.l4,
            header_len: u32::from(level.payload),
            id,
            seq: 0,
            flags: TcpFlags::NONE,
            network,
            pseudo: Sum::of(addresses) + Sum::from_u16(u16::from(number)),
            transport: Sum::of(header),
        };
        template.read_transport(data)?;
        Some(template)
    }

    fn read_transport(&mut self, data: &[u8]) -> Option<()> {
        let l4 = usize::from(self.l4);
        if is_udp(self.request.kind) {
            let header = view::<UdpHeader>(data, l4)?;
            self.transport -= Sum::from_u16(header.length.get());
            self.transport -= Sum::from_u16(header.checksum.get());
        } else {
            let header = view::<TcpHeader>(data, l4)?;
            self.seq = header.seq.get();
            self.flags = header.flags();
            self.transport -= Sum::from_u32(self.seq);
            self.transport -= Sum::from_u16(header.offset_flags.get());
            self.transport -= Sum::from_u16(header.checksum.get());
        }
        Some(())
    }

    /// Writes the headers and the meta of a packet cut off: one segment, or several for a port to cut.
    pub(super) fn apply(&self, packet: &mut Packet, at: Position) {
        let segments = packet.segments();
        let payload = packet.len() - self.header_len;
        let sum = if segments == 1 { packet.payload_sum() } else { None };
        let length = self.header_len - u32::from(self.l4) + payload;
        if let Some(data) = packet.data_mut() {
            self.write_network(data, self.header_len - u32::from(self.l3) + payload, at);
            if is_udp(self.request.kind) {
                self.write_udp(data, length, sum);
            } else {
                self.write_tcp(data, length, sum, at);
            }
        }
        self.describe(packet, sum.is_some(), at);
    }

    fn write_network(&self, data: &mut [u8], datagram: u32, at: Position) {
        let l3 = usize::from(self.l3);
        if is_v6(self.request.kind) {
            if let Some(header) = view_mut::<Ipv6Header>(data, l3) {
                let length = datagram - Ipv6Header::LEN as u32;
                header.payload_length.set(u16::try_from(length).unwrap_or(0));
            }
            return;
        }
        let Some(header) = view_mut::<Ipv4Header>(data, l3) else { return };
        let fixed = self.request.flags.contains(SegFlags::FIXED_ID);
        let step = if fixed { 0 } else { at.segments_before };
        let (id, length) = (self.id.wrapping_add(step), u16::try_from(datagram).unwrap_or(0));
        let new = Sum::from_u16(length) + Sum::from_u16(id);
        header.id.set(id);
        header.total_length.set(length);
        header.checksum.set(match self.network {
            NetworkSum::Computed(shared) => (shared + new).checksum(),
            NetworkSum::Updated { checksum, old } => update(checksum, old, new),
        });
    }

    fn write_tcp(&self, data: &mut [u8], length: u32, payload: Option<u16>, at: Position) {
        const LAST: TcpFlags = TcpFlags::PSH.with(TcpFlags::FIN);
        let Some(header) = view_mut::<TcpHeader>(data, usize::from(self.l4)) else { return };
        let mut flags = if at.last { self.flags } else { self.flags.without(LAST) };
        if at.segments_before > 0 && !self.request.flags.contains(SegFlags::CWR_ALL) {
            flags = flags.without(TcpFlags::CWR);
        }
        header.set_flags(flags);
        header.seq.set(self.seq.wrapping_add(at.bytes_before));
        let pseudo = self.pseudo + Sum::from_u32(length);
        header.checksum.set(match payload {
            None => pseudo.canonical(),
            Some(payload) => {
                let own =
                    Sum::from_u32(header.seq.get()) + Sum::from_u16(header.offset_flags.get());
                (pseudo + self.transport + own + Sum::from_u16(payload)).checksum()
            }
        });
    }

    fn write_udp(&self, data: &mut [u8], length: u32, payload: Option<u16>) {
        let Some(header) = view_mut::<UdpHeader>(data, usize::from(self.l4)) else { return };
        header.length.set(u16::try_from(length).unwrap_or(0));
        let pseudo = self.pseudo + Sum::from_u32(length);
        header.checksum.set(match payload {
            None => pseudo.canonical(),
            Some(payload) => {
                let own = Sum::from_u16(header.length.get());
                (pseudo + self.transport + own + Sum::from_u16(payload)).udp_checksum()
            }
        });
    }

    fn describe(&self, packet: &mut Packet, finished: bool, at: Position) {
        let count = packet.segments();
        let mut flags = self.request.flags;
        flags.set(SegFlags::PAD_LAST, flags.contains(SegFlags::PAD_LAST) && at.last);
        packet.set_segmentation(match count {
            1 => Segmentation { count, ..Segmentation::default() },
            _ => Segmentation { count, flags, ..self.request },
        });
        let field = self.l4 + if is_udp(self.request.kind) { 6 } else { 16 };
        let computed = matches!(self.network, NetworkSum::Computed(_));
        let len = packet.len();
        let meta = packet.meta_mut();
        if computed && !is_v6(self.request.kind) {
            meta.l3[0] = Csum::Good;
        }
        meta.l4[0] = if finished { Csum::Good } else { Csum::Partial };
        meta.partial[0] = Partial { start: self.l4, field };
        meta.flags.remove(MetaFlags::KNOWN);
        meta.orig_len = len;
    }
}

fn is_v6(kind: SegKind) -> bool {
    matches!(kind, SegKind::Tcp6 | SegKind::Udp6)
}

fn is_udp(kind: SegKind) -> bool {
    matches!(kind, SegKind::Udp4 | SegKind::Udp6)
}
