//! What `Classify` costs a packet at 1, 10, 100, 1,000 and 10,000 rules: the same pipeline with and without it, in
//! turn, in one run.
//!
//! Rules are of five fields (both addresses by prefix, protocol, both ports by range), as filters of routers are; the
//! last matches every packet, so that none is spared. Flows of generated traffic fall into rules all over the list.
//! Measured as `chain` does it: the difference between a long and a short run, divided by the packets between them.
//! `--count RULES N` runs one case once, for counting instructions (`benches/count.sh`).

use corelane_benches::{Cost, Runs, simulate};
use std::fmt::Write;

const RUNS: Runs = Runs { short: 20_000, long: 220_000, rounds: 7 };
const FLOWS: u32 = 1_000;
/// Rules of each case; the first has no `Classify`.
const RULES: [usize; 6] = [0, 1, 10, 100, 1_000, 10_000];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [flag, rules, packets] if flag == "--count" => {
            let rules = rules.parse().expect("a number of rules");
            simulate(&description(rules, packets.parse().expect("a number of packets")));
        }
        [flag] if flag == "--list" => RULES.iter().for_each(|rules| println!("{rules}")),
        _ => table(),
    }
}

fn table() {
    let texts =
        RULES.map(|rules| [RUNS.short, RUNS.long].map(|packets| description(rules, packets)));
    let costs = RUNS.measure(RULES.len(), |case, packets| {
        simulate(&texts[case][usize::from(packets == RUNS.long)]);
    });
    let rounds = RUNS.rounds;
    println!("{FLOWS} flows in turn, UDP, 64-byte frames: ns a packet, {rounds} rounds");
    println!(
        "  {:>8} {:>8} {:>8} {:>12} {:>12}",
        "rules", "median", "quietest", "over none", "quietest"
    );
    for (rules, Cost { median, quietest }) in RULES.iter().zip(&costs) {
        let over = (median - costs[0].median, quietest - costs[0].quietest);
        println!("  {rules:>8} {median:>8.1} {quietest:>8.1} {:>12.1} {:>12.1}", over.0, over.1);
    }
}

/// A generator that gives the same numbers every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// A network around the address of a flow: generated traffic has one source address a flow, from 198.18.0.0 on.
    fn source(&mut self) -> String {
        let bits = 22 + self.roll(11);
        let address = 0xc612_0000_u32 | self.roll(FLOWS.into()) as u32;
        let network = address & (u32::MAX << (32 - bits));
        format!("\"{}/{bits}\"", std::net::Ipv4Addr::from(network))
    }

    /// A network that has the destination of all flows, 198.19.0.1, or one that has not.
    fn destination(&mut self) -> &'static str {
        ["\"198.19.0.0/16\"", "\"198.19.0.1\"", "\"198.19.1.0/24\"", "\"10.0.0.0/8\""]
            [self.roll(4) as usize]
    }

    fn ports(&mut self) -> String {
        let low = self.roll(60_000);
        format!("{low}..={}", low + self.roll(5_536))
    }

    /// Ports that the port of all flows, 5201, is among half the time.
    fn service(&mut self) -> String {
        let low = self.roll(10_402);
        format!("{low}..={}", low + 5_000)
    }
}

fn description(rules: usize, packets: u64) -> String {
    let traffic = format!("(flows: {FLOWS}, size: 64, protocol: Udp, count: {packets})");
    let mut dice = Dice(1);
    let mut list = String::new();
    for _ in 1..rules {
        let (src, dst) = (dice.source(), dice.destination());
        let (from, to) = (dice.ports(), dice.service());
        // Half of them speak of TCP, as in filters of routers.
        let (protocol, keys) = [("Udp", "udp"), ("Tcp", "tcp")][dice.roll(2) as usize];
        let rule = format!(
            "(src: {src}, dst: {dst}, proto: {protocol}, {keys}_src: {from}, {keys}_dst: {to}), "
        );
        list.write_str(&rule).expect("a string takes it");
    }
    let stage = if rules == 0 { String::new() } else { format!("Classify(rules: [{list}()]),") };
    format!(
        "Pipeline(name: \"bench\", hash_seed: 1,
            ports: {{ \"in\": Emulated(traffic: {traffic}), \"out\": Emulated }},
            chains: {{ \"main\": [Rx(\"in\"), {stage} Tx(\"out\")] }})"
    )
}
