//! `Sum`: an unfolded one's-complement partial sum (RFC 1071) and its algebra.
//!
//! It promises that every operation is exact modulo 0xFFFF for any operands and any number of them.
//! It does not choose between the two representations of zero until a closing call
//! ([`Sum::canonical`], [`Sum::checksum`], [`Sum::udp_checksum`]) is told what the sum is for.

use core::fmt;
use core::iter;
use core::ops::{Add, AddAssign, Sub, SubAssign};

use crate::portable::accumulate;

/// An unfolded one's-complement partial sum over 16-bit big-endian words (RFC 1071 section 2).
///
/// The value is kept in 64 bits, modulo 2^64 - 1, in the byte order the words have in memory. Both
/// choices are invisible: 2^64 - 1 is a multiple of 0xFFFF, so carries wrapped round at bit 64 fold
/// to the same 16 bits, and byte order only matters where a number enters or leaves
/// ([`Sum::from_u16`], [`Sum::fold`]) (RFC 1071 section 2, part B).
///
/// **Zero.** 0x0000 and 0xFFFF are the same sum. There is no `==`, because equality of
/// representations is not what a caller means: use [`Sum::same_as`]. Additions alone fold to 0 only
/// if every byte that entered was zero; a difference may fold to either zero (`x - x` to 0xFFFF).
#[derive(Clone, Copy, Default)]
pub struct Sum(u64);

impl Sum {
    /// The sum of no bytes. Folds to 0.
    pub const ZERO: Sum = Sum(0);

    /// The sum of `bytes`, taken to start at an even offset; a trailing odd byte is padded with a
    /// zero byte.
    #[inline]
    pub fn of(bytes: &[u8]) -> Sum {
        Sum(accumulate(bytes))
    }

    /// The sum of one 16-bit field whose numeric (host) value is `value`.
    #[inline]
    pub const fn from_u16(value: u16) -> Sum {
        Sum(value.to_be() as u64)
    }

    /// The sum of one 32-bit field, two big-endian words, whose numeric (host) value is `value`.
    #[inline]
    pub const fn from_u32(value: u32) -> Sum {
        Sum(value.to_be() as u64)
    }

    /// This piece's share in the sum of a packet when the piece starts `offset` bytes after a word
    /// boundary: byte swapped if `offset` is odd (RFC 1071 section 2, part B), unchanged if it is
    /// even.
    #[inline]
    pub const fn shifted(self, offset: usize) -> Sum {
        // A rotation by 8 multiplies by 2^8 modulo 2^64 - 1, which is the byte swap modulo 2^16 -
        // 1. It undoes itself modulo 0xFFFF, so subtracting a shifted piece needs no other
        // direction.
        if offset & 1 == 0 { self } else { Sum(self.0.rotate_left(8)) }
    }

    /// The sum of two pieces in a row: `self` over the first `own_len` bytes and `next` over those
    /// that follow.
    #[inline]
    pub const fn then(self, own_len: usize, next: Sum) -> Sum {
        self.plus(next.shifted(own_len))
    }

    /// The 16-bit numeric value, not complemented; zero is 0 or 0xFFFF as it falls.
    #[inline]
    pub const fn fold(self) -> u16 {
        let by_32 = (self.0 & 0xffff_ffff) + (self.0 >> 32);
        let by_16 = (by_32 & 0xffff) + ((by_32 >> 16) & 0xffff) + (by_32 >> 32);
        let once = (by_16 & 0xffff) + (by_16 >> 16);
        u16::from_be(((once & 0xffff) + (once >> 16)) as u16)
    }

    /// [`Sum::fold`] with 0 written as 0xFFFF: for sums over something that cannot be all zero
    /// bytes (a pseudo header holds a protocol number, an IPv4 header its version), whose
    /// arithmetic can only give 0xFFFF.
    #[inline]
    pub const fn canonical(self) -> u16 {
        match self.fold() {
            0 => 0xffff,
            sum => sum,
        }
    }

    /// The checksum field of IPv4, TCP, ICMP or GRE: the complement of [`Sum::canonical`], hence
    /// never 0xFFFF.
    #[inline]
    pub const fn checksum(self) -> u16 {
        !self.canonical()
    }

    /// The checksum field of UDP: computed zero is sent as 0xFFFF, since 0 says "no checksum" (RFC
    /// 768).
    #[inline]
    pub const fn udp_checksum(self) -> u16 {
        match self.checksum() {
            0 => 0xffff,
            checksum => checksum,
        }
    }

    /// Whether a sum taken over data *and* its checksum field (and pseudo header, where there is
    /// one) says that the data is intact: it folds to 0 or 0xFFFF.
    #[inline]
    pub const fn is_valid(self) -> bool {
        self.canonical() == 0xffff
    }

    /// Equality modulo 0xFFFF: true for the two representations of zero.
    #[inline]
    pub const fn same_as(self, other: Sum) -> bool {
        self.canonical() == other.canonical()
    }

    const fn plus(self, other: Sum) -> Sum {
        // End-around carry. It cannot carry again: after an overflow the low part is at most 2^64 -
        // 2.
        let (low, carry) = self.0.overflowing_add(other.0);
        Sum(low + carry as u64)
    }

    const fn minus(self, other: Sum) -> Sum {
        // The complement is the negative modulo 2^64 - 1.
        self.plus(Sum(!other.0))
    }
}

impl Add for Sum {
    type Output = Sum;

    /// Joins two pieces that both start at even offsets. Exact for any operands.
    #[inline]
    fn add(self, other: Sum) -> Sum {
        self.plus(other)
    }
}

impl AddAssign for Sum {
    #[inline]
    fn add_assign(&mut self, other: Sum) {
        *self = self.plus(other);
    }
}

impl Sub for Sum {
    type Output = Sum;

    /// Takes a piece that started at an even offset out again (shift it first if it did not). Exact
    /// for any operands.
    #[inline]
    fn sub(self, other: Sum) -> Sum {
        self.minus(other)
    }
}

impl SubAssign for Sum {
    #[inline]
    fn sub_assign(&mut self, other: Sum) {
        *self = self.minus(other);
    }
}

impl iter::Sum for Sum {
    /// Adds pieces that all start at even offsets.
    fn sum<I: Iterator<Item = Sum>>(pieces: I) -> Sum {
        pieces.fold(Sum::ZERO, Add::add)
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sum(0x{:04x})", self.fold())
    }
}
