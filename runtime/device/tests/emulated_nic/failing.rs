//! Units that fail while packets flow: what needs them waits, untouched, and the port says what it lost and why.

use crate::support::*;
use crate::tunnel::Wrap;
use crate::tunnel_cut::{knowing, repeated, superpacket};
use corelane_device::Emulated;
use corelane_device::emulated::{
    Collector, EmulatedConfig, Failing, Faults, Generate, Onset, Protocol, Sink, Traffic,
};
use corelane_runtime::offload::{Caps, PortCaps};
use corelane_runtime::packet::{Burst, Csum, Packet, SegFlags};
use corelane_runtime::port::{Port, RxQueue, TxQueue};
use corelane_runtime::stage::Progress;
use proptest::prelude::*;
use std::sync::Arc;

struct Port1 {
    caps: Arc<PortCaps>,
    tx: Box<dyn TxQueue>,
    rx: Box<dyn RxQueue>,
    wire: Collector,
    /// Nothing was asked for that was never granted.
    refused: Box<dyn Fn() -> u64>,
}

fn port(caps: Caps, fail: &[(Caps, Onset)], rx: Traffic) -> Port1 {
    let wire = Collector::new();
    let fail = fail.iter().map(|&(caps, from)| Failing { caps, from }).collect();
    let faults = Faults { fail, ..Faults::default() };
    let tx = Sink::Collect(wire.clone());
    let mut port =
        Emulated::open(EmulatedConfig { caps, faults, rx, tx, ..EmulatedConfig::new("nic") })
            .unwrap();
    let refusals = port.refusals();
    Port1 {
        caps: port.caps(),
        tx: port.open_tx().unwrap(),
        rx: port.open_rx().unwrap(),
        wire,
        refused: Box::new(move || refusals.total()),
    }
}

fn burst_of(packets: Vec<Packet>) -> Burst {
    let mut burst = Burst::new();
    packets.into_iter().for_each(|packet| burst.push(packet).unwrap());
    burst
}

fn segmented(bench: &mut Bench, recipe: &Recipe) -> Packet {
    let mut packet = bench.packet(&recipe.partial());
    recipe.mark_super(&mut packet, 100, SegFlags::empty());
    packet
}

#[test]
fn a_failing_unit_leaves_its_packet_and_all_behind_it_untouched() {
    let mut nic = port(Caps::all(), &[(Caps::TSO4, Onset::At(1_000_000))], Traffic::None);
    let mut bench = Bench::new();
    let recipe = Recipe::tcp(vec![7; 250]);
    let plain = Recipe::udp(b"plain".to_vec()).frame();
    let make = |bench: &mut Bench| {
        burst_of(vec![bench.packet(&plain), segmented(bench, &recipe), bench.packet(&plain)])
    };
    let mut burst = make(&mut bench);
    bench.now = 999_999;
    bench.transmit(&mut *nic.tx, &mut burst);
    assert_eq!((burst.len(), nic.wire.len()), (0, 5));
    assert_eq!((nic.caps.demoted(), nic.caps.cause(Caps::TSO4)), (Caps::empty(), None));

    let mut burst = make(&mut bench);
    bench.now = 1_000_000;
    bench.transmit(&mut *nic.tx, &mut burst);
    assert_eq!((burst.len(), nic.wire.take().len()), (2, 6));
    let front = burst.first().unwrap();
    assert_eq!(bytes_of(front), recipe.partial());
    assert!(front.is_super() && front.meta().l4[0] == Csum::Partial);
    assert_eq!(nic.caps.cause(Caps::TSO4), Some("refuses tso4 from 1.000000 ms of the run on"));
    // With the unit goes what stands on it, and nothing else.
    let refined = Caps::TSO_FIXED_ID | Caps::TSO_ECN | Caps::TSO_CWR_ALL | Caps::TSO_PAD;
    assert!(
        nic.caps.demoted().contains(Caps::TSO4 | refined | Caps::TSO_VXLAN | Caps::GSO_PARTIAL)
    );
    let left = (nic.caps.facts.granted - Caps::TSO4).without_orphans();
    assert_eq!(nic.caps.effective(), left);
    let report = nic.tx.report();
    assert_eq!((report.packets, report.drops.len(), (nic.refused)()), (4, 0, 0));

    // Again and again: it waits. What does not need the unit passes once the front is out of the way.
    bench.transmit(&mut *nic.tx, &mut burst);
    assert_eq!(burst.len(), 2);
    let stuck = burst.pop().unwrap();
    bench.release(vec![stuck]);
    bench.transmit(&mut *nic.tx, &mut burst);
    assert_eq!((burst.len(), data_of(&nic.wire.frames())), (0, vec![plain]));
    bench.assert_nothing_out();
}

/// A port that cut inside VXLAN and no longer does: the packet waits for who finds another way, and what else the
/// port does in tunnels goes on.
#[test]
fn c7_tunnel_cutting_that_is_refused_at_run_time_loses_that_and_no_packet() {
    let tx = Collector::new();
    let fail = vec![Failing { caps: Caps::TSO_VXLAN, from: Onset::After(1) }];
    let config = EmulatedConfig {
        caps: Caps::all(),
        limits: knowing(),
        tx: Sink::Collect(tx.clone()),
        faults: Faults { fail, ..Faults::default() },
        ..EmulatedConfig::new("nic")
    };
    let mut port = Emulated::open(config).unwrap();
    let (caps, mut queue) = (port.caps(), port.open_tx().unwrap());
    let mut bench = Bench::new();
    let (wrap, inner) = (Wrap::vxlan(), Recipe::tcp(vec![7; 300]));
    let packet = |bench: &mut Bench| superpacket(bench, &wrap, &inner, 100, SegFlags::empty());
    let mut burst = burst_of((0..3).map(|_| packet(&mut bench)).collect());
    bench.transmit(&mut *queue, &mut burst);
    assert_eq!((burst.len(), tx.take().len()), (2, 3));
    assert_eq!(caps.demoted(), Caps::TSO_VXLAN | Caps::TSO_VXLAN_CSUM);
    assert_eq!(caps.cause(Caps::TSO_VXLAN), Some("refuses tso_vxlan after 1 packets"));
    assert_eq!(bytes_of(burst.first().unwrap()), wrap.superpacket(&inner));
    while let Some(packet) = burst.pop() {
        bench.release(vec![packet]);
    }
    // Behind headers that software has prepared it still cuts.
    let mut burst = burst_of(vec![repeated(&mut bench, &wrap, &inner, 100)]);
    bench.transmit(&mut *queue, &mut burst);
    assert_eq!((burst.len(), port.refusals().total()), (0, 0));
    assert_eq!(data_of(&tx.frames()), wrap.segments(&inner, 100, SegFlags::FIXED_ID));
    bench.assert_nothing_out();
}

#[test]
fn after_so_many_packets_the_next_that_asks_is_the_first_to_wait() {
    let mut nic =
        port(Caps::TX_TCP4 | Caps::TX_UDP4, &[(Caps::TX_TCP4, Onset::After(3))], Traffic::None);
    let mut bench = Bench::new();
    let partial = |bench: &mut Bench, recipe: &Recipe| {
        let mut packet = bench.packet(&recipe.partial());
        recipe.mark_partial(&mut packet);
        packet
    };
    let (tcp, udp) = (Recipe::tcp(b"x".to_vec()), Recipe::udp(b"y".to_vec()));
    let packets = [&tcp, &udp, &tcp, &udp, &tcp, &udp].map(|recipe| partial(&mut bench, recipe));
    let mut burst = burst_of(packets.into());
    bench.transmit(&mut *nic.tx, &mut burst);
    assert_eq!((burst.len(), nic.wire.len()), (2, 4));
    assert_eq!(nic.caps.effective(), Caps::TX_UDP4);
    assert_eq!(nic.caps.cause(Caps::TX_TCP4), Some("refuses tx_tcp4 after 3 packets"));
    let rest = burst.drain().collect();
    bench.release(rest);
}

#[test]
fn another_unit_that_can_do_it_takes_over() {
    // Finishing any checksum is one unit, knowing UDP another.
    let caps = Caps::TX_GENERIC.with_implied();
    let mut nic = port(caps, &[(Caps::TX_GENERIC, Onset::At(0))], Traffic::None);
    let mut bench = Bench::new();
    let recipe = Recipe::udp(b"y".to_vec());
    let mut packet = bench.packet(&recipe.partial());
    recipe.mark_partial(&mut packet);
    bench.send_all(&mut *nic.tx, vec![packet]);
    assert_sound(&nic.wire.frames()[0].data, &recipe);
    assert_eq!(nic.caps.demoted(), Caps::empty(), "nobody has missed it");
}

#[test]
fn a_packet_finished_before_others_lost_something_still_leaves() {
    let mut nic = port(Caps::all(), &[(Caps::USO6, Onset::At(0))], Traffic::None);
    nic.caps.demote(Caps::TSO4);
    let mut bench = Bench::new();
    let packet = segmented(&mut bench, &Recipe::tcp(vec![7; 250]));
    bench.send_all(&mut *nic.tx, vec![packet]);
    assert_eq!(nic.wire.len(), 3);
}

#[test]
fn parts_that_can_no_longer_be_gathered_wait_too() {
    let mut nic = port(Caps::MULTI_PART, &[(Caps::MULTI_PART, Onset::At(0))], Traffic::None);
    let mut bench = Bench::new();
    let frame = Recipe::udp(vec![1; 90]).frame();
    let mut burst = burst_of(vec![bench.packet_in_parts(&frame, &[50])]);
    bench.transmit(&mut *nic.tx, &mut burst);
    assert_eq!((burst.len(), nic.caps.effective()), (1, Caps::empty()));
    let rest = burst.drain().collect();
    bench.release(rest);
    let whole = bench.packet(&frame);
    bench.send_all(&mut *nic.tx, vec![whole]);
    assert_eq!(data_of(&nic.wire.frames()), [frame]);
}

fn bulk(count: u64) -> Traffic {
    let plan = Generate { protocol: Protocol::TcpBulk, count: Some(count), ..Generate::default() };
    Traffic::Generate(plan)
}

#[test]
fn a_receive_unit_says_nothing_any_more_after_so_many_packets() {
    let caps = Caps::RX_IP | Caps::RX_TCP;
    let mut nic = port(caps, &[(Caps::RX_TCP, Onset::After(10))], bulk(25));
    let mut bench = Bench::new();
    let packets = bench.receive_all(&mut *nic.rx);
    let verdicts: Vec<Csum> = packets.iter().map(|packet| packet.meta().l4[0]).collect();
    let expected: Vec<Csum> = [vec![Csum::Good; 10], vec![Csum::Unknown; 15]].concat();
    assert_eq!(verdicts, expected);
    assert!(packets.iter().all(|packet| packet.meta().l3[0] == Csum::Good));
    assert_eq!(
        (nic.caps.effective(), nic.caps.cause(Caps::RX_TCP)),
        (Caps::RX_IP, Some("no longer reports rx_tcp after 10 packets"))
    );
    bench.release(packets);
}

#[test]
fn a_receive_unit_fails_at_its_time() {
    let caps = Caps::RX_HW_GRO.with_implied();
    let mut nic = port(caps, &[(Caps::RX_TCP, Onset::At(50))], bulk(64));
    let mut bench = Bench::new();
    let mut burst = Burst::new();
    bench.now = 49;
    assert_eq!(bench.poll(&mut *nic.rx, &mut burst, 1), Progress::Worked(1));
    assert!(burst.first().unwrap().is_super());
    let joined = burst.drain().collect();
    bench.release(joined);
    bench.now = 50;
    let rest = bench.receive_all(&mut *nic.rx);
    assert!(rest.iter().all(|packet| !packet.is_super() && packet.meta().l4[0] == Csum::Unknown));
    assert_eq!(nic.caps.effective(), Caps::RX_IP, "joining stands on it");
    bench.release(rest);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Whatever fails, and when: each packet is on the wire as asked, or still in the burst as it was, and what is
    /// left asks for something that is no longer in force.
    #[test]
    fn nothing_is_lost_or_sent_wrong(
        fail in prop::sample::select(vec![
            Caps::TSO4, Caps::TSO6, Caps::USO4, Caps::TX_TCP4, Caps::TX_UDP6, Caps::TX_GENERIC, Caps::MULTI_PART,
        ]),
        from in 0..12_u64,
        kinds in prop::collection::vec((any::<bool>(), any::<bool>(), 0..3_u8), 1..20),
    ) {
        let mut nic = port(Caps::all(), &[(fail, Onset::After(from))], Traffic::None);
        let mut bench = Bench::new();
        let mut expected = Vec::new();
        let mut burst = Burst::new();
        for (number, (v6, udp, form)) in kinds.into_iter().enumerate() {
            let payload = vec![number as u8; 130 + number];
            let recipe = Recipe { v6, udp, ..Recipe::tcp(payload) };
            let frames = reference(&mut bench, &recipe, form);
            expected.push((form_of(&mut bench, &recipe, form), frames));
            burst.push(form_of(&mut bench, &recipe, form)).unwrap();
        }
        bench.transmit(&mut *nic.tx, &mut burst);
        prop_assert_eq!((nic.refused)(), 0);
        let sent = expected.len() - burst.len();
        let right: Vec<Vec<u8>> = expected[..sent].iter().flat_map(|(_, frames)| frames.clone()).collect();
        prop_assert_eq!(data_of(&nic.wire.frames()), right);
        for (left, (asked, _)) in burst.iter().zip(&expected[sent..]) {
            prop_assert_eq!(bytes_of(left), bytes_of(asked));
            prop_assert_eq!(left.meta().l4, asked.meta().l4);
            prop_assert_eq!(left.segmentation(), asked.segmentation());
        }
        if let Some(front) = burst.first() {
            // A device that never could do it refuses that request.
            let mut other = port(nic.caps.effective(), &[], Traffic::None);
            let same = expected.remove(sent).0;
            prop_assert_eq!(bytes_of(front), bytes_of(&same));
            bench.send_all(&mut *other.tx, vec![same]);
            prop_assert_eq!((other.refused)(), 1);
        }
        expected.into_iter().for_each(|(packet, _)| bench.release(vec![packet]));
        let rest = burst.drain().collect();
        bench.release(rest);
    }
}

/// A packet that asks for nothing, for its checksum, or to be cut.
fn form_of(bench: &mut Bench, recipe: &Recipe, form: u8) -> Packet {
    match form {
        0 => bench.packet(&recipe.frame()),
        1 => {
            let mut packet = bench.packet(&recipe.partial());
            recipe.mark_partial(&mut packet);
            packet
        }
        _ => segmented(bench, recipe),
    }
}

/// What a device without faults makes of it.
fn reference(bench: &mut Bench, recipe: &Recipe, form: u8) -> Vec<Vec<u8>> {
    let mut honest = nic(Caps::all(), &[]);
    let packet = form_of(bench, recipe, form);
    bench.send_all(&mut *honest.tx, vec![packet]);
    data_of(&honest.wire.frames())
}
