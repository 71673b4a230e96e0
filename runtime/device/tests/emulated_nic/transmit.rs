//! What leaves: finished checksums, and superpackets cut.

use crate::support::*;
use corelane_device::emulated::Lies;
use corelane_device::emulated::{EmulatedConfig, Faults};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Packet, SegFlags};
use proptest::prelude::*;

/// Sends one superpacket made after `recipe`; gives the frames.
fn cut(recipe: &Recipe, gso_size: u16, flags: SegFlags) -> Vec<Vec<u8>> {
    let mut bench = Bench::new();
    let mut packet = bench.packet(&recipe.partial());
    recipe.mark_super(&mut packet, gso_size, flags);
    send(&mut bench, packet)
}

fn send(bench: &mut Bench, packet: Packet) -> Vec<Vec<u8>> {
    let mut nic = nic(Caps::all(), &[]);
    bench.send_all(&mut *nic.tx, vec![packet]);
    assert_eq!(nic.refusals.total(), 0, "{}", nic.refusals);
    bench.assert_nothing_out();
    data_of(&nic.wire.frames())
}

fn payloads(frames: &[Vec<u8>], recipe: &Recipe) -> Vec<usize> {
    frames.iter().map(|frame| frame.len() - recipe.header_len()).collect()
}

#[test]
fn two_datagrams_of_a_superpacket_to_the_byte() {
    // Checksums by an independent program. The ID wraps from 65535 to 0.
    let whole = hex("020000000002020000000001 0800 4500001fffff40004011b6cac0000201c0000202
                     03e807d0000b8420 616263");
    let expected = [
        hex("020000000002020000000001 0800 4500001effff40004011b6cbc0000201c0000202
             03e807d0000a0ebc 6162"),
        hex("020000000002020000000001 0800 4500001d000040004011b6ccc0000201c0000202
             03e807d000090d20 63"),
    ];
    let mut bench = Bench::new();
    let mut packet = bench.packet(&whole);
    Recipe::udp([]).mark_super(&mut packet, 2, SegFlags::empty());
    assert_eq!(send(&mut bench, packet), expected);
}

#[test]
fn three_segments_of_a_superpacket_to_the_byte() {
    // CWR, PSH and FIN set on the whole; the sequence number wraps.
    let whole = hex("020000000002020000000001 0800 4500002d000740004006b6c0c0000201c0000202
                     03e807d0fffffffe00000001509920008423 0000 6162636465");
    let expected = [
        hex("020000000002020000000001 0800 4500002a000740004006b6c3c0000201c0000202
             03e807d0fffffffe00000001509020009e34 0000 6162"),
        hex("020000000002020000000001 0800 4500002a000840004006b6c2c0000201c0000202
             03e807d0000000000000000150102000 9cb10000 6364"),
        hex("020000000002020000000001 0800 45000029000940004006b6c2c0000201c0000202
             03e807d0000000020000000150192000 9b0b0000 65"),
    ];
    let mut bench = Bench::new();
    let mut packet = bench.packet(&whole);
    Recipe::tcp([]).mark_super(&mut packet, 2, SegFlags::empty());
    assert_eq!(send(&mut bench, packet), expected);
}

/// linux-selftests: net/udpgso.c, the rows in which a superpacket exists.
#[test]
fn datagrams_as_the_kernel_cuts_them() {
    let v4 = [
        (1473, 1472, vec![1472, 1]),
        (2944, 1472, vec![1472; 2]),
        (2945, 1472, vec![1472, 1472, 1]),
        (64_768, 1472, vec![1472; 44]),
        (65_507, 1472, [vec![1472; 44], vec![739]].concat()),
        (2, 1, vec![1; 2]),
        (5, 2, vec![2, 2, 1]),
        (128, 1, vec![1; 128]),
    ];
    let v6 = [
        (1453, 1452, vec![1452, 1]),
        (2904, 1452, vec![1452; 2]),
        (2905, 1452, vec![1452, 1452, 1]),
        (65_340, 1452, vec![1452; 45]),
        (65_527, 1452, [vec![1452; 45], vec![187]].concat()),
        (2, 1, vec![1; 2]),
        (5, 2, vec![2, 2, 1]),
        (128, 1, vec![1; 128]),
    ];
    for (v6, rows) in [(false, v4), (true, v6)] {
        for (sent, gso_size, expected) in rows {
            let recipe = Recipe { v6, id: 1337, ..Recipe::udp(vec![7; sent]) };
            let frames = cut(&recipe, gso_size, SegFlags::empty());
            assert_eq!(payloads(&frames, &recipe), expected);
            for (number, frame) in frames.iter().enumerate() {
                assert_sound(frame, &recipe);
                if !v6 {
                    let id = u16::from_be_bytes([frame[18], frame[19]]);
                    assert_eq!(id, 1337 + number as u16);
                }
            }
        }
    }
}

/// linux-selftests: net/core/gso_test.c; parts stand for frags.
#[test]
fn layouts_as_the_kernel_cuts_them() {
    let recipe = |len| Recipe::tcp(vec![9; len]);
    let h = recipe(0).header_len();
    let cases: [(usize, &[usize], &[usize]); 6] = [
        (2001, &[], &[1000, 1000, 1]),
        (2001, &[h + 1000, h + 2000], &[1000, 1000, 1]),
        (2002, &[h, h + 1000, h + 2000], &[1000, 1000, 2]),
        (3000, &[h + 1000, h + 2000], &[1000, 1000, 1000]),
        (2000, &[h, h + 1000], &[1000, 1000]),
        (3003, &[h + 1000, h + 1001, h + 2001], &[1000, 1000, 1000, 3]),
    ];
    for (len, splits, expected) in cases {
        let mut bench = Bench::new();
        let recipe = recipe(len);
        let mut packet = bench.packet_in_parts(&recipe.partial(), splits);
        recipe.mark_super(&mut packet, 1000, SegFlags::empty());
        assert_eq!(payloads(&send(&mut bench, packet), &recipe), expected);
    }
}

#[test]
fn a_segment_has_the_time_of_the_part_it_begins_in() {
    let mut bench = Bench::new();
    let recipe = Recipe::tcp(vec![1; 2500]);
    let header = recipe.header_len();
    let splits = [header, header + 1000, header + 2000];
    let mut packet = bench.packet_in_parts(&recipe.partial(), &splits);
    recipe.mark_super(&mut packet, 1000, SegFlags::empty());
    let mut nic = nic(Caps::all(), &[]);
    bench.send_all(&mut *nic.tx, vec![packet]);
    let times: Vec<u64> = nic.wire.frames().iter().map(|frame| frame.time_ns).collect();
    // Part 0 is the header: the first segment goes by the packet's time.
    assert_eq!(times, [0, 200, 300]);
}

#[test]
fn two_thousand_bytes_in_segments_of_five_hundred() {
    let recipe = Recipe { id: 65_534, flags: 0x98, ..Recipe::tcp(vec![3; 2000]) };
    let ids = |flags| -> Vec<u16> {
        let frames = cut(&recipe, 500, flags);
        frames.iter().map(|frame| u16::from_be_bytes([frame[18], frame[19]])).collect()
    };
    assert_eq!(ids(SegFlags::empty()), [65_534, 65_535, 0, 1]);
    assert_eq!(ids(SegFlags::FIXED_ID), [65_534; 4]);
    let flags =
        |flags| -> Vec<u8> { cut(&recipe, 500, flags).iter().map(|frame| frame[47]).collect() };
    assert_eq!(flags(SegFlags::empty()), [0x90, 0x10, 0x10, 0x18], "CWR first, PSH last");
    assert_eq!(flags(SegFlags::CWR_ALL), [0x90, 0x90, 0x90, 0x98]);
}

#[test]
fn a_short_last_segment_is_padded_only_where_asked() {
    let recipe = Recipe::tcp(vec![0xff; 101]);
    let frames = cut(&recipe, 100, SegFlags::PAD_LAST);
    assert_eq!((frames[0].len(), frames[1].len()), (154, 60));
    assert_eq!(frames[1][55..], [0; 5]);
    assert_sound(&frames[1], &recipe);
    assert_eq!(cut(&recipe, 100, SegFlags::empty())[1].len(), 55);
}

#[test]
fn every_bit_finishes_its_checksum() {
    let bits = [
        (Caps::TX_TCP4, false, false),
        (Caps::TX_TCP6, false, true),
        (Caps::TX_UDP4, true, false),
        (Caps::TX_UDP6, true, true),
    ];
    for (bit, udp, v6) in bits {
        for caps in [bit, Caps::TX_GENERIC.with_implied()] {
            for tags in 0..3 {
                let recipe = Recipe { udp, v6, tags, ..Recipe::tcp(b"odd length!".to_vec()) };
                let mut bench = Bench::new();
                let mut packet = bench.packet(&recipe.partial());
                recipe.mark_partial(&mut packet);
                let mut nic = nic(caps, &[]);
                bench.send_all(&mut *nic.tx, vec![packet]);
                assert_eq!(data_of(&nic.wire.frames()), [recipe.frame()]);
            }
        }
    }
}

#[test]
fn a_trailer_is_no_part_of_the_datagram() {
    let recipe = Recipe { trailer: vec![0xaa, 0xbb, 0xcc], ..Recipe::udp(b"x".to_vec()) };
    let mut bench = Bench::new();
    let mut packet = bench.packet(&recipe.partial());
    recipe.mark_partial(&mut packet);
    assert_eq!(send(&mut bench, packet), [recipe.frame()]);
}

#[test]
fn a_computed_zero_is_sent_as_ones_by_udp_only() {
    for udp in [true, false] {
        // Two bytes of payload that make the sum come out as 0xFFFF: those missing in the sum without them.
        let probe = Recipe { udp, ..Recipe::tcp(vec![0, 0]) };
        let checksum = &probe.frame()[probe.field()..][..2];
        let recipe = Recipe { payload: checksum.to_vec(), ..probe.clone() };
        let mut bench = Bench::new();
        let mut packet = bench.packet(&recipe.partial());
        recipe.mark_partial(&mut packet);
        let sent = send(&mut bench, packet);
        let expected = if udp { [0xff, 0xff] } else { [0, 0] };
        assert_eq!(sent[0][recipe.field()..][..2], expected);
        assert_sound(&sent[0], &recipe);
    }
}

#[test]
fn a_seed_without_the_length_shows_on_the_wire() {
    // The device adds up what it finds; it must not hide another convention for seeds.
    let recipe = Recipe::tcp(vec![5; 3000]);
    let mut bytes = recipe.partial();
    let (field, len) = (recipe.field(), (bytes.len() - recipe.l4()) as u16);
    let seed = u16::from_be_bytes([bytes[field], bytes[field + 1]]);
    bytes[field..field + 2].copy_from_slice(&(seed - len).to_be_bytes());
    let mut bench = Bench::new();
    let mut packet = bench.packet(&bytes);
    recipe.mark_super(&mut packet, 1000, SegFlags::empty());
    for (mut frame, number) in send(&mut bench, packet).into_iter().zip(0..) {
        let sound =
            Recipe { seq: 100 + 1000 * number, id: number as u16, ..Recipe::tcp(vec![5; 1000]) };
        assert_ne!(frame, sound.frame());
        frame[field..field + 2].copy_from_slice(&sound.frame()[field..field + 2]);
        assert_eq!(frame, sound.frame(), "only the checksum is wrong");
    }
}

#[test]
fn a_frame_that_asks_nothing_leaves_as_it_is() {
    let mut bench = Bench::new();
    let frames =
        [vec![0; 3], hex("ffffffffffff0200000000010806"), Recipe::tcp(b"x".to_vec()).frame()];
    for frame in &frames {
        let packet = bench.packet(frame);
        assert_eq!(send(&mut bench, packet), std::slice::from_ref(frame));
    }
}

#[test]
fn each_lie_shows() {
    let recipe = Recipe { id: 7, ..Recipe::tcp(vec![1; 250]) };
    let honest = cut(&recipe, 100, SegFlags::empty());
    for (lie, differing) in [
        (Lies::SKIP_CHECKSUM, vec![0, 1, 2]),
        (Lies::CORRUPT_LAST_SEGMENT, vec![2]),
        (Lies::SAME_IP_ID, vec![1, 2]),
    ] {
        let faults = Faults { lies: lie, ..Faults::default() };
        let config = EmulatedConfig { caps: Caps::all(), faults, ..EmulatedConfig::new("liar") };
        let mut nic = nic_of(config);
        let mut bench = Bench::new();
        let mut packet = bench.packet(&recipe.partial());
        recipe.mark_super(&mut packet, 100, SegFlags::empty());
        bench.send_all(&mut *nic.tx, vec![packet]);
        let lied = data_of(&nic.wire.frames());
        let differs = (0..3).filter(|&number| lied[number] != honest[number]);
        assert_eq!(differs.collect::<Vec<_>>(), differing, "{lie:?}");
    }
}

proptest! {
    #[test]
    fn segments_are_sound_and_make_up_the_payload(
        udp: bool, v6: bool, tags in 0..3_usize, id: u16, seq: u32, fixed: bool,
        options in 0..10_usize, payload in prop::collection::vec(any::<u8>(), 2..4000), gso in 1..1500_u16,
        splits in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let recipe = Recipe {
            udp, v6, tags, id, seq, options: vec![1; 4 * options], payload, ..Recipe::tcp([])
        };
        prop_assume!(usize::from(gso) < recipe.payload.len());
        let bytes = recipe.partial();
        let payload_len = recipe.payload.len();
        let mut splits: Vec<usize> =
            splits.iter().map(|split| recipe.header_len() + split.index(payload_len)).collect();
        splits.sort_unstable();
        splits.dedup();
        let mut bench = Bench::new();
        let mut packet = bench.packet_in_parts(&bytes, &splits);
        let fixed = fixed && !udp && !v6;
        let flags = if fixed { SegFlags::FIXED_ID } else { SegFlags::empty() };
        recipe.mark_super(&mut packet, gso, flags);
        let frames = send(&mut bench, packet);
        let expected = recipe.payload.chunks(usize::from(gso)).enumerate().map(|(number, part)| Recipe {
            seq: seq.wrapping_add(number as u32 * u32::from(gso)),
            id: if fixed { id } else { id.wrapping_add(number as u16) },
            payload: part.to_vec(),
            ..recipe.clone()
        }.frame());
        prop_assert_eq!(frames, expected.collect::<Vec<_>>());
    }
}
