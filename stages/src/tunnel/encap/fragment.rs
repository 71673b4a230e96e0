//! `oversize: FragmentOuter`: a datagram that does not fit is cut into IP fragments that do.
//!
//! It promises fragments that together are the datagram (RFC 791, RFC 8200 section 4.5), each with the identification
//! given, of 8 byte units and as long as the path takes. The datagram must be complete: nobody can finish a
//! checksum over fragments.

use super::super::inner::look_again;
use corelane_runtime::packet::{
    CutError, CutPlan, Layers, NoBuffer, Packet, SegKind, Segmentation, Units,
};
use corelane_runtime::stage::StageContext;
use corelane_sum::Sum;
use corelane_wire::ethernet::EthernetHeader;
use corelane_wire::ipv4::Ipv4Header;
use corelane_wire::ipv6::{FragmentHeader, Ipv6Header};
use corelane_wire::{U16, U32, protocol, view_mut};

const LINK: u32 = EthernetHeader::LEN as u32;
const IPV4: u32 = LINK + Ipv4Header::LEN as u32;
const IPV6: u32 = LINK + Ipv6Header::LEN as u32;
const EXTENDED: u32 = IPV6 + FragmentHeader::LEN as u32;
const MORE: u16 = 0x2000;

/// A datagram being cut.
pub(super) struct Fragments {
    /// What is not cut yet.
    rest: Option<Packet>,
    plan: CutPlan,
    /// Bytes repeated in front of each fragment.
    header: u32,
    /// Bytes of each fragment behind those, a multiple of 8.
    chunk: u32,
    /// Where the rest belongs in the datagram.
    offset: u32,
    id: u32,
    key: u64,
}

/// Why a datagram is not cut.
#[derive(Debug)]
pub(super) enum Refused {
    /// Buffers are out: again later.
    Wait,
    /// There are not as many, or the path takes next to nothing.
    Never,
}

/// A datagram with an outer header of our own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram {
    pub(super) v6: bool,
    /// Identification of its fragments.
    pub(super) id: u32,
}

impl Fragments {
    /// Begins to cut a datagram into fragments of at most `limit` bytes; all that takes is set aside first. A packet
    /// that is refused is as it was, but for where its header lies.
    pub(super) fn begin(
        mut packet: Packet,
        datagram: Datagram,
        limit: u32,
        key: u64,
        ctx: &mut StageContext<'_>,
    ) -> Result<Fragments, (Packet, Refused)> {
        let header = if datagram.v6 { EXTENDED } else { IPV4 };
        let chunk = (limit + LINK).saturating_sub(header) / 8 * 8;
        if chunk == 0 {
            return Err((packet, Refused::Never));
        }
        let plan = match reserve(&mut packet, datagram.v6, chunk, ctx) {
            Ok(plan) => plan,
            Err(refused) => return Err((packet, refused)),
        };
        if datagram.v6 && extend(&mut packet, ctx).is_err() {
            plan.finish(ctx.buffers);
            return Err((packet, Refused::Wait));
        }
        let before = packet.units();
        packet.forget_payload_sums();
        packet.set_layers(Layers::default(), packet.len() - header);
        ctx.changed(&packet, before);
        let rest = Some(packet);
        Ok(Fragments { rest, plan, header, chunk, offset: 0, id: datagram.id, key })
    }

    /// What is not cut yet.
    pub(super) fn held(&self) -> Units {
        self.rest.as_ref().map_or(Units::default(), Packet::units)
    }

    /// Whether the last fragment was made.
    pub(super) fn is_done(&self) -> bool {
        self.rest.is_none()
    }

    /// The next fragment; `None` where buffers are out, or all are made.
    pub(super) fn next(&mut self, ctx: &mut StageContext<'_>) -> Option<Packet> {
        let rest = self.rest.as_mut()?;
        let left = rest.len() - self.header;
        let mut fragment = if left > self.chunk {
            let cut = ctx.segment_of(rest, self.header, self.chunk, 1, &mut self.plan);
            let fragment = cut.ok()?;
            // Each of them is a wire frame.
            let before = rest.units();
            rest.set_segmentation(Segmentation {
                kind: SegKind::None,
                count: 1,
                ..Segmentation::default()
            });
            ctx.changed(rest, before);
            fragment
        } else {
            std::mem::take(&mut self.plan).finish(ctx.buffers);
            self.rest.take()?
        };
        self.write(&mut fragment);
        self.offset += fragment.len() - self.header;
        fragment.meta_mut().orig_len = fragment.len();
        look_again(&mut fragment, 0, self.key, ctx);
        Some(fragment)
    }

    /// Says in the header which fragment it is.
    fn write(&self, fragment: &mut Packet) {
        let len = fragment.len();
        let more = self.rest.is_some();
        let Some(data) = fragment.data_mut() else { return };
        let length = |header: usize| U16::new((len - header as u32) as u16);
        if self.header == IPV4 {
            let Some(header) = view_mut::<Ipv4Header>(data, LINK as usize) else { return };
            header.total_length = length(LINK as usize);
            header.id = U16::new(self.id as u16);
            let more = if more { MORE } else { 0 };
            header.flags_offset = U16::new((self.offset / 8) as u16 | more);
            header.checksum = U16::ZERO;
            let sum = data.get(LINK as usize..IPV4 as usize).map_or(Sum::ZERO, Sum::of);
            if let Some(header) = view_mut::<Ipv4Header>(data, LINK as usize) {
                header.checksum = U16::new(sum.checksum());
            }
            return;
        }
        if let Some(header) = view_mut::<Ipv6Header>(data, LINK as usize) {
            header.payload_length = length(IPV6 as usize);
        }
        if let Some(header) = view_mut::<FragmentHeader>(data, IPV6 as usize) {
            header.offset_more = U16::new(self.offset as u16 | u16::from(more));
            header.id = U32::new(self.id);
        }
    }
}

/// Sets aside what cutting takes.
fn reserve(
    packet: &mut Packet,
    v6: bool,
    chunk: u32,
    ctx: &mut StageContext<'_>,
) -> Result<CutPlan, Refused> {
    let own = if v6 { IPV6 } else { IPV4 };
    packet.make_header_unique(own, ctx.buffers).map_err(|NoBuffer| Refused::Wait)?;
    CutPlan::reserve(packet, own, chunk, false, ctx.buffers).map_err(|error| match error {
        CutError::Wait => Refused::Wait,
        CutError::TooMany => Refused::Never,
    })
}

/// Puts a fragment header behind the IPv6 header.
fn extend(packet: &mut Packet, ctx: &mut StageContext<'_>) -> Result<(), NoBuffer> {
    let mut header = [0; EXTENDED as usize];
    let own = packet.data().get(..IPV6 as usize).ok_or(NoBuffer)?;
    header[..IPV6 as usize].copy_from_slice(own);
    let next = header[LINK as usize + 6];
    header[LINK as usize + 6] = protocol::FRAGMENT;
    header[IPV6 as usize] = next;
    // In front of what there is, so that nothing is lost where there is no buffer.
    packet.push(FragmentHeader::LEN as u32, ctx.buffers)?;
    let unique = packet.make_header_unique(EXTENDED, ctx.buffers);
    match packet.data_mut().and_then(|data| data.get_mut(..EXTENDED as usize)) {
        Some(room) if unique.is_ok() => {
            room.copy_from_slice(&header);
            Ok(())
        }
        _ => {
            packet.pull(FragmentHeader::LEN as u32, ctx.buffers);
            Err(NoBuffer)
        }
    }
}
