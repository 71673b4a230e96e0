//! corelane beside DPDK's libraries, on the same packets, in one process.
//!
//! A tour in the order of a run:
//!
//! 1. [`measure`] runs two sides in turn, window by window, and throws windows away in which the machine took the core.
//! 2. [`stats`] makes a ratio with an interval of the pairs.
//! 3. [`row`] is what is printed and written, one line a row.
//!
//! Where DPDK is there (feature `dpdk`, libdpdk found) `rivals` is built too: frames from `corelane-wire`'s builder, given
//! to both sides, and a slow look at what comes out of either.
//!
//! It promises that both sides are timed over the same calls on the same packets, and judged by the same code. It asserts
//! no speed.

pub mod measure;
pub mod row;
pub mod stats;

dpdk_sys::if_available! {{
    pub mod rivals;
} else {}}

use core_affinity::CoreId;
use std::sync::OnceLock;

/// Cores that the process had at its start: a pinned thread sees only its own.
static CORES: OnceLock<Vec<CoreId>> = OnceLock::new();

fn cores() -> &'static [CoreId] {
    CORES.get_or_init(|| core_affinity::get_core_ids().unwrap_or_default())
}

/// The core that single threads are measured on: the last one, since the first has interrupts to serve. To be asked for
/// before anything is pinned.
pub fn own_core() -> Option<CoreId> {
    cores().last().copied()
}

/// Another one, if there is one.
pub fn other_core() -> Option<CoreId> {
    cores().split_last().and_then(|(_, others)| others.last()).copied()
}
