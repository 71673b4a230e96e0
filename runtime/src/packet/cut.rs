//! Cutting: taking the first payload bytes of a packet off as a packet of their own, headers repeated.
//!
//! Knows how to split parts without copying payload; knows no protocol, so the caller mends the headers.
//! Where a part boundary coincides with the cut - always so for packets that were joined from whole
//! segments - nothing is allocated: the parts change hands and the header is pushed into the headroom.

use super::handle::{bytes_of, is_exclusive, move_packet_fields};
use super::home::{Buffers, Class, SMALL_ROOM};
use super::part::{PIECE_START, Part};
use super::release::HomeShared;
use super::{NoBuffer, Packet};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Why a packet cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutError {
    /// Not now: buffers are out. Try again when some have come home.
    Wait,
    /// Never: more parts are needed than the home has beside those of the packet itself, or the header is
    /// not contiguous, or too long for a buffer.
    TooMany,
}

/// Parts set aside so that cutting a packet, once begun, cannot run out. Dropped unfinished, as by a stage
/// that panics, it gives them back by a slower way.
#[derive(Default)]
pub struct CutPlan {
    reserved: [u32; 3],
    home: Option<&'static HomeShared>,
}

impl CutPlan {
    /// Sets aside what cutting `packet` into pieces of at most `gso_size` payload bytes (or at its piece
    /// boundaries, with `by_parts`) can need, before the first segment is made.
    pub fn reserve(
        packet: &Packet,
        header_len: u32,
        gso_size: u32,
        by_parts: bool,
        buffers: &mut Buffers,
    ) -> Result<CutPlan, CutError> {
        let want = if by_parts {
            [0, headers_for_parts(packet, header_len), 0]
        } else {
            let cuts = packet.len().saturating_sub(header_len).div_ceil(gso_size.max(1));
            [cuts, cuts + 1, 0]
        };
        if header_len > SMALL_ROOM
            || header_len > packet.part().len
            || exceeds(want, packet, buffers)
        {
            return Err(CutError::TooMany);
        }
        if want == [0; 3] {
            return Ok(CutPlan::default());
        }
        if !buffers.reserve(want) {
            return Err(CutError::Wait);
        }
        Ok(CutPlan { reserved: want, home: Some(buffers.identity().1) })
    }

    /// Gives back what was not needed.
    pub fn finish(mut self, buffers: &mut Buffers) {
        buffers.unreserve(std::mem::take(&mut self.reserved));
    }

    fn alloc(&mut self, class: Class, buffers: &mut Buffers) -> Result<Packet, NoBuffer> {
        let left = &mut self.reserved[class as usize];
        if *left == 0 {
            return buffers.alloc(class).ok_or(NoBuffer);
        }
        *left -= 1;
        buffers.alloc_reserved(class).ok_or(NoBuffer)
    }
}

impl Drop for CutPlan {
    fn drop(&mut self) {
        if let Some(home) = self.home.filter(|_| self.reserved != [0; 3]) {
            home.forfeit(self.reserved);
        }
    }
}

impl std::fmt::Debug for CutPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CutPlan({:?})", self.reserved)
    }
}

/// Whether `want` can never be had: what the packet itself occupies does not come home before it is cut.
fn exceeds(want: [u32; 3], packet: &Packet, buffers: &Buffers) -> bool {
    let capacity = buffers.capacity();
    let parts = u32::from(packet.part_count());
    // A part of a packet occupies itself, and a buffer if it is a shell.
    let may = |(&want, capacity): (&u32, u32)| want > capacity.saturating_sub(2 * parts);
    if !want.iter().zip(capacity).any(may) {
        return false;
    }
    let own = occupied(packet, buffers.identity().0);
    (0..3).any(|i| want[i] > capacity[i].saturating_sub(own[i]))
}

/// Parts of a home that a packet keeps from coming home, per class.
fn occupied(packet: &Packet, home: u16) -> [u32; 3] {
    let mut found = [0; 3];
    let mut last_owner = std::ptr::null_mut();
    for part in packet.chain() {
        // SAFETY: parts, and the owners of their buffers, stay valid while the packet is borrowed. Class and
        // home of an owner in another packet do not change while it is out.
        unsafe {
            let owner = part.as_ref().owner;
            let mut count = |home_of: u16, class: u8| {
                found[usize::from(class)] += u32::from(home_of == home);
            };
            count(part.as_ref().home, part.as_ref().class);
            if owner != part.as_ptr() && owner != last_owner {
                count((*owner).home, (*owner).class);
                last_owner = owner;
            }
        }
    }
    found
}

/// Header parts needed to cut at piece boundaries: one per boundary without writable headroom.
fn headers_for_parts(packet: &Packet, header_len: u32) -> u32 {
    let starts = packet.chain().skip(1).filter(|part| {
        // SAFETY: parts stay valid while the packet is borrowed.
        let part = unsafe { part.as_ref() };
        part.flags & PIECE_START != 0 && !takes_header(part, header_len)
    });
    starts.count() as u32
}

fn takes_header(part: &Part, header_len: u32) -> bool {
    is_exclusive(part) && part.head >= header_len
}

impl Packet {
    /// Takes the first `bytes` payload bytes off, as a packet with a copy of the first `header_len` bytes
    /// in front and a copy of the meta. What is left keeps its header, too. Both are ordinary packets of one
    /// segment as far as their counts go; the caller sets those, and mends headers and meta.
    ///
    /// Fails only where the plan did not cover the need; the packet is then as it was.
    ///
    /// # Panics
    /// If the header is not contiguous or no small buffer holds it, or if `bytes` is 0 or not less than the
    /// payload present; nothing is changed then.
    pub(crate) fn cut_front(
        &mut self,
        header_len: u32,
        bytes: u32,
        plan: &mut CutPlan,
        buffers: &mut Buffers,
    ) -> Result<Packet, NoBuffer> {
        let end = header_len.checked_add(bytes);
        assert!(bytes > 0 && end.is_some_and(|end| end < self.len()), "a cut outside the payload");
        assert!(header_len <= self.part().len.min(SMALL_ROOM), "a header that cannot be repeated");
        let (last, end) = self.part_at(header_len + bytes);
        // SAFETY: `last` is a part of this packet.
        let clean = end == unsafe { last.as_ref() }.len;
        let rest_len = self.len() - bytes;
        if clean {
            self.cut_after(last, header_len, rest_len, plan, buffers)
        } else {
            self.cut_within(header_len, bytes, plan, buffers)
        }
    }

    /// The part that holds the byte before offset `to`, and where `to` lies in it.
    fn part_at(&self, to: u32) -> (NonNull<Part>, u32) {
        let mut left = to;
        let mut found = None;
        for part in self.chain() {
            // SAFETY: parts stay valid while the packet is borrowed.
            let len = unsafe { part.as_ref() }.len;
            found = Some((part, left.min(len)));
            if left <= len {
                break;
            }
            left -= len;
        }
        found.unwrap_or((self.first_part(), 0))
    }

    fn first_part(&self) -> NonNull<Part> {
        NonNull::from(self.part())
    }

    /// The cut falls between two parts: they change hands, and the rest gets a header of its own.
    fn cut_after(
        &mut self,
        last: NonNull<Part>,
        header_len: u32,
        rest_len: u32,
        plan: &mut CutPlan,
        buffers: &mut Buffers,
    ) -> Result<Packet, NoBuffer> {
        // SAFETY: `last` is a part of this packet and, with payload left over, not its last.
        let next = unsafe { NonNull::new((*last.as_ptr()).next) }.ok_or(NoBuffer)?;
        // SAFETY: `next` is a part of this packet.
        let roomy = takes_header(unsafe { next.as_ref() }, header_len);
        let spare = if roomy { None } else { Some(plan.alloc(Class::Small, buffers)?) };
        let rest_payload = rest_len - header_len;
        // SAFETY: both chains are disjoint after the unlinking; the first keeps this packet's fields.
        let (mut rest, front_parts) = unsafe {
            (*last.as_ptr()).next = std::ptr::null_mut();
            let front_parts = self.chain().count() as u16;
            let parts = self.part_count() - front_parts;
            let next_part = &mut *next.as_ptr();
            let time = next_part.time;
            move_packet_fields(self.part(), next_part);
            next_part.time = time;
            next_part.parts = parts;
            next_part.total = rest_payload;
            (Packet::from_part(next), front_parts)
        };
        let front_len = self.len() - rest_payload;
        match spare {
            Some(mut spare) => {
                spare.append_bytes(&self.data()[..header_len as usize]);
                rest.put_in_front(spare, rest_len);
            }
            None => self.copy_header_to(&mut rest, header_len),
        }
        let first = self.part_mut();
        first.parts = front_parts;
        first.total = front_len;
        Ok(std::mem::replace(self, rest))
    }

    /// Writes a copy of this packet's header in front of `other`, whose first part takes it.
    fn copy_header_to(&self, other: &mut Packet, header_len: u32) {
        let n = header_len as usize;
        let part = other.part_mut();
        debug_assert!(takes_header(part, header_len) && self.part().len >= header_len);
        // SAFETY: `takes_header` held when the part was chosen: its own, unshared buffer has `header_len`
        // bytes in front of the data. The source is another part's data, at least as long (`cut_front`).
        unsafe {
            part.data = part.data.sub(n);
            std::ptr::copy_nonoverlapping(self.part().data, part.data, n);
        }
        part.head -= header_len;
        part.len += header_len;
        part.total += header_len;
    }

    /// The cut falls inside a part: the front gets a header part and a shell over the first bytes.
    fn cut_within(
        &mut self,
        header_len: u32,
        bytes: u32,
        plan: &mut CutPlan,
        buffers: &mut Buffers,
    ) -> Result<Packet, NoBuffer> {
        self.separate_header(header_len, plan, buffers)?;
        let mut front = plan.alloc(Class::Small, buffers)?;
        let shell = match plan.alloc(Class::Shell, buffers) {
            Ok(shell) => shell,
            Err(error) => {
                buffers.release(front);
                return Err(error);
            }
        };
        let (split, within) = self.part_at(header_len + bytes);
        let whole = self.unlink_payload_before(split);
        move_packet_fields(self.part(), front.part_mut());
        front.part_mut().total = 0;
        front.part_mut().parts = 1;
        // SAFETY: `split` is a part of this packet.
        front.part_mut().time = unsafe { split.as_ref() }.time;
        front.append_bytes(&self.data()[..header_len as usize]);
        if let Some(whole) = whole {
            front.append(whole);
        }
        front.append(share_front(split, within, shell));
        let first = self.part_mut();
        first.total -= bytes;
        Ok(front)
    }

    /// Puts the header into a part of its own, if payload follows it in the first part.
    fn separate_header(
        &mut self,
        header_len: u32,
        plan: &mut CutPlan,
        buffers: &mut Buffers,
    ) -> Result<(), NoBuffer> {
        if self.part().len == header_len {
            return Ok(());
        }
        let mut header = plan.alloc(Class::Small, buffers)?;
        header.append_bytes(&self.data()[..header_len as usize]);
        let total = self.len();
        let part = self.part_mut();
        // SAFETY: the first part holds the whole header, so this stays within its data.
        part.data = unsafe { part.data.add(header_len as usize) };
        part.len -= header_len;
        if part.owner == std::ptr::from_mut(part) {
            part.head += header_len;
        }
        self.put_in_front(header, total);
        Ok(())
    }

    /// Takes the payload parts before `split` out of the chain, as a packet without header.
    fn unlink_payload_before(&mut self, split: NonNull<Part>) -> Option<Packet> {
        let start = NonNull::new(self.part().next).filter(|&start| start != split)?;
        let (mut parts, mut total) = (0, 0);
        let mut last = start;
        // SAFETY: `start` to the part before `split` are parts of this packet; after the unlinking they
        // are owned by the new one alone.
        unsafe {
            loop {
                parts += 1;
                total += last.as_ref().len;
                match NonNull::new((*last.as_ptr()).next) {
                    Some(next) if next != split => last = next,
                    _ => break,
                }
            }
            (*last.as_ptr()).next = std::ptr::null_mut();
            let first = self.part_mut();
            first.next = split.as_ptr();
            first.parts -= parts;
            (*start.as_ptr()).parts = parts;
            (*start.as_ptr()).total = total;
            Some(Packet::from_part(start))
        }
    }
}

/// Makes `shell` a packet over the first `n` bytes of `part`, which then starts behind them.
fn share_front(part: NonNull<Part>, n: u32, mut shell: Packet) -> Packet {
    // SAFETY: the caller's packet owns `part` and is borrowed mutably. The owner of its buffer lives as
    // long as any claim on it, and the shell's claim is counted before the shell can be seen.
    unsafe {
        let part = &mut *part.as_ptr();
        (*part.owner).refs.fetch_add(1, Ordering::Relaxed);
        let view = shell.part_mut();
        view.owner = part.owner;
        view.data = part.data;
        view.len = n;
        view.total = n;
        view.time = part.time;
        part.data = part.data.add(n as usize);
        part.len -= n;
        // What was known of a piece was known of the whole of it.
        part.flags = 0;
        if part.owner == std::ptr::from_mut(part) {
            part.head += n;
        }
    }
    debug_assert_eq!(bytes_of(shell.part()).len(), n as usize);
    shell
}

/// Makes `shell` a packet over the bytes `from` to `to` of `part`, which stay where they are.
pub(super) fn look_into(part: &Part, from: u32, to: u32, mut shell: Packet) -> Packet {
    assert!(from <= to && to <= part.len, "a look outside the part");
    // SAFETY: the bytes lie within the part's data. The owner of its buffer lives as long as any claim on it,
    // of which the borrowed part is one, and the shell's claim is counted before the shell can be seen.
    unsafe {
        (*part.owner).refs.fetch_add(1, Ordering::Relaxed);
        let view = shell.part_mut();
        view.owner = part.owner;
        view.data = part.data.add(from as usize);
        view.len = to - from;
        view.total = to - from;
        view.time = part.time;
    }
    shell
}

impl Packet {
    /// Takes the first `bytes` payload bytes and `segments` wire segments off, headers repeated.
    pub(crate) fn segment(
        &mut self,
        header_len: u32,
        bytes: u32,
        segments: u16,
        plan: &mut CutPlan,
        buffers: &mut Buffers,
    ) -> Result<Packet, NoBuffer> {
        assert!(bytes <= self.payload_len() && segments <= self.segments(), "more than there is");
        let mut segment = self.cut_front(header_len, bytes, plan, buffers)?;
        let front = segment.part_mut();
        front.payload = bytes;
        front.segments = segments;
        let rest = self.part_mut();
        rest.payload -= bytes;
        rest.segments -= segments;
        Ok(segment)
    }

    /// Chains a packet that is payload only behind this one, and takes over its payload and segments.
    pub(crate) fn absorb(&mut self, packet: Packet, bytes: u32) {
        let segments = self.segments().checked_add(packet.segments());
        let segments = segments.expect("wire segments of a packet are counted in 16 bits");
        self.append(packet);
        let part = self.part_mut();
        part.payload += bytes;
        part.segments = segments;
    }
}
