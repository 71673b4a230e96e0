//! What a thread sleeps on, and what wakes it from elsewhere.
//!
//! A thread that waits for devices sleeps in poll(2) on their descriptors and on an event of its own; any other is
//! parked. Neither loses a ring: an event stays readable and a parked thread keeps its token until looked at. What
//! the devices have to say is not read here: polling is by level, and ends at once where something is left.

use crate::Time;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::Thread;
use std::time::Duration;

/// Descriptors looked at in one sleep, so that sleeping needs no memory. A thread with more of them looks at the
/// rest every [`REST`].
const MOST: usize = 64;
/// See [`MOST`], ns.
const REST: Time = 1_000_000;

/// The half of whoever wakes a thread.
#[derive(Clone, Debug)]
pub enum Bell {
    /// The thread is parked.
    Thread(Thread),
    /// The thread polls this event.
    Event(Arc<OwnedFd>),
}

impl Bell {
    /// Wakes the thread, or keeps it from falling asleep once.
    pub fn ring(&self) {
        match self {
            Bell::Thread(thread) => thread.unpark(),
            // An event that is full is readable, which is all that is wanted.
            Bell::Event(event) => drop(write(event, &1u64.to_ne_bytes())),
        }
    }
}

/// The half of the thread itself.
#[derive(Debug)]
pub(super) enum Bed {
    Parked,
    Polling(Arc<OwnedFd>),
}

impl Bed {
    /// For a thread that waits for devices, or for none.
    pub(super) fn new(waits_for_devices: bool) -> Bed {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        match waits_for_devices.then(|| eventfd(0, flags)) {
            Some(Ok(event)) => Bed::Polling(Arc::new(event)),
            Some(Err(error)) => {
                tracing::warn!(%error, "no event to sleep on; devices are looked at again and again");
                Bed::Parked
            }
            None => Bed::Parked,
        }
    }

    /// What others wake this thread with; called by the thread itself.
    pub(super) fn bell(&self) -> Bell {
        match self {
            Bed::Parked => Bell::Thread(std::thread::current()),
            Bed::Polling(event) => Bell::Event(Arc::clone(event)),
        }
    }

    /// Sleeps for at most this time, ns, or without a limit, until rung or until one of the devices has something.
    /// True: one of them has. May return early.
    pub(super) fn sleep<'a>(
        &self,
        devices: impl Iterator<Item = BorrowedFd<'a>>,
        limit: Option<Time>,
    ) -> bool {
        match self {
            Bed::Polling(event) => sleep_polling(event, devices, limit),
            Bed::Parked => {
                // Only where there was no event to be had: a device must not wait for ever.
                let limit = devices.map(|_| REST).next().into_iter().chain(limit).min();
                match limit {
                    None => std::thread::park(),
                    Some(time) => std::thread::park_timeout(Duration::from_nanos(time)),
                }
                false
            }
        }
    }
}

fn sleep_polling<'a>(
    event: &OwnedFd,
    devices: impl Iterator<Item = BorrowedFd<'a>>,
    limit: Option<Time>,
) -> bool {
    let mut devices = devices;
    let mut polled: [PollFd<'_>; MOST + 1] =
        std::array::from_fn(|_| PollFd::new(event, PollFlags::IN));
    let mut count = 1;
    for (slot, device) in polled[1..].iter_mut().zip(devices.by_ref()) {
        *slot = PollFd::from_borrowed_fd(device, PollFlags::IN);
        count += 1;
    }
    let rest = devices.next().map(|_| REST);
    let limit = rest.into_iter().chain(limit).min();
    // A time too long for the call is as good as none.
    let limit = limit.and_then(|ns| Timespec::try_from(Duration::from_nanos(ns)).ok());
    match poll(&mut polled[..count], limit.as_ref()) {
        // Interrupted: whoever asks looks again anyway.
        Err(Errno::INTR) | Ok(0) => rest.is_some(),
        // Cannot sleep at all: better to look at everything than to hang.
        Err(_) => true,
        Ok(_) => {
            if !polled[0].revents().is_empty() {
                // Empty already, or made empty: both are what is wanted.
                let _ = read(event, &mut [0u8; 8]);
            }
            polled[1..count].iter().any(|device| !device.revents().is_empty())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::time::Instant;

    fn event() -> OwnedFd {
        eventfd(0, EventfdFlags::NONBLOCK).expect("eventfd")
    }

    #[test]
    fn a_ring_before_the_sleep_is_not_lost_and_counts_once() {
        for bed in [Bed::new(true), Bed::new(false)] {
            let bell = bed.bell();
            bell.ring();
            bell.ring();
            let begin = Instant::now();
            assert!(!bed.sleep([].into_iter(), Some(60_000_000_000)), "no device said anything");
            assert!(begin.elapsed() < Duration::from_secs(30), "it slept through the ring");
            let begin = Instant::now();
            bed.sleep([].into_iter(), Some(20_000_000));
            assert!(begin.elapsed() >= Duration::from_millis(15), "the ring was heard twice");
        }
    }

    #[test]
    fn another_thread_wakes_a_sleeper_without_a_limit() {
        let bed = Bed::new(true);
        let (device, bell) = (event(), bed.bell());
        let ringer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            bell.ring();
        });
        assert!(!bed.sleep([device.as_fd()].into_iter(), None));
        ringer.join().expect("joined");
    }

    #[test]
    fn a_device_that_is_readable_ends_the_sleep_as_long_as_it_is() {
        let bed = Bed::new(true);
        let (quiet, loud) = (event(), event());
        write(&loud, &1u64.to_ne_bytes()).expect("written");
        for _ in 0..2 {
            assert!(bed.sleep([quiet.as_fd(), loud.as_fd()].into_iter(), None));
        }
        read(&loud, &mut [0u8; 8]).expect("read");
        assert!(!bed.sleep([quiet.as_fd(), loud.as_fd()].into_iter(), Some(1_000_000)));
    }

    #[test]
    fn devices_beyond_those_polled_are_looked_at_before_long() {
        let bed = Bed::new(true);
        let devices: Vec<OwnedFd> = (0..MOST + 6).map(|_| event()).collect();
        assert!(bed.sleep(devices.iter().map(AsFd::as_fd), None), "their turn comes");
    }
}
