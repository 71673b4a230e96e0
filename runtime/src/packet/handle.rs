//! `Packet`: an owning handle of eight bytes, and everything a stage may safely do with one.
//!
//! One owner, no clone. Reading is always allowed; writing only where nobody else can see the bytes.
//! A packet that falls out of scope goes home by the slow path and is booked as an implicit drop.

use super::edit::copy_of;
use super::home::{Buffers, Class, HEADROOM, SMALL_ROOM};
use super::meta::{Meta, MetaFlags, SegFlags, SegKind, Segmentation};
use super::part::{Chain, PIECE_START, Part};
use super::release::release_implicitly;
use super::{Layers, Units};
use crate::Time;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// One owned packet.
#[repr(transparent)]
pub struct Packet(NonNull<Part>);

// SAFETY: a packet owns its chain of parts; what it shares with other packets is read-only bytes and an
// atomic count. Parts travel between threads only inside a handle, through rings that synchronise.
unsafe impl Send for Packet {}

/// A packet on a ring: plain data, so that slices of it can be copied. Whoever holds it owns the packet.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct RawPacket(NonNull<Part>);

// SAFETY: as for Packet; the ring moves each value from one thread to one other.
unsafe impl Send for RawPacket {}

impl RawPacket {
    /// Address of the first part, for prefetching.
    pub(super) fn address(self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

impl Packet {
    /// # Safety
    /// `first` heads a chain that the caller owns, with its packet fields filled in.
    pub(super) unsafe fn from_part(first: NonNull<Part>) -> Packet {
        Packet(first)
    }

    pub(super) fn into_part(self) -> NonNull<Part> {
        let first = self.0;
        std::mem::forget(self);
        first
    }

    pub(super) fn part(&self) -> &Part {
        // SAFETY: the handle owns a valid first part.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn part_mut(&mut self) -> &mut Part {
        // SAFETY: the handle owns a valid first part, and `&mut self` makes the access exclusive. Other
        // threads touch no field of it but `refs`, which is atomic.
        unsafe { self.0.as_mut() }
    }

    pub(crate) fn chain(&self) -> Chain {
        // SAFETY: the chain lives as long as the packet; callers do not unlink while iterating.
        unsafe { Chain::new(self.0.as_ptr()) }
    }

    /// Its parts in order.
    pub(super) fn each_part(&self) -> impl Iterator<Item = &Part> {
        // SAFETY: parts stay valid while `self` is borrowed.
        self.chain().map(|part| unsafe { &*part.as_ptr() })
    }

    /// Its parts in order, to be changed.
    pub(super) fn for_each_part(&mut self, mut change: impl FnMut(&mut Part)) {
        for part in self.chain() {
            // SAFETY: this packet owns its parts and is borrowed mutably; `change` keeps none of them.
            change(unsafe { &mut *part.as_ptr() });
        }
    }

    pub(crate) fn into_raw(self) -> RawPacket {
        RawPacket(self.into_part())
    }

    /// # Safety
    /// `raw` came from [`Packet::into_raw`] and is turned back only once.
    pub(crate) unsafe fn from_raw(raw: RawPacket) -> Packet {
        Packet(raw.0)
    }

    /// Bytes of the whole packet.
    pub fn len(&self) -> u32 {
        let first = self.part();
        first.total
    }

    /// Whether there are no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of parts.
    pub fn part_count(&self) -> u16 {
        self.part().parts
    }

    /// The packet in the three units of the books.
    pub fn units(&self) -> Units {
        let part = self.part();
        Units { packets: 1, segments: u64::from(part.segments), bytes: u64::from(part.payload) }
    }

    /// Wire segments; 1 for an ordinary packet.
    pub fn segments(&self) -> u16 {
        self.part().segments
    }

    /// L4 payload bytes, as [`Packet::set_layers`] was told.
    pub fn payload_len(&self) -> u32 {
        self.part().payload
    }

    /// Receive time of the first part, ns.
    pub fn time(&self) -> Time {
        self.part().time
    }

    /// Sets the receive time of every part, ns.
    pub fn set_time(&mut self, time: Time) {
        self.for_each_part(|part| part.time = time);
    }

    /// What is known about the packet.
    pub fn meta(&self) -> &Meta {
        &self.part().meta
    }

    /// What is known about the packet, to be changed.
    pub fn meta_mut(&mut self) -> &mut Meta {
        &mut self.part_mut().meta
    }

    /// What the description's own rules say of it; 0 where they said nothing.
    pub fn mark(&self) -> u16 {
        self.part().mark
    }

    /// Says something of it, for rules further on.
    pub fn set_mark(&mut self, mark: u16) {
        self.part_mut().mark = mark;
    }

    /// Records where the layers are and how many bytes the innermost L4 payload has.
    pub fn set_layers(&mut self, layers: Layers, payload: u32) {
        let part = self.part_mut();
        part.meta.layers = layers;
        part.meta.flags |= MetaFlags::PARSED;
        part.payload = payload;
    }

    /// The segmentation request, [`SegKind::None`] for an ordinary packet.
    pub fn segmentation(&self) -> Segmentation {
        let part = self.part();
        Segmentation {
            kind: part.meta.seg_kind,
            gso_size: part.meta.gso_size,
            count: part.segments,
            flags: part.meta.seg_flags,
        }
    }

    /// Makes this a superpacket, or an ordinary one with `SegKind::None` and a count of 1.
    pub fn set_segmentation(&mut self, segmentation: Segmentation) {
        let part = self.part_mut();
        part.meta.seg_kind = segmentation.kind;
        part.meta.gso_size = segmentation.gso_size;
        part.meta.seg_flags = segmentation.flags;
        part.segments = segmentation.count;
    }

    /// Whether the packet stands for several wire frames.
    pub fn is_super(&self) -> bool {
        self.meta().seg_kind != SegKind::None
    }

    /// Whether the capture kept fewer bytes than the frame had: what is missing cannot be known.
    pub fn is_cut(&self) -> bool {
        self.meta().orig_len > self.len()
    }

    /// Bytes of the first part: the headers, contiguous.
    pub fn data(&self) -> &[u8] {
        bytes_of(self.part())
    }

    /// The bytes of each part in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.each_part().map(bytes_of)
    }

    /// Bytes and receive time of each part in order.
    pub fn timed_parts(&self) -> impl Iterator<Item = (&[u8], Time)> {
        self.each_part().map(|part| (bytes_of(part), part.time))
    }

    /// The bytes of each part from packet offset `from` to `to`.
    pub fn slices(&self, from: u32, to: u32) -> impl Iterator<Item = &[u8]> {
        let mut at = 0_u32;
        self.parts().filter_map(move |bytes| {
            let start = at;
            at += bytes.len() as u32;
            let lo = from.clamp(start, at) - start;
            let hi = to.clamp(start, at) - start;
            (lo < hi).then(|| &bytes[lo as usize..hi as usize])
        })
    }

    /// Whether nobody else can see the bytes of the first part.
    pub fn is_unshared(&self) -> bool {
        is_exclusive(self.part())
    }

    /// The bytes of the first part for writing, if nobody else can see them.
    pub fn data_mut(&mut self) -> Option<&mut [u8]> {
        bytes_of_mut(self.part_mut())
    }

    /// Makes the first `n` bytes contiguous and writable, by copying them in front if they are not.
    /// Fails when `n` exceeds the packet or a small buffer, or when there is no buffer.
    pub fn make_header_unique(&mut self, n: u32, buffers: &mut Buffers) -> Result<(), NoBuffer> {
        if self.is_unshared() && self.part().len >= n {
            return Ok(());
        }
        if n > self.len() {
            return Err(NoBuffer);
        }
        let mut front = buffers.alloc(Class::Small).ok_or(NoBuffer)?;
        let mut left = n;
        for bytes in self.slices(0, n) {
            if !front.append_bytes(bytes) {
                buffers.release(front);
                return Err(NoBuffer);
            }
            left -= bytes.len() as u32;
        }
        debug_assert_eq!(left, 0);
        let total = self.len();
        self.skip(n, buffers);
        self.put_in_front(front, total);
        if n == total {
            self.drop_behind_copy(buffers);
        }
        Ok(())
    }

    /// Lets go of what stands behind a copy of the whole packet: an empty part, in which shared bytes would
    /// keep any from being appended.
    fn drop_behind_copy(&mut self, buffers: &mut Buffers) {
        let first = self.part_mut();
        first.parts = 1;
        let rest = std::mem::replace(&mut first.next, std::ptr::null_mut());
        // SAFETY: `rest` is null or was just unlinked from this packet, which owned it.
        unsafe {
            if let Some(rest) = rest.as_ref() {
                // The piece began there, if anywhere.
                first.flags = rest.flags;
                first.piece_len = rest.piece_len;
                first.piece_sum = rest.piece_sum;
            }
            buffers.release_chain(rest);
        }
    }

    /// Gathers the first `min(n, len)` bytes into the first part, so that headers are contiguous. Of a packet whose parts
    /// keep boundaries no payload is gathered: pieces would run together.
    pub fn pull_up(&mut self, n: u32, buffers: &mut Buffers) -> Result<(), NoBuffer> {
        let n = n.min(self.gatherable());
        if self.part().len >= n { Ok(()) } else { self.make_header_unique(n, buffers) }
    }

    /// Bytes in front of those that must stay in their parts.
    fn gatherable(&self) -> u32 {
        let by_parts = self.segmentation().flags.contains(SegFlags::BY_PARTS);
        let kept = if by_parts { self.payload_len() + u32::from(self.meta().trailer) } else { 0 };
        self.len().saturating_sub(kept)
    }

    /// Adds `n` bytes in front, contents undefined, and returns them for writing. Fails when `n` exceeds a
    /// small buffer with its headroom, or when there is no buffer; the packet is then as it was.
    pub fn push(&mut self, n: u32, buffers: &mut Buffers) -> Result<&mut [u8], NoBuffer> {
        if !(self.is_unshared() && self.part().head >= n) {
            if n > HEADROOM + SMALL_ROOM {
                return Err(NoBuffer);
            }
            let mut front = buffers.alloc(Class::Small).ok_or(NoBuffer)?;
            front.move_back(n.saturating_sub(HEADROOM));
            let total = self.len();
            self.put_in_front(front, total);
        }
        let part = self.part_mut();
        // SAFETY: `head` bytes before `data` lie in this part's own, unshared buffer.
        unsafe { part.data = part.data.sub(n as usize) };
        part.head -= n;
        part.len += n;
        part.total += n;
        // SAFETY: the first `n` bytes of an exclusive part, just made room for.
        Ok(unsafe { std::slice::from_raw_parts_mut(part.data, n as usize) })
    }

    /// Turns `n` bytes of an empty packet's tailroom, which it has, into headroom.
    fn move_back(&mut self, n: u32) {
        let part = self.part_mut();
        debug_assert!(part.len == 0 && part.tail >= n);
        // SAFETY: within the part's own buffer, of which `tail` bytes lie behind `data`.
        unsafe { part.data = part.data.add(n as usize) };
        part.head += n;
        part.tail -= n;
    }

    /// Takes `n` bytes off the front. Parts that become empty go home, but the last.
    pub fn pull(&mut self, n: u32, buffers: &mut Buffers) {
        let n = n.min(self.len());
        let total = self.len() - n;
        self.skip(n, buffers);
        self.part_mut().total = total;
    }

    /// Cuts the packet to its first `len` bytes. Parts that become empty go home.
    pub fn truncate(&mut self, len: u32, buffers: &mut Buffers) {
        if len >= self.len() {
            return;
        }
        let mut left = len;
        let mut kept = 0;
        let mut part = self.0;
        loop {
            // SAFETY: `part` is a part of this packet, borrowed mutably.
            let this = unsafe { part.as_mut() };
            kept += 1;
            if left <= this.len {
                let dropped = this.len - left;
                this.len = left;
                if this.owner == part.as_ptr() {
                    this.tail += dropped;
                }
                let rest = std::mem::replace(&mut this.next, std::ptr::null_mut());
                // SAFETY: `rest` was just unlinked from this packet, which owned it.
                unsafe { buffers.release_chain(rest) };
                break;
            }
            left -= this.len;
            let Some(next) = NonNull::new(this.next) else { break };
            part = next;
        }
        let first = self.part_mut();
        first.total = len;
        first.parts = kept;
    }

    /// Appends bytes within the last part's room; false, and nothing done, if they do not fit.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> bool {
        let Some(last) = self.chain().last() else { return false };
        // SAFETY: the last part belongs to this packet, borrowed mutably.
        let part = unsafe { &mut *last.as_ptr() };
        if !is_exclusive(part) || (part.tail as usize) < bytes.len() {
            return false;
        }
        // SAFETY: `tail` bytes behind the data lie in the part's own, unshared buffer; `bytes` cannot
        // overlap them because nobody else can see them.
        unsafe {
            let end = part.data.add(part.len as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), end, bytes.len());
        }
        part.len += bytes.len() as u32;
        part.tail -= bytes.len() as u32;
        self.part_mut().total += bytes.len() as u32;
        true
    }

    /// The bytes behind the last part's data that [`Packet::extend`] makes part of the packet: what a device, or
    /// anybody, may fill. What stands in them is old. None where others can see the part.
    pub fn room_mut(&mut self) -> &mut [u8] {
        let Some(last) = self.chain().last() else { return &mut [] };
        // SAFETY: the last part belongs to this packet, borrowed mutably.
        let part = unsafe { &mut *last.as_ptr() };
        if !is_exclusive(part) {
            return &mut [];
        }
        // SAFETY: `tail` bytes behind the data lie in the part's own, unshared buffer, whose memory was zeroed when
        // it was mapped and is never uninitialised again; `&mut self` keeps everybody else away.
        unsafe {
            std::slice::from_raw_parts_mut(part.data.add(part.len as usize), part.tail as usize)
        }
    }

    /// Makes the first `n` bytes of [`Packet::room_mut`] the last of the packet; false, and nothing done, where
    /// there are fewer.
    pub fn extend(&mut self, n: u32) -> bool {
        let Some(last) = self.chain().last() else { return false };
        // SAFETY: the last part belongs to this packet, borrowed mutably.
        let part = unsafe { &mut *last.as_ptr() };
        if !is_exclusive(part) || part.tail < n {
            return false;
        }
        part.len += n;
        part.tail -= n;
        self.part_mut().total += n;
        true
    }

    /// Gives every part that others can see a copy of its own.
    ///
    /// # Errors
    /// [`NoBuffer`] where there is no buffer for a copy; the bytes are what they were, and what was copied so
    /// far need not be copied again.
    pub fn make_unshared(&mut self, buffers: &mut Buffers) -> Result<(), NoBuffer> {
        let mut before: Option<NonNull<Part>> = None;
        for part in self.chain() {
            // SAFETY: parts of this packet, borrowed mutably. The iterator has read the link of `part` before
            // it is changed. `old` is unlinked before it is released, and nothing refers to it any more.
            before = Some(unsafe {
                let old = &mut *part.as_ptr();
                if is_exclusive(old) {
                    before = Some(part);
                    continue;
                }
                let copy = copy_of(bytes_of(old), buffers)?;
                let parts = self.part_count().saturating_add(copy.part_count() - 1);
                let last = copy.chain().last().unwrap_or(copy.0);
                let first = copy.into_part();
                stand_in(old, first);
                (*last.as_ptr()).next = std::mem::replace(&mut old.next, std::ptr::null_mut());
                match before {
                    Some(before) => (*before.as_ptr()).next = first.as_ptr(),
                    None => {
                        move_packet_fields(old, &mut *first.as_ptr());
                        self.0 = first;
                    }
                }
                self.part_mut().parts = parts;
                buffers.release_chain(old);
                last
            });
        }
        Ok(())
    }

    /// Chains all parts of `other` behind this packet. The books are the caller's business.
    ///
    /// # Panics
    /// If there were more parts than can be counted; `other` is dropped then.
    pub(crate) fn append(&mut self, other: Packet) {
        assert!(self.part_count().checked_add(other.part_count()).is_some(), "too many parts");
        let tail = other.into_part();
        // SAFETY: `into_part` handed the chain over; from here on this packet owns it.
        let (total, parts) = unsafe { (tail.as_ref().total, tail.as_ref().parts) };
        if let Some(last) = self.chain().last() {
            // SAFETY: the last part belongs to this packet, borrowed mutably.
            unsafe { (*last.as_ptr()).next = tail.as_ptr() };
        }
        let first = self.part_mut();
        first.total += total;
        first.parts += parts;
    }

    /// Advances past `n` bytes without touching the packet's total.
    fn skip(&mut self, n: u32, buffers: &mut Buffers) {
        let mut left = n;
        while left > 0 {
            let part = self.part_mut();
            if left < part.len || part.next.is_null() {
                let step = left.min(part.len);
                // SAFETY: within the part's data.
                unsafe { part.data = part.data.add(step as usize) };
                part.len -= step;
                if part.owner == std::ptr::from_mut(part) {
                    part.head += step;
                }
                return;
            }
            left -= part.len;
            self.drop_first(buffers);
        }
        // A part emptied exactly stays only if it is the last one.
        while self.part().len == 0 && !self.part().next.is_null() {
            self.drop_first(buffers);
        }
    }

    /// Sends the first part home and moves the packet's own fields to the next one.
    fn drop_first(&mut self, buffers: &mut Buffers) {
        let old = self.0;
        let Some(next) = NonNull::new(self.part().next) else { return };
        self.0 = next;
        // SAFETY: both parts belong to this packet; `old` is unlinked before it is released.
        unsafe {
            let new = &mut *next.as_ptr();
            move_packet_fields(old.as_ref(), new);
            new.parts -= 1;
            if new.flags & PIECE_START == 0 {
                // The piece began in or behind the part that goes.
                new.flags = old.as_ref().flags;
                new.piece_len = old.as_ref().piece_len;
                new.piece_sum = old.as_ref().piece_sum;
            }
            (*old.as_ptr()).next = std::ptr::null_mut();
            buffers.release_chain(old.as_ptr());
        }
    }

    /// Links `front` before the first part; the packet is then `total` bytes long.
    pub(super) fn put_in_front(&mut self, front: Packet, total: u32) {
        let front = front.into_part();
        let old = std::mem::replace(&mut self.0, front);
        // SAFETY: both parts are owned by this packet now.
        unsafe {
            let new = &mut *front.as_ptr();
            move_packet_fields(old.as_ref(), new);
            new.next = old.as_ptr();
            new.parts += 1;
            new.total = total;
        }
    }
}

/// Copies what belongs to the packet, and not to one of its parts, from one first part to another.
pub(super) fn move_packet_fields(from: &Part, to: &mut Part) {
    to.total = from.total;
    to.payload = from.payload;
    to.segments = from.segments;
    to.parts = from.parts;
    to.meta = from.meta;
    to.mark = from.mark;
    to.time = from.time;
}

/// Copies what belongs to a part, and not to its packet, to the first part of a copy of its bytes.
///
/// # Safety
/// The caller owns `first`.
unsafe fn stand_in(old: &Part, mut first: NonNull<Part>) {
    // SAFETY: the caller owns it.
    let first = unsafe { first.as_mut() };
    first.flags = old.flags;
    first.piece_len = old.piece_len;
    first.piece_sum = old.piece_sum;
    first.time = old.time;
}

pub(super) fn bytes_of(part: &Part) -> &[u8] {
    // SAFETY: `data..data+len` lies in a buffer that stays put while any claim on it is held, and shared
    // bytes are never written.
    unsafe { std::slice::from_raw_parts(part.data, part.len as usize) }
}

/// The bytes of a part for writing, if nobody else can see them.
pub(super) fn bytes_of_mut(part: &mut Part) -> Option<&mut [u8]> {
    // SAFETY: `data..data+len` lies in the buffer this part owns; its count is 1 and the part is no shell, so
    // no other handle refers to these bytes, and `&mut Part` keeps it so.
    is_exclusive(part)
        .then(|| unsafe { std::slice::from_raw_parts_mut(part.data, part.len as usize) })
}

/// Whether a part has a buffer of its own and no shell looks into it.
pub(super) fn is_exclusive(part: &Part) -> bool {
    // Acquire pairs with the release of the last shell, so that its reads are over before we write.
    std::ptr::eq(part.owner, part) && part.refs.load(Ordering::Acquire) == 1
}

/// There was no buffer of the class needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoBuffer;

impl Drop for Packet {
    fn drop(&mut self) {
        release_implicitly(self.0, self.units());
    }
}

impl std::fmt::Debug for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = self.part();
        write!(f, "Packet({} B, {} parts, {} segments)", part.total, part.parts, part.segments)
    }
}
