//! The way home: what other cores may touch of a home, and how a part without a claim gets there.
//!
//! It never allocates from a home; only the owner does (`home`).

use super::Units;
use super::part::{Chain, Part};
use super::returns::ReturnStack;
use crate::Error;
use crate::exec::{Reasons, Waker};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

const MAX_HOMES: usize = 1024;

/// The half of a home that other cores may touch. Never freed: a core that has just returned the last part
/// may still be on its way to wake the owner. It is small, and there is one per actor and run; the buffers
/// themselves are freed.
pub(super) struct HomeShared {
    pub(super) returns: ReturnStack<Part>,
    pub(super) waker: OnceLock<Arc<Waker>>,
    implicit: [AtomicU64; 3],
    /// Parts set aside, per class, by plans that were dropped unfinished.
    forfeited: [AtomicU32; 3],
}

/// Every home alive, by the number parts carry.
static HOMES: [AtomicPtr<HomeShared>; MAX_HOMES] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MAX_HOMES];

impl HomeShared {
    /// What was dropped by falling out of scope, of packets whose first part lives here.
    pub(super) fn implicit(&self) -> Units {
        let [packets, segments, bytes] = &self.implicit;
        Units {
            packets: packets.load(Ordering::Acquire),
            segments: segments.load(Ordering::Acquire),
            bytes: bytes.load(Ordering::Acquire),
        }
    }

    /// Gives back what was set aside. Slow path: for plans that a panic took along.
    pub(super) fn forfeit(&self, parts: [u32; 3]) {
        for (forfeited, n) in self.forfeited.iter().zip(parts) {
            forfeited.fetch_add(n, Ordering::AcqRel);
        }
    }

    /// What was forfeited since last asked, if anything.
    pub(super) fn take_forfeited(&self) -> Option<[u32; 3]> {
        let any = self.forfeited.iter().any(|parts| parts.load(Ordering::Relaxed) > 0);
        any.then(|| std::array::from_fn(|i| self.forfeited[i].swap(0, Ordering::AcqRel)))
    }

    /// Pushes a chain and wakes the owner if it sleeps.
    ///
    /// # Safety
    /// The caller owns the chain from `first` to `last`, without a claim left, and gives it up.
    unsafe fn take_back(&self, first: *mut Part, last: *mut Part) {
        // SAFETY: the caller's promise.
        unsafe { self.returns.push(first, last) };
        if let Some(waker) = self.waker.get() {
            waker.wake_for(Reasons::HOME);
        }
    }
}

fn home_of(id: u16) -> &'static HomeShared {
    let home = HOMES[usize::from(id)].load(Ordering::Acquire);
    // SAFETY: only called with the number of a part that is out. Its home is in the table until all parts
    // are back, and what the table points to is never freed.
    unsafe { &*home }
}

/// Enters a new home into the table.
pub(super) fn register() -> Result<(u16, &'static HomeShared), Error> {
    let shared = HomeShared {
        returns: ReturnStack::new(),
        waker: OnceLock::new(),
        implicit: Default::default(),
        forfeited: Default::default(),
    };
    let raw = ptr::from_ref(Box::leak(Box::new(shared))).cast_mut();
    for (id, slot) in HOMES.iter().enumerate() {
        let empty = ptr::null_mut();
        if slot.compare_exchange(empty, raw, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // SAFETY: leaked above.
            return Ok((id as u16, unsafe { &*raw }));
        }
    }
    Err(Error::system("pool", format!("more than {MAX_HOMES} homes at once; use fewer actors")))
}

/// Takes a home whose parts are all back out of the table.
pub(super) fn unregister(id: u16) {
    HOMES[usize::from(id)].store(ptr::null_mut(), Ordering::Release);
}

/// Parts on their way to one foreign home.
pub(super) struct Outgoing {
    pub(super) home: u16,
    pub(super) count: u32,
    first: *mut Part,
    last: *mut Part,
}

impl Outgoing {
    pub(super) fn new(home: u16) -> Outgoing {
        Outgoing { home, count: 0, first: ptr::null_mut(), last: ptr::null_mut() }
    }

    /// # Safety
    /// The caller owns `part`, without a claim left, and gives it up.
    pub(super) unsafe fn add(&mut self, part: *mut Part) {
        // SAFETY: the part and the batch's chain are ours.
        unsafe { (*part).next = self.first };
        if self.first.is_null() {
            self.last = part;
        }
        self.first = part;
        self.count += 1;
    }

    /// Hands the batch over.
    pub(super) fn flush(&mut self) {
        if self.count == 0 {
            return;
        }
        // SAFETY: the chain is ours, from `first` to `last`.
        unsafe { home_of(self.home).take_back(self.first, self.last) };
        *self = Outgoing::new(self.home);
    }
}

/// Gives up the packet's claim on a part; hands every part without a claim left to `gone`.
///
/// # Safety
/// The caller holds the claim and gives it up.
pub(super) unsafe fn release_part(part: NonNull<Part>, gone: &mut impl FnMut(*mut Part)) {
    let raw = part.as_ptr();
    // SAFETY: valid while our claim stands; the count says when it was the last one.
    unsafe {
        let refs = &(*raw).refs;
        // The sole holder needs no atomic write: nobody else can add a claim.
        let last = refs.load(Ordering::Acquire) == 1 || refs.fetch_sub(1, Ordering::AcqRel) == 1;
        if !last {
            return;
        }
        let owner = (*raw).owner;
        if owner != raw {
            // A shell's owner has a buffer and is never a shell itself: this goes one deep.
            release_part(NonNull::new_unchecked(owner), gone);
        }
        gone(raw);
    }
}

/// # Safety
/// The caller owns `part`, without a claim left, and gives it up.
pub(super) unsafe fn return_one(part: *mut Part) {
    // SAFETY: the caller's promise; a chain of one.
    unsafe { home_of((*part).home).take_back(part, part) };
}

/// The slow way home, for packets that fall out of scope.
pub(super) fn release_implicitly(first: NonNull<Part>, units: Units) {
    // SAFETY: the packet being dropped owns the chain.
    let home = home_of(unsafe { first.as_ref().home });
    for (counter, n) in home.implicit.iter().zip([units.packets, units.segments, units.bytes]) {
        counter.fetch_add(n, Ordering::AcqRel);
    }
    // SAFETY: as above; links are read before parts are sent away.
    for part in unsafe { Chain::new(first.as_ptr()) } {
        // SAFETY: owned until this call.
        unsafe { release_part(part, &mut |gone| return_one(gone)) };
    }
}
