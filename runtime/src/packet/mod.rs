//! Packets: one owner, many parts, every part with a home.
//!
//! ```text
//!  Packet -> | Part: hot line | Part: meta line | headroom | data ......... | tailroom |
//!                next
//!                 |
//!                 v
//!            | Part: hot line | Part: meta line |   a shell: data lies in another part's buffer
//! ```
//!
//! The bytes of a packet are the data of its parts in order. Headers are contiguous in the first part.
//! Lengths are 32 bits. Shared data is immutable. A packet knows its length in three units: packets,
//! wire segments and L4 payload bytes.

mod burst;
mod cut;
mod edit;
mod handle;
mod home;
mod levels;
mod memory;
mod meta;
mod part;
mod pieces;
mod release;
mod returns;
mod share;
mod train;

pub use burst::{BURST_MAX, Burst, RX_BURST};
pub use cut::{CutError, CutPlan};
pub use edit::EditSlice;
pub(crate) use handle::RawPacket;
pub use handle::{NoBuffer, Packet};
pub use home::{Buffers, Class, HEADROOM, HomeConfig, HomeReport, LARGE_ROOM, SMALL_ROOM};
pub use meta::{
    Csum, Known, L3, L4, Layers, Level, Meta, MetaFlags, Partial, SegFlags, SegKind, Segmentation,
    Taken, Tunnel,
};
pub use pieces::Piece;
pub use train::Train;

use std::ops::{Add, AddAssign, Sub};

/// An amount of traffic in the three units in which corelane balances its books.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Packets, a superpacket being one.
    pub packets: u64,
    /// Frames as they stand on the wire: a superpacket of n segments counts n.
    pub segments: u64,
    /// L4 payload bytes.
    pub bytes: u64,
}

impl Add for Units {
    type Output = Units;
    /// Wraps, as the difference does.
    fn add(self, other: Units) -> Units {
        Units {
            packets: self.packets.wrapping_add(other.packets),
            segments: self.segments.wrapping_add(other.segments),
            bytes: self.bytes.wrapping_add(other.bytes),
        }
    }
}

impl AddAssign for Units {
    fn add_assign(&mut self, other: Units) {
        *self = *self + other;
    }
}

impl Sub for Units {
    type Output = Units;
    /// Wraps, so that a book that does not balance shows as a huge number and not as a panic.
    fn sub(self, other: Units) -> Units {
        Units {
            packets: self.packets.wrapping_sub(other.packets),
            segments: self.segments.wrapping_sub(other.segments),
            bytes: self.bytes.wrapping_sub(other.bytes),
        }
    }
}
