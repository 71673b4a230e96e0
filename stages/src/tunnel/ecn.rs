//! The ECN field of a packet in a tunnel: what the outer header says of it, and what becomes of it at the end.
//!
//! Two tables, of RFC 6040 and of what came before it. They know no header; fields are 0 to 3.

use super::keys::Ecn;

/// No ECN-capable transport.
pub(super) const NOT_ECT: u8 = 0;
/// ECN-capable transport, of the second kind.
const ECT_1: u8 = 1;
/// ECN-capable transport.
const ECT_0: u8 = 2;
/// Congestion was experienced.
const CE: u8 = 3;

/// The outer field for a packet with this one (RFC 6040 section 4.1, RFC 3168 section 9.1.1).
pub(super) fn outside(rules: Ecn, inner: u8) -> u8 {
    match (rules, inner & 3) {
        (Ecn::Rfc3168, CE) => ECT_0,
        (_, inner) => inner,
    }
}

/// The field of the packet that comes out; `None`: it met congestion and its ends could not be told, so it must be
/// dropped (RFC 6040 section 4.2, RFC 3168 section 9.1.1).
pub(super) fn inside(rules: Ecn, outer: u8, inner: u8) -> Option<u8> {
    match (outer & 3, inner & 3) {
        (CE, NOT_ECT) => None,
        (CE, _) => Some(CE),
        (ECT_1, ECT_0) if rules == Ecn::Rfc6040 => Some(ECT_1),
        (_, inner) => Some(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_standards() {
        // RFC 6040, figure 4: a row for each inner field, a column for each outer one.
        let table = [
            [Some(0), Some(0), Some(0), None],
            [Some(1), Some(1), Some(1), Some(3)],
            [Some(2), Some(1), Some(2), Some(3)],
            [Some(3), Some(3), Some(3), Some(3)],
        ];
        for inner in 0..4 {
            for outer in 0..4 {
                let right = table[usize::from(inner)][usize::from(outer)];
                assert_eq!(inside(Ecn::Rfc6040, outer, inner), right, "{outer} around {inner}");
                let older = if (outer, inner) == (ECT_1, ECT_0) { Some(ECT_0) } else { right };
                assert_eq!(inside(Ecn::Rfc3168, outer, inner), older, "{outer} around {inner}");
            }
            assert_eq!(outside(Ecn::Rfc6040, inner), inner);
        }
        assert_eq!([0, 1, 2, 3].map(|inner| outside(Ecn::Rfc3168, inner)), [0, 1, 2, 2]);
    }
}
