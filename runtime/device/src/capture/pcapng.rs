//! pcapng: sections of blocks, read front to back.
//!
//! It promises that every step moves forward by a whole checked block, so that any bytes end; that the
//! interfaces of all sections are known before the first packet; and that packets read the clock of
//! their own section's interface. Blocks of other types are passed over without being read whole, lengths
//! of sections are not relied on. A simple packet carries no time and reads 0. Of an interface
//! description the first 256 KiB are looked at.

use super::error::Fault;
use super::format::{
    BLOCK_ENHANCED, BLOCK_INTERFACE, BLOCK_MIN_LEN, BLOCK_PACKET, BLOCK_SECTION, BLOCK_SIMPLE,
    BYTE_ORDER_MAGIC, ByteOrder, ENHANCED_BODY_LEN, INTERFACE_BODY_LEN, MAX_CAPTURED,
    PCAPNG_VERSION_MAJOR, SECTION_BODY_LEN, SIMPLE_BODY_LEN,
};
use super::interface::{Clock, Interface};
use super::link::LinkType;
use super::reader::{Frame, Position};
use super::source::ReadAt;
use super::window::{WINDOW, Window};

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
#[derive(Clone, Copy)]
struct Block {
    kind: u32,
    /// Where it begins, in bytes from the start of the file.
    at: u64,
    /// Bytes between its two lengths.
    body_len: usize,
}

impl Block {
    /// Bytes in front of the body: type and length.
    const BODY: u64 = 8;

    /// Where the next one begins.
    fn end(self) -> u64 {
        self.at + (BLOCK_MIN_LEN + self.body_len) as u64
    }

    /// Whether it holds a packet.
    fn is_packet(self) -> bool {
        matches!(self.kind, BLOCK_ENHANCED | BLOCK_PACKET | BLOCK_SIMPLE)
    }
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
pub(super) fn interfaces<S: ReadAt>(window: &mut Window<S>) -> Result<Vec<Interface>, Fault> {
    let mut position = Position::default();
    let mut table = Vec::new();
    if let Some(Err(fault)) = next_block(window, &mut position) {
        return Err(fault);
    }
    while let Some(Ok(block)) = next_block(window, &mut position) {
        if block.kind == BLOCK_INTERFACE {
            let body = window.get(block.at + Block::BODY, block.body_len.min(WINDOW))?;
            table.push(describe(position.section.order, body));
        }
    }
    Ok(table)
}

/// The next packet from `position` on, which moves behind it; `None` at the end of the file. After a
/// fault `position` stands where the faulty block begins.
pub(super) fn next<'w, S: ReadAt>(
    window: &'w mut Window<S>,
    table: &[Interface],
    position: &mut Position,
) -> Option<Result<Frame<'w>, Fault>> {
    loop {
        let block = match next_block(window, position)? {
            Ok(block) => block,
            Err(fault) => return Some(Err(fault)),
        };
        if block.is_packet() {
            let frame = frame(window, block, position.section, table);
            if frame.is_err() {
                position.offset = block.at;
            }
            return Some(frame);
        }
    }
}

/// Checks the block at `position` and moves behind it, keeping count of sections and interfaces.
fn next_block<S: ReadAt>(
    window: &mut Window<S>,
    position: &mut Position,
) -> Option<Result<Block, Fault>> {
    if window.left(position.offset) == 0 {
        return None;
    }
    let block = block_at(window, position.offset, &mut position.section);
    Some(block.inspect(|block| position.offset = block.end()))
}

fn block_at<S: ReadAt>(
    window: &mut Window<S>,
    at: u64,
    section: &mut Section,
) -> Result<Block, Fault> {
    const SECTION_LEN: usize = BLOCK_MIN_LEN + SECTION_BODY_LEN;
    let left = window.left(at);
    let is_section = detect(window.get(at, BLOCK_MIN_LEN)?);
    let head = window.get(at, if is_section { SECTION_LEN } else { BLOCK_MIN_LEN })?;
    let order = if is_section { section_order(head, left)? } else { section.order };
    let cut = Fault::HeaderCut { needed: BLOCK_MIN_LEN, left };
    let kind = order.u32(head, 0).ok_or(cut)?;
    let length = order.u32(head, 4).ok_or(cut)?;
    let version = |at| order.u16(head, at).unwrap_or(0);
    let (major, minor) = (version(12), version(14));
    let body_len = body_len(window, at, order, length, least_body(kind))?;
    match kind {
        BLOCK_SECTION if major != PCAPNG_VERSION_MAJOR => {
            return Err(Fault::Version { major, minor });
        }
        BLOCK_SECTION => {
            let first = section.first + section.described;
            *section = Section { order, first, described: 0 };
        }
        BLOCK_INTERFACE => section.described += 1,
        _ => {}
    }
    Ok(Block { kind, at, body_len })
}

/// Bytes between the two lengths of the block at `at`, which says it has `length` bytes.
fn body_len<S: ReadAt>(
    window: &Window<S>,
    at: u64,
    order: ByteOrder,
    length: u32,
    least: usize,
) -> Result<usize, Fault> {
    let (whole, left) = (length as usize, window.left(at));
    if !length.is_multiple_of(4) {
        return Err(Fault::BlockUnaligned { length });
    }
    let needed = BLOCK_MIN_LEN + least;
    if whole < needed {
        return Err(Fault::BlockShort { length, needed });
    }
    if whole > left {
        return Err(Fault::BlockOverFile { length, left });
    }
    let trailer = window.word(at + whole as u64 - 4)?;
    let trailer = order.u32(&trailer, 0).unwrap_or(0);
    if trailer != length {
        return Err(Fault::BlockMismatch { length, trailer });
    }
    Ok(whole - BLOCK_MIN_LEN)
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
fn section_order(head: &[u8], left: usize) -> Result<ByteOrder, Fault> {
    let cut = Fault::HeaderCut { needed: BLOCK_MIN_LEN + SECTION_BODY_LEN, left };
    let magic = ByteOrder::Little.u32(head, 8).ok_or(cut)?;
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

/// The frame in a block that holds a packet, of any of the three kinds.
fn frame<'w, S: ReadAt>(
    window: &'w mut Window<S>,
    block: Block,
    section: Section,
    table: &[Interface],
) -> Result<Frame<'w>, Fault> {
    let fixed = least_body(block.kind);
    let body = window.get(block.at + Block::BODY, fixed)?;
    let word = |at| section.order.u32(body, at).unwrap_or(0);
    let id = match block.kind {
        BLOCK_ENHANCED => word(0),
        // The second half of the word counts drops.
        BLOCK_PACKET => u32::from(section.order.u16(body, 0).unwrap_or(0)),
        _ => 0,
    };
    let place = Some(id as usize).filter(|&id| id < section.described);
    let known = place.and_then(|id| Some((section.first + id, table.get(section.first + id)?)));
    let Some((place, interface)) = known else {
        return Err(Fault::NoInterface { interface: id, described: section.described });
    };
    let (time_ns, captured, orig_len) = if block.kind == BLOCK_SIMPLE {
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        (0, word(0).min(limit), word(0))
    } else {
        let ticks = u64::from(word(4)) << 32 | u64::from(word(8));
        (interface.clock.to_ns(ticks), word(12), word(16))
    };
    let data = data(window, block, fixed, captured)?;
    // A table has fewer than 2^32 interfaces: a file with more would be over 80 GB of them.
    let interface = u32::try_from(place).unwrap_or(u32::MAX);
    Ok(Frame { time_ns, orig_len, interface, data })
}

/// The captured bytes that stand behind the first `fixed` ones of a body.
fn data<S: ReadAt>(
    window: &mut Window<S>,
    block: Block,
    fixed: usize,
    captured: u32,
) -> Result<&[u8], Fault> {
    if captured > MAX_CAPTURED {
        return Err(Fault::CapturedOverLimit { captured });
    }
    let room = block.body_len - fixed;
    if captured as usize > room {
        return Err(Fault::CapturedOverBlock { captured, room });
    }
    // From the head of the block on, so that a record read again is still there.
    let front = Block::BODY as usize + fixed;
    let bytes = window.get(block.at, front + captured as usize)?;
    Ok(bytes.get(front..).unwrap_or_default())
}
