//! Generated traffic: every frame is right, and as many and as long as asked for.

use crate::support::*;
use crate::tunnel_cut::{knowing, tunnel_nic};
use corelane_device::emulated::{
    Emulated, EmulatedConfig, Frame, FrameSize, Generate, Order, Overlay, OverlayKind, Protocol,
    Traffic,
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

/// Frames of both protocols over both versions of IP in every tunnel, and whether the device finds that.
fn wrapped() -> Vec<(Generate, bool)> {
    let mut plans = Vec::new();
    for (number, kind) in (0..32).map(|n| (n, [OverlayKind::Vxlan, OverlayKind::Geneve][n % 2])) {
        let bit = |bit: usize| number >> bit & 1 == 1;
        let usual = Overlay::new(kind, 0x00ab_cdef);
        let tunnel = match bit(1) {
            true => Overlay {
                from: "2001:db8::1".parse().unwrap(),
                to: "2001:db8::2".parse().unwrap(),
                ..usual
            },
            false => usual,
        };
        let port = if number < 16 { tunnel.port } else { 5555 };
        let tunnel = Some(Overlay { checksum: bit(2), port, ..tunnel });
        let protocol = if bit(3) { Protocol::TcpBulk } else { Protocol::Udp };
        let size = FrameSize::Mix(vec![(64, 2), (595, 1)]);
        let (ipv6, count) = (number % 3 == 0, Some(20));
        let plan =
            Generate { flows: 3, count, size, protocol, ipv6, tunnel, ..Generate::default() };
        plans.push((plan, number < 16));
    }
    plans
}

#[test]
fn what_the_device_says_of_made_frames_in_tunnels_it_says_of_received_ones() {
    let plain = Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP;
    let outer = Caps::RX_OUTER_IP | Caps::RX_OUTER_UDP;
    for caps in [plain, outer, Caps::RX_COMPLETE, plain | outer | Caps::RX_COMPLETE | Caps::RX_HASH]
    {
        for (plan, found) in wrapped() {
            let rx = Traffic::Generate(plan.clone());
            let config = EmulatedConfig { caps, limits: knowing(), rx, ..EmulatedConfig::new("x") };
            let mut bench = Bench::new();
            let made = bench.receive_all(&mut *nic_of(config).rx);
            assert_eq!(made.len(), 20);
            let list = made.iter().map(|packet| Frame::new(0, bytes_of(packet)));
            let mut nic = tunnel_nic(caps, &list.collect::<Vec<_>>());
            let received = bench.receive_all(&mut *nic.rx);
            for (one, other) in made.iter().zip(&received) {
                let told = |packet: &corelane_runtime::packet::Packet| {
                    let meta = packet.meta();
                    let sum = meta.known().map(|known| (known.from, known.sum % 65_535));
                    (meta.l3, meta.l4, sum, meta.hash, meta.flags)
                };
                assert_eq!(told(one), told(other), "{caps:?} {plan:?}");
                let inner = one.meta().l4[1] == Csum::Good;
                assert_eq!(inner, found && caps.contains(plain), "{plan:?}");
            }
            bench.release(made);
            bench.release(received);
        }
    }
}

#[test]
fn size_counts_the_frame_inside_a_tunnel() {
    for (kind, ipv6, outer) in [(OverlayKind::Vxlan, false, 50), (OverlayKind::Geneve, true, 70)] {
        let mut tunnel = Overlay::new(kind, 42);
        if ipv6 {
            (tunnel.from, tunnel.to) = ("2001:2::1".parse().unwrap(), "2001:2::2".parse().unwrap());
        }
        let plan = Generate { count: Some(7), tunnel: Some(tunnel), ..Generate::default() };
        let (frames, _) = made(plan, Caps::empty());
        assert!(frames.iter().all(|frame| frame.len() == outer + 60));
        assert!(frames.iter().all(|frame| frame[outer - 4..outer] == [0, 0, 42, 0]));
    }
}

#[test]
fn flows_in_a_tunnel_have_source_ports_of_their_own() {
    let tunnel = Some(Overlay::new(OverlayKind::Vxlan, 1));
    let plan = Generate { flows: 64, count: Some(128), tunnel, ..Generate::default() };
    let (frames, _) = made(plan, Caps::empty());
    let port = |frame: &Vec<u8>| u16::from_be_bytes([frame[34], frame[35]]);
    let mut ports: Vec<u16> = frames[..64].iter().map(port).collect();
    assert_eq!(ports, frames[64..].iter().map(port).collect::<Vec<_>>(), "one flow, one port");
    ports.sort_unstable();
    ports.dedup();
    assert!(ports.len() > 60 && ports[0] >= 49_152, "{ports:?}");
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
    let in_tunnel = |change: fn(&mut Overlay)| {
        let mut tunnel = Overlay::new(OverlayKind::Vxlan, 1);
        change(&mut tunnel);
        Generate { tunnel: Some(tunnel), ..Generate::default() }
    };
    let many = Generate::MAX_FLOWS + 1;
    let wrong = [
        (Generate { flows: 0, ..plain.clone() }, "give `flows` at least 1"),
        (Generate { flows: many, ..plain.clone() }, "`flows` is 1048577, but at most 1048576"),
        (Generate { flows: u32::MAX, ..plain.clone() }, "`flows` is 4294967295, but at most"),
        (Generate { order: Order::Trains(0), ..plain.clone() }, "`order` has trains of 0"),
        (Generate { size: FrameSize::Bytes(65_554), ..plain.clone() }, "give 65553 or less"),
        (
            Generate { size: FrameSize::Bytes(u32::MAX), ..plain.clone() },
            "`size` is 4294967295, but",
        ),
        (in_tunnel(|tunnel| tunnel.vni = 1 << 24), "`vni` is 16777216, but it has 24 bits"),
        (in_tunnel(|tunnel| tunnel.port = 0), "`port` is 0"),
        (in_tunnel(|tunnel| tunnel.to = "::1".parse().unwrap()), "two versions of IP"),
        (Generate { partial: true, ..in_tunnel(|_| {}) }, "leave out `partial` or `tunnel`"),
        (
            Generate { size: FrameSize::Bytes(65_504), ..in_tunnel(|_| {}) },
            "its frames have 65500 bytes, but the tunnel holds 65499",
        ),
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
