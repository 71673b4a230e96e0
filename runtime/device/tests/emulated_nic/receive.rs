//! What the device reports about the frames it receives.

use crate::support::*;
use corelane_device::emulated::{EmulatedConfig, Faults, Frame, Lies, Traffic};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, LARGE_ROOM, Meta, MetaFlags};
use proptest::prelude::*;

/// The meta of a frame as a device of these capabilities delivers it.
fn meta_of(caps: Caps, frame: &Frame) -> Meta {
    let mut bench = Bench::new();
    let mut nic = nic(caps, std::slice::from_ref(frame));
    let packets = bench.receive_all(&mut *nic.rx);
    assert_eq!(packets.len(), 1);
    assert_eq!(bytes_of(&packets[0]), frame.data);
    assert_eq!((packets[0].time(), packets[0].meta().orig_len), (frame.time_ns, frame.orig_len));
    let meta = *packets[0].meta();
    bench.release(packets);
    bench.assert_nothing_out();
    meta
}

const CHECKS: Caps = Caps::RX_IP.union(Caps::RX_TCP).union(Caps::RX_UDP);

fn verdicts(frame: Vec<u8>) -> (Csum, Csum) {
    let meta = meta_of(CHECKS, &Frame::new(5, frame));
    assert_eq!((meta.l3[1], meta.l4[1]), (Csum::Unknown, Csum::Unknown));
    (meta.l3[0], meta.l4[0])
}

#[test]
fn good_and_bad_are_told_apart() {
    for (udp, v6, tags) in [(false, false, 0), (true, false, 1), (false, true, 2), (true, true, 0)]
    {
        let recipe = Recipe { udp, v6, tags, ..Recipe::tcp(b"payload".to_vec()) };
        let ip = if v6 { Csum::Unknown } else { Csum::Good };
        assert_eq!(verdicts(recipe.frame()), (ip, Csum::Good));
        let mut corrupt = recipe.frame();
        *corrupt.last_mut().unwrap() ^= 0x10;
        assert_eq!(verdicts(corrupt), (ip, Csum::Bad));
        if !v6 {
            let mut corrupt = recipe.frame();
            corrupt[recipe.l3() + 8] ^= 1;
            assert_eq!(verdicts(corrupt), (Csum::Bad, Csum::Good), "TTL is in no pseudo header");
        }
    }
}

#[test]
fn padding_is_not_summed() {
    let recipe = Recipe { trailer: vec![0xde, 0xad, 0xbe, 0xef, 1], ..Recipe::tcp(b"x".to_vec()) };
    assert_eq!(verdicts(recipe.frame()), (Csum::Good, Csum::Good));
}

#[test]
fn what_no_device_can_judge_is_left_unknown() {
    let tcp = Recipe::tcp(b"data".to_vec());
    let fragment = |flags: [u8; 2]| {
        let mut frame = tcp.frame();
        frame[20..22].copy_from_slice(&flags);
        verdicts(frame).1
    };
    assert_eq!(fragment([0x20, 0]), Csum::Unknown, "more fragments");
    assert_eq!(fragment([0, 7]), Csum::Unknown, "an offset");
    assert_eq!(fragment([0, 0]), Csum::Good);
    let mut overrun = tcp.frame();
    overrun.pop();
    assert_eq!(verdicts(overrun).1, Csum::Unknown);
    let mut zero = Recipe::udp(b"data".to_vec()).frame();
    zero[40..42].fill(0);
    assert_eq!(verdicts(zero).1, Csum::Unknown, "no checksum is neither good nor bad");
    let mut odd = Recipe::udp(b"data".to_vec()).frame();
    odd[39] -= 1;
    assert_eq!(verdicts(odd).1, Csum::Unknown, "a UDP length other than that of the datagram");
    assert_eq!(verdicts(vec![0; 13]), (Csum::Unknown, Csum::Unknown));
}

#[test]
fn a_cut_frame_is_never_reported_on() {
    let whole = Recipe::tcp(vec![1; 100]).frame();
    let frame = Frame::cut(9, whole[..100].to_vec(), whole.len() as u32);
    let meta = meta_of(Caps::all() - Caps::RX_HASH, &frame);
    assert_eq!((meta.l3[0], meta.l4[0], meta.flags), Default::default());
    // Even where the datagram is there and only a trailer is missing.
    let frame = Frame::cut(9, whole.clone(), whole.len() as u32 + 4);
    let meta = meta_of(Caps::all() - Caps::RX_HASH, &frame);
    assert_eq!((meta.l3[0], meta.l4[0], meta.flags), Default::default());
}

#[test]
fn each_bit_reports_its_own_and_nothing_else() {
    let tcp = Frame::new(0, Recipe::tcp(b"t".to_vec()).frame());
    let udp = Frame::new(0, Recipe::udp(b"u".to_vec()).frame());
    let seen = |caps, frame| {
        let meta = meta_of(caps, frame);
        (meta.l3[0], meta.l4[0], meta.flags)
    };
    let (none, good) = (Csum::Unknown, Csum::Good);
    let nothing = MetaFlags::empty();
    for (caps, of_tcp, of_udp) in [
        (Caps::empty(), (none, none, nothing), (none, none, nothing)),
        (Caps::RX_IP, (good, none, nothing), (good, none, nothing)),
        (Caps::RX_TCP, (none, good, nothing), (none, none, nothing)),
        (Caps::RX_UDP, (none, none, nothing), (none, good, nothing)),
        (Caps::RX_COMPLETE, (none, none, MetaFlags::KNOWN), (none, none, MetaFlags::KNOWN)),
        (Caps::RX_HASH, (none, none, MetaFlags::HASHED), (none, none, MetaFlags::HASHED)),
    ] {
        assert_eq!((seen(caps, &tcp), seen(caps, &udp)), (of_tcp, of_udp), "{caps:?}");
    }
}

#[test]
fn a_complete_sum_is_that_of_the_datagram() {
    for (tags, v6) in [(0, false), (1, false), (2, true)] {
        let trailer = vec![0x77; 3];
        let recipe = Recipe { tags, v6, trailer, ..Recipe::udp(b"seven b".to_vec()) };
        let frame = recipe.frame();
        let meta = meta_of(Caps::RX_COMPLETE, &Frame::new(0, frame.clone()));
        let known = meta.known().expect("a sum");
        assert_eq!(usize::from(known.from), recipe.l3());
        let datagram = &frame[recipe.l3()..frame.len() - 3];
        let expected = word_sum(datagram) % 65_535;
        assert_eq!(u64::from(known.sum) % 65_535, expected);
        assert_ne!(known.sum, 0, "a datagram is never all zero");
    }
}

#[test]
fn the_hash_is_the_same_for_both_directions() {
    let hash = |ports| {
        let mut frame = Recipe { ports, ..Recipe::tcp(b"x".to_vec()) }.frame();
        if ports.0 > ports.1 {
            let (source, destination) = frame[26..34].split_at_mut(4);
            source.swap_with_slice(destination);
        }
        meta_of(Caps::RX_HASH, &Frame::new(0, frame)).hash
    };
    assert_eq!(hash((1, 2)), hash((2, 1)));
    assert_ne!(hash((1, 2)), hash((1, 3)));
}

#[test]
fn a_lie_about_bad_checksums_shows() {
    let mut frame = Recipe::udp(b"data".to_vec()).frame();
    frame[44] ^= 1;
    let faults = Faults { lies: Lies::REPORT_BAD_AS_GOOD, ..Faults::default() };
    let rx = Traffic::Frames { frames: vec![Frame::new(0, frame)], repeat: false };
    let mut nic =
        nic_of(EmulatedConfig { caps: CHECKS, rx, faults, ..EmulatedConfig::new("liar") });
    let mut bench = Bench::new();
    let packets = bench.receive_all(&mut *nic.rx);
    assert_eq!(packets[0].meta().l4[0], Csum::Good);
    bench.release(packets);
}

#[test]
fn frames_over_64_kib_are_chains() {
    let mut data = vec![0; 3 * LARGE_ROOM as usize - 1];
    data.iter_mut().enumerate().for_each(|(at, byte)| *byte = at as u8);
    let mut nic = nic(Caps::MULTI_PART, &[Frame::new(3, data.clone())]);
    let mut bench = Bench::new();
    let packets = bench.receive_all(&mut *nic.rx);
    assert_eq!((packets[0].part_count(), packets[0].time()), (3, 3));
    bench.send_all(&mut *nic.tx, packets);
    assert_eq!(nic.wire.frames(), [Frame::new(3, data)]);
}

#[test]
fn kernel_made_captures_are_all_good() {
    for name in ["tcp-bulk-v4.pcap", "tcp-bulk-v6.pcap"] {
        let frames = crate::joining::example(name);
        let mut nic = nic(CHECKS, &frames);
        let mut bench = Bench::with(0, 8192, 8);
        let packets = bench.receive_all(&mut *nic.rx);
        let tcp = |frame: &&Frame| frame.data[23] == 6 || frame.data[20] == 6;
        let expected = frames.iter().filter(tcp).count();
        let good = packets.iter().filter(|packet| packet.meta().l4[0] == Csum::Good).count();
        assert_eq!(good, expected, "{name}");
        assert!(packets.iter().all(|packet| packet.meta().l4[0] != Csum::Bad));
        bench.release(packets);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_change(
        bytes in prop::collection::vec(any::<u8>(), 0..200), ethertype in 0..3, cut: bool,
    ) {
        let start = match ethertype {
            0 => hex("020000000002020000000001 0800 4500"),
            1 => hex("020000000002020000000001 86dd 60000000"),
            _ => Vec::new(),
        };
        let data = [start, bytes].concat();
        let frame = if cut { Frame::cut(1, data, 2000) } else { Frame::new(1, data) };
        meta_of(Caps::all(), &frame);
    }
}
