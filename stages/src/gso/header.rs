//! The headers of the segments: written from numbers taken once from the superpacket.
//!
//! It promises header cost: a payload is never read. Where the sum of a segment's payload is known, its
//! checksum is finished; otherwise it stays partial, seeded for its own length. PSH and FIN are on the last
//! segment only, CWR on the first only unless it was received on all. A superpacket in a tunnel gets the tunnel's
//! headers around each segment.

use super::network::Network;
use super::outer::{Around, Outer};
use corelane_runtime::packet::{Csum, MetaFlags, Packet, Partial, SegFlags, SegKind, Segmentation};
use corelane_sum::Sum;
use corelane_wire::tcp::{TcpFlags, TcpHeader};
use corelane_wire::udp::UdpHeader;
use corelane_wire::{protocol, view, view_mut};

/// What all segments of a superpacket share, and the numbers they count on from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    pub(super) request: Segmentation,
    network: Network,
    outer: Option<Outer>,
    /// Segments that stay together carry the headers of one.
    repeats: bool,
    l4: u16,
    /// Bytes of all headers.
    pub(super) header_len: u32,
    seq: u32,
    flags: TcpFlags,
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
    /// With `repeats`, of segments that stay together each header is that of one segment.
    pub(super) fn read(packet: &Packet, repeats: bool) -> Option<Template> {
        let layers = &packet.meta().layers;
        let index = usize::from(layers.count).checked_sub(1)?;
        let level = layers.levels.get(index)?;
        let mut request = packet.segmentation();
        request.flags.remove(SegFlags::PARTIAL);
        let fixed = request.flags.contains(SegFlags::FIXED_ID);
        let network = Network::read(packet, index, fixed)?;
        let header = packet.data().get(usize::from(level.l4)..usize::from(level.payload))?;
        let number = if is_udp(request.kind) { protocol::UDP } else { protocol::TCP };
        let pseudo = network.addresses + Sum::from_u16(u16::from(number));
        let outer = match index {
            0 => None,
            _ => Some(Outer::read(packet, &network, pseudo)?),
        };
        let mut template = Template {
            request,
            network,
            outer,
            repeats,
            l4: level.l4,
            header_len: u32::from(level.payload),
            seq: 0,
            flags: TcpFlags::NONE,
            pseudo,
            transport: Sum::of(header),
        };
        template.read_transport(packet.data())?;
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
        let sum = if segments == 1 { packet.payload_sum() } else { None };
        let whole = packet.len();
        let repeats = self.repeats && segments > 1;
        let end = if repeats { self.header_len + u32::from(self.request.gso_size) } else { whole };
        let seeded = (segments > 1 && !repeats).then_some(whole);
        let length = whole - u32::from(self.l4);
        if let Some(data) = packet.data_mut() {
            self.network.write(data, self.network.datagram(end), at.segments_before);
            if is_udp(self.request.kind) {
                self.write_udp(data, length, sum);
            } else {
                self.write_tcp(data, length, sum, at);
            }
            if let Some(outer) = &self.outer {
                let inner_l4 = u32::from(self.l4);
                let around = Around { inner_l4, end, seeded, before: at.segments_before };
                outer.write(data, &self.network, around);
            }
        }
        self.describe(packet, sum.is_some(), repeats, at);
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

    fn describe(&self, packet: &mut Packet, finished: bool, repeats: bool, at: Position) {
        let count = packet.segments();
        let mut flags = self.request.flags;
        flags.set(SegFlags::PAD_LAST, flags.contains(SegFlags::PAD_LAST) && at.last);
        flags.set(SegFlags::PARTIAL, repeats);
        packet.set_segmentation(match count {
            1 => Segmentation { count, ..Segmentation::default() },
            _ => Segmentation { count, flags, ..self.request },
        });
        let field = self.l4 + if is_udp(self.request.kind) { 6 } else { 16 };
        let partial = Partial { start: self.l4, field };
        let index = usize::from(self.outer.is_some());
        let len = packet.len();
        let meta = packet.meta_mut();
        meta.flags.remove(MetaFlags::KNOWN);
        meta.orig_len = len;
        if self.network.is_computed() {
            meta.l3[index] = Csum::Good;
        }
        if finished {
            meta.l4[index] = Csum::Good;
        } else {
            meta.request(index, partial);
        }
        if let Some(outer) = &self.outer {
            outer.describe(meta, count > 1 && !repeats);
        }
    }
}

fn is_udp(kind: SegKind) -> bool {
    matches!(kind, SegKind::Udp4 | SegKind::Udp6)
}
