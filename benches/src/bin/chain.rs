//! What each stage and the whole chain cost a packet: pipelines that differ by one stage, in turn, in one run.
//!
//! Every pipeline runs on one thread in the simulator, without faults, from a generator to a sink that keeps
//! nothing. The cost of a packet is the difference between a long and a short run, divided by the packets
//! between them, so that setting up does not count. What a stage costs is the difference to the pipeline
//! without it. `--count CASE N` runs one case once, for counting instructions (`benches/count.sh`).

use corelane::{Machine, Pipeline, SimConfig};
use std::time::Instant;

const SHORT: u64 = 20_000;
const LONG: u64 = 320_000;
const ROUNDS: usize = 7;

/// A pipeline to measure: name, capabilities of the receiving and the sending port, stages between them.
struct Case {
    name: &'static str,
    rx: &'static str,
    tx: &'static str,
    stages: &'static str,
}

const REPORTS: &str = "[\"rx_ip\", \"rx_tcp\", \"rx_udp\"]";
const NOTHING: &str = "[\"multi_part\"]";

const CASES: &[Case] = &[
    Case { name: "rx-tx", rx: NOTHING, tx: NOTHING, stages: "" },
    Case { name: "count", rx: NOTHING, tx: NOTHING, stages: "Count," },
    Case { name: "validate-software", rx: NOTHING, tx: NOTHING, stages: "ChecksumValidate," },
    Case { name: "validate-hardware", rx: REPORTS, tx: NOTHING, stages: "ChecksumValidate," },
    Case { name: "gro-left-to-port", rx: REPORTS, tx: "All", stages: "ChecksumValidate, Gro," },
    Case { name: "gro-gso", rx: REPORTS, tx: NOTHING, stages: "ChecksumValidate, Gro, Gso," },
    Case {
        name: "chain-software",
        rx: NOTHING,
        tx: NOTHING,
        stages: "ChecksumValidate, Gro, Gso, ChecksumFill,",
    },
    Case {
        name: "chain-software-ring",
        rx: NOTHING,
        tx: NOTHING,
        stages: "ChecksumValidate, Gro, Ring(\"cut\"), Gso, ChecksumFill,",
    },
    Case {
        name: "chain-hardware",
        rx: REPORTS,
        tx: "All",
        stages: "ChecksumValidate, Gro, Gso, ChecksumFill,",
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [flag, name, packets] if flag == "--count" => {
            let case = CASES.iter().find(|case| case.name == name).expect("a known case");
            let packets = packets.parse().expect("a number of packets");
            run(case, 16, packets);
        }
        [flag] if flag == "--list" => CASES.iter().for_each(|case| println!("{}", case.name)),
        _ => [1, 16, 128].into_iter().for_each(table),
    }
}

/// Whole runs of one case, ns.
#[derive(Default)]
struct Times {
    short: Vec<f64>,
    long: Vec<f64>,
}

impl Times {
    /// ns a packet, from the medians and from the quietest runs.
    fn per_packet(&mut self) -> (f64, f64) {
        self.short.sort_by(f64::total_cmp);
        self.long.sort_by(f64::total_cmp);
        let at = |index: usize| (self.long[index] - self.short[index]) / (LONG - SHORT) as f64;
        (at(self.long.len() / 2), at(0))
    }
}

fn table(flows: u32) {
    let mut times: Vec<Times> = CASES.iter().map(|_| Times::default()).collect();
    for round in 0..=ROUNDS {
        for (case, times) in CASES.iter().zip(&mut times) {
            let time = |packets| {
                let start = Instant::now();
                run(case, flows, packets);
                start.elapsed().as_nanos() as f64
            };
            let (short, long) = (time(SHORT), time(LONG));
            if round > 0 {
                times.short.push(short);
                times.long.push(long);
            }
        }
    }
    println!("{flows} flows in trains of 16, TCP, 1518-byte frames: ns a packet, {ROUNDS} rounds");
    println!("  {:<24} {:>8} {:>8} {:>12}", "case", "median", "quietest", "over rx-tx");
    let figures: Vec<(f64, f64)> = times.iter_mut().map(Times::per_packet).collect();
    for (case, (median, quietest)) in CASES.iter().zip(&figures) {
        let over = median - figures[0].0;
        println!("  {:<24} {median:>8.1} {quietest:>8.1} {over:>12.1}", case.name);
    }
}

fn run(case: &Case, flows: u32, packets: u64) {
    let Case { rx, tx, stages, .. } = case;
    let traffic = format!(
        "(flows: {flows}, size: 1518, protocol: TcpBulk, order: Trains(16), count: {packets})"
    );
    let text = format!(
        "Pipeline(name: \"bench\", hash_seed: 1,
            ports: {{ \"in\": Emulated(caps: {rx}, traffic: {traffic}), \"out\": Emulated(caps: {tx}) }},
            chains: {{ \"main\": [Rx(\"in\"), {stages} Tx(\"out\")] }})"
    );
    let pipeline = Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let plan = pipeline.plan(&corelane::standard(), &Machine::here());
    let plan = plan.unwrap_or_else(|failure| panic!("{failure}"));
    let config = SimConfig { max_turns: u64::MAX, ..SimConfig::new(1) };
    let (report, _) = plan.simulate_with(&config).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        report.balanced == Some(true) && report.totals.rx_packets == packets,
        "{:?}",
        report.unbalanced
    );
}
