//! A shared copy is what its original was, and neither sees what is done to the other.

use crate::packet::{
    Buffers, Csum, HomeConfig, L3, L4, Layers, Level, Packet, SegFlags, SegKind, Segmentation,
    Tunnel,
};
use proptest::prelude::*;

const HEADER: u16 = 54;

fn home(shells: u32, small: u32) -> Buffers {
    let config = HomeConfig { name: "t".into(), shells, small, large: 2, node: None };
    Buffers::new(&config).unwrap()
}

fn bytes(packet: &Packet) -> Vec<u8> {
    packet.parts().flatten().copied().collect()
}

/// A packet of `pieces`, each a part, joined behind a header; a superpacket where there are several.
fn joined(buffers: &mut Buffers, pieces: &[Vec<u8>]) -> Packet {
    let header = vec![0xee; usize::from(HEADER)];
    let mut packet = buffers.receive(&[&header[..], &pieces[0]].concat()).unwrap();
    let level = Level { l2: 0, l3: 14, l4: 34, payload: HEADER, l3_kind: L3::V4, l4_kind: L4::Tcp };
    let levels = [level, Level::default()];
    packet.set_layers(Layers { levels, count: 1, tunnel: Tunnel::None }, pieces[0].len() as u32);
    packet.set_payload_sum(7);
    for (at, piece) in pieces.iter().enumerate().skip(1) {
        let mut more = buffers.receive(piece).unwrap();
        more.set_layers(Layers::default(), piece.len() as u32);
        more.set_payload_sum(at as u16);
        more.set_time(at as u64);
        packet.absorb(more, piece.len() as u32);
    }
    let several = pieces.len() > 1;
    packet.set_segmentation(Segmentation {
        kind: if several { SegKind::Tcp4 } else { SegKind::None },
        gso_size: pieces[0].len() as u16,
        count: pieces.len() as u16,
        flags: SegFlags::BY_PARTS,
    });
    packet.meta_mut().l4[0] = Csum::Good;
    packet.meta_mut().orig_len = packet.len();
    packet
}

fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..6)
}

proptest! {
    #[test]
    fn a_whole_copy_is_what_the_packet_was(pieces in pieces(), copied in 0..54_u32, part in 0..4_u32) {
        let mut buffers = home(16, 16);
        let mut packet = joined(&mut buffers, &pieces);
        if part == 0 {
            // Its own bytes are shared already, and its header is a part.
            packet.push(9, &mut buffers).unwrap().fill(9);
            packet.pull(9, &mut buffers);
        }
        let before = bytes(&packet);
        let mut copy = packet.share(copied, u32::MAX, &mut buffers).unwrap();
        prop_assert_eq!(bytes(&copy), before.clone());
        prop_assert_eq!(copy.len(), packet.len());
        prop_assert_eq!(copy.part_count() as usize, copy.parts().count());
        prop_assert_eq!(copy.units(), packet.units());
        prop_assert_eq!(copy.segmentation(), packet.segmentation());
        prop_assert_eq!(copy.pieces().collect::<Vec<_>>(), packet.pieces().collect::<Vec<_>>());
        prop_assert_eq!(copy.meta().l4, packet.meta().l4);
        // What is written into one is not seen in the other.
        copy.make_header_unique(HEADER.into(), &mut buffers).unwrap();
        copy.data_mut().unwrap()[..usize::from(HEADER)].fill(1);
        prop_assert_eq!(bytes(&packet), before.clone());
        packet.make_header_unique(HEADER.into(), &mut buffers).unwrap();
        packet.data_mut().unwrap()[..usize::from(HEADER)].fill(2);
        prop_assert_eq!(&bytes(&copy)[..usize::from(HEADER)], &[1; HEADER as usize][..]);
        prop_assert_eq!(&bytes(&copy)[usize::from(HEADER)..], &before[usize::from(HEADER)..]);
        buffers.release(packet);
        prop_assert_eq!(&bytes(&copy)[usize::from(HEADER)..], &before[usize::from(HEADER)..]);
        buffers.release(copy);
        prop_assert_eq!(buffers.outstanding(), [0; 3]);
    }

    #[test]
    fn a_shorter_copy_is_one_frame_of_which_nothing_is_known(pieces in pieces(), copied in 0..200_u32, len in 0..400_u32) {
        let mut buffers = home(16, 16);
        let packet = joined(&mut buffers, &pieces);
        prop_assume!(len < packet.len());
        let copy = packet.share(copied, len, &mut buffers).unwrap();
        prop_assert_eq!(bytes(&copy), &bytes(&packet)[..len as usize]);
        prop_assert_eq!(copy.segments(), 1);
        prop_assert!(!copy.is_super() && copy.is_cut() && copy.pieces().next().is_none());
        prop_assert_eq!(copy.meta().orig_len, packet.len());
        prop_assert_eq!(copy.meta().l4[0], Csum::Unknown);
        prop_assert_eq!(copy.payload_len(), len.saturating_sub(HEADER.into()));
        buffers.release(copy);
        buffers.release(packet);
        prop_assert_eq!(buffers.outstanding(), [0; 3]);
    }
}

#[test]
fn without_buffers_nothing_is_changed() {
    let mut buffers = home(1, 4);
    let packet = joined(&mut buffers, &[vec![1; 100], vec![2; 100]]);
    assert!(packet.share(HEADER.into(), u32::MAX, &mut buffers).is_err(), "two shells are needed");
    assert_eq!(buffers.outstanding(), [0, 2, 0]);
    assert!(packet.is_unshared_throughout());
    let copy = packet.share(HEADER.into(), 100, &mut buffers).expect("one shell is enough");
    assert!(!packet.is_unshared());
    buffers.release(copy);
    assert!(packet.is_unshared_throughout());
    buffers.release(packet);
    assert_eq!(buffers.outstanding(), [0; 3]);
}

#[test]
fn copies_of_copies_look_into_the_first_buffer_and_outlive_it() {
    let mut buffers = home(8, 8);
    let packet = joined(&mut buffers, &[vec![5; 1000]]);
    let one = packet.share(20, u32::MAX, &mut buffers).unwrap();
    let two = one.share(60, u32::MAX, &mut buffers).unwrap();
    let expected = bytes(&packet);
    buffers.release(packet);
    buffers.release(one);
    assert_eq!(bytes(&two), expected);
    buffers.release(two);
    assert_eq!(buffers.outstanding(), [0; 3]);
}
