//! Every layout of both formats, with the fields that must come out.

use super::build::{
    ORDERS, block, enhanced, interface, obsolete, options, pcap_header, pcap_record, section,
    simple, u16, words,
};
use super::{Kept, shape, walk};
use crate::capture::error::{Fault, Refusal};
use crate::capture::link::LinkType;
use crate::capture::reader::Record;

#[test]
fn classic_files_of_every_magic_and_byte_order() {
    for order in ORDERS {
        for (magic, extra, fraction_ns) in [
            (0xa1b2_c3d4, &[][..], 7_000),
            (0xa1b2_3c4d, &[], 7),
            (0xa1b2_cd34, &[9, 9, 9, 9, 8, 0, 1, 0], 7_000),
        ] {
            let mut bytes = pcap_header(order, magic, 1);
            bytes.extend(pcap_record(order, (5, 7), 60, extra, b"first"));
            bytes.extend(pcap_record(order, (u32::MAX, 0), 0, extra, b""));
            let walk = walk(&bytes);
            let time_ns = 5_000_000_000 + fraction_ns;
            let first = Record { number: 1, time_ns, orig_len: 60, interface: 0, data: b"first" };
            let time_ns = u64::from(u32::MAX) * 1_000_000_000;
            let second = Record { number: 2, time_ns, orig_len: 0, interface: 0, data: b"" };
            assert_eq!(walk.records, [first, second].map(Kept::from), "{order:?} {magic:#x}");
            assert_eq!(walk.fault, None);
        }
    }
}

#[test]
fn check_sequence_bits_do_not_hide_the_link_type() {
    for order in ORDERS {
        let bytes = pcap_header(order, 0xa1b2_c3d4, 0x2400_0001);
        assert!(walk(&bytes).records.is_empty());
        let bytes = pcap_header(order, 0xa1b2_c3d4, 0x2400_0071);
        let refusal = shape(&bytes).expect_err("LINUX_SLL");
        assert!(matches!(refusal, Refusal::Link { link: LinkType(113), .. }), "{refusal:?}");
    }
}

#[test]
fn sections_have_their_own_byte_order_interfaces_and_clocks() {
    let [little, big] = ORDERS;
    let mut bytes = section(little);
    bytes.extend(block(little, 0x0bad, b"some custom block"));
    bytes.extend(interface(little, 1, 0, &[]));
    bytes.extend(enhanced(little, 0, 1_000_001, 64, b"micro", &[]));
    // A second interface halfway, with a comment before the options that matter and rubbish behind.
    let nano = options(little, &[(1, b"odd"), (9, &[9]), (0, b""), (9, &[3])]);
    bytes.extend(interface(little, 1, 96, &nano));
    bytes.extend(enhanced(little, 1, 5, 64, b"nano", &options(little, &[(1, b"hello")])));
    bytes.extend(obsolete(little, 0, 3, 1500, b"older"));
    bytes.extend(section(big));
    bytes.extend(block(big, 5, b"statistics"));
    let offset = 100u64.to_be_bytes();
    bytes.extend(interface(big, 1, 4, &options(big, &[(9, &[0x80 | 1]), (14, &offset)])));
    bytes.extend(enhanced(big, 0, 3, 4, b"half", &[]));
    bytes.extend(simple(big, 9, b"snap"));
    bytes.extend(section(little));
    bytes.extend(interface(little, 1, 0, &options(little, &[(9, &[0])])));
    bytes.extend(enhanced(little, 0, 3, 4, b"last", &[]));
    let walk = walk(&bytes);
    assert_eq!(walk.fault, None);
    let seen: Vec<_> =
        walk.records.iter().map(|r| (r.time_ns, r.orig_len, r.interface, &r.data[..])).collect();
    assert_eq!(
        seen,
        [
            (1_000_001_000, 64, 0, &b"micro"[..]),
            (5, 64, 1, b"nano"),
            (3_000, 1500, 0, b"older"),
            (101_500_000_000, 4, 2, b"half"),
            (0, 9, 2, b"snap"),
            (3_000_000_000, 4, 3, b"last"),
        ]
    );
}

#[test]
fn a_simple_packet_without_limit_is_whole() {
    for order in ORDERS {
        let mut bytes = section(order);
        bytes.extend(interface(order, 1, 0, &[]));
        bytes.extend(simple(order, 5, b"whole"));
        assert_eq!(walk(&bytes).records[0].data, b"whole");
    }
}

#[test]
fn any_interface_that_is_not_ethernet_refuses_the_file() {
    let [little, big] = ORDERS;
    let mut bytes = section(little);
    bytes.extend(interface(little, 1, 0, &[]));
    bytes.extend(enhanced(little, 0, 0, 60, b"fine", &[]));
    bytes.extend(section(big));
    bytes.extend(interface(big, 1, 0, &[]));
    bytes.extend(interface(big, 276, 0, &[]));
    bytes.extend(interface(big, 1, 0, &[]));
    let refusal = shape(&bytes).expect_err("LINUX_SLL2");
    assert_eq!(
        refusal.to_string(),
        "interface 3 of 4 has link type LINUX_SLL2 (276), but only ETHERNET (1) is read; \
         record on Ethernet interfaces only"
    );
}

#[test]
fn a_section_without_interfaces_has_no_packets_but_is_a_capture() {
    assert!(walk(&section(ORDERS[0])).records.is_empty());
}

#[test]
fn packets_of_interfaces_that_are_not_described_are_damage() {
    for order in ORDERS {
        // The table of the whole file has an interface 1, but not this section at this point.
        let mut bytes = section(order);
        bytes.extend(interface(order, 1, 0, &[]));
        let place = bytes.len();
        bytes.extend(enhanced(order, 1, 0, 4, b"lost", &[]));
        bytes.extend(interface(order, 1, 0, &[]));
        let walk = walk(&bytes);
        assert!(walk.records.is_empty());
        let fault = Fault::NoInterface { interface: 1, described: 1 };
        assert_eq!(walk.fault, Some((place, fault)));
    }
    let mut bytes = section(ORDERS[0]);
    bytes.extend(simple(ORDERS[0], 4, b"lost"));
    let fault = Fault::NoInterface { interface: 0, described: 0 };
    assert_eq!(walk(&bytes).fault, Some((28, fault)));
}

#[test]
fn headers_of_unknown_versions_are_refused() {
    for order in ORDERS {
        let mut classic = pcap_header(order, 0xa1b2_c3d4, 1);
        classic[4..6].copy_from_slice(&u16(order, 3));
        let mut next = section(order);
        next[12..14].copy_from_slice(&u16(order, 2));
        for (bytes, major, minor) in [(classic, 3, 4), (next, 2, 0)] {
            match shape(&bytes) {
                Err(Refusal::Header(fault)) => assert_eq!(fault, Fault::Version { major, minor }),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_broken_first_section_header_is_refused() {
    let order = ORDERS[0];
    let whole = section(order);
    for cut in 4..whole.len() {
        assert!(matches!(shape(&whole[..cut]), Err(Refusal::Header(_))), "{cut}");
    }
    let mut bytes = whole.clone();
    bytes[8..12].copy_from_slice(&words(order, &[0x1234_5678])[..]);
    match shape(&bytes) {
        Err(Refusal::Header(Fault::ByteOrder { magic: 0x1234_5678 })) => {}
        other => panic!("{other:?}"),
    }
}
