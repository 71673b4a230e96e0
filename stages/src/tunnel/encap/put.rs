//! One packet goes into the tunnel: whether it fits, what becomes of it if not, and its new header.
//!
//! It promises that a packet which must wait for a buffer is as it was. Checksums are put off where the next steps
//! can finish them, and made here where they could not: of an outer header in front of two.

use super::config::{NO_REMOTE, NO_ROW, REPLIED, SEGMENTED, TOO_BIG};
use super::fragment::Datagram;
use super::header::{Fields, Template};
use super::reply::{self, Allowance};
use super::segment::segment;
use super::{Oversize, Settings, Way, road};
use crate::payload::Sums;
use crate::rx::flow;
use crate::tunnel::ecn;
use crate::tunnel::inner::{is_unfinished, network, settle_payload};
use crate::tunnel::keys::OrInherit;
use corelane_runtime::packet::{
    Csum, L3, MetaFlags, NoBuffer, Packet, Partial, SegFlags, Segmentation, Tunnel,
};
use corelane_runtime::stage::{Outputs, StageContext};
use corelane_wire::udp::UdpHeader;

/// Longest datagram whose length fields can say so.
const IP_MAX: u32 = 65_535;
/// TTL of the outer header where there is none inside.
const TTL: u8 = 64;

/// What changes from packet to packet.
pub(super) struct Putter {
    next_id: u32,
    allowance: Allowance,
}

impl Putter {
    pub(super) fn new(id: u32) -> Putter {
        Putter { next_id: id, allowance: Allowance::default() }
    }

    /// Puts a packet into the tunnel that it belongs into, or says what else is to be done with it.
    #[inline]
    pub(super) fn put(
        &mut self,
        packet: &mut Packet,
        settings: &Settings,
        ctx: &mut StageContext<'_>,
    ) -> Way {
        if is_nested(packet) && is_unfinished(packet) {
            // Of three levels, two are tracked.
            return Way::Finish;
        }
        match settings.road.of(packet, ctx.now) {
            road::Way::To(template) => self.put_to(packet, template, settings, ctx),
            road::Way::ToAll(row) => {
                let cuts = settings.oversize.contains(&Oversize::FragmentOuter);
                let long = |template| outer_len(packet, template) > settings.limit;
                let first = settings.road.copy(row, 0);
                // Copies are not finished one by one.
                match cuts && is_unfinished(packet) && first.is_some_and(long) {
                    true => Way::Finish,
                    false => Way::Replicate(row),
                }
            }
            road::Way::NoRow => Way::Otherwise(NO_ROW),
            road::Way::NoRemote => Way::Otherwise(NO_REMOTE),
        }
    }

    /// Puts a packet into the tunnel to one end.
    #[inline]
    pub(super) fn put_to(
        &mut self,
        packet: &mut Packet,
        template: &Template,
        settings: &Settings,
        ctx: &mut StageContext<'_>,
    ) -> Way {
        if outer_len(packet, template) <= settings.limit {
            return match self.wrap(packet, template, settings, false, ctx) {
                Ok(()) => Way::Next,
                Err(NoBuffer) => Way::Wait,
            };
        }
        self.fit(packet, template, settings, ctx)
    }

    /// Does what can be done with a packet that is too long.
    #[cold]
    fn fit(
        &mut self,
        packet: &mut Packet,
        template: &Template,
        settings: &Settings,
        ctx: &mut StageContext<'_>,
    ) -> Way {
        let most = settings.limit.saturating_sub(template.overhead());
        for choice in &settings.oversize {
            match choice {
                Oversize::Segment => {
                    let before = packet.units();
                    match segment(packet, most, ctx.buffers) {
                        Err(NoBuffer) => return Way::Wait,
                        Ok(false) => {}
                        Ok(true) => {
                            ctx.changed(packet, before);
                            ctx.count(SEGMENTED, 1);
                            let wrapped = self.wrap(packet, template, settings, false, ctx);
                            return if wrapped.is_ok() { Way::Next } else { Way::Wait };
                        }
                    }
                }
                Oversize::PmtuReply => {
                    let port = packet.meta().port;
                    let reachable = settings.answers.iter().any(|(number, _)| *number == port);
                    let told = network(packet).filter(|ip| reply::may_be_told(packet, ip));
                    if reachable && told.is_some() && self.allowance.take(ctx.now) {
                        return Way::Reply(most);
                    }
                    // Beyond the bound it is dropped: whoever sends on is told soon.
                    if reachable && told.is_some() {
                        return Way::Drop(TOO_BIG);
                    }
                }
                Oversize::FragmentOuter if is_unfinished(packet) => return Way::Finish,
                Oversize::FragmentOuter if packet.len() + template.overhead() > IP_MAX => {}
                Oversize::FragmentOuter => return self.fragment(packet, template, settings, ctx),
                Oversize::Drop => break,
            }
        }
        Way::Drop(TOO_BIG)
    }

    fn fragment(
        &mut self,
        packet: &mut Packet,
        template: &Template,
        settings: &Settings,
        ctx: &mut StageContext<'_>,
    ) -> Way {
        if self.wrap(packet, template, settings, true, ctx).is_err() {
            return Way::Wait;
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        Way::Fragment(Datagram { v6: template.level().l3_kind == L3::V6, id })
    }

    /// Puts the header in front and says so in meta. With `complete` nothing is put off.
    #[inline]
    fn wrap(
        &mut self,
        packet: &mut Packet,
        template: &Template,
        settings: &Settings,
        complete: bool,
        ctx: &mut StageContext<'_>,
    ) -> Result<(), NoBuffer> {
        let nested = is_nested(packet);
        let (inside, segments) = (packet.len(), packet.segments());
        let fields = self.fields(packet, template, settings);
        let len = template.len();
        template.write(packet.push(len, ctx.buffers)?, &fields);
        packet.push_level(len as u16, template.level(), Tunnel::Vxlan);
        if template.is_identified() {
            self.next_id = self.next_id.wrapping_add(u32::from(segments));
        }
        let is_super = packet.is_super();
        let meta = packet.meta_mut();
        // What leaves is a whole frame around the bytes there are.
        meta.orig_len = inside + len;
        if template.level().l3_kind == L3::V4 {
            if !nested {
                meta.l3[0] = Csum::Good;
            }
            if is_super {
                // Said anew: a tunnel that was taken off before may have said otherwise.
                let given = packet.segmentation();
                let mut flags = given.flags;
                flags.set(SegFlags::OUTER_FIXED_ID, !template.is_identified());
                packet.set_segmentation(Segmentation { flags, ..given });
            }
        }
        if !nested {
            settle_payload(packet, ctx);
        }
        match template.wants_checksum() {
            false => {}
            true if complete || nested => sum_now(packet, template, nested, ctx),
            true => {
                let start = template.level().l4;
                let field = start + UdpHeader::CHECKSUM_AT as u16;
                packet.meta_mut().request(0, Partial { start, field });
            }
        }
        Ok(())
    }

    /// What the header says of this packet alone.
    #[inline]
    fn fields(&mut self, packet: &Packet, template: &Template, settings: &Settings) -> Fields {
        let inner = network(packet);
        let tos = inner.map_or(0, |ip| ip.tos);
        let dscp = match settings.dscp {
            OrInherit::Fixed(dscp) => dscp << 2,
            OrInherit::Inherit => tos & 0xfc,
        };
        let ttl = match settings.ttl {
            OrInherit::Fixed(ttl) => ttl,
            OrInherit::Inherit => inner.map_or(TTL, |ip| ip.ttl),
        };
        Fields {
            inside: packet.len(),
            tos: dscp | ecn::outside(settings.ecn, tos),
            ttl,
            id: if template.is_identified() { self.next_id as u16 } else { 0 },
            src_port: src_port(packet, settings),
        }
    }
}

/// Whether what goes in front is not among the two levels that are tracked.
#[inline]
fn is_nested(packet: &Packet) -> bool {
    let meta = packet.meta();
    meta.layers.count > 1 || meta.flags.contains(MetaFlags::DEEPER)
}

/// The same port for all packets of a flow, spread over all that may be used (RFC 7348 section 5). The hash that a
/// port may have reported is not used: what leaves must not depend on what ports can do.
#[inline]
fn src_port(packet: &Packet, settings: &Settings) -> u16 {
    let (first, last) = (*settings.src_ports.start(), *settings.src_ports.end());
    if first == last {
        return first;
    }
    let count = u64::from(last - first) + 1;
    // Another number than the one that flows are spread by here, so that the next spreading is another one.
    let hash = flow::hash_of(packet, settings.key.rotate_left(7));
    first + ((u64::from(hash) * count) >> 32) as u16
}

/// Bytes of the longest outer IP packet that becomes of this packet.
#[inline]
fn outer_len(packet: &Packet, template: &Template) -> u32 {
    let frame = match packet.is_super() {
        false => packet.len(),
        true => {
            let innermost = packet.meta().layers.innermost();
            let headers = innermost.map_or(0, |level| u32::from(level.payload));
            let segment = headers + u32::from(packet.segmentation().gso_size);
            segment.min(packet.len())
        }
    };
    frame + template.overhead()
}

/// Makes the outer UDP checksum: from what is known of the payload, or by reading it.
fn sum_now(packet: &mut Packet, template: &Template, nested: bool, ctx: &mut StageContext<'_>) {
    let l4 = usize::from(template.level().l4);
    let mut sums = Sums::of(packet);
    // The field holds the sum of the pseudo header.
    let sum = sums.range(l4 as u32, packet.len());
    let (read, payload) = (sums.read(), sums.payload());
    ctx.payload_summed(read);
    if let Some(payload) = payload.filter(|_| read > 0 && packet.pieces().count() <= 1) {
        packet.set_payload_sum(payload.fold());
    }
    let field = l4 + UdpHeader::CHECKSUM_AT;
    if let Some(bytes) = packet.data_mut().and_then(|data| data.get_mut(field..field + 2)) {
        bytes.copy_from_slice(&sum.udp_checksum().to_be_bytes());
    }
    if !nested {
        packet.meta_mut().l4[0] = Csum::Good;
    }
}

/// Tells the sender of a packet what would fit, and ends the packet.
pub(super) fn reply(
    packet: Packet,
    most: u32,
    settings: &Settings,
    out: &mut Outputs<'_>,
    ctx: &mut StageContext<'_>,
) {
    let port = packet.meta().port;
    let answer = settings.answers.iter().find(|(number, _)| *number == port);
    let answer = answer.map(|(_, output)| *output).filter(|&output| out.room_of(output) > 0);
    let message = answer.zip(network(&packet)).and_then(|(output, ip)| {
        let message = reply::message(&packet, &ip, most, ctx.buffers)?;
        Some((output, message))
    });
    let Some((output, mut message)) = message else { return ctx.drop(packet, TOO_BIG) };
    // Without a buffer for headers that lie far apart; these do not.
    let _ = crate::rx::describe(&mut message, settings.key, ctx.buffers);
    ctx.create(&message);
    ctx.count(REPLIED, 1);
    out.send(output, message);
    ctx.consume(packet);
}
