//! The arithmetic under every checksum decision in corelane. No dependency, no allocation, no
//! packet knowledge.
//!
//! A tour in data-flow order:
//!
//! 1. [`Sum::of`] reads bytes once and gives an unfolded one's-complement partial sum (RFC 1071);
//!    [`copy_and_sum`] does the same on the way through a copy.
//! 2. Sums are values with an algebra: `+` joins what starts at even offsets, `-` takes a piece
//!    out, [`Sum::shifted`] places a piece at an odd offset, [`Sum::then`] concatenates. So a
//!    payload that was summed once is never read again: its sum is carried along and put together
//!    anew at header cost.
//! 3. [`Sum::checksum`], [`Sum::udp_checksum`] and [`Sum::is_valid`] end the calculation at a wire
//!    field; [`update`] and [`update_udp`] change a wire field for changed bytes without any sum
//!    known (RFC 1624).
//! 4. [`crc32c`] and [`Crc32c`] are the other checksum on the wire (SCTP, RFC 9260 appendix A). It
//!    has no such algebra here and is always computed over the bytes.
//!
//! What this crate promises: no call panics on any input, except [`copy_and_sum`] for slices of
//! unequal length; no result depends on the host's byte order or on alignment; no count of
//! additions can overflow. What it does not do: it knows no pseudo header and no packet (that is
//! `corelane-wire`).
//!
//! Long slices are read by a loop that is there twice, for any processor and for those with AVX2; the processor is asked
//! which it is. That is the one use of `unsafe` (`wide.rs`).
#![deny(unsafe_code)]

mod copy;
mod crc32c;
mod portable;
mod sum;
mod update;
mod wide;

pub use copy::copy_and_sum;
pub use crc32c::{Crc32c, crc32c};
pub use sum::Sum;
pub use update::{update, update_udp};

#[cfg(test)]
mod tests;
