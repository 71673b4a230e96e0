//! Judges the JSON report of a run of the preset `demo`.
//!
//! Promises to fail on any fact of the demo that the report does not show, a missing key included.
//! Does not look at packets: `compare` does.

use serde_json::Value;

/// One thing that the report must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What is claimed.
    pub claim: &'static str,
    /// What the report says, as text.
    pub found: String,
    /// Whether the claim holds.
    pub holds: bool,
}

/// What the demo must show, judged by `report`.
///
/// All offloads are done in software, so each payload byte that a checksum covers has been summed
/// once (ARP inside of a tunnel without a checksum is covered by none), and everything that `Gro` joined has been cut again by `Gso`.
#[must_use]
pub fn demo_facts(report: &Value) -> Vec<Fact> {
    let balanced = &report["balanced"];
    let totals = &report["totals"];
    let (payload, summed) =
        (count(&totals["payload_bytes"]), count(&totals["payload_bytes_summed"]));
    let received = total(report, "rx_packets");
    let sent = total(report, "tx_packets");
    let joined = of_kind(report, "Gro", "absorbed");
    let cut = of_kind(report, "Gso", "created");
    let actors = report["actors"].as_array().map_or(0, Vec::len);
    let fact = |claim, found: String, holds| Fact { claim, found, holds };
    vec![
        fact("balanced: every packet is accounted for", balanced.to_string(), *balanced == true),
        fact(
            "as many packets sent as received",
            pair(received, sent),
            some_and_equal(received, sent),
        ),
        fact("two actors at least", actors.to_string(), actors >= 2),
        fact(
            "Gro joined packets, and Gso cut as many",
            pair(joined, cut),
            some_and_equal(joined, cut),
        ),
        fact(
            "payload bytes summed once, and none twice",
            pair(payload, summed),
            payload.zip(summed).is_some_and(|(payload, summed)| once(payload, summed)),
        ),
    ]
}

/// Whether so many bytes were summed once, but for what no checksum covers: one in a thousand.
fn once(payload: u64, summed: u64) -> bool {
    payload > 0 && summed <= payload && payload - summed <= payload / 1000
}

/// More than nothing, and the same on both sides.
fn some_and_equal(one: Option<u64>, other: Option<u64>) -> bool {
    one.is_some_and(|value| value > 0) && one == other
}

fn pair(one: Option<u64>, other: Option<u64>) -> String {
    let text =
        |value: Option<u64>| value.map_or_else(|| "absent".into(), |value| value.to_string());
    format!("{} and {}", text(one), text(other))
}

/// A count in packets: a number, or an object that gives it beside segments and bytes.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value["packets"].as_u64())
}

/// Sum of `key` over all ports; `None` where no port has it.
fn total(report: &Value, key: &str) -> Option<u64> {
    let ports = report["ports"].as_object()?;
    ports.values().filter_map(|port| count(&port[key])).reduce(|a, b| a + b)
}

/// Sum of `key` over the stages of a kind; `None` where there is none.
fn of_kind(report: &Value, kind: &str, key: &str) -> Option<u64> {
    let stages = report["stages"].as_array()?;
    let of_kind = stages.iter().filter(|stage| stage["kind"] == kind);
    of_kind.filter_map(|stage| count(&stage[key])).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        json!({
            "balanced": true,
            "ports": {
                "in": { "rx_packets": 9, "tx_packets": 0 },
                "out": { "rx_packets": 0, "tx_packets": 9 },
            },
            "stages": [
                { "kind": "Gro", "absorbed": 5, "created": 0 },
                { "kind": "Gso", "absorbed": 0, "created": { "packets": 5 } },
            ],
            "actors": [{}, {}],
            "totals": { "payload_bytes": 700, "payload_bytes_summed": 700 },
        })
    }

    fn holding(report: &Value) -> Vec<bool> {
        demo_facts(report).iter().map(|fact| fact.holds).collect()
    }

    #[test]
    fn a_good_report_holds_every_fact() {
        assert_eq!(holding(&good()), [true; 5]);
    }

    #[test]
    fn an_empty_report_holds_none() {
        assert_eq!(holding(&json!({})), [false; 5]);
    }

    #[test]
    fn each_lie_fails_its_own_fact_alone() {
        let lies = [
            ("/balanced", json!(false)),
            ("/ports/out/tx_packets", json!(8)),
            ("/actors", json!([{}])),
            ("/stages/1/created", json!({ "packets": 4 })),
            ("/totals/payload_bytes_summed", json!(1400)),
        ];
        for (at, (pointer, lie)) in lies.into_iter().enumerate() {
            let mut report = good();
            *report.pointer_mut(pointer).unwrap() = lie;
            let expected: Vec<bool> = (0..5).map(|fact| fact != at).collect();
            assert_eq!(holding(&report), expected, "{pointer}");
        }
    }

    #[test]
    fn joining_nothing_is_not_enough() {
        let mut report = good();
        report["stages"][0]["absorbed"] = json!(0);
        report["stages"][1]["created"] = json!(0);
        assert_eq!(holding(&report), [true, true, true, false, true]);
    }
}
