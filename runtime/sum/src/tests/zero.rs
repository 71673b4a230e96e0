//! 0x0000 and 0xFFFF: one sum, two representations, and each closing call picks the one its field
//! needs.

use crate::{Sum, update, update_udp};

#[test]
fn the_two_zeros_are_the_same_sum() {
    let (plus, minus) = (Sum::ZERO, Sum::from_u16(0xffff));
    assert_eq!((plus.fold(), minus.fold()), (0, 0xffff));
    assert!(plus.same_as(minus) && minus.same_as(plus));
    assert!(plus.is_valid() && minus.is_valid());
    assert!(!plus.same_as(Sum::from_u16(1)) && !Sum::from_u16(0xfffe).is_valid());
    assert_eq!((plus.canonical(), minus.canonical()), (0xffff, 0xffff));
}

#[test]
fn fields_are_written_in_one_representation() {
    for sum in [Sum::ZERO, Sum::from_u16(0xffff)] {
        assert_eq!(sum.checksum(), 0);
        assert_eq!(sum.udp_checksum(), 0xffff);
    }
    let sum = Sum::from_u16(0x1234);
    assert_eq!((sum.checksum(), sum.udp_checksum()), (0xedcb, 0xedcb));
}

#[test]
fn only_zeros_that_were_added_fold_to_zero() {
    assert_eq!(Sum::of(&[0; 333]).fold(), 0);
    assert_eq!(Sum::of(&[0; 333]).shifted(1).fold(), 0);
    assert_eq!(Sum::of(&[0xff; 332]).shifted(1).fold(), 0xffff);
    let sum = Sum::of(b"corelane");
    assert_eq!((sum - sum).fold(), 0xffff);
    assert_eq!((Sum::ZERO - Sum::ZERO).fold(), 0xffff);
    assert!((Sum::ZERO - Sum::of(&[0xff; 8])).is_valid());
}

#[test]
fn example_of_rfc_1624() {
    // Section 4: equation 3 gives 0x0000 where the older equation 2 gave 0xFFFF.
    let (old, new) = (Sum::from_u16(0x5555), Sum::from_u16(0x3285));
    assert_eq!(update(0xdd2f, old, new), 0x0000);
    assert_eq!(update_udp(0xdd2f, old, new), 0xffff);
}

#[test]
fn a_field_in_the_other_representation_becomes_canonical() {
    let same = Sum::from_u16(0x0102);
    assert_eq!(update(0xffff, same, same), 0);
    assert_eq!(update(0, same, same), 0);
    assert_eq!(update(0xffff, Sum::ZERO, Sum::ZERO), 0);
    assert_eq!(update_udp(0xffff, same, same), 0xffff);
}

#[test]
fn sums_print_as_the_number_a_dissector_shows() {
    assert_eq!(format!("{:?}", Sum::of(&[0x12, 0x34])), "Sum(0x1234)");
}
