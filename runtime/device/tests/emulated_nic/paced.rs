//! Traffic with a pace, a mix of sizes, random turns, an address, and unfinished checksums.

use crate::support::*;
use corelane_device::Emulated;
use corelane_device::emulated::{
    EmulatedConfig, FrameSize, Generate, Order, Protocol, Rate, Traffic,
};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Burst, Csum};
use corelane_runtime::port::{Port, RxQueue};
use corelane_runtime::stage::Progress;
use std::collections::HashMap;

fn queues(plan: Generate, queues: usize, caps: Caps) -> Vec<Box<dyn RxQueue>> {
    let config =
        EmulatedConfig { rx: Traffic::Generate(plan), queues, caps, ..EmulatedConfig::new("made") };
    let mut port = Emulated::open(config).unwrap();
    (0..queues).map(|_| port.open_rx().unwrap()).collect()
}

/// Polls a queue whenever it wants to be asked, until its end: times and bytes of the frames.
fn run(bench: &mut Bench, rx: &mut dyn RxQueue) -> Vec<(u64, Vec<u8>)> {
    let mut frames = Vec::new();
    let mut burst = Burst::new();
    loop {
        match bench.poll(rx, &mut burst, 32) {
            Progress::Worked(_) => {}
            Progress::Idle(Some(time)) => {
                assert!(time > bench.now, "it says when it is worth asking again");
                bench.now = time;
            }
            Progress::Done => return frames,
            other => panic!("{other:?}"),
        }
        frames.extend(burst.iter().map(|packet| (packet.time(), bytes_of(packet))));
        let packets = burst.drain().collect();
        bench.release(packets);
    }
}

#[test]
fn frames_come_at_their_pace_and_not_before() {
    let plan = Generate { rate: Rate::Frames(1_000_000), count: Some(500), ..Generate::default() };
    let mut bench = Bench::new();
    bench.now = 77;
    let frames = run(&mut bench, &mut *queues(plan, 1, Caps::empty())[0]);
    let times: Vec<u64> = frames.iter().map(|(time, _)| *time).collect();
    assert_eq!(times, (0..500).map(|n| 77 + 1_000 * n).collect::<Vec<u64>>());
}

#[test]
fn bits_count_everything_that_is_on_the_wire() {
    // A frame of 1518 bytes, preamble and gap: 1538 bytes, 1230.4 ns at 10 Gb/s.
    let (size, rate) = (FrameSize::Bytes(1518), Rate::Bits(10_000_000_000));
    let plan = Generate { rate, size, count: Some(11), ..Generate::default() };
    let mut bench = Bench::new();
    let frames = run(&mut bench, &mut *queues(plan, 1, Caps::empty())[0]);
    assert_eq!(frames[1].0, 1230);
    assert_eq!(frames[10].0, 12_304);
}

#[test]
fn what_was_not_taken_in_time_is_owed() {
    let plan = Generate { rate: Rate::Frames(1_000_000), ..Generate::default() };
    let mut rx = queues(plan, 1, Caps::empty()).remove(0);
    let mut bench = Bench::new();
    let mut burst = Burst::new();
    assert_eq!(bench.poll(&mut *rx, &mut burst, 32), Progress::Worked(1));
    bench.now = 20_500;
    assert_eq!(bench.poll(&mut *rx, &mut burst, 32), Progress::Worked(20));
    assert_eq!(bench.poll(&mut *rx, &mut burst, 32), Progress::Idle(Some(21_000)));
}

#[test]
fn queues_share_the_pace() {
    let plan = Generate {
        flows: 8,
        rate: Rate::Frames(1_000_000),
        count: Some(800),
        ..Generate::default()
    };
    for rx in &mut queues(plan, 4, Caps::empty()) {
        let mut bench = Bench::new();
        let frames = run(&mut bench, &mut **rx);
        assert_eq!((frames.len(), frames[199].0), (200, 199 * 4_000));
    }
}

#[test]
fn joining_keeps_the_pace_too() {
    let plan = Generate {
        protocol: Protocol::TcpBulk,
        rate: Rate::Frames(1_000_000),
        count: Some(100),
        ..Generate::default()
    };
    let mut bench = Bench::new();
    let mut rx = queues(plan, 1, Caps::RX_HW_GRO.with_implied()).remove(0);
    let frames = run(&mut bench, &mut *rx);
    assert_eq!((frames.len(), rx.report().wire_packets, bench.now), (100, 100, 99_000));
}

#[test]
fn a_mix_has_its_sizes_in_its_ratio() {
    let size = FrameSize::Mix(vec![(64, 7), (9018, 1)]);
    let plan = Generate { size, count: Some(800), ..Generate::default() };
    let mut bench = Bench::new();
    let frames = run(&mut bench, &mut *queues(plan, 1, Caps::empty())[0]);
    let mut counts = HashMap::new();
    frames.iter().for_each(|(_, frame)| *counts.entry(frame.len()).or_insert(0) += 1);
    assert_eq!(counts, HashMap::from([(60, 700), (9014, 100)]));
}

#[test]
fn a_few_flows_make_most_of_random_traffic_and_queues_share_it_by_weight() {
    let plan = || Generate {
        flows: 100,
        order: Order::Zipf(1.2),
        count: Some(10_000),
        ..Generate::default()
    };
    let by_flow = |parts: usize| {
        let mut counts: HashMap<Vec<u8>, u32> = HashMap::new();
        for rx in &mut queues(plan(), parts, Caps::empty()) {
            let frames = run(&mut Bench::new(), &mut **rx);
            frames
                .iter()
                .for_each(|(_, frame)| *counts.entry(frame[26..30].to_vec()).or_insert(0) += 1);
        }
        counts
    };
    // The share of the first flow: 1 / (1 + 1/2^1.2 + .. + 1/100^1.2).
    let weights: f64 = (1..=100).map(|n| f64::from(n).powf(-1.2)).sum();
    for parts in [1, 3] {
        let counts = by_flow(parts);
        assert_eq!(counts.values().sum::<u32>(), 10_000);
        let first = f64::from(counts[&vec![198, 18, 0, 0]]) / 10_000.0;
        assert!(
            (first - 1.0 / weights).abs() < 0.02,
            "{parts} queues: {first} and {}",
            1.0 / weights
        );
    }
    assert_eq!(by_flow(1), by_flow(1), "the same in every run");
}

#[test]
fn frames_go_to_the_address_they_are_told() {
    let plan = Generate { destination: [2, 9, 8, 7, 6, 5], count: Some(1), ..Generate::default() };
    let frames = run(&mut Bench::new(), &mut *queues(plan, 1, Caps::empty())[0]);
    assert_eq!(frames[0].1[..12], [2, 9, 8, 7, 6, 5, 2, 0, 0, 0, 0, 1]);
    let group = Generate { destination: [3, 0, 0, 0, 0, 0], ..Generate::default() };
    let rx = Traffic::Generate(group);
    let error = Emulated::open(EmulatedConfig { rx, ..EmulatedConfig::new("made") }).unwrap_err();
    assert!(error.user && error.message.contains("group address"), "{error}");
}

#[test]
fn unfinished_checksums_are_marked_and_finish_to_the_same_frames() {
    for (protocol, ipv6) in [
        (Protocol::Udp, false),
        (Protocol::Udp, true),
        (Protocol::TcpBulk, false),
        (Protocol::TcpBulk, true),
    ] {
        let plan = |partial| Generate {
            flows: 3,
            count: Some(30),
            size: FrameSize::Imix,
            protocol,
            ipv6,
            partial,
            ..Generate::default()
        };
        let mut bench = Bench::new();
        let whole = run(&mut bench, &mut *queues(plan(false), 1, Caps::empty())[0]);
        let caps =
            Caps::RX_PARTIAL | Caps::RX_HW_GRO.with_implied() | Caps::RX_UDP | Caps::RX_COMPLETE;
        let rx = Traffic::Generate(plan(true));
        let caps = caps | Caps::TX_GENERIC.with_implied();
        let mut nic = nic_of(EmulatedConfig { caps, rx, ..EmulatedConfig::new("tap") });
        let packets = bench.receive_all(&mut *nic.rx);
        assert!(packets.iter().all(|packet| !packet.is_super()), "nothing unfinished is joined");
        assert!(packets.iter().all(|packet| packet.meta().l4[0] == Csum::Partial));
        let good = if ipv6 { Csum::Unknown } else { Csum::Good };
        assert!(packets.iter().all(|packet| packet.meta().l3[0] == good));
        bench.send_all(&mut *nic.tx, packets);
        assert_eq!(nic.refusals.total(), 0, "{}", nic.refusals);
        let whole: Vec<Vec<u8>> = whole.into_iter().map(|(_, frame)| frame).collect();
        assert_eq!(data_of(&nic.wire.frames()), whole);
    }
}

#[test]
fn a_device_that_hands_over_nothing_unfinished_refuses_such_traffic() {
    let rx = Traffic::Generate(Generate { partial: true, ..Generate::default() });
    let config = EmulatedConfig { rx, caps: Caps::RX_TCP, ..EmulatedConfig::new("made") };
    let error = Emulated::open(config).unwrap_err();
    assert!(error.user && error.message.contains("rx_partial"), "{error}");
}

#[test]
fn what_has_no_pace_or_mix_is_refused() {
    for (plan, words) in [
        (Generate { rate: Rate::Bits(0), ..Generate::default() }, "`rate` is 0"),
        (Generate { size: FrameSize::Mix(vec![]), ..Generate::default() }, "`size` is a mix"),
        (Generate { order: Order::Zipf(0.0), ..Generate::default() }, "`order` is `Zipf(0)`"),
    ] {
        let rx = Traffic::Generate(plan);
        let error =
            Emulated::open(EmulatedConfig { rx, ..EmulatedConfig::new("made") }).unwrap_err();
        assert!(error.user && error.message.contains(words), "{error}");
    }
}
