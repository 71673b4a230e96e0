//! The verdicts against a slow model written from the design alone: for every pair of recorded devices and a few
//! pipelines it says in plain words of code where each piece of work must be done.

use super::bench::Bench;
use corelane::Where;
use corelane_device::caps::{self, Record};
use corelane_runtime::offload::{Caps, Facts};

/// What a pipeline has, as far as the model must know.
#[derive(Clone, Copy, Debug)]
struct Shape {
    chains: &'static str,
    /// Everything is checked before it comes to `Gro`.
    validates: bool,
    joins: bool,
    /// The `Gso` of the file stands before a fork to two ports.
    forks: bool,
    /// Stages that use nothing a device says.
    software: &'static [&'static str],
}

const SHAPES: [Shape; 8] = [
    Shape {
        chains: r#""main": [Rx("in"), ChecksumValidate, Gro, Tx("out")]"#,
        validates: true,
        joins: true,
        forks: false,
        software: &[],
    },
    Shape {
        chains: r#""main": [Rx("in"), Gro, Ring, Count, Tx("out")]"#,
        validates: false,
        joins: true,
        forks: false,
        software: &[],
    },
    Shape {
        chains: r#""main": [Rx("in"), ChecksumValidate, Gro, Ring, Gso, ChecksumFill, Tx("out")]"#,
        validates: true,
        joins: true,
        forks: false,
        software: &[],
    },
    Shape {
        chains: r#""main": [Rx("in"), ChecksumValidate, Tx("out")]"#,
        validates: true,
        joins: false,
        forks: false,
        software: &[],
    },
    Shape {
        chains: r#""main": [Rx("in"), ChecksumValidate, Gro, Gso, Fork, Tx("out")], "side": [Tx("other")]"#,
        validates: true,
        joins: true,
        forks: true,
        software: &[],
    },
    Shape {
        chains: r#""main": [Rx("in"), ChecksumValidate(offload: SoftwareOnly), Gro, Tx("out")]"#,
        validates: true,
        joins: true,
        forks: false,
        software: &["ChecksumValidate"],
    },
    Shape {
        chains: r#""main": [Rx("in"), Gro(offload: SoftwareOnly), Tx("out")]"#,
        validates: false,
        joins: true,
        forks: false,
        software: &["Gro"],
    },
    Shape {
        chains: r#""main": [Rx(port: "in", offload: SoftwareOnly), ChecksumValidate, Gro, Tx("out")]"#,
        validates: true,
        joins: true,
        forks: false,
        software: &["Rx"],
    },
];

fn here_or_port(port: bool) -> Where {
    if port { Where::Hardware } else { Where::Software }
}

/// Whether a device finds tunnels in what it receives.
fn finds(facts: &Facts) -> bool {
    let behind = !facts.limits.vxlan_ports.is_empty() || !facts.limits.geneve_ports.is_empty();
    behind || facts.granted.intersects(Caps::TSO_GRE | Caps::TSO_IPIP)
}

/// `ChecksumValidate`: the device's word where it gives one. Of a tunnel that it finds it tells of what is inside, and
/// of what is around it by capabilities of their own; which tunnels come nobody knows.
fn of_validate(work: &str, rx: Caps, finds: bool, shape: Shape) -> Where {
    if shape.software.contains(&"ChecksumValidate") {
        // What the device joined nobody can take apart, and only the device has seen its checksums.
        let joined = rx.contains(Caps::RX_HW_GRO) && matches!(work, "outer ipv4" | "outer tcp");
        return if joined { Where::Both } else { Where::Software };
    }
    match work {
        "outer ipv4" => around(rx, Caps::RX_IP, finds, Caps::RX_OUTER_IP),
        "outer tcp" => here_or_port(rx.contains(Caps::RX_TCP)),
        "outer udp" => around(rx, Caps::RX_UDP, finds, Caps::RX_OUTER_UDP),
        "inner ipv4" if finds && rx.contains(Caps::RX_IP) => Where::Both,
        "inner tcp, udp" if finds && rx.contains(Caps::RX_TCP | Caps::RX_UDP) => Where::Both,
        "inner ipv4" | "inner tcp, udp" => Where::Software,
        work => panic!("{work}"),
    }
}

/// What a device tells of the first headers of packets, some of which are around tunnels that it finds.
fn around(rx: Caps, plain: Caps, finds: bool, outer: Caps) -> Where {
    match (rx.contains(plain), !finds || rx.contains(outer)) {
        (true, true) => Where::Hardware,
        (true, false) => Where::Both,
        (false, _) => Where::Software,
    }
}

/// What is no work of the device that receives.
const SENDERS: Caps =
    Caps::from_bits_truncate(Caps::RX_PARTIAL.bits() | (Caps::all().bits() & !0xffff));

/// `Gro` merges what is known to be good, and checks itself where nobody did.
fn of_gro(work: &str, rx: Caps, shape: Shape) -> Where {
    if shape.software.contains(&"Gro") {
        let joined = rx.contains(Caps::RX_HW_GRO) && !work.ends_with("udp");
        return if joined { Where::Both } else { Where::Software };
    }
    match work {
        "join tcp" => here_or_port(rx.contains(Caps::RX_HW_GRO)),
        "join udp" => Where::Software,
        "check ipv4" | "check tcp" | "check udp" if shape.validates => Where::Nothing,
        "check ipv4" => here_or_port(rx.contains(Caps::RX_IP)),
        "check tcp" => here_or_port(rx.contains(Caps::RX_TCP)),
        "check udp" => here_or_port(rx.contains(Caps::RX_UDP)),
        work => panic!("{work}"),
    }
}

/// Whether superpackets of UDP, of TCP may come to the `Gso` that is asked about. `cut`: one before it has cut all.
fn supers(rx: Caps, shape: Shape, cut: bool) -> (bool, bool) {
    if cut {
        return (false, false);
    }
    // Who sends on the same host leaves cutting to the device, along with the checksum.
    let sender = rx.contains(Caps::RX_PARTIAL);
    (shape.joins || sender, shape.joins || sender || rx.contains(Caps::RX_HW_GRO))
}

/// `Gso`: what comes as a superpacket is the port's, if there is one port and it can.
fn of_gso(work: &str, rx: Caps, shape: Shape, out: Option<&Facts>, cut: bool) -> Where {
    let (udp, tcp) = supers(rx, shape, cut);
    let hw_gro = rx.contains(Caps::RX_HW_GRO);
    let sender = rx.contains(Caps::RX_PARTIAL);
    let (comes, bit) = match work {
        "tcp over ipv4" => (tcp, Some(Caps::TSO4)),
        "tcp over ipv6" => (tcp, Some(Caps::TSO6)),
        "udp over ipv4" => (udp, Some(Caps::USO4)),
        "udp over ipv6" => (udp, Some(Caps::USO6)),
        "tcp with one id" => (shape.joins || hw_gro, Some(Caps::TSO_FIXED_ID)),
        "udp with one id" => (shape.joins, None),
        // Gro and devices that join see CWR on every segment they join, never on the first alone.
        "cwr on the first segment" => (sender, Some(Caps::TSO_ECN)),
        "cwr on every segment" => (shape.joins || hw_gro, Some(Caps::TSO_CWR_ALL)),
        "padded last segment" => (shape.joins || hw_gro, Some(Caps::TSO_PAD)),
        // A device joins into one buffer, Gro into a chain.
        "several parts" => (shape.joins, Some(Caps::MULTI_PART)),
        "uneven or hidden" => (shape.joins || sender, None),
        work => return in_tunnels(work, out),
    };
    match (comes && !cut, bit, out) {
        (false, ..) => Where::Nothing,
        (true, Some(bit), Some(out)) => here_or_port(out.granted.contains(bit)),
        (true, ..) => Where::Software,
    }
}

/// `Gso`: superpackets in tunnels, which `Gro` makes and nobody else here. The device knows VXLAN and Geneve behind some
/// UDP ports only, if it is not told where they are; one that repeats headers spares most of the cutting.
fn in_tunnels(work: &str, out: Option<&Facts>) -> Where {
    let bit = match work {
        "tcp in vxlan" => Caps::TSO_VXLAN,
        "tcp in vxlan with outer checksum" => Caps::TSO_VXLAN_CSUM,
        "tcp in geneve" => Caps::TSO_GENEVE,
        "tcp in geneve with outer checksum" => Caps::TSO_GENEVE_CSUM,
        "tcp in gre" => Caps::TSO_GRE,
        "tcp in ip in ip" => Caps::TSO_IPIP,
        "one outer id" => Caps::TSO_FIXED_ID,
        "udp in a tunnel" => return Where::Software,
        work => panic!("{work}"),
    };
    let Some(out) = out else { return Where::Software };
    let any = match work {
        _ if work.contains("vxlan") => out.limits.vxlan_ports.is_any(),
        _ if work.contains("geneve") => out.limits.geneve_ports.is_any(),
        _ => false,
    };
    let some = match work {
        _ if any && out.granted.contains(bit) => return Where::Hardware,
        _ if work.contains("vxlan") => !out.limits.vxlan_ports.is_empty(),
        _ if work.contains("geneve") => !out.limits.geneve_ports.is_empty(),
        _ if out.granted.contains(bit) => return Where::Hardware,
        _ => false,
    };
    let some = some && out.granted.contains(bit);
    if some || out.granted.contains(Caps::GSO_PARTIAL) { Where::Both } else { Where::Software }
}

/// `ChecksumFill`: what came unfinished, and segments of what came as one, whose sums nobody knows.
fn of_fill(work: &str, rx: Caps, out: &Facts) -> Where {
    let sender = rx.contains(Caps::RX_PARTIAL);
    let tcp = sender || rx.contains(Caps::RX_HW_GRO);
    let (comes, bit) = match work {
        "tcp over ipv4" => (tcp, Some(Caps::TX_TCP4)),
        "tcp over ipv6" => (tcp, Some(Caps::TX_TCP6)),
        "udp over ipv4" => (sender, Some(Caps::TX_UDP4)),
        "udp over ipv6" => (sender, Some(Caps::TX_UDP6)),
        "in other tunnels, fragments, behind ipv6 extensions" => (sender, Some(Caps::TX_GENERIC)),
        "outer udp around an unfinished one" => (true, Some(Caps::TX_OUTER_UDP)),
        "not to the end of the datagram" | "ipv4 header" => (sender, None),
        work => return fill_in_tunnels(work, out),
    };
    match (comes, bit) {
        (false, _) => Where::Nothing,
        (true, Some(bit)) => here_or_port(out.granted.contains(bit)),
        (true, None) => Where::Software,
    }
}

/// Inside a tunnel that the device finds, or by one that is told where.
fn fill_in_tunnels(work: &str, out: &Facts) -> Where {
    let granted = |bit: Caps| out.granted.contains(bit);
    let some = match work {
        _ if granted(Caps::TX_GENERIC) => return Where::Hardware,
        "inside vxlan" => granted(Caps::TSO_VXLAN) && !out.limits.vxlan_ports.is_empty(),
        "inside geneve" => granted(Caps::TSO_GENEVE) && !out.limits.geneve_ports.is_empty(),
        "inside gre" => return here_or_port(granted(Caps::TSO_GRE)),
        "inside ip in ip" => return here_or_port(granted(Caps::TSO_IPIP)),
        work => panic!("{work}"),
    };
    if some { Where::Both } else { Where::Software }
}

fn profiles() -> Vec<(&'static str, Facts)> {
    let facts = |name| (name, Record::named(name).expect("a profile").facts);
    caps::profiles().map(facts).collect()
}

#[test]
fn every_verdict_is_the_one_the_design_asks_for() {
    let profiles = profiles();
    let mut seen = std::collections::BTreeMap::new();
    for shape in SHAPES {
        for (rx_name, rx) in &profiles {
            for (tx_name, tx) in &profiles {
                let other = &profiles[profiles.len() - 1].1;
                let mut ports = vec![("in", rx.clone()), ("out", tx.clone())];
                if shape.forks {
                    ports.push(("other", other.clone()));
                }
                let bench = Bench { ports, chains: shape.chains.to_owned() };
                let plan = bench.plan().unwrap_or_else(|failure| panic!("{failure}"));
                let finds = finds(rx);
                // A device that nobody may ask does none of this; what its sender leaves unfinished stays so.
                let nobody_asks = shape.software.contains(&"Rx");
                let rx = if nobody_asks { rx.granted & SENDERS } else { rx.granted };
                for stage in plan.explain().stages() {
                    let out = match stage.id.starts_with("side") {
                        true => other,
                        false => tx,
                    };
                    for verdict in &stage.verdicts {
                        let work = verdict.work.as_str();
                        let expected = match stage.kind.as_str() {
                            "Rx" if work == "flow hash" => here_or_port(rx.contains(Caps::RX_HASH)),
                            "Rx" if rx.contains(Caps::RX_HW_GRO) => Where::Hardware,
                            "Rx" => Where::Nothing,
                            "ChecksumValidate" => of_validate(work, rx, finds, shape),
                            "Gro" => of_gro(work, rx, shape),
                            "Gso" if shape.forks && !stage.added => {
                                of_gso(work, rx, shape, None, false)
                            }
                            "Gso" => of_gso(work, rx, shape, Some(out), shape.forks),
                            "ChecksumFill" => of_fill(work, rx, out),
                            kind => panic!("{kind} has verdicts"),
                        };
                        let context = format!("{} {work}, {rx_name} to {tx_name}", stage.id);
                        assert_eq!(verdict.place, expected, "{context}: {}", verdict.reason);
                        assert_reason(verdict, &context);
                        *seen.entry(format!("{:?}", verdict.place)).or_insert(0) += 1;
                    }
                }
            }
        }
    }
    assert!(seen.len() >= 3 && seen.values().all(|&count| count > 100), "{seen:?}");
}

/// A reason repeats what was answered, and says what is done where it is done here.
fn assert_reason(verdict: &corelane::Verdict, context: &str) {
    let reason = &verdict.reason;
    assert!(!reason.is_empty() && !reason.contains('\n'), "{context}");
    for asked in &verdict.asked {
        let name = format!("{}: ", asked.port);
        assert!(
            reason.contains(&name) && reason.contains(&asked.capability),
            "{context}: {reason}"
        );
        let word = match asked.answer {
            "yes" => "= Yes",
            "no" => "= No",
            _ => "= Unknown",
        };
        assert!(reason.contains(word), "{context}: {reason}");
    }
    if verdict.place == Where::Hardware {
        assert!(verdict.asked.iter().all(|asked| asked.answer == "yes"), "{context}: {reason}");
    }
}
