//! What is said of ports is what their records say, and what is recorded reads back.

use super::*;

#[test]
fn a_record_that_is_written_reads_back_as_it_was() {
    for name in corelane_device::caps::profiles() {
        let port = profile(name).expect("a profile").ports.remove(0);
        let text = port.to_record("mine");
        let read = of_record("mine.ron", &text).expect("a record").ports.remove(0);
        assert_eq!(read.name, "mine");
        let same = KnownPort {
            name: port.name.clone(),
            origin: port.origin.clone(),
            record: port.record.clone(),
            ..read
        };
        assert_eq!(same, port);
    }
}

#[test]
fn a_port_that_is_written_out_is_asked() {
    let known = of_port("Emulated(caps: [\"tso4\"], mtu: 1400)", false).expect("a port");
    let [port] = known.ports.as_slice() else { panic!("one port") };
    assert_eq!((port.name.as_str(), port.mtu), ("port", Some(1400)));
    assert_eq!(port.origin, Origin::Written { caps: "[\"tso4\"]".into() });
    let granted: Vec<&str> =
        port.capabilities.iter().filter(|cap| cap.granted).map(|cap| cap.name.as_str()).collect();
    assert_eq!(granted, ["tx_tcp4", "tso4", "multi_part"]);
}

#[test]
fn asking_a_capture_file_touches_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.pcap");
    let known = of_port(&format!("Pcap(write: {path:?})"), false).expect("a port");
    assert_eq!(known.ports[0].queues, None);
    assert!(!path.exists());
}

#[test]
fn what_is_wrong_with_a_port_is_shown_at_its_column() {
    let failure = of_port("Emulatd(caps: All)", false).expect_err("no such kind");
    let text = failure.to_string();
    assert!(
        text.contains("PORT:1:1\n1 | Emulatd(") && text.contains("did you mean `Emulated`?"),
        "{text}"
    );
}

#[test]
fn nothing_is_shown_that_was_not_written() {
    let open = of_port("Emulated(caps: All", false).expect_err("not closed").to_string();
    assert!(open.contains("PORT:1:9") && !open.contains('}'), "{open}");
    let second = of_port("Emulated(\n  caps: [\"tso9\"])", false).expect_err("no such thing");
    assert!(second.to_string().contains("PORT:2:9"), "{second}");
}

#[test]
fn ports_of_a_file_are_known_whatever_stands_on_them() {
    let text = r#"Pipeline(name: "x", ports: { "a": Emulated(), "b": Emulated(caps: All) },
        chains: { "main": [Rx("a"), Tx("a")] })"#;
    let ports = |only| Pipeline::parse(text).expect("a description").ports(only, false);
    assert_eq!(ports(None).expect("ports").ports.len(), 2);
    assert_eq!(ports(Some("b")).expect("a port").ports[0].name, "b");
    let missing = ports(Some("c")).expect_err("no such port").to_string();
    assert_eq!(missing, "port c: there is none; there are `a`, `b`");
}

/// The profile that lies claims more than it does; what is left of it when it is tried stands in its own file.
#[test]
fn what_is_verified_is_what_the_port_does() {
    let claims = profile("lies").expect("a profile").ports.remove(0);
    let tried = of_port("Emulated(caps: \"lies\")", true).expect("a port").ports.remove(0);
    let granted = |port: &KnownPort| port.capabilities.iter().filter(|cap| cap.granted).count();
    assert_eq!(granted(&tried), granted(&claims));
    let failed = tried.capabilities.iter().find(|cap| cap.name == "tso4").expect("a capability");
    assert!(!failed.granted && failed.advertised && failed.why.is_some(), "{failed:?}");
}
