//! Whatever becomes of the copies, the originals arrive, all of them and in order.

use crate::{assert_clean, counter, frame, plan, simulated};
use corelane::{Report, SimConfig};
use corelane_device::emulated::{Collector, Faults, Frame, Sink, Stall, Traffic};
use corelane_device::{Emulated, EmulatedConfig};
use corelane_runtime::offload::Caps;
use corelane_wire::testing::{FrameBuilder, Ipv4, Tcp};

/// Segments of `flows` flows in turns, long enough for their payload to be shared.
fn frames(flows: u16, rounds: u16) -> Vec<Frame> {
    let one = |flow: u16, round: u16| {
        let tcp = Tcp { src_port: flow, seq: 1 + u32::from(round) * 1000, ..Tcp::default() };
        let ip = Ipv4 { id: round, ..Ipv4::default() };
        frame(FrameBuilder::new().ipv4(ip).tcp(tcp).payload_len(1000).build())
    };
    (0..rounds).flat_map(|round| (0..flows).map(move |flow| one(flow, round))).collect()
}

struct Ran {
    report: Report,
    out: Vec<Frame>,
    mirrored: Vec<Frame>,
}

/// Runs a description with ports `in`, `out` and `mon`, the last of which takes nothing at first.
fn run(chains: &str, frames: &[Frame], stall: Stall, config: Option<&SimConfig>) -> Ran {
    let text = format!(
        "Pipeline(name: \"mirrored\", hash_seed: 7,
            ports: {{ \"in\": Emulated, \"out\": Emulated, \"mon\": Emulated }}, chains: {{ {chains} }})"
    );
    let rx = EmulatedConfig {
        rx: Traffic::Frames { frames: frames.to_vec(), repeat: false },
        ..EmulatedConfig::new("in")
    };
    let (out, mirrored) = (Collector::new(), Collector::new());
    let sink = |name: &str, collector: &Collector, faults| EmulatedConfig {
        caps: Caps::MULTI_PART,
        tx: Sink::Collect(collector.clone()),
        faults,
        ..EmulatedConfig::new(name)
    };
    let open = |config| Box::new(Emulated::open(config).expect("a port"));
    let plan = plan(&text, &[])
        .with_port("in", open(rx))
        .with_port("out", open(sink("out", &out, Faults::default())))
        .with_port("mon", open(sink("mon", &mirrored, Faults { stall, ..Faults::default() })));
    let report = match config {
        Some(config) => plan.simulate_with(config).unwrap_or_else(|error| panic!("{error}")).0,
        None => simulated(plan, 1),
    };
    Ran { report, out: out.take(), mirrored: mirrored.take() }
}

fn data(frames: &[Frame]) -> Vec<&[u8]> {
    frames.iter().map(|frame| frame.data.as_slice()).collect()
}

/// For a second of the run.
fn stalled() -> Stall {
    Stall::Windows(std::iter::once(0..1_000_000_000).collect())
}

#[test]
fn a_port_that_takes_no_copies_holds_nothing_up() {
    let sent = frames(8, 500);
    for copies in ["Tx(\"mon\")", "Ring(name: \"slow\", capacity: 64), Tx(\"mon\")"] {
        let chains =
            format!("\"main\": [Rx(\"in\"), Mirror(\"m\"), Tx(\"out\")], \"m\": [{copies}]");
        let ran = run(&chains, &sent, stalled(), None);
        assert_clean(&ran.report);
        assert_eq!(data(&ran.out), data(&sent));
        let count = |name: &str| counter(&ran.report, "main.1", name);
        assert!(count("mirror_full") > 1000, "{copies}: {}", count("mirror_full"));
        assert_eq!(count("mirror_full") + count("copies") + count("no_buffer"), 4000);
        assert_eq!(ran.mirrored.len() as u64, count("copies"));
    }
}

#[test]
fn every_copy_arrives_where_there_is_room() {
    let sent = frames(8, 100);
    let chains = "\"main\": [Rx(\"in\"), Mirror(\"m\"), Tx(\"out\")], \"m\": [Count, Tx(\"mon\")]";
    let ran = run(chains, &sent, Stall::Never, None);
    assert_clean(&ran.report);
    assert_eq!(data(&ran.out), data(&sent));
    assert_eq!(data(&ran.mirrored), data(&sent));
}

/// Report D3, end to end: superpackets are copied, and the copies rewritten; both leave as sound frames.
#[test]
fn d3_copies_of_superpackets_are_cut_as_their_originals() {
    let sent = frames(3, 200);
    let chains = "\"main\": [Rx(\"in\"), ChecksumValidate, Gro, Mirror(\"m\"), Tx(\"out\")],
        \"m\": [Rewrite(dst: \"203.0.113.5\"), Tx(\"mon\")]";
    let ran = run(chains, &sent, Stall::Never, None);
    assert_clean(&ran.report);
    let sorted = |frames: &[Frame]| {
        let mut frames: Vec<Vec<u8>> = frames.iter().map(|frame| frame.data.clone()).collect();
        frames.sort_by_key(|frame| (frame[34..36].to_vec(), frame[38..42].to_vec()));
        frames
    };
    assert_eq!(sorted(&ran.out), sorted(&sent));
    let back = sorted(&ran.mirrored);
    assert_eq!(back.len(), sent.len());
    for (copy, original) in back.iter().zip(sorted(&sent)) {
        corelane_wire::testing::assert_sound(copy);
        assert_eq!(copy[30..34], [203, 0, 113, 5]);
        assert_eq!(copy[54..], original[54..]);
    }
}

#[test]
fn the_books_balance_under_faults() {
    let sent = frames(16, 60);
    let chains = "\"main\": [Rx(\"in\"), ChecksumValidate, Gro(hold: \"20us\"), Mirror(\"m\"), Ring(\"next\"), Tx(\"out\")],
        \"m\": [Mirror(to: \"short\", snap: 96, sample: \"1/3\", by: Flow), Ring(name: \"slow\", capacity: 32), Tx(\"mon\")],
        \"short\": [Drop(\"seen\")]";
    for seed in 0..40 {
        let config = SimConfig { stall: 100, withhold: 100, ..SimConfig::new(seed) };
        let stall = Stall::Seeded { seed, period: 200_000, longest: 100_000 };
        let ran = run(chains, &sent, stall, Some(&config));
        assert_clean(&ran.report);
        assert_eq!(ran.out.len(), sent.len(), "seed {seed}");
    }
}
