//! Hardware GRO: what joins, what does not, and that cutting gives back exactly what came.

use crate::support::*;
use corelane_device::capture::CaptureFile;
use corelane_device::emulated::Frame;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, Packet, SegFlags, SegKind};
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;

/// A capture that is committed with the examples, recorded from a kernel.
pub(crate) fn example(name: &str) -> Vec<Frame> {
    let captures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/captures");
    let mut file = CaptureFile::open(captures.join(name)).unwrap();
    let (mut records, mut frames) = (file.records(), Vec::new());
    while let Some(record) = records.next_record() {
        let record = record.unwrap();
        frames.push(Frame::new(record.time_ns, record.data.to_vec()));
    }
    frames
}

fn frames_of(recipes: &[Recipe]) -> Vec<Frame> {
    let frames = recipes.iter().zip(0..);
    frames.map(|(recipe, time)| Frame::new(time, recipe.frame())).collect()
}

/// Receives, with everything the hardware can do, and hands each packet to `look`; then sends all again and
/// requires the frames that came, in the order of their flows.
pub(crate) fn there_and_back(frames: &[Frame], look: impl FnOnce(&[Packet])) {
    let mut nic = nic(Caps::all(), frames);
    let mut bench = Bench::with(16, 2048, 512);
    let packets = bench.receive_all(&mut *nic.rx);
    look(&packets);
    let received = nic.rx.report();
    assert_eq!(received.wire_packets, frames.len() as u64);
    assert_eq!(received.packets, packets.len() as u64);
    bench.send_all(&mut *nic.tx, packets);
    assert_eq!(nic.refusals.total(), 0, "{}", nic.refusals);
    assert_eq!(nic.tx.report().wire_packets, frames.len() as u64);
    assert_eq!(by_flow(&nic.wire.frames()), by_flow(frames));
    bench.assert_nothing_out();
}

/// Bytes of the frames of each flow in order. A flow is tags, addresses, protocol, and the first four bytes
/// behind the IP header, which are the ports of a whole TCP segment.
fn by_flow(frames: &[Frame]) -> HashMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut flows: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
    for frame in frames {
        let data = &frame.data;
        let mut l3 = 14;
        while matches!(data.get(l3 - 2..l3), Some([0x81, 0x00] | [0x88, 0xa8])) {
            l3 += 4;
        }
        let key = match data.get(l3 - 2..l3) {
            Some([0x08, 0x00]) => [data.get(l3 + 9..l3 + 10), data.get(l3 + 12..l3 + 24)],
            Some([0x86, 0xdd]) => [data.get(l3 + 6..l3 + 7), data.get(l3 + 8..l3 + 44)],
            _ => [None, None],
        };
        let key = [data.get(12..l3), key[0], key[1]].map(Option::unwrap_or_default).concat();
        flows.entry(key).or_default().push(data.clone());
    }
    flows
}

/// Payload bytes of each packet received.
fn sizes(recipes: &[Recipe]) -> Vec<u32> {
    let mut sizes = Vec::new();
    there_and_back(&frames_of(recipes), |packets| {
        for packet in packets {
            let bytes = bytes_of(packet);
            let total = u32::from(u16::from_be_bytes([bytes[16], bytes[17]]));
            sizes.push(total - 20 - u32::from(bytes[46] >> 4) * 4);
        }
    });
    sizes
}

/// The packet of linux-selftests A.0: `len` bytes at stream offset `off`.
fn p(off: u32, len: usize) -> Recipe {
    Recipe { seq: 100 + off, ..Recipe::tcp(vec![b'a'; len]) }
}

#[test]
fn a_joined_packet_is_described_as_one_to_be_cut() {
    let ids = [65_535, 0, 1];
    let train: Vec<Recipe> =
        (0..3).map(|n| Recipe { id: ids[n as usize], ..p(100 * n, 100) }).collect();
    there_and_back(&frames_of(&train), |packets| {
        let [packet] = packets else { panic!("{packets:?}") };
        let segmentation = packet.segmentation();
        assert_eq!((segmentation.kind, segmentation.gso_size), (SegKind::Tcp4, 100));
        assert_eq!((segmentation.count, segmentation.flags), (3, SegFlags::empty()));
        let meta = packet.meta();
        assert_eq!((meta.l3[0], meta.l4[0]), (Csum::Good, Csum::Partial));
        // The superpacket as a sender would have made it.
        let whole = Recipe { id: 65_535, ..p(0, 300) };
        assert_eq!(bytes_of(packet), whole.partial());
        assert_eq!(meta.partial[0].start, 34);
        assert_eq!(meta.partial[0].field, 50);
        assert_eq!((packet.is_cut(), packet.time()), (false, 0));
    });
}

/// linux-selftests A.1 and A.2.
#[test]
fn lengths_and_flags() {
    assert_eq!(sizes(&[p(0, 100), p(100, 100)]), [200]);
    assert_eq!(sizes(&[p(0, 100), p(100, 50)]), [150]);
    assert_eq!(sizes(&[p(0, 50), p(50, 100)]), [50, 100]);
    assert_eq!(sizes(&[p(0, 100), p(100, 50), p(150, 100)]), [150, 100]);
    assert_eq!(sizes(&[p(0, 0), p(0, 0)]), [0, 0]);
    let five = |changed: fn(Recipe) -> Recipe| -> Vec<u32> {
        let packets = (0..5).map(|n| if n == 2 { changed(p(200, 100)) } else { p(100 * n, 100) });
        sizes(&packets.collect::<Vec<_>>())
    };
    assert_eq!(five(|packet| Recipe { flags: 0x18, ..packet }), [300, 200], "PSH");
    assert_eq!(five(|packet| Recipe { flags: 0x11, ..packet }), [300, 200], "FIN");
    for flag in [0x02, 0x04, 0x20] {
        let special =
            |n: u32| if n == 2 { Recipe { flags: ACK | flag, ..p(0, 0) } } else { p(100 * n, 100) };
        assert_eq!(sizes(&(0..5).map(special).collect::<Vec<_>>()), [200, 0, 200], "{flag:#x}");
    }
    let cwr = |n: u32| {
        if n == 1 || n == 2 { Recipe { flags: 0x90, ..p(100 * n, 100) } } else { p(100 * n, 100) }
    };
    assert_eq!(sizes(&(0..5).map(cwr).collect::<Vec<_>>()), [100, 200, 200]);
}

/// linux-selftests A.3 and A.4.
#[test]
fn differing_headers() {
    let pair = |second: Recipe| sizes(&[p(0, 100), second]);
    assert_eq!(pair(Recipe { seq: 201, ..p(0, 100) }), [100, 100]);
    assert_eq!(pair(Recipe { window: 1, ..p(100, 100) }), [100, 100]);
    assert_eq!(pair(Recipe { ports: (1501, 8000), ..p(100, 100) }), [100, 100]);
    assert_eq!(pair(Recipe { options: vec![1; 4], ..p(100, 100) }), [100, 100]);
    let with = |options: [u8; 4], off| Recipe { options: options.to_vec(), ..p(off, 100) };
    assert_eq!(sizes(&[with([1, 1, 1, 0], 0), with([1, 1, 1, 0], 100)]), [200]);
    assert_eq!(sizes(&[with([1, 1, 1, 0], 0), with([1, 1, 0, 0], 100)]), [100, 100]);
}

#[test]
fn any_other_header_byte_keeps_segments_apart() {
    let first = p(0, 100);
    for at in 0..54 {
        // Lengths, ID, checksums and sequence number have their own rules, tested apart.
        if [16, 17, 18, 19, 24, 25, 38, 39, 40, 41, 50, 51].contains(&at) {
            continue;
        }
        let mut second = p(100, 100).frame();
        second[at] ^= 0x40;
        mend(&mut second);
        let frames = [Frame::new(0, first.frame()), Frame::new(1, second)];
        there_and_back(&frames, |packets| assert_eq!(packets.len(), 2, "byte {at}"));
    }
}

/// Makes both checksums right again, if the headers are still where they were.
fn mend(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let header = 65_535 - word_sum(&frame[14..34]) % 65_535;
    frame[24..26].copy_from_slice(&(header as u16).to_be_bytes());
    frame[50..52].fill(0);
    let len = frame.len() as u64 - 34;
    let total = word_sum(&frame[26..34]) + 6 + len + word_sum(&frame[34..]);
    frame[50..52].copy_from_slice(&((65_535 - total % 65_535) as u16).to_be_bytes());
}

#[test]
fn a_wrong_checksum_is_passed_on_as_it_is() {
    let mut frames = frames_of(&(0..10).map(|n| p(100 * n, 100)).collect::<Vec<_>>());
    frames[4].data[60] ^= 1;
    there_and_back(&frames, |packets| {
        let counts: Vec<u16> = packets.iter().map(|packet| packet.segments()).collect();
        assert_eq!(counts, [4, 1, 5]);
        assert_eq!(packets[1].meta().l4[0], Csum::Bad);
    });
}

#[test]
fn the_other_form_of_zero_is_not_joined() {
    // Payload bytes that make the checksum 0; 0xFFFF would verify as well.
    let probe = Recipe { payload: [vec![7; 98], vec![0, 0]].concat(), ..p(100, 0) };
    let field = probe.frame()[50..52].to_vec();
    let zero = Recipe { payload: [vec![7; 98], field].concat(), ..p(100, 0) };
    let mut frames = frames_of(&[p(0, 100), zero]);
    assert_eq!(frames[1].data[50..52], [0, 0]);
    there_and_back(&frames, |packets| assert_eq!(packets.len(), 1));
    frames[1].data[50..52].fill(0xff);
    there_and_back(&frames, |packets| {
        assert_eq!(packets.len(), 2);
        assert_eq!(packets[1].meta().l4[0], Csum::Good);
    });
}

/// linux-selftests A.5, and the cases it leaves out.
#[test]
fn identification() {
    let train = |ids: &[u16]| {
        let packets = ids.iter().zip(0..).map(|(&id, n)| Recipe { id, ..p(100 * n, 100) });
        sizes(&packets.collect::<Vec<_>>())
    };
    assert_eq!(train(&[8, 9]), [200]);
    assert_eq!(train(&[8, 8]), [200]);
    assert_eq!(train(&[8, 9, 9]), [200, 100]);
    assert_eq!(train(&[8, 8, 9]), [200, 100]);
    assert_eq!(train(&[65_535, 0]), [200]);
    assert_eq!(train(&[8, 10]), [100, 100]);
    assert_eq!(train(&[9, 8]), [100, 100]);
}

#[test]
fn padding_joins_only_as_the_tail() {
    let padded = |off| Recipe { trailer: vec![0; 5], ..p(off, 1) };
    there_and_back(&frames_of(&[p(0, 100), padded(100)]), |packets| {
        let [packet] = packets else { panic!("{packets:?}") };
        assert_eq!(packet.segmentation().flags, SegFlags::FIXED_ID | SegFlags::PAD_LAST);
        assert_eq!(packet.len(), 54 + 101);
    });
    assert_eq!(sizes(&[p(0, 1), padded(1)]), [2]);
    assert_eq!(sizes(&[padded(0), p(1, 1)]), [1, 1]);
    let nonzero = Recipe { trailer: vec![0, 0, 0, 0, 1], ..p(100, 1) };
    assert_eq!(sizes(&[p(0, 100), nonzero]), [100, 1]);
    let long = Recipe { trailer: vec![0; 6], ..p(100, 1) };
    assert_eq!(sizes(&[p(0, 100), long]), [100, 1]);
}

/// linux-selftests A.6, IPv4.
#[test]
fn the_limit_is_65535_bytes_of_ip() {
    let big = |n: u32| p(4056 * n, 4056);
    let full: Vec<Recipe> = (0..16).map(big).collect();
    let with =
        |len| [full.clone(), vec![p(4056 * 16, len), p(4056 * 16 + len as u32, len)]].concat();
    assert_eq!(sizes(&with(599)), [65_495, 599]);
    assert_eq!(sizes(&with(600)), [64_896, 1200]);
}

#[test]
fn flows_are_joined_side_by_side_and_never_overtake_themselves() {
    let other = |recipe: Recipe| Recipe { ports: (1600, 8000), ..recipe };
    let mixed =
        [p(0, 100), other(p(0, 100)), p(100, 100), other(p(100, 100)), p(200, 0), p(200, 100)];
    there_and_back(&frames_of(&mixed), |packets| {
        let counts: Vec<u16> = packets.iter().map(|packet| packet.segments()).collect();
        assert_eq!(counts, [2, 2, 1, 1], "the bare ACK ends what came before it");
    });
}

#[test]
fn a_fragment_is_not_overtaken_by_its_flow() {
    // It has no ports to tell its flow by, so it ends what its addresses have in the making.
    let mut fragment = p(100, 100).frame();
    fragment[20] = 0x20;
    mend(&mut fragment);
    let mut frames = frames_of(&[p(0, 100), p(0, 0), p(100, 100)]);
    frames[1].data = fragment;
    there_and_back(&frames, |packets| {
        let sent: Vec<Vec<u8>> = packets.iter().map(bytes_of).collect();
        assert_eq!(sent, data_of(&frames));
    });
}

#[test]
fn kernel_made_captures_come_back_and_are_joined() {
    for name in ["tcp-bulk-v4.pcap", "tcp-bulk-v6.pcap"] {
        let frames = example(name);
        there_and_back(&frames, |packets| {
            assert!(packets.len() * 2 < frames.len(), "{name}: {} packets", packets.len());
        });
    }
}

#[test]
fn what_was_joined_waits_for_a_buffer() {
    let frames = frames_of(&(0..8).map(|n| p(400 * n, 400)).collect::<Vec<_>>());
    let mut nic = nic(Caps::all(), &frames);
    let mut bench = Bench::with(0, 4, 1);
    bench.buffers.withhold([0, 4, 1]);
    let mut burst = corelane_runtime::packet::Burst::new();
    let starved = bench.poll(&mut *nic.rx, &mut burst, 32);
    assert_eq!(starved, corelane_runtime::stage::Progress::Starved);
    bench.buffers.withhold([0; 3]);
    let packets = bench.receive_all(&mut *nic.rx);
    assert_eq!((packets.len(), packets[0].segments()), (1, 8));
    bench.send_all(&mut *nic.tx, packets);
    assert_eq!(data_of(&nic.wire.frames()), data_of(&frames));
}

/// One frame of a random stream.
fn step() -> impl Strategy<Value = (u8, u16, u8, u8, bool)> {
    let len = prop_oneof![4 => Just(100_u16), 1 => 0..100_u16, 1 => Just(1)];
    (
        0..3_u8,
        len,
        prop::sample::select(vec![ACK, ACK, ACK, ACK, 0x18, 0x11, 0x90, 0x12]),
        0..12_u8,
        any::<bool>(),
    )
}

proptest! {
    #[test]
    fn cutting_gives_back_what_was_joined(
        steps in prop::collection::vec(step(), 1..120), v6: bool, fixed: bool, payload: u8,
    ) {
        let mut seqs = [u32::MAX - 500; 3];
        let mut ids = [65_530_u16; 3];
        let frames = steps.iter().zip(0..).map(|(&(flow, len, flags, odd, padded), time)| {
            let flow = usize::from(flow);
            let recipe = Recipe {
                v6, flags, id: ids[flow], seq: seqs[flow], ports: (1000 + flow as u16, 80),
                window: if odd == 1 { 7 } else { 65_535 },
                options: if odd == 2 { vec![1; 4] } else { vec![] },
                ..Recipe::tcp(vec![payload; usize::from(len)])
            };
            seqs[flow] = seqs[flow].wrapping_add(u32::from(len) + u32::from(odd == 3));
            ids[flow] = ids[flow].wrapping_add(u16::from(!fixed) + u16::from(odd == 4));
            let mut frame = recipe.frame();
            if odd == 5 {
                *frame.last_mut().unwrap() ^= 4;
            }
            if padded && frame.len() < 60 {
                frame.resize(60, if odd == 6 { 1 } else { 0 });
            }
            Frame::new(time, frame)
        });
        there_and_back(&frames.collect::<Vec<_>>(), |_| {});
    }
}
