//! A gateway in the simulator, whose neighbours on one side are a script: whatever the interleaving and the faults,
//! nothing is lost, order is kept, and whoever asks is answered.

use crate::{WAN, file, plan_on};
use corelane::{Report, SimConfig};
use corelane_device::emulated::{Collector, Frame, Sink, Traffic};
use corelane_device::{Emulated, EmulatedConfig};

const MS: u64 = 1_000_000;
const ME: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn at(time_ns: u64, data: Vec<u8>) -> Frame {
    Frame::new(time_ns, data)
}

fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, host]
}

fn arp(operation: u8, host: u8) -> Vec<u8> {
    let (to, target) = if operation == 1 { ([0xff; 6], [0; 6]) } else { (ME, ME) };
    let mut frame = [&to[..], &mac(host), &[8, 6, 0, 1, 8, 0, 6, 4, 0, operation]].concat();
    frame.extend(mac(host));
    frame.extend([192, 0, 2, host]);
    frame.extend(target);
    frame.extend([192, 0, 2, 1]);
    frame
}

/// A packet for a host of the network of `wan`, or for the gateway's world where there is none.
fn packet(host: u8, number: u16) -> Vec<u8> {
    let dst = if host == 254 { [203, 0, 113, 1] } else { [192, 0, 2, host] };
    let mut frame = [&[6; 12][..], &[8, 0, 0x45, 0, 0, 30, 0, 0, 0x40, 0, 64, 253]].concat();
    frame.extend([0, 0, 10, 0, 0, 1]);
    frame.extend(dst);
    let sum = frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = sum.sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.extend([host; 8]);
    frame
}

/// Who answers when: hosts 7 and 9 and the gateway again and again, host 8 never; host 20 asks.
fn script() -> Vec<Frame> {
    let mut frames = vec![at(MS / 2, arp(1, 20)), at(MS, packet(1, 9))];
    for round in 0..8 {
        let time = 2 * MS + round * 400 * MS;
        frames.push(at(time, arp(2, 7)));
        frames.push(at(time + MS, arp(2, 9)));
        frames.push(at(time + 2 * MS, arp(2, 254)));
    }
    frames
}

fn traffic() -> Vec<Frame> {
    let hosts = [7, 8, 9, 254];
    (0..120u16).map(|n| at(u64::from(n) * MS / 10, packet(hosts[usize::from(n) % 4], n))).collect()
}

struct Ran {
    report: Report,
    wan: Vec<Frame>,
    lan: Vec<Frame>,
}

fn port(name: &str, frames: Vec<Frame>) -> (Box<Emulated>, Collector) {
    let collector = Collector::new();
    let config = EmulatedConfig {
        rx: Traffic::Timed(frames),
        tx: Sink::Collect(collector.clone()),
        queues: 16,
        ..EmulatedConfig::new(name)
    };
    (Box::new(Emulated::open(config).expect("a port")), collector)
}

fn run(chains: &str, more: &str, config: &SimConfig) -> Ran {
    let text = file(&format!("{WAN}, \"lan\": Emulated"), chains, more);
    let (wan, to_wan) = port("wan", script());
    let (lan, to_lan) = port("lan", traffic());
    let plan = plan_on(&text, 4).with_port("wan", wan).with_port("lan", lan);
    let (report, outcome) =
        plan.simulate_with(config).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.finished, "seed {}", config.seed);
    Ran { report, wan: to_wan.take(), lan: to_lan.take() }
}

fn numbers(frames: &[Frame], host: u8) -> Vec<u16> {
    let to_it =
        frames.iter().filter(|frame| frame.data[12..14] == [8, 0] && frame.data[36] == host);
    to_it
        .map(|frame| {
            assert_eq!(frame.data[..12], [mac(host), ME].concat(), "of host {host}");
            u16::from_be_bytes([frame.data[34], frame.data[35]])
        })
        .collect()
}

fn dropped(report: &Report, reason: &str) -> u64 {
    let stages = report.stages.iter().filter(|stage| stage.kind == "Neighbour");
    stages.filter_map(|stage| stage.drops.get(reason)).sum()
}

fn check(ran: &Ran, context: &str) {
    let Report { balanced, unbalanced, errors, .. } = &ran.report;
    assert!(*balanced == Some(true) && errors.is_empty(), "{context}: {unbalanced:?} {errors:?}");
    let mut sent = 0;
    for host in [7, 9, 254] {
        let numbers = numbers(&ran.wan, host);
        assert!(numbers.is_sorted(), "{context}: order to host {host}: {numbers:?}");
        sent += numbers.len() as u64;
    }
    assert!(numbers(&ran.wan, 8).is_empty(), "{context}: nobody said where host 8 is");
    let (unresolved, full) =
        (dropped(&ran.report, "unresolved"), dropped(&ran.report, "queue_full"));
    assert_eq!(sent + unresolved + full, 120, "{context}");
    assert_eq!(unresolved + full, 30, "{context}: those for host 8");
    let answers: Vec<_> = ran.wan.iter().filter(|frame| frame.data[20..22] == [0, 2]).collect();
    let [answer] = answers.as_slice() else { panic!("{context}: {} answers", answers.len()) };
    assert_eq!(answer.data[..12], [mac(20), ME].concat());
    assert_eq!(answer.data[22..32], [&ME[..], &[192, 0, 2, 1]].concat());
    // All that was for the port itself ends there.
    let lan: Vec<_> = ran.lan.iter().map(|frame| frame.data.clone()).collect();
    assert_eq!(lan, [packet(1, 9)], "{context}");
}

const FUSED: &str =
    r#""from_wan": [Rx("wan"), Tx("lan")], "from_lan": [Rx("lan"), Blank, Tx("wan")]"#;
const RINGS: &str = r#""from_wan": [Rx("wan"), Ring(name: "in", capacity: 2), Tx("lan")],
    "from_lan": [Rx("lan"), Blank, Ring(name: "out", capacity: 1), Tx("wan")]"#;

#[test]
fn packets_wait_for_their_next_hop_and_leave_in_order() {
    let ran = run(FUSED, "", &SimConfig::new(1));
    check(&ran, "without faults");
    let asked = ran.wan.iter().filter(|frame| frame.data[20..22] == [0, 1]);
    let asked: Vec<[u8; 4]> = asked.map(|frame| frame.data[38..42].try_into().unwrap()).collect();
    for host in [7, 8, 9, 254] {
        assert!(asked.contains(&[192, 0, 2, host]), "host {host} was asked for: {asked:?}");
    }
    let learned = |id: &str| {
        let stage = ran.report.stages.iter().find(|stage| stage.id == id).expect("the stage");
        let count = |name: &str| stage.counters.get(name).copied();
        (count("learned"), count("answered"), stage.consumed)
    };
    assert_eq!(learned("from_wan.+Neighbour"), (Some(4), Some(1), 25));
}

#[test]
fn whatever_the_interleaving_and_the_faults_nothing_is_lost() {
    for seed in 0..100 {
        let (chains, more) = match seed % 3 {
            0 => (FUSED, ""),
            1 => (RINGS, ""),
            _ => (FUSED, "cores: Count(4)"),
        };
        let config = SimConfig { stall: 10, withhold: 10, ..SimConfig::new(seed) };
        check(&run(chains, more, &config), &format!("seed {seed}"));
    }
}

#[test]
fn on_threads_it_is_the_same() {
    let text = file(&format!("{WAN}, \"lan\": Emulated"), FUSED, "");
    let (wan, to_wan) = port("wan", script());
    let (lan, to_lan) = port("lan", traffic());
    let plan = plan_on(&text, 1).with_port("wan", wan).with_port("lan", lan);
    let report = plan.start().unwrap_or_else(|failure| panic!("{failure}")).wait();
    check(&Ran { report, wan: to_wan.take(), lan: to_lan.take() }, "on threads");
}
