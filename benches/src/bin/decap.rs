//! What a VXLAN packet of 64 bytes costs to take out of its tunnel, and to put in: all checksums computed here, the
//! outer one verified by the card, all of them by the card.
//!
//! Measured as `chain` does: pipelines that differ by the stages in question, one thread in the simulator, a long run
//! less a short one. The ratios are printed beside those that were published when trust in a card's outer checksum
//! was first built into a software switch (64-byte frames over two 10 Gb/s cards: decapsulation from 6.53 to 8.17 Mpps,
//! both directions at once from 4.14 to 4.43 Mpps each); those are whole forwarding paths, as the rows with rx and tx
//! in them are. `--count CASE N` runs one case once, for counting instructions (`benches/count.sh`).

use corelane_benches::{Cost, Runs, simulate};

const RUNS: Runs = Runs { short: 20_000, long: 220_000, rounds: 7 };

/// Nothing is said of any checksum.
const SILENT: &str = "[\"multi_part\"]";
/// The card knows UDP, and no tunnel: it verifies the outer checksum.
const OUTER: &str = "[\"rx_ip\", \"rx_udp\", \"multi_part\"]";
/// The card knows VXLAN: it verifies the outer and the inner checksums.
const ALL: &str =
    "[\"rx_ip\", \"rx_tcp\", \"rx_udp\", \"rx_outer_ip\", \"rx_outer_udp\", \"multi_part\"]";

/// A pipeline to measure.
struct Case {
    name: &'static str,
    /// What the receiving card says.
    caps: &'static str,
    /// UDP ports on which it knows VXLAN.
    knows: &'static str,
    /// Whether what comes is in a tunnel.
    tunnelled: bool,
    stages: &'static str,
}

const DECAP: &str = "ChecksumValidate, Decap(Vxlan(vni: 42)),";
const ENCAP: &str =
    "ChecksumValidate, Encap(Vxlan(vni: 42, local: \"192.0.2.1\", remote: \"192.0.2.7\",
    udp_checksum: On, mac: \"02:00:00:00:00:01\", next_hop: \"02:00:00:00:00:07\")),";

const fn case(
    name: &'static str,
    caps: &'static str,
    tunnelled: bool,
    stages: &'static str,
) -> Case {
    Case { name, caps, knows: "[]", tunnelled, stages }
}

/// The first case of plain frames.
const PLAIN: usize = 4;

const CASES: [Case; 8] = [
    case("rx-tx-vxlan", SILENT, true, ""),
    case("decap-software", SILENT, true, DECAP),
    case("decap-outer-from-port", OUTER, true, DECAP),
    Case { knows: "[4789]", ..case("decap-all-from-port", ALL, true, DECAP) },
    case("rx-tx-plain", SILENT, false, ""),
    case("encap-software", SILENT, false, ENCAP),
    case("encap-inner-from-port", OUTER, false, ENCAP),
    case(
        "encap-no-outer",
        OUTER,
        false,
        "Encap(Vxlan(vni: 42, local: \"192.0.2.1\", remote: \"192.0.2.7\",
    mac: \"02:00:00:00:00:01\", next_hop: \"02:00:00:00:00:07\")),",
    ),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [flag, name, packets] if flag == "--count" => {
            let case = CASES.iter().find(|case| case.name == name).expect("a known case");
            run(case, packets.parse().expect("a number of packets"));
        }
        [flag] if flag == "--list" => CASES.iter().for_each(|case| println!("{}", case.name)),
        _ => table(),
    }
}

fn table() {
    let costs = RUNS.measure(CASES.len(), |case, packets| run(&CASES[case], packets));
    println!(
        "64-byte frames inside VXLAN with an outer checksum, 64 flows: ns a packet, {} rounds",
        RUNS.rounds
    );
    println!("  {:<24} {:>8} {:>8} {:>12}", "case", "median", "quietest", "over rx-tx");
    for (number, (case, Cost { median, quietest })) in CASES.iter().zip(&costs).enumerate() {
        let over = median - costs[if number < PLAIN { 0 } else { PLAIN }].median;
        println!("  {:<24} {median:>8.1} {quietest:>8.1} {over:>12.1}", case.name);
    }
    let both = |decap: usize, encap: usize| costs[decap].median + costs[encap].median;
    let decap = costs[1].median / costs[2].median;
    let way = both(1, 5) / both(2, 6);
    println!(
        "packets a second: checksums of the outermost headers from the port / all in software"
    );
    println!("  decap            {decap:.2}    published {:.2}", 8.17 / 6.53);
    println!("  both directions  {way:.2}    published {:.2}", 4.43 / 4.14);
    let all = costs[1].median / costs[3].median;
    println!("packets a second: inner and outer checksums from the port / all in software");
    println!("  decap            {all:.2}");
}

fn run(case: &Case, packets: u64) {
    let Case { caps, knows, stages, .. } = case;
    let tunnel = if case.tunnelled {
        "tunnel: Vxlan(vni: 42, from: \"192.0.2.7\", to: \"192.0.2.1\", checksum: true),"
    } else {
        ""
    };
    let traffic = format!(
        "(flows: 64, size: 64, protocol: Udp, order: RoundRobin, {tunnel} count: {packets})"
    );
    let text = format!(
        "Pipeline(name: \"bench\", hash_seed: 1,
            ports: {{
                \"in\": Emulated(caps: {caps}, vxlan_ports: {knows}, traffic: {traffic}),
                \"out\": Emulated(caps: {SILENT}),
            }},
            chains: {{ \"main\": [Rx(\"in\"), {stages} Tx(\"out\")] }})"
    );
    let report = simulate(&text);
    let sent = report.ports.get("out").map_or(0, |port| port.tx_packets);
    assert_eq!(sent, packets, "{}", case.name);
}
