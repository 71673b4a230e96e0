//! Packets against a model that is nothing but a vector of bytes: whatever is pushed, pulled, joined, cut,
//! shared or truncated, the bytes are the model's, and in the end every part is home.

use corelane_runtime::packet::{
    Buffers, Class, CutError, CutPlan, HomeConfig, Packet, SMALL_ROOM, Units,
};
use corelane_runtime::stage::{StageContext, Tally};
use proptest::prelude::*;

fn buffers(shells: u32, small: u32, large: u32) -> Buffers {
    let name = "model".to_owned();
    Buffers::new(&HomeConfig { name, shells, small, large, node: None }).expect("a home")
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    packet.parts().flatten().copied().collect()
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

#[derive(Clone, Debug)]
enum Op {
    Push(u32),
    Pull(u32),
    Truncate(u32),
    MakeUnique(u32),
    PullUp(u32),
    Append(Vec<u8>),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0_u32..300).prop_map(Op::Push),
        (0_u32..4000).prop_map(Op::Pull),
        (0_u32..90_000).prop_map(Op::Truncate),
        (0_u32..300).prop_map(Op::MakeUnique),
        (0_u32..300).prop_map(Op::PullUp),
        prop::collection::vec(any::<u8>(), 0..600).prop_map(Op::Append),
    ]
}

fn apply(op: &Op, packet: &mut Packet, model: &mut Vec<u8>, buffers: &mut Buffers) {
    match op {
        Op::Push(n) => {
            if let Ok(front) = packet.push(*n, buffers) {
                front.fill(0xa5);
                model.splice(0..0, vec![0xa5; *n as usize]);
            }
        }
        Op::Pull(n) => {
            packet.pull(*n, buffers);
            model.drain(..(*n as usize).min(model.len()));
        }
        Op::Truncate(n) => {
            packet.truncate(*n, buffers);
            model.truncate(*n as usize);
        }
        Op::MakeUnique(n) => {
            if packet.make_header_unique(*n, buffers).is_ok() {
                assert!(packet.is_unshared() && packet.data().len() >= *n as usize);
                assert!(*n == 0 || *n < packet.len() || packet.part_count() == 1);
                if let Some(byte) = packet.data_mut().and_then(|data| data.first_mut()) {
                    *byte = 7;
                    model[0] = 7;
                }
            }
        }
        Op::PullUp(n) => {
            let done = packet.pull_up(*n, buffers).is_ok();
            assert!(!done || packet.data().len() >= (*n as usize).min(model.len()));
        }
        Op::Append(more) => {
            if packet.append_bytes(more) {
                model.extend_from_slice(more);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_packet_is_its_bytes(len in 0_usize..200_000, ops in prop::collection::vec(op(), 0..12)) {
        let mut buffers = buffers(8, 32, 8);
        let mut model = pattern(len, 3);
        let mut packet = buffers.receive(&model).expect("room");
        for op in &ops {
            apply(op, &mut packet, &mut model, &mut buffers);
            prop_assert_eq!(packet.len() as usize, model.len());
            prop_assert_eq!(packet.part_count() as usize, packet.parts().count());
            prop_assert!(bytes_of(&packet) == model, "after {:?}", op);
        }
        let (from, to) = (model.len() as u32 / 3, model.len() as u32 / 2);
        let slice: Vec<u8> = packet.slices(from, to).flatten().copied().collect();
        prop_assert_eq!(&slice[..], &model[from as usize..to as usize]);
        buffers.release(packet);
        prop_assert_eq!(buffers.outstanding(), [0; 3]);
        prop_assert_eq!(buffers.implicit(), Units::default());
    }

    /// Cutting a linear packet into pieces of any size gives header + piece each time, shares the payload,
    /// and lets the sharers end in any order.
    #[test]
    fn a_cut_packet_gives_its_payload_back(
        header in 0_u32..120,
        payload in 2_u32..70_000,
        size in 1_u32..9000,
        backwards in any::<bool>(),
    ) {
        let size = size.max(payload / 400 + 1);
        let mut buffers = buffers(512, 512, 4);
        let frame = pattern((header + payload) as usize, 9);
        let mut packet = buffers.receive(&frame).expect("room");
        packet.set_layers(Default::default(), payload);
        let count = payload.div_ceil(size);
        let mut tally = Tally::default();
        let mut plan = CutPlan::reserve(&packet, header, size, false, &mut buffers).expect("room");
        let mut segmentation = packet.segmentation();
        segmentation.count = count as u16;
        packet.set_segmentation(segmentation);
        let mut segments = Vec::new();
        while packet.payload_len() > size {
            let mut ctx = StageContext::new(0, &mut buffers, &mut tally);
            segments.push(ctx.segment_of(&mut packet, header, size, 1, &mut plan).expect("reserved"));
        }
        segments.push(packet);
        plan.finish(&mut buffers);
        prop_assert_eq!(segments.len() as u32, count);
        prop_assert_eq!(tally.created.packets, u64::from(count) - 1);
        let pieces = frame[header as usize..].chunks(size as usize);
        for (segment, piece) in segments.iter_mut().zip(pieces) {
            prop_assert_eq!(segment.segments(), 1);
            prop_assert_eq!(segment.payload_len() as usize, piece.len());
            prop_assert_eq!(segment.part_count() as usize, segment.parts().count());
            let bytes = bytes_of(segment);
            prop_assert!(bytes[..header as usize] == frame[..header as usize]);
            prop_assert!(&bytes[header as usize..] == piece);
            prop_assert_eq!(bytes.len(), segment.len() as usize);
        }
        if backwards {
            segments.reverse();
        }
        segments.into_iter().for_each(|segment| buffers.release(segment));
        prop_assert_eq!(buffers.outstanding(), [0; 3]);
    }

    /// Packets joined from whole segments are cut at the same places without a single new part.
    #[test]
    fn what_was_joined_comes_apart_as_it_was(
        header in 14_u32..100,
        lens in prop::collection::vec(1_u32..5000, 2..20),
    ) {
        let mut buffers = buffers(0, 64, 64);
        let mut tally = Tally::default();
        let mut head: Option<Packet> = None;
        for (index, &len) in lens.iter().enumerate() {
            let frame = pattern((header + len) as usize, index as u8);
            let mut packet = buffers.receive(&frame).expect("room");
            packet.set_time(index as u64);
            packet.set_layers(Default::default(), len);
            packet.mark_piece();
            match &mut head {
                None => head = Some(packet),
                Some(head) => {
                    packet.pull(header, &mut buffers);
                    StageContext::new(0, &mut buffers, &mut tally).absorb(head, packet, len);
                }
            }
        }
        let mut rest = head.expect("at least two");
        prop_assert_eq!(rest.segments() as usize, lens.len());
        prop_assert_eq!(rest.pieces().map(|piece| piece.len).collect::<Vec<_>>(), lens.clone());
        let before = buffers.outstanding();
        let mut plan = CutPlan::reserve(&rest, header, 1, true, &mut buffers).expect("nothing needed");
        let mut segments = Vec::new();
        let first_header = rest.data()[..header as usize].to_vec();
        for (index, &len) in lens.iter().enumerate() {
            let segment = if index + 1 < lens.len() {
                let mut ctx = StageContext::new(0, &mut buffers, &mut tally);
                ctx.segment_of(&mut rest, header, len, 1, &mut plan).expect("nothing needed")
            } else {
                prop_assert_eq!(buffers.outstanding(), before, "cutting took parts");
                break;
            };
            prop_assert_eq!(segment.time(), index as u64);
            let bytes = bytes_of(&segment);
            prop_assert!(bytes[..header as usize] == first_header);
            let received = pattern((header + len) as usize, index as u8);
            prop_assert!(bytes[header as usize..] == received[header as usize..]);
            segments.push(segment);
        }
        prop_assert_eq!(rest.time() as usize, lens.len() - 1);
        segments.into_iter().chain([rest]).for_each(|segment| buffers.release(segment));
        prop_assert_eq!(buffers.outstanding(), [0; 3]);
    }
}

#[test]
fn a_cut_that_can_never_be_served_says_so_and_one_that_can_wait_waits() {
    let mut buffers = buffers(4, 6, 1);
    let mut packet = buffers.receive(&pattern(2000, 1)).expect("room");
    packet.set_layers(Default::default(), 1980);
    let reserve = |size, buffers: &mut Buffers| CutPlan::reserve(&packet, 20, size, false, buffers);
    assert_eq!(reserve(100, &mut buffers).err(), Some(CutError::TooMany));
    let taken: Vec<Packet> = (0..4).filter_map(|_| buffers.alloc(Class::Small)).collect();
    assert_eq!(reserve(700, &mut buffers).err(), Some(CutError::Wait));
    assert!(buffers.starved());
    taken.into_iter().for_each(|packet| buffers.release(packet));
    let plan = reserve(700, &mut buffers).expect("enough now");
    let rest: Vec<Packet> = std::iter::from_fn(|| buffers.alloc(Class::Small)).collect();
    assert_eq!(rest.len(), 1, "what the cut needs is kept from others");
    plan.finish(&mut buffers);
    assert!(buffers.alloc(Class::Small).map(|packet| buffers.release(packet)).is_some());
    rest.into_iter().for_each(|packet| buffers.release(packet));
    buffers.release(packet);
    assert_eq!(buffers.outstanding(), [0; 3]);
}

#[test]
fn shared_bytes_cannot_be_written() {
    let mut buffers = buffers(4, 8, 1);
    let mut tally = Tally::default();
    let mut packet = buffers.receive(&pattern(100, 1)).expect("room");
    packet.set_layers(Default::default(), 80);
    let mut plan = CutPlan::reserve(&packet, 20, 30, false, &mut buffers).expect("room");
    let mut ctx = StageContext::new(0, &mut buffers, &mut tally);
    let mut segment = ctx.segment_of(&mut packet, 20, 30, 1, &mut plan).expect("reserved");
    plan.finish(&mut buffers);
    assert!(segment.data_mut().is_some(), "the header is its own");
    segment.pull(20, &mut buffers);
    assert!(segment.data_mut().is_none(), "the payload is shared");
    packet.pull(20, &mut buffers);
    assert!(packet.data_mut().is_none(), "on both sides");
    buffers.release(segment);
    assert!(packet.data_mut().is_some(), "until the other one is gone");
    buffers.release(packet);
    assert_eq!(buffers.outstanding(), [0; 3]);
}

#[test]
fn a_packet_that_falls_is_booked_and_comes_home() {
    let mut buffers = buffers(0, 2, 2);
    let mut packet = buffers.receive(&pattern(70_000, 1)).expect("room");
    packet.set_layers(Default::default(), 5);
    std::thread::spawn(move || drop(packet)).join().expect("joined");
    assert_eq!(buffers.implicit(), Units { packets: 1, segments: 1, bytes: 5 });
    assert_eq!(buffers.outstanding(), [0; 3]);
}

#[test]
fn parts_freed_by_another_actor_come_home_in_batches() {
    let mut home = buffers(0, 100, 0);
    let mut other = buffers(0, 1, 0);
    let packets: Vec<Packet> = std::iter::from_fn(|| home.receive(b"x")).collect();
    assert_eq!(packets.len(), 100);
    packets.into_iter().for_each(|packet| other.release(packet));
    assert!(home.has_returns(), "full batches go at once");
    assert_eq!(home.outstanding(), [0, 4, 0], "the last few wait for a flush");
    other.flush();
    assert_eq!(home.outstanding(), [0; 3]);
}

#[test]
fn what_a_device_writes_behind_a_packet_becomes_its_end() {
    let mut home = buffers(2, 3, 1);
    let mut packet = home.receive(&[1; 10]).expect("a buffer");
    let room = packet.room_mut();
    assert_eq!(room.len(), SMALL_ROOM as usize - 10);
    room[..3].copy_from_slice(&[7, 8, 9]);
    assert_eq!(packet.len(), 10, "nothing has been added yet");
    assert!(!packet.extend(SMALL_ROOM - 9), "one byte more than there is room for");
    assert!(packet.extend(3));
    assert_eq!(bytes_of(&packet), [&[1; 10][..], &[7, 8, 9]].concat());
    // Only while nobody else sees the part.
    let other = packet.share(5, 13, &mut home).expect("a shell");
    assert!(packet.room_mut().is_empty() && !packet.extend(0) && !packet.extend(1));
    home.release(other);
    packet.room_mut()[0] = 4;
    assert!(packet.extend(1));
    assert_eq!((packet.len(), bytes_of(&packet).last()), (14, Some(&4)));
    home.release(packet);
    assert_eq!(home.outstanding(), [0; 3]);
}
