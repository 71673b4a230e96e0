//! Files cut anywhere and changed anyhow: what is whole is delivered, the rest is one fault.

use proptest::collection::vec;
use proptest::prelude::*;

use super::build::{
    ORDERS, block, enhanced, interface, obsolete, options, pcap_header, pcap_record, section,
    simple,
};
use super::{shape, walk, window};
use crate::capture::error::Fault;
use crate::capture::format::ByteOrder;
use crate::capture::reader::Position;

/// A valid file and where each piece of it ends, with the number of records up to there. The first
/// piece is the header that a file cannot do without.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub(super) bytes: Vec<u8>,
    pub(super) ends: Vec<(usize, usize)>,
}

impl Built {
    fn push(&mut self, piece: Vec<u8>, records: usize) {
        self.bytes.extend(piece);
        let before = self.ends.last().map_or(0, |end| end.1);
        self.ends.push((self.bytes.len(), before + records));
    }
}

fn order() -> impl Strategy<Value = ByteOrder> {
    prop::sample::select(&ORDERS[..])
}

fn classic() -> impl Strategy<Value = Built> {
    let magic = prop::sample::select(&[0xa1b2_c3d4u32, 0xa1b2_3c4d, 0xa1b2_cd34][..]);
    (order(), magic, vec(vec(any::<u8>(), 0..40), 0..6)).prop_map(|(order, magic, frames)| {
        let mut built = Built { bytes: Vec::new(), ends: Vec::new() };
        built.push(pcap_header(order, magic, 1), 0);
        let extra: &[u8] = if magic == 0xa1b2_cd34 { &[0; 8] } else { &[] };
        for data in frames {
            built.push(pcap_record(order, (1, 2), data.len() as u32, extra, &data), 1);
        }
        built
    })
}

/// Blocks of every kind, over several sections; each section starts with an interface.
fn next_generation() -> impl Strategy<Value = Built> {
    let piece = (0u8..7, vec(any::<u8>(), 0..40));
    (order(), vec(piece, 0..8), order()).prop_map(|(first, pieces, second)| {
        let mut built = Built { bytes: Vec::new(), ends: Vec::new() };
        let mut order = first;
        built.push(section(order), 0);
        built.push(interface(order, 1, 0, &[]), 0);
        for (kind, data) in pieces {
            let len = data.len() as u32;
            match kind {
                0 => built.push(enhanced(order, 0, 9, len, &data, &[]), 1),
                1 => {
                    let comment = options(order, &[(1, &data)]);
                    built.push(enhanced(order, 0, 9, len, &data, &comment), 1);
                }
                2 => built.push(obsolete(order, 0, 9, len, &data), 1),
                3 => built.push(simple(order, len, &data), 1),
                4 => built.push(block(order, 0x0bad, &data), 0),
                5 => built.push(interface(order, 1, 0, &options(order, &[(2, &data)])), 0),
                _ => {
                    order = second;
                    built.push(section(order), 0);
                    built.push(interface(order, 1, 0, &[]), 0);
                }
            }
        }
        built
    })
}

pub(super) fn any_file() -> impl Strategy<Value = Built> {
    prop_oneof![classic(), next_generation()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_cut_file_gives_its_whole_records_and_one_fault(
        (built, cut) in any_file().prop_flat_map(|built| {
            let header = built.ends[0].0;
            let cut = header..=built.bytes.len();
            (Just(built), cut)
        }),
    ) {
        let all = walk(&built.bytes);
        prop_assert_eq!(all.fault, None);
        prop_assert_eq!(all.records.len(), built.ends.last().unwrap().1);
        let part = walk(&built.bytes[..cut]);
        let &(end, whole) = built.ends.iter().rfind(|end| end.0 <= cut).unwrap();
        prop_assert_eq!(&part.records, &all.records[..whole]);
        prop_assert_eq!(part.fault.map(|fault| fault.0), (cut > end).then_some(end));
    }

    #[test]
    fn a_changed_file_ends(
        mut built in any_file(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        from in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        for (place, value) in changes {
            let place = place.index(built.bytes.len());
            built.bytes[place] = value;
        }
        // And a run of bytes that stands elsewhere, so that headers meet headers.
        let (to, from) = (from.0.index(built.bytes.len()), from.1.index(built.bytes.len()));
        let len = (built.bytes.len() - to.max(from)).min(32);
        built.bytes.copy_within(from..from + len, to);
        if shape(&built.bytes).is_ok() {
            walk(&built.bytes);
        }
    }

    #[test]
    fn any_bytes_behind_any_header_end(built in any_file(), tail in vec(any::<u8>(), 0..200)) {
        let mut bytes = built.bytes[..built.ends[0].0].to_vec();
        bytes.extend(tail);
        if shape(&bytes).is_ok() {
            walk(&bytes);
        }
    }

    #[test]
    fn a_position_of_another_file_is_harmless(one in any_file(), other in any_file(), steps in 0usize..8) {
        let mut position = Position::default();
        let (first, mut through) = (shape(&one.bytes).unwrap(), window(&one.bytes, 64));
        for _ in 0..steps {
            let _ = first.next(&mut through, &mut position);
        }
        let (second, mut through) = (shape(&other.bytes).unwrap(), window(&other.bytes, 64));
        let most = other.bytes.len();
        prop_assert!((0..=most).any(|_| second.next(&mut through, &mut position).is_none()));
    }
}

#[test]
fn each_fault_is_named() {
    let order = ORDERS[0];
    let mut start = section(order);
    start.extend(interface(order, 1, 0, &[]));
    let good = enhanced(order, 0, 0, 4, b"good", &[]);
    let with = |at: usize, value: u32| {
        let mut block = good.clone();
        block[at..at + 4].copy_from_slice(&value.to_le_bytes());
        block
    };
    for (piece, fault) in [
        (with(4, 38), Fault::BlockUnaligned { length: 38 }),
        (with(4, 0), Fault::BlockShort { length: 0, needed: 32 }),
        (with(4, 28), Fault::BlockShort { length: 28, needed: 32 }),
        (with(4, 40), Fault::BlockOverFile { length: 40, left: 36 }),
        (with(32, 40), Fault::BlockMismatch { length: 36, trailer: 40 }),
        (with(20, 5), Fault::CapturedOverBlock { captured: 5, room: 4 }),
        (with(20, u32::MAX), Fault::CapturedOverLimit { captured: u32::MAX }),
        (with(8, 1), Fault::NoInterface { interface: 1, described: 1 }),
        (good[..11].to_vec(), Fault::BlockOverFile { length: 36, left: 11 }),
        (good[..7].to_vec(), Fault::HeaderCut { needed: 12, left: 7 }),
    ] {
        let bytes = [&start[..], &good, &piece].concat();
        let walk = walk(&bytes);
        assert_eq!(walk.records.len(), 1);
        assert_eq!(walk.fault, Some((start.len() + good.len(), fault)));
    }
}

#[test]
fn classic_faults_are_named() {
    for order in ORDERS {
        let start = pcap_header(order, 0xa1b2_c3d4, 1);
        let record = pcap_record(order, (0, 0), 4, &[], b"good");
        let mut huge = record.clone();
        huge[8..12].copy_from_slice(&super::build::u32(order, (256 << 20) + 1));
        for (piece, fault) in [
            (&record[..15], Fault::HeaderCut { needed: 16, left: 15 }),
            (&record[..19], Fault::CapturedOverFile { captured: 4, left: 3 }),
            (&huge[..], Fault::CapturedOverLimit { captured: (256 << 20) + 1 }),
        ] {
            let bytes = [&start[..], &record, piece].concat();
            let walk = walk(&bytes);
            assert_eq!(walk.records.len(), 1);
            assert_eq!(walk.fault, Some((44, fault)));
        }
    }
}
