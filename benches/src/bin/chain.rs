//! What each stage and the whole chain cost a packet: pipelines that differ by one stage, in turn, in one run.
//!
//! Every pipeline runs on one thread in the simulator, without faults, from a generator to a sink that keeps
//! nothing. The cost of a packet is the difference between a long and a short run, divided by the packets
//! between them, so that setting up does not count. What a stage costs is the difference to the pipeline
//! without it. `--count CASE N` runs one case once, for counting instructions (`benches/count.sh`).

use corelane_benches::{Cost, Runs, simulate};

const RUNS: Runs = Runs { short: 20_000, long: 320_000, rounds: 7 };

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

fn table(flows: u32) {
    let costs = RUNS.measure(CASES.len(), |case, packets| run(&CASES[case], flows, packets));
    let rounds = RUNS.rounds;
    println!("{flows} flows in trains of 16, TCP, 1518-byte frames: ns a packet, {rounds} rounds");
    println!("  {:<24} {:>8} {:>8} {:>12}", "case", "median", "quietest", "over rx-tx");
    for (case, cost) in CASES.iter().zip(&costs) {
        let Cost { median, quietest } = cost;
        let over = median - costs[0].median;
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
    let report = simulate(&text);
    assert_eq!(report.totals.rx_packets, packets, "{}", case.name);
}
