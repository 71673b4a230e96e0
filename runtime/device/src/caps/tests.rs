//! The records that come with corelane, and the reader against the writer.

use super::{PROFILES, Record, profiles};
use crate::emulated::Lies;
use corelane_runtime::offload::{Answer, Caps, Facts, Limits, Reason, UdpPorts};
use proptest::prelude::*;
use std::collections::HashSet;

#[test]
fn every_profile_is_whole_and_says_why_it_does_not_do_what_is_asked() {
    for (name, text) in PROFILES {
        let record = Record::parse(text).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        let facts = &record.facts;
        assert_eq!(record.name, name, "a profile is named like its file");
        assert!(facts.advertised.contains(facts.granted), "{name}");
        assert_eq!(facts.granted, facts.granted.without_orphans(), "{name}");
        for bit in (Caps::asked() | facts.advertised) - facts.granted {
            let why =
                facts.why(bit).unwrap_or_else(|| panic!("{name}: no reason for {}", bit.names()));
            assert!(why.len() > 10 && !why.ends_with('.'), "{name}: {why}");
        }
        for reason in &facts.reasons {
            let granted = (reason.caps & facts.granted).names();
            assert_eq!(granted, "", "{name} grants what it has a reason against");
        }
        assert!(!record.source.is_empty(), "{name}");
        assert_eq!(Record::named(name), Some(record));
    }
    assert_eq!(profiles().collect::<HashSet<_>>().len(), PROFILES.len());
    assert_eq!(Record::named("i40e"), None);
}

#[test]
fn profiles_say_what_their_devices_are_known_for() {
    let of = |name: &str| Record::named(name).map(|record| record.facts).unwrap();
    let checks = Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP;
    assert_eq!(of("bare-virtio").granted, Caps::MULTI_PART);
    assert!(
        of("tap")
            .granted
            .contains(Caps::RX_PARTIAL | Caps::TX_GENERIC | Caps::TSO_ECN | Caps::USO6)
    );
    assert!(of("veth").granted.contains(Caps::RX_PARTIAL | Caps::TX_GENERIC));
    assert!(!of("veth").granted.intersects(Caps::RX_TCP | Caps::TX_IP | Caps::TSO_VXLAN));
    assert!(
        of("ixgbe-like").granted.contains(checks | Caps::TX_SCTP | Caps::GSO_PARTIAL | Caps::TSO6)
    );
    assert!(!of("ixgbe-like").granted.intersects(Caps::TSO_VXLAN | Caps::TX_OUTER_UDP));
    assert_eq!(of("i40e-like").limits.tso_bytes, 262_144);
    assert_eq!(
        of("i40e-like").why(Caps::RX_OUTER_UDP),
        Some("status covers the innermost sum only")
    );
    assert!(of("mlx5-like").granted.contains(checks | Caps::RX_COMPLETE | Caps::TSO_VXLAN));
    assert!(of("ena-like").granted.contains(checks | Caps::TX_TCP4));
    assert!(!of("ena-like").granted.intersects(Caps::TX_TCP6 | Caps::TSO4));
    assert!(of("no-outer-udp").advertised.contains(Caps::TSO_VXLAN_CSUM));
    assert!(!of("no-outer-udp").granted.intersects(Caps::TSO_VXLAN_CSUM | Caps::TX_OUTER_UDP));
    assert!(of("no-outer-udp").granted.contains(Caps::TSO_VXLAN));
    assert_eq!(of("one-queue").queues, Some(1));
    let lies = Record::named("lies").unwrap();
    assert_eq!(lies.facts.advertised, Caps::asked());
    assert!(!lies.lies.is_empty() && lies.facts.granted != lies.facts.advertised);
}

#[test]
fn every_mistake_is_named_with_what_to_write_instead() {
    let wrong = Record::parse(
        r#"Caps(
            nam: "x",
            source: 5,
            advertised: ["rx_pi", "tso4", "tx_tcp4", "multi_part"],
            reasons: [No(["tos6"], "no")],
            limits: (tso_byte: 5, mtu: "big"),
            queues: 70000,
            queues: 2,
            lies: ["skip_checksums"],
        )"#,
    );
    let wrong = wrong.unwrap_err();
    for part in [
        "a record has no key `nam`: did you mean `name`?",
        "`name` must be given",
        "`source` must be a text in quotes",
        "`advertised`: no capability is called `rx_pi`: did you mean `rx_ip`?",
        "`reasons`: no capability is called `tos6`: did you mean `tso6`?",
        "`limits` has no key `tso_byte`: did you mean `tso_bytes`?",
        "`mtu` must be a number of bytes",
        "`queues` must be a number of queues",
        "`queues` is given twice",
        "`lies`: no lie is called `skip_checksums`: did you mean `skip_checksum`?",
    ] {
        assert!(wrong.contains(part), "{part}\nis not in\n{wrong}");
    }
    assert_eq!(wrong.matches("; ").count() + 1, 10, "{wrong}");
}

#[test]
fn what_is_granted_makes_sense() {
    let with = |lists: &str| Record::parse(&format!(r#"Caps(name: "x", source: "y", {lists})"#));
    let sound = with(r#"advertised: ["tso4", "rx_ip"]"#).unwrap();
    assert_eq!(sound.facts.granted, Caps::RX_IP, "TSO without its checksum means nothing");
    let beyond = with(r#"advertised: ["rx_ip"], granted: ["rx_tcp"]"#).unwrap_err();
    assert!(beyond.contains("`granted` has rx_tcp, which is not advertised"), "{beyond}");
    let orphan =
        with(r#"advertised: ["tso4", "tx_tcp4"], granted: ["tso4", "tx_tcp4"]"#).unwrap_err();
    assert!(orphan.contains("`granted` has tso4 without multi_part, which it needs"), "{orphan}");
    assert!(with(r#"advertised: ["rx_ip"], queues: 0"#).unwrap_err().contains("give at least 1"));
    assert!(with("").unwrap_err().contains("`advertised` must be given"));
}

#[test]
fn what_is_no_record_is_said_with_its_place() {
    for (text, place) in [
        ("", "line 1, column 1"),
        ("Pipeline(name: \"x\")", "line 1, column 1"),
        ("Caps(\n  name: \"x\n", "line 2"),
        ("Caps(name: \"x\", source: \"y\", advertised: [)", "line 1"),
        ("Caps(name: \"x\") more", "line 1"),
    ] {
        let wrong = Record::parse(text).unwrap_err();
        assert!(
            wrong.contains(place) && wrong.contains("`Caps(key: value, ..)`"),
            "{text:?}: {wrong}"
        );
    }
}

/// Any record that could have been written.
fn records() -> impl Strategy<Value = Record> {
    let caps = || any::<u64>().prop_map(Caps::from_bits_truncate);
    let reason = (caps(), any::<bool>(), any::<String>()).prop_map(|(caps, no, why)| {
        let answer = if no { Answer::No } else { Answer::Unknown };
        Reason { caps, answer, why }
    });
    let ports = || {
        let few = prop::collection::vec(1..=u16::MAX, 0..=UdpPorts::MOST);
        prop_oneof![4 => few.prop_map(|ports| UdpPorts::of(&ports).unwrap()), 1 => Just(UdpPorts::ANY)]
    };
    let sizes = (1126..=u32::MAX, 2..=u16::MAX, 54..=u16::MAX, any::<Option<u32>>());
    let limits = (sizes, ports(), ports()).prop_map(
        |((tso_bytes, tso_segments, header_len, mtu), vxlan_ports, geneve_ports)| Limits {
            tso_bytes,
            tso_segments,
            header_len,
            mtu,
            vxlan_ports,
            geneve_ports,
        },
    );
    let names = ("[a-z]{1,9}\\PC*", "x\\PC*");
    let rest = (prop::option::of(1..=u16::MAX), prop::collection::vec(reason, 0..4), any::<u16>());
    (names, caps(), caps(), prop_oneof![Just(Limits::default()), limits], rest).prop_map(
        |((name, source), advertised, some, limits, (queues, reasons, lies))| {
            let mut granted = advertised & some;
            granted.set(
                Caps::TSO_VXLAN,
                !limits.vxlan_ports.is_empty() && granted.contains(Caps::TSO_VXLAN),
            );
            granted.set(
                Caps::TSO_GENEVE,
                !limits.geneve_ports.is_empty() && granted.contains(Caps::TSO_GENEVE),
            );
            let granted = granted.without_orphans();
            let reasons =
                reasons.into_iter().filter(|reason: &Reason| !granted.contains(reason.caps));
            let reasons = reasons.collect();
            let facts = Facts { advertised, granted, limits, queues, reasons };
            Record { name, source, facts, lies: Lies::from_bits_truncate(lies) }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(record in records()) {
        let text = record.to_ron();
        prop_assert_eq!(Record::parse(&text).map_err(|wrong| format!("{wrong}\n{text}")), Ok(record));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*", cut in any::<prop::sample::Index>()) {
        let _ = Record::parse(&text);
        let (_, profile) = PROFILES[cut.index(PROFILES.len())];
        let at = cut.index(profile.len());
        let head = profile.get(..at).unwrap_or_default();
        let _ = Record::parse(head);
        let _ = Record::parse(&format!("{head}{text}"));
    }
}

#[test]
fn limits_that_let_nothing_be_cut_and_reasons_against_what_is_granted_are_refused() {
    let record = |rest: &str| {
        let text = format!(
            "Caps(name: \"x\", source: \"y\", advertised: [\"tx_tcp4\", \"tso4\", \"multi_part\"], {rest})"
        );
        Record::parse(&text)
    };
    assert!(record("").is_ok());
    for (rest, part) in [
        ("limits: (tso_bytes: 1125)", "`tso_bytes` is 1125, so nothing can be cut"),
        ("limits: (tso_segments: 1)", "`tso_segments` is 1"),
        ("limits: (header_len: 53)", "`header_len` is 53"),
        ("reasons: [No([\"tso4\"], \"it cannot\")]", "tso4 is missing, but it is granted"),
    ] {
        let wrong = record(rest).unwrap_err();
        assert!(wrong.contains(part), "{rest}: {wrong}");
    }
    assert!(record("limits: (tso_bytes: 1126, tso_segments: 2, header_len: 54)").is_ok());
}
