//! Generated traffic: every frame is right, and as many and as long as asked for.

use crate::support::*;
use corelane_device::emulated::{
    Emulated, EmulatedConfig, FrameSize, Generate, Order, Protocol, Traffic,
};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Burst, Csum};
use corelane_runtime::stage::Progress;
use std::collections::HashMap;

/// What a device reports of a frame: header, transport, sum of the datagram.
type Report = (Csum, Csum, Option<u16>);

fn made(generate: Generate, caps: Caps) -> (Vec<Vec<u8>>, Vec<Report>) {
    let rx = Traffic::Generate(generate);
    let mut nic = nic_of(EmulatedConfig { caps, rx, ..EmulatedConfig::new("made") });
    let mut bench = Bench::new();
    let packets = bench.receive_all(&mut *nic.rx);
    let frames = packets.iter().map(bytes_of).collect();
    let metas = packets.iter().map(|packet| packet.meta());
    let metas =
        metas.map(|meta| (meta.l3[0], meta.l4[0], meta.known().map(|known| known.sum))).collect();
    bench.release(packets);
    (frames, metas)
}

#[test]
fn what_the_device_says_of_made_frames_it_says_of_received_ones() {
    let checks = Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP | Caps::RX_COMPLETE;
    for (protocol, ipv6) in [
        (Protocol::Udp, false),
        (Protocol::Udp, true),
        (Protocol::TcpBulk, false),
        (Protocol::TcpBulk, true),
    ] {
        let size = FrameSize::Imix;
        let plan =
            Generate { flows: 3, count: Some(100), size, protocol, ipv6, ..Generate::default() };
        let (frames, metas) = made(plan, checks);
        assert_eq!(frames.len(), 100);
        let list = frames.iter().map(|data| corelane_device::emulated::Frame::new(0, data.clone()));
        let mut nic = nic(checks, &list.collect::<Vec<_>>());
        let mut bench = Bench::new();
        let packets = bench.receive_all(&mut *nic.rx);
        for (packet, &(l3, l4, known)) in packets.iter().zip(&metas) {
            let meta = packet.meta();
            assert_eq!(
                (meta.l3[0], meta.l4[0], meta.known().map(|known| known.sum)),
                (l3, l4, known)
            );
            assert_eq!(l4, Csum::Good);
        }
        bench.release(packets);
    }
}

#[test]
fn frames_are_sound_by_the_oracle() {
    let plan =
        Generate { flows: 2, count: Some(40), size: FrameSize::Bytes(200), ..Generate::default() };
    for frame in made(plan, Caps::empty()).0 {
        let header = &frame[14..34];
        assert_eq!(word_sum(header) % 65_535, 0);
        let udp = &frame[34..];
        let total = word_sum(&header[12..20]) + 17 + udp.len() as u64 + word_sum(udp);
        assert_eq!(total % 65_535, 0);
        assert_eq!(
            (frame.len(), udp.len()),
            (196, usize::from(u16::from_be_bytes([udp[4], udp[5]])))
        );
    }
}

#[test]
fn imix_is_seven_to_four_to_one() {
    let plan =
        Generate { flows: 5, count: Some(120), size: FrameSize::Imix, ..Generate::default() };
    let mut counts = HashMap::new();
    made(plan, Caps::empty())
        .0
        .iter()
        .for_each(|frame| *counts.entry(frame.len()).or_insert(0) += 1);
    assert_eq!(counts, HashMap::from([(60, 70), (590, 40), (1514, 10)]));
}

#[test]
fn flows_take_turns_as_asked() {
    let turns = |order| -> Vec<u8> {
        let plan = Generate { flows: 3, count: Some(8), order, ..Generate::default() };
        made(plan, Caps::empty()).0.iter().map(|frame| frame[29]).collect()
    };
    assert_eq!(turns(Order::RoundRobin), [0, 1, 2, 0, 1, 2, 0, 1]);
    assert_eq!(turns(Order::Trains(3)), [0, 0, 0, 1, 1, 1, 2, 2]);
}

#[test]
fn bulk_transfers_can_be_joined_and_cut() {
    let plan = || Generate {
        flows: 4,
        count: Some(400),
        size: FrameSize::Bytes(1518),
        protocol: Protocol::TcpBulk,
        order: Order::Trains(8),
        ..Generate::default()
    };
    let rx = Traffic::Generate(plan());
    let mut nic = nic_of(EmulatedConfig { caps: Caps::all(), rx, ..EmulatedConfig::new("made") });
    let mut bench = Bench::new();
    let packets = bench.receive_all(&mut *nic.rx);
    assert!(packets.len() <= 50, "{} packets", packets.len());
    bench.send_all(&mut *nic.tx, packets);
    assert_eq!(nic.refusals.total(), 0, "{}", nic.refusals);
    let mut cut = data_of(&nic.wire.frames());
    let mut plain = made(plan(), Caps::empty()).0;
    cut.sort_unstable();
    plain.sort_unstable();
    assert_eq!(cut, plain);
}

#[test]
fn queues_share_flows_and_count() {
    for queues in [1, 2, 3, 7] {
        let rx = Traffic::Generate(Generate { flows: 5, count: Some(101), ..Generate::default() });
        let config = EmulatedConfig { rx, queues, ..EmulatedConfig::new("made") };
        let mut port = Emulated::open(config).unwrap();
        let open = |_| corelane_runtime::port::Port::open_rx(&mut port).unwrap();
        let mut opened: Vec<_> = (0..queues).map(open).collect();
        let mut bench = Bench::new();
        let mut total = 0;
        for rx in &mut opened {
            let packets = bench.receive_all(&mut **rx);
            total += packets.len();
            bench.release(packets);
        }
        assert_eq!(total, 101, "{queues} queues");
    }
}

#[test]
fn without_a_count_it_goes_on_and_times_are_those_of_the_run() {
    let rx = Traffic::Generate(Generate::default());
    let mut nic = nic_of(EmulatedConfig { rx, ..EmulatedConfig::new("made") });
    let mut bench = Bench::new();
    let mut burst = Burst::new();
    for now in 0..200 {
        bench.now = now;
        assert_eq!(bench.poll(&mut *nic.rx, &mut burst, 32), Progress::Worked(32));
        assert!(burst.iter().all(|packet| packet.time() == now));
        let packets = burst.drain().collect();
        bench.release(packets);
    }
}

#[test]
fn what_cannot_be_generated_is_refused() {
    let plain = Generate::default();
    let many = Generate::MAX_FLOWS + 1;
    let wrong = [
        (Generate { flows: 0, ..plain.clone() }, "give `flows` at least 1"),
        (Generate { flows: many, ..plain.clone() }, "`flows` is 1048577, but at most 1048576"),
        (Generate { flows: u32::MAX, ..plain.clone() }, "`flows` is 4294967295, but at most"),
        (Generate { order: Order::Trains(0), ..plain.clone() }, "`order` has trains of 0"),
        (Generate { size: FrameSize::Bytes(65_554), ..plain.clone() }, "give 65553 or less"),
        (Generate { size: FrameSize::Bytes(u32::MAX), ..plain }, "`size` is 4294967295, but"),
    ];
    for (generate, words) in wrong {
        let rx = Traffic::Generate(generate);
        let error =
            Emulated::open(EmulatedConfig { rx, ..EmulatedConfig::new("made") }).unwrap_err();
        assert!(error.user && error.what.contains("made"), "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn the_largest_numbers_allowed_are_made() {
    let plan = Generate {
        flows: Generate::MAX_FLOWS,
        size: FrameSize::Bytes(65_553),
        order: Order::Trains(u32::MAX),
        count: Some(3),
        ..Generate::default()
    };
    assert!(made(plan, Caps::empty()).0.iter().all(|frame| frame.len() == 65_549));
    let endless = Generate { count: Some(u64::MAX), ..Generate::default() };
    let config = EmulatedConfig { rx: Traffic::Generate(endless), ..EmulatedConfig::new("made") };
    assert!(Emulated::open(config).is_ok());
}
