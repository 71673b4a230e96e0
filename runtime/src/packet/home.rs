//! Homes: where parts come from and go back to.
//!
//! A home has one owner, an actor's [`Buffers`], which alone allocates. Parts freed by the owner go straight
//! to its free lists; parts freed elsewhere travel in batches over the home's return stack. No lock, no
//! thread-local. The memory of a home whose parts are not all back when its owner goes is leaked, never
//! freed under them.

use super::memory::Mapping;
use super::meta::Meta;
use super::part::{Chain, PART_SIZE, Part};
use super::release::{HomeShared, Outgoing, register, release_part, return_one, unregister};
use super::{Packet, Units};
use crate::Error;
use crate::exec::Waker;
use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Bytes in front of fresh data, for headers to be pushed.
pub const HEADROOM: u32 = 256;
/// Data bytes of a small buffer.
pub const SMALL_ROOM: u32 = 2048;
/// Data bytes of a large buffer: the largest IP packet and its link headers in one piece.
pub const LARGE_ROOM: u32 = 65536 + 128;

/// Parts handed to a foreign home at once.
const RETURN_BATCH: u32 = 32;
/// Foreign homes an actor keeps batches for; more are served one part at a time.
const RETURN_HOMES: usize = 16;

/// Size class of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// A header only: its data lies in another part's buffer.
    Shell,
    /// [`SMALL_ROOM`] bytes.
    Small,
    /// [`LARGE_ROOM`] bytes.
    Large,
}

const CLASSES: [Class; 3] = [Class::Shell, Class::Small, Class::Large];

impl Class {
    fn room(self) -> u32 {
        match self {
            Class::Shell => 0,
            Class::Small => SMALL_ROOM,
            Class::Large => LARGE_ROOM,
        }
    }

    fn stride(self) -> usize {
        match self {
            Class::Shell => PART_SIZE,
            Class::Small | Class::Large => PART_SIZE + (HEADROOM + self.room()) as usize,
        }
    }
}

/// How many parts of each class a home has, and where.
#[derive(Clone, Debug)]
pub struct HomeConfig {
    /// Name for reports: the actor's.
    pub name: String,
    /// Shells.
    pub shells: u32,
    /// Small buffers.
    pub small: u32,
    /// Large buffers.
    pub large: u32,
    /// NUMA node to bind to.
    pub node: Option<u32>,
}

/// What a home looks like at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeReport {
    /// Name given at the start.
    pub name: String,
    /// Parts made, per class: shell, small, large.
    pub capacity: [u32; 3],
    /// Parts not at home, per class.
    pub outstanding: [u32; 3],
    /// Fewest free parts seen, per class.
    pub low_water: [u32; 3],
    /// Allocations refused for want of a part.
    pub refused: u64,
    /// What was dropped by falling out of scope.
    pub implicit: Units,
    /// Whether the memory is in huge pages.
    pub huge: bool,
}

/// The owner's half of a home, and its batches for other homes. One per actor.
pub struct Buffers {
    id: u16,
    name: String,
    shared: &'static HomeShared,
    mapping: ManuallyDrop<Mapping>,
    capacity: [u32; 3],
    free: [*mut Part; 3],
    free_count: [u32; 3],
    low_water: [u32; 3],
    reserved: [u32; 3],
    withheld: [u32; 3],
    refused: u64,
    starved: bool,
    /// Fewest parts to be had when an allocation failed, per class.
    starved_at: [u32; 3],
    outgoing: Vec<Outgoing>,
}

// SAFETY: the raw pointers are parts this half owns: free, or on their way to another home.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps and carves a new home.
    pub fn new(config: &HomeConfig) -> Result<Buffers, Error> {
        let capacity = [config.shells, config.small, config.large];
        let sizes = CLASSES.iter().zip(capacity);
        let len: usize = sizes.map(|(class, n)| class.stride() * n as usize).sum();
        let mapping = Mapping::new(len.max(PART_SIZE), config.node)?;
        let base = mapping.base().as_ptr();
        let (id, shared) = register()?;
        let mut buffers = Buffers {
            id,
            name: config.name.clone(),
            shared,
            mapping: ManuallyDrop::new(mapping),
            capacity,
            free: [ptr::null_mut(); 3],
            free_count: [0; 3],
            low_water: capacity,
            reserved: [0; 3],
            withheld: [0; 3],
            refused: 0,
            starved: false,
            starved_at: [0; 3],
            outgoing: Vec::with_capacity(RETURN_HOMES),
        };
        buffers.carve(base);
        Ok(buffers)
    }

    fn carve(&mut self, base: *mut u8) {
        let mut at = base;
        for class in CLASSES {
            for _ in 0..self.capacity[class as usize] {
                // SAFETY: `new` mapped the sum of all strides; each chunk is written once, is 64-aligned
                // because the base is page-aligned and every stride a multiple of 64, and is ours.
                unsafe {
                    let part = at.cast::<Part>();
                    part.write(blank(part, self.id, class));
                    self.push_free(part);
                    at = at.add(class.stride());
                }
            }
        }
    }

    /// Who is woken when parts come home.
    pub fn set_waker(&self, waker: Arc<Waker>) {
        // Set once, when the actor is built; a second call would be the same actor again.
        let _ = self.shared.waker.set(waker);
    }

    /// An empty packet of the class, or `None`: then [`Buffers::starved`] is set.
    /// A `Shell` cannot be had alone.
    pub fn alloc(&mut self, class: Class) -> Option<Packet> {
        let index = class as usize;
        if self.free_count[index] <= self.kept(index) {
            self.reclaim();
        }
        if self.free_count[index] <= self.kept(index) {
            self.refuse();
            return None;
        }
        Some(self.take(class))
    }

    /// Free parts that are not to be had: set aside, or withheld.
    fn kept(&self, index: usize) -> u32 {
        self.reserved[index] + self.withheld[index]
    }

    fn available(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.free_count[i].saturating_sub(self.kept(i)))
    }

    fn refuse(&mut self) {
        self.refused += 1;
        self.note_starved();
    }

    /// An empty packet out of what [`Buffers::reserve`] set aside, which cannot fail: parts set aside are
    /// free parts that nobody else is given. `None` only where nothing is set aside.
    pub(super) fn alloc_reserved(&mut self, class: Class) -> Option<Packet> {
        let index = class as usize;
        self.reserved[index] = self.reserved[index].checked_sub(1)?;
        Some(self.take(class))
    }

    /// The class has a free part.
    fn take(&mut self, class: Class) -> Packet {
        let index = class as usize;
        let part = self.free[index];
        assert!(!part.is_null(), "a free part is counted that is not there");
        // SAFETY: `part` heads the free list, which this half owns.
        unsafe {
            self.free[index] = (*part).next;
            self.free_count[index] -= 1;
            self.low_water[index] = self.low_water[index].min(self.free_count[index]);
            refresh(part, class);
            Packet::from_part(NonNull::new_unchecked(part))
        }
    }

    /// A packet holding a copy of `bytes`: one buffer if they fit, else a chain of large ones.
    pub fn receive(&mut self, bytes: &[u8]) -> Option<Packet> {
        let class = if bytes.len() <= SMALL_ROOM as usize { Class::Small } else { Class::Large };
        let mut chunks = bytes.chunks(LARGE_ROOM as usize);
        let mut packet = self.alloc(class)?;
        packet.append_bytes(chunks.next().unwrap_or(&[]));
        for chunk in chunks {
            let Some(mut more) = self.alloc(Class::Large) else {
                self.release(packet);
                return None;
            };
            more.append_bytes(chunk);
            packet.append(more);
        }
        Some(packet)
    }

    /// Sets parts aside if enough are free: all or nothing. Sets [`Buffers::starved`] otherwise.
    pub(super) fn reserve(&mut self, want: [u32; 3]) -> bool {
        if !self.can_reserve(want) {
            self.reclaim();
        }
        let granted = self.can_reserve(want);
        if granted {
            self.reserved.iter_mut().zip(want).for_each(|(have, n)| *have += n);
        } else {
            self.refuse();
        }
        granted
    }

    fn can_reserve(&self, want: [u32; 3]) -> bool {
        (0..3).all(|i| self.free_count[i] >= want[i].saturating_add(self.kept(i)))
    }

    /// Number of this home, and its shared half.
    pub(super) fn identity(&self) -> (u16, &'static HomeShared) {
        (self.id, self.shared)
    }

    /// Gives back what [`Buffers::reserve`] set aside and nobody used.
    pub(super) fn unreserve(&mut self, unused: [u32; 3]) {
        self.reserved.iter_mut().zip(unused).for_each(|(have, n)| *have = have.saturating_sub(n));
    }

    /// Parts made, per class: shell, small, large.
    pub fn capacity(&self) -> [u32; 3] {
        self.capacity
    }

    /// Whether few small buffers are left: time to let go of what is held.
    pub fn is_low(&self) -> bool {
        self.free_count[Class::Small as usize] < self.capacity[Class::Small as usize] / 8
    }

    /// Whether an allocation failed since the last [`Buffers::clear_starved`].
    pub fn starved(&self) -> bool {
        self.starved
    }

    /// A stage says that it waits for buffers, however it found out.
    pub(crate) fn note_starved(&mut self) {
        let now = self.available();
        let then = if self.starved { self.starved_at } else { now };
        self.starved = true;
        self.starved_at = std::array::from_fn(|i| now[i].min(then[i]));
    }

    /// Whether an allocation that failed might do better now.
    pub(crate) fn has_relief(&self) -> bool {
        let freed = || self.available().iter().zip(self.starved_at).any(|(&now, then)| now > then);
        self.starved && (self.has_returns() || freed())
    }

    /// Forgets a failed allocation.
    pub fn clear_starved(&mut self) {
        self.starved = false;
    }

    /// Makes parts unavailable, per class; the simulator's fault "pool empty". Zeros end it.
    pub fn withhold(&mut self, parts: [u32; 3]) {
        self.withheld = parts;
    }

    /// Sends a packet's parts home; the books are the caller's business.
    pub fn release(&mut self, packet: Packet) {
        let first = packet.into_part();
        // SAFETY: `into_part` handed the chain over.
        unsafe { self.release_chain(first.as_ptr()) };
    }

    /// # Safety
    /// The caller owns the chain from `first` (may be null) and gives it up.
    pub(super) unsafe fn release_chain(&mut self, first: *mut Part) {
        // SAFETY: the chain is owned; each step reads the link before the part is sent away.
        for part in unsafe { Chain::new(first) } {
            // SAFETY: owned until this call.
            unsafe { release_part(part, &mut |gone| self.send_home(gone)) };
        }
    }

    fn send_home(&mut self, part: *mut Part) {
        // SAFETY: `release_part` gives parts without any claim left: they are ours to pass on.
        let home = unsafe { (*part).home };
        if home == self.id {
            // SAFETY: as above.
            unsafe { self.push_free(part) };
            return;
        }
        let found = self.outgoing.iter().position(|batch| batch.home == home);
        if found.is_none() && self.outgoing.len() == RETURN_HOMES {
            // SAFETY: as above.
            return unsafe { return_one(part) };
        }
        let index = found.unwrap_or_else(|| {
            self.outgoing.push(Outgoing::new(home));
            self.outgoing.len() - 1
        });
        let batch = &mut self.outgoing[index];
        // SAFETY: as above.
        unsafe { batch.add(part) };
        if batch.count >= RETURN_BATCH {
            batch.flush();
        }
    }

    /// Hands all batches to their homes and wakes whoever waits there.
    pub fn flush(&mut self) {
        self.outgoing.iter_mut().for_each(Outgoing::flush);
    }

    /// Takes in what other cores returned; true if that was anything.
    pub fn reclaim(&mut self) -> bool {
        if let Some(forfeited) = self.shared.take_forfeited() {
            self.unreserve(forfeited);
        }
        let chain = self.shared.returns.take();
        // SAFETY: `take` made us the owner of the chain.
        for part in unsafe { Chain::new(chain) } {
            // SAFETY: as above; the link was read before.
            unsafe { self.push_free(part.as_ptr()) };
        }
        !chain.is_null()
    }

    /// Whether parts wait to be taken in.
    pub fn has_returns(&self) -> bool {
        !self.shared.returns.is_empty()
    }

    /// # Safety
    /// The caller owns `part`, which belongs to this home.
    unsafe fn push_free(&mut self, part: *mut Part) {
        // SAFETY: the caller owns it.
        unsafe {
            let index = usize::from((*part).class);
            (*part).next = self.free[index];
            self.free[index] = part;
            self.free_count[index] += 1;
        }
    }

    /// Parts not at home, per class. Reclaims first.
    pub fn outstanding(&mut self) -> [u32; 3] {
        self.reclaim();
        std::array::from_fn(|i| self.capacity[i] - self.free_count[i])
    }

    /// What was dropped by falling out of scope, of packets whose first part lives here.
    pub fn implicit(&self) -> Units {
        self.shared.implicit()
    }

    /// The state of the home for the report.
    pub fn report(&mut self) -> HomeReport {
        HomeReport {
            name: self.name.clone(),
            capacity: self.capacity,
            outstanding: self.outstanding(),
            low_water: self.low_water,
            refused: self.refused,
            implicit: self.implicit(),
            huge: self.mapping.is_huge(),
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        self.flush();
        if self.outstanding() == [0; 3] {
            unregister(self.id);
            // SAFETY: every part is home, so nothing refers to the mapping; it is dropped only here.
            unsafe { ManuallyDrop::drop(&mut self.mapping) };
        }
    }
}

fn blank(this: *mut Part, home: u16, class: Class) -> Part {
    Part {
        // Never null: even no bytes are a slice.
        data: this.cast::<u8>().wrapping_add(PART_SIZE),
        next: ptr::null_mut(),
        owner: this,
        time: 0,
        len: 0,
        head: 0,
        tail: 0,
        total: 0,
        refs: AtomicU32::new(1),
        payload: 0,
        home,
        segments: 1,
        parts: 1,
        class: class as u8,
        flags: 0,
        meta: Meta::default(),
        piece_len: 0,
        piece_sum: 0,
        mark: 0,
        shared: PhantomPinned,
    }
}

/// # Safety
/// The caller owns `part`, of class `class`, taken from a free list.
unsafe fn refresh(part: *mut Part, class: Class) {
    // SAFETY: the caller owns the part; its buffer starts right behind it.
    unsafe {
        let home = (*part).home;
        part.write(blank(part, home, class));
        if class != Class::Shell {
            (*part).data = part.cast::<u8>().add(PART_SIZE + HEADROOM as usize);
            (*part).head = HEADROOM;
            (*part).tail = class.room();
        }
    }
}
