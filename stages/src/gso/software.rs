//! Cutting: a superpacket becomes packets one by one, and may be put down and taken up between any two.
//!
//! It promises that everything needed is set aside before the first segment is made, that segments have the
//! boundaries that were received where those are known, and that each has the receive time of its own part.
//! It decides nothing about ports; [`Chunk`] says how many segments stay together.

use super::header::{Position, Template};
use corelane_runtime::packet::{CutError, CutPlan, NoBuffer, Packet, SegFlags, Units};
use corelane_runtime::stage::StageContext;

/// Bytes of the shortest Ethernet frame, without its check sequence.
const FRAME_MIN: u32 = 60;

/// Why a superpacket is not cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Buffers are out; try again when some came home.
    Wait,
    /// It needs more parts than there are.
    TooMany,
    /// Its headers are not what its layers say.
    Bad,
}

/// How many segments stay together, for a port to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// At most so many.
    pub(super) segments: u16,
    /// Their headers are those of one segment, which the port repeats: all of them have the same length, and a
    /// shorter last one stays alone.
    pub(super) repeats: bool,
}

impl Chunk {
    /// Every segment for itself.
    pub(super) const FRAME: Chunk = Chunk { segments: 1, repeats: false };

    /// Segments of the next packet cut off `rest`; all of them, if nothing remains behind it.
    fn next(self, rest: &Packet, gso_size: u16) -> u16 {
        let (segments, size) = (rest.segments(), u32::from(gso_size).max(1));
        let short = self.repeats && segments > 1 && !rest.payload_len().is_multiple_of(size);
        self.segments.min(segments - u16::from(short))
    }
}

/// What was set aside for a cut, and the numbers it starts from.
pub(super) struct Prepared {
    plan: CutPlan,
    template: Template,
    chunk: Chunk,
}

/// A superpacket being cut.
pub(super) struct Cutting {
    /// What is not cut yet; nothing once the last packet was made.
    rest: Option<Packet>,
    plan: CutPlan,
    template: Template,
    /// Wire segments of each packet made.
    chunk: Chunk,
    segments_done: u16,
    bytes_done: u32,
}

/// What one step of cutting came to.
pub(super) enum Made {
    /// A packet.
    Packet(Packet),
    /// The last packet, which cannot be padded as it must be.
    Unpaddable(Packet),
    /// Nothing, for want of a buffer.
    Starved,
    /// Nothing: all is cut.
    Nothing,
}

/// Sets aside all that cutting `packet` needs. Makes its header contiguous and its own, no more.
pub(super) fn prepare(
    packet: &mut Packet,
    chunk: Chunk,
    ctx: &mut StageContext<'_>,
) -> Result<Prepared, Refusal> {
    let header_len = header_len(packet);
    packet.make_header_unique(header_len, ctx.buffers).map_err(|NoBuffer| Refusal::Wait)?;
    let template = Template::read(packet, chunk.repeats).ok_or(Refusal::Bad)?;
    let request = template.request;
    let size = u32::from(request.gso_size) * u32::from(chunk.segments);
    let by_parts = request.flags.contains(SegFlags::BY_PARTS);
    let plan = CutPlan::reserve(packet, header_len, size, by_parts, ctx.buffers);
    match plan {
        Ok(plan) => Ok(Prepared { plan, template, chunk }),
        Err(CutError::Wait) => Err(Refusal::Wait),
        Err(CutError::TooMany) => Err(Refusal::TooMany),
    }
}

/// Bytes in front of the payload that is cut.
pub(super) fn header_len(packet: &Packet) -> u32 {
    packet.meta().layers.innermost().map_or(0, |level| u32::from(level.payload))
}

impl Cutting {
    /// Begins with the packet that `prepared` is for.
    pub(super) fn new(packet: Packet, prepared: Prepared) -> Cutting {
        let Prepared { plan, template, chunk } = prepared;
        let rest = Some(packet);
        Cutting { rest, plan, template, chunk, segments_done: 0, bytes_done: 0 }
    }

    /// What is not cut yet.
    pub(super) fn units(&self) -> Units {
        self.rest.as_ref().map_or(Units::default(), Packet::units)
    }

    /// Whether the last packet was made.
    pub(super) fn is_done(&self) -> bool {
        self.rest.is_none()
    }

    /// Makes the next packet.
    #[inline]
    pub(super) fn next(&mut self, ctx: &mut StageContext<'_>) -> Made {
        let Some(rest) = &mut self.rest else { return Made::Nothing };
        let request = self.template.request;
        let segments = self.chunk.next(rest, request.gso_size);
        if rest.segments() == segments {
            return self.last(ctx);
        }
        let bytes = if request.flags.contains(SegFlags::BY_PARTS) {
            rest.pieces().take(usize::from(segments)).map(|piece| piece.len).sum()
        } else {
            u32::from(request.gso_size) * u32::from(segments)
        };
        let header_len = self.template.header_len;
        let made = ctx.segment_of(rest, header_len, bytes, segments, &mut self.plan);
        let Ok(mut packet) = made else { return Made::Starved };
        self.template.apply(&mut packet, self.position(false));
        self.segments_done += segments;
        self.bytes_done += bytes;
        Made::Packet(packet)
    }

    fn position(&self, last: bool) -> Position {
        Position { segments_before: self.segments_done, bytes_before: self.bytes_done, last }
    }

    fn last(&mut self, ctx: &mut StageContext<'_>) -> Made {
        let Some(mut rest) = self.rest.take() else { return Made::Nothing };
        let pads = self.template.request.flags.contains(SegFlags::PAD_LAST)
            && rest.segments() == 1
            && rest.len() < FRAME_MIN;
        // One header part more than needed was set aside, which is now free for the padding.
        std::mem::take(&mut self.plan).finish(ctx.buffers);
        if pads && !make_tailroom(&mut rest, ctx) {
            self.rest = Some(rest);
            return Made::Starved;
        }
        self.template.apply(&mut rest, self.position(true));
        if pads && !pad(&mut rest) { Made::Unpaddable(rest) } else { Made::Packet(rest) }
    }
}

/// Sees to it that the end of a short packet is its own, so that bytes can be put behind it.
fn make_tailroom(packet: &mut Packet, ctx: &mut StageContext<'_>) -> bool {
    // What was received padded and then truncated still has the room; a shell, or a part that others look
    // into, has not.
    if packet.append_bytes(&[0]) {
        packet.truncate(packet.len() - 1, ctx.buffers);
        return true;
    }
    packet.make_header_unique(packet.len(), ctx.buffers).is_ok()
}

/// Pads a frame with zeros to the shortest length.
fn pad(packet: &mut Packet) -> bool {
    let len = packet.len();
    let zeros = [0; FRAME_MIN as usize];
    let missing = FRAME_MIN.saturating_sub(len);
    let padded = packet.append_bytes(&zeros[..missing as usize]);
    if padded {
        let meta = packet.meta_mut();
        meta.trailer = missing as u16;
        meta.orig_len = FRAME_MIN;
    }
    padded
}
