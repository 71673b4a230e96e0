//! pcapng: sections of blocks, read front to back.
//!
//! It promises that every step moves forward by a whole checked block, so that any bytes end; that the
//! interfaces of all sections are known before the first packet; and that packets read the clock of
//! their own section's interface. Blocks of other types are passed over, lengths of sections are not
//! relied on. A simple packet carries no time and reads 0.

use super::error::Fault;
use super::format::{
    BLOCK_ENHANCED, BLOCK_INTERFACE, BLOCK_MIN_LEN, BLOCK_PACKET, BLOCK_SECTION, BLOCK_SIMPLE,
    BYTE_ORDER_MAGIC, ByteOrder, ENHANCED_BODY_LEN, INTERFACE_BODY_LEN, MAX_CAPTURED,
    PCAPNG_VERSION_MAJOR, SECTION_BODY_LEN, SIMPLE_BODY_LEN,
};
use super::interface::{Clock, Interface};
use super::link::LinkType;
use super::reader::{Frame, Position};

/// Where in the sections of a file a cursor stands; part of its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    order: ByteOrder,
    /// Place of the section's first interface in the table of the whole file.
    first: usize,
    /// Interfaces of the section that the cursor has passed.
    described: usize,
}

/// One block whose lengths were checked.
struct Block<'a> {
    kind: u32,
    body: &'a [u8],
}

/// Whether a file begins like pcapng.
pub(super) fn detect(bytes: &[u8]) -> bool {
    ByteOrder::Little.u32(bytes, 0) == Some(BLOCK_SECTION)
}

/// The interfaces of all sections, in the order of the file. What lies behind a damaged block is not
/// looked at: no packet is delivered from there either.
///
/// # Errors
/// The fault of the first section header, without which nothing can be read.
pub(super) fn interfaces(bytes: &[u8]) -> Result<Vec<Interface>, Fault> {
    let mut position = Position::default();
    let mut table = Vec::new();
    if let Some(Err(fault)) = next_block(bytes, &mut position) {
        return Err(fault);
    }
    while let Some(Ok(block)) = next_block(bytes, &mut position) {
        if block.kind == BLOCK_INTERFACE {
            table.push(describe(position.section.order, block.body));
        }
    }
    Ok(table)
}

/// The next packet from `position` on, which moves behind it; `None` at the end of the file. After a
/// fault `position` stands where the faulty block begins.
pub(super) fn next<'a>(
    bytes: &'a [u8],
    table: &[Interface],
    position: &mut Position,
) -> Option<Result<Frame<'a>, Fault>> {
    loop {
        let start = position.offset;
        let block = match next_block(bytes, position)? {
            Ok(block) => block,
            Err(fault) => return Some(Err(fault)),
        };
        if let Some(frame) = frame(&block, position.section, table) {
            if frame.is_err() {
                position.offset = start;
            }
            return Some(frame);
        }
    }
}

/// Checks the block at `position` and moves behind it, keeping count of sections and interfaces.
fn next_block<'a>(bytes: &'a [u8], position: &mut Position) -> Option<Result<Block<'a>, Fault>> {
    let rest = bytes.get(position.offset..).filter(|rest| !rest.is_empty())?;
    Some(block_at(rest, &mut position.section).inspect(|block| {
        position.offset += BLOCK_MIN_LEN + block.body.len();
    }))
}

fn block_at<'a>(rest: &'a [u8], section: &mut Section) -> Result<Block<'a>, Fault> {
    let cut = Fault::HeaderCut { needed: BLOCK_MIN_LEN, left: rest.len() };
    let is_section = detect(rest);
    let order = if is_section { section_order(rest)? } else { section.order };
    let kind = order.u32(rest, 0).ok_or(cut)?;
    let length = order.u32(rest, 4).ok_or(cut)?;
    let body = body(rest, order, length, least_body(kind))?;
    match kind {
        BLOCK_SECTION => {
            let version = |at| order.u16(body, at).unwrap_or(0);
            let (major, minor) = (version(4), version(6));
            if major != PCAPNG_VERSION_MAJOR {
                return Err(Fault::Version { major, minor });
            }
            let first = section.first + section.described;
            *section = Section { order, first, described: 0 };
        }
        BLOCK_INTERFACE => section.described += 1,
        _ => {}
    }
    Ok(Block { kind, body })
}

/// The body of a block of `length` bytes that `rest` begins with, between its two lengths.
fn body(rest: &[u8], order: ByteOrder, length: u32, least: usize) -> Result<&[u8], Fault> {
    let whole = length as usize;
    if !length.is_multiple_of(4) {
        return Err(Fault::BlockUnaligned { length });
    }
    let needed = BLOCK_MIN_LEN + least;
    if whole < needed {
        return Err(Fault::BlockShort { length, needed });
    }
    let over = Fault::BlockOverFile { length, left: rest.len() };
    let body = rest.get(8..whole - 4).ok_or(over)?;
    let trailer = order.u32(rest, whole - 4).ok_or(over)?;
    if trailer != length {
        return Err(Fault::BlockMismatch { length, trailer });
    }
    Ok(body)
}

/// Fixed bytes that the body of a block must have.
fn least_body(kind: u32) -> usize {
    match kind {
        BLOCK_SECTION => SECTION_BODY_LEN,
        BLOCK_INTERFACE => INTERFACE_BODY_LEN,
        BLOCK_PACKET | BLOCK_ENHANCED => ENHANCED_BODY_LEN,
        BLOCK_SIMPLE => SIMPLE_BODY_LEN,
        _ => 0,
    }
}

/// The byte order that the mark of a section header shows.
fn section_order(rest: &[u8]) -> Result<ByteOrder, Fault> {
    let needed = BLOCK_MIN_LEN + SECTION_BODY_LEN;
    let cut = Fault::HeaderCut { needed, left: rest.len() };
    let magic = ByteOrder::Little.u32(rest, 8).ok_or(cut)?;
    match magic {
        BYTE_ORDER_MAGIC => Ok(ByteOrder::Little),
        _ if magic.swap_bytes() == BYTE_ORDER_MAGIC => Ok(ByteOrder::Big),
        _ => Err(Fault::ByteOrder { magic }),
    }
}

/// What an interface description says; `body` has at least its fixed bytes.
fn describe(order: ByteOrder, body: &[u8]) -> Interface {
    let options = body.get(INTERFACE_BODY_LEN..).unwrap_or_default();
    Interface {
        link: LinkType(u32::from(order.u16(body, 0).unwrap_or(0))),
        snaplen: order.u32(body, 4).unwrap_or(0),
        clock: Clock::from_options(order, options),
    }
}

/// The frame in a block, if it is a packet of any of the three kinds.
fn frame<'a>(
    block: &Block<'a>,
    section: Section,
    table: &[Interface],
) -> Option<Result<Frame<'a>, Fault>> {
    let word = |at| section.order.u32(block.body, at).unwrap_or(0);
    let id = match block.kind {
        BLOCK_ENHANCED => word(0),
        // The second half of the word counts drops.
        BLOCK_PACKET => u32::from(section.order.u16(block.body, 0).unwrap_or(0)),
        BLOCK_SIMPLE => 0,
        _ => return None,
    };
    let place = Some(id as usize).filter(|&id| id < section.described);
    let Some((place, interface)) =
        place.and_then(|id| Some((section.first + id, table.get(section.first + id)?)))
    else {
        return Some(Err(Fault::NoInterface { interface: id, described: section.described }));
    };
    let (time_ns, captured, orig_len, fixed) = if block.kind == BLOCK_SIMPLE {
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        (0, word(0).min(limit), word(0), SIMPLE_BODY_LEN)
    } else {
        let ticks = u64::from(word(4)) << 32 | u64::from(word(8));
        (interface.clock.to_ns(ticks), word(12), word(16), ENHANCED_BODY_LEN)
    };
    let data = data(block.body.get(fixed..).unwrap_or_default(), captured);
    // A table has fewer than 2^32 interfaces: a file with more would be over 80 GB of them.
    let interface = u32::try_from(place).unwrap_or(u32::MAX);
    Some(data.map(|data| Frame { time_ns, orig_len, interface, data }))
}

/// The captured bytes that `room`, the rest of a body, begins with.
fn data(room: &[u8], captured: u32) -> Result<&[u8], Fault> {
    if captured > MAX_CAPTURED {
        return Err(Fault::CapturedOverLimit { captured });
    }
    let fault = Fault::CapturedOverBlock { captured, room: room.len() };
    room.get(..captured as usize).ok_or(fault)
}
