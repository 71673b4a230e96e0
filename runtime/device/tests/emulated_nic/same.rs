//! The same frames on however many queues: a flow's are, in their order, and all of them where flows take turns.

use crate::support::*;
use corelane_device::emulated::{
    Emulated, EmulatedConfig, FrameSize, Generate, Order, Protocol, Traffic,
};
use corelane_runtime::port::Port;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Frames by flow, in their order, from all queues of a port.
fn by_flow(plan: &Generate, queues: usize) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let rx = Traffic::Generate(plan.clone());
    let config = EmulatedConfig { rx, queues, ..EmulatedConfig::new("made") };
    let mut port = Emulated::open(config).expect("a port");
    let mut opened: Vec<_> = (0..queues).map(|_| port.open_rx().expect("a queue")).collect();
    let mut flows: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    let mut bench = Bench::new();
    for rx in &mut opened {
        let packets = bench.receive_all(&mut **rx);
        for packet in &packets {
            let frame = bytes_of(packet);
            // Addresses and ports, of either version of IP: lengths, numbers and checksums are elsewhere.
            let key = if plan.ipv6 { &frame[22..58] } else { &frame[26..38] };
            flows.entry(key.to_vec()).or_default().push(frame);
        }
        bench.release(packets);
    }
    flows
}

fn any_plan() -> impl Strategy<Value = Generate> {
    let size = prop_oneof![
        Just(FrameSize::Imix),
        (64..1518_u32).prop_map(FrameSize::Bytes),
        Just(FrameSize::Mix(vec![(64, 3), (200, 2), (1000, 1)])),
    ];
    let protocol = prop_oneof![Just(Protocol::Udp), Just(Protocol::TcpBulk)];
    let order = prop_oneof![Just(Order::RoundRobin), (1..20_u32).prop_map(Order::Trains)];
    (1..40_u32, 1..400_u64, size, protocol, order, any::<bool>(), any::<u64>()).prop_map(
        |(flows, count, size, protocol, order, ipv6, seed)| Generate {
            flows,
            count: Some(count),
            size,
            protocol,
            order,
            ipv6,
            seed,
            ..Generate::default()
        },
    )
}

proptest! {
    #[test]
    fn the_number_of_queues_changes_no_frame(plan in any_plan(), queues in 2..9_usize) {
        prop_assert_eq!(by_flow(&plan, 1), by_flow(&plan, queues));
    }

    /// By chance other flows have their turns on other numbers of queues; each flow is as it is.
    #[test]
    fn of_a_flow_that_has_its_turns_by_chance_the_frames_are_the_same(
        plan in any_plan(), queues in 2..9_usize,
    ) {
        let plan = Generate { order: Order::Zipf(1.1), ..plan };
        let (one, many) = (by_flow(&plan, 1), by_flow(&plan, queues));
        let frames = |flows: &BTreeMap<_, Vec<Vec<u8>>>| flows.values().map(Vec::len).sum::<usize>();
        prop_assert_eq!(frames(&one), frames(&many));
        for (flow, frames) in &one {
            let others = many.get(flow).map(Vec::as_slice).unwrap_or_default();
            let both = frames.len().min(others.len());
            prop_assert_eq!(&frames[..both], &others[..both]);
        }
    }
}

/// A mix keeps its ratio on every queue, whatever falls to it.
#[test]
fn each_queue_has_the_mix() {
    let plan = Generate { flows: 1000, size: FrameSize::Imix, ..Generate::default() };
    let config =
        EmulatedConfig { rx: Traffic::Generate(plan), queues: 4, ..EmulatedConfig::new("made") };
    let mut port = Emulated::open(config).expect("a port");
    let mut opened: Vec<_> = (0..4).map(|_| port.open_rx().expect("a queue")).collect();
    let mut bench = Bench::new();
    for rx in &mut opened {
        let mut counts = BTreeMap::new();
        for _ in 0..750 {
            let mut burst = corelane_runtime::packet::Burst::new();
            bench.poll(&mut **rx, &mut burst, 32);
            let packets: Vec<_> = burst.drain().collect();
            packets.iter().for_each(|packet| *counts.entry(packet.len()).or_insert(0_u32) += 1);
            bench.release(packets);
        }
        // 24,000 frames: 96 of each flow, which is eight times through the mix.
        assert_eq!(counts, BTreeMap::from([(60, 14_000), (590, 8_000), (1514, 2_000)]));
    }
}
