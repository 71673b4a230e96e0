//! What an emulated port is told, and what it makes of it.

use super::*;
use corelane_device::caps::Record;
use corelane_device::emulated::{FrameSize, Onset, Order, Overlay, OverlayKind, Rate};
use std::path::Path;

fn common(caps: &str) -> Common {
    let record = (!caps.is_empty()).then(|| super::super::record(caps, Path::new("")).unwrap());
    Common { record, ..Common::default() }
}

fn configured(args: &str, common: &Common) -> Result<Config, Vec<String>> {
    // The public way, without the box that hides what came out.
    configure(Args { text: args }, common)
        .map(|port| {
            let facts = port.facts();
            Config { device: EmulatedConfig::new(""), facts, read: None, write: None }
        })
        .map_err(|errors| errors.into_iter().map(|error| error.message).collect())
}

fn facts(args: &str, common: &Common) -> Facts {
    configured(args, common).unwrap_or_else(|wrong| panic!("{args}: {wrong:?}")).facts
}

fn wrong(args: &str, common: &Common) -> String {
    configured(args, common).err().unwrap_or_else(|| panic!("{args} passes")).join("; ")
}

fn generate(args: &str) -> Generate {
    let spec: Spec = config::parse(Args { text: args }).unwrap();
    spec.traffic.unwrap().generate(&Common::default()).unwrap()
}

#[test]
fn it_grants_of_a_record_what_it_has_units_for_and_explains_the_rest() {
    assert_eq!(facts("()", &common("")).granted, Caps::MULTI_PART);
    assert_eq!(facts("()", &common("None")).granted, Caps::empty());
    let all = facts("()", &common("All"));
    assert!(all.granted.contains(Caps::asked()), "all that anybody asks for");
    let i40e = facts("()", &common("i40e-like"));
    let record = Record::named("i40e-like").unwrap();
    assert_eq!(i40e.granted & Caps::asked(), record.facts.granted & Caps::asked());
    assert_eq!(i40e.why(Caps::RX_TIMESTAMP), Some("the emulated device has no clock of its own"));
    assert_eq!(i40e.why(Caps::RX_OUTER_UDP), Some("status covers the innermost sum only"));
    assert_eq!(i40e.limits, record.facts.limits);
}

#[test]
fn what_the_port_is_told_itself_goes_before_its_record() {
    let told = Common { mtu: Some(1500), queues: Some(2), ..common("i40e-like") };
    let facts = facts("()", &told);
    assert_eq!(
        (facts.limits.mtu, facts.limits.tso_bytes, facts.queues),
        (Some(1500), 262_144, Some(2))
    );
}

#[test]
fn tunnels_are_known_by_the_ports_of_the_record_or_those_that_the_port_is_told() {
    let ports = |args: &str, caps: &str| {
        let limits = facts(args, &common(caps)).limits;
        (limits.vxlan_ports.to_string(), limits.geneve_ports.to_string())
    };
    let both = |vxlan: &str, geneve: &str| (vxlan.to_owned(), geneve.to_owned());
    assert_eq!(ports("()", "i40e-like"), both("4789", "6081"));
    assert_eq!(ports("()", "All"), both("4789", "6081"));
    assert_eq!(ports("()", "[\"tso_vxlan\"]"), both("4789", ""));
    assert_eq!(ports("()", "[\"rx_tcp\"]"), both("", ""));
    assert_eq!(ports("(vxlan_ports: [8472, 4789])", "All"), both("4789, 8472", "6081"));
    assert_eq!(ports("(vxlan_ports: [], geneve_ports: [1])", "All"), both("", "1"));
    for list in ["[0]", "[1, 2, 3, 4, 5]"] {
        let wrong = wrong(&format!("(vxlan_ports: {list})"), &common("All"));
        assert!(wrong.contains("up to 4 UDP ports from 1 on"), "{wrong}");
    }
}

#[test]
fn more_queues_than_the_device_has_are_refused() {
    let told = Common { queues: Some(2), ..common("one-queue") };
    assert!(
        wrong("()", &told).contains("`queues` is 2, but the device has 1"),
        "{}",
        wrong("()", &told)
    );
    let port = configure(Args { text: "()" }, &common("one-queue")).unwrap();
    assert_eq!(port.facts().queues, Some(1));
    let error = port.open("nic", 2).err().unwrap();
    assert!(error.user && error.message.contains("has 1 queues"), "{error}");
    assert!(port.open("nic", 1).is_ok());
    assert!(configure(Args { text: "()" }, &common("")).unwrap().open("nic", 9).is_ok());
}

#[test]
fn the_profile_that_lies_is_found_out_to_be_what_its_file_says() {
    let record = Record::named("lies").unwrap();
    let told = Common { verify: true, ..common("lies") };
    let probed = facts("()", &told);
    assert_eq!(probed.granted, record.facts.granted);
    for bit in record.facts.advertised - probed.granted {
        assert_eq!(probed.why(bit), record.facts.why(bit), "{}", bit.names());
    }
    // What is opened is what was found out.
    let port = configure(Args { text: "()" }, &told).unwrap().open("nic", 1).unwrap();
    assert_eq!(port.caps().facts.granted, record.facts.granted);
}

#[test]
fn an_honest_device_is_granted_what_it_says() {
    for caps in ["All", "i40e-like", "tap", "ena-like", "None", "[\"tx_tcp6\"]", "[\"rx_hw_gro\"]"]
    {
        let told = Common { verify: true, ..common(caps) };
        assert_eq!(facts("()", &told).granted, facts("()", &common(caps)).granted, "{caps}");
    }
}

#[test]
fn traffic_is_what_it_says() {
    let made = generate(
        r#"(traffic: (flows: 9, size: Mix([(64, 7), (1518, 1)]), order: Zipf(1.1), rate: "1.5Mpps", seed: 4))"#,
    );
    assert_eq!(made.size, FrameSize::Mix(vec![(64, 7), (1518, 1)]));
    assert_eq!((made.order, made.rate, made.seed), (Order::Zipf(1.1), Rate::Frames(1_500_000), 4));
    let rate = |text: &str| generate(&format!("(traffic: (rate: {text}))")).rate;
    assert_eq!(rate("Max"), Rate::Max);
    assert_eq!(rate("\"10Gbps\""), Rate::Bits(10_000_000_000));
    assert_eq!(rate("\"64kbps\""), Rate::Bits(64_000));
    assert_eq!(rate("\"7pps\""), Rate::Frames(7));
    assert_eq!(generate("(traffic: (size: Imix))").size, FrameSize::Imix);
    assert_eq!(generate("(traffic: (size: 1518, order: Trains(4)))").order, Order::Trains(4));
}

#[test]
fn traffic_in_a_tunnel_has_what_is_said_of_the_tunnel() {
    let usual = generate("(traffic: (tunnel: Vxlan(vni: 42)))").tunnel.unwrap();
    assert_eq!(usual, Overlay::new(OverlayKind::Vxlan, 42));
    let told = generate(
        r#"(traffic: (tunnel: Geneve(vni: 7, port: 6082, from: "2001:db8::1", to: "2001:db8::2", checksum: true)))"#,
    );
    let told = told.tunnel.unwrap();
    assert_eq!((told.kind, told.vni, told.port), (OverlayKind::Geneve, 7, 6082));
    assert!(told.checksum && told.from.is_ipv6() && told.to.is_ipv6());
}

#[test]
fn the_address_of_the_port_is_where_its_traffic_goes() {
    let spec: Spec = config::parse(Args { text: "(traffic: ())" }).unwrap();
    let mac = Some([2, 1, 2, 3, 4, 5]);
    let made = spec.traffic.unwrap().generate(&Common { mac, ..Common::default() }).unwrap();
    assert_eq!(Some(made.destination), mac);
}

#[test]
fn every_mistake_names_its_key_and_the_cure() {
    let plain = common("");
    for (args, words) in [
        ("(traffic: (flows: 0))", "give `flows` at least 1"),
        ("(traffic: (rate: 5))", "expected `Max`, packets a second such as \"1Mpps\""),
        ("(traffic: (rate: \"5Mb\"))", "expected `Max`, packets"),
        ("(traffic: (rate: \"0pps\"))", "`rate` is 0"),
        ("(traffic: (rate: \"1.0000001kpps\"))", "expected `Max`, packets"),
        ("(traffic: (size: Mix([])))", "Mix([(64, 7), (1518, 1)])"),
        ("(traffic: (size: Mx))", "`Imix`"),
        ("(traffic: (size: 65554))", "give 65553 or less"),
        ("(traffic: (order: Zipf(0)))", "give a power over 0"),
        ("(traffic: (order: Trains(0)))", "at least 1"),
        ("(traffic: (partial: true))", "give `caps` with rx_partial"),
        ("(traffic: (tunnel: Vxlan(vni: 16777216)))", "it has 24 bits"),
        ("(traffic: (tunnel: Vxlan(vni: 1, to: \"::1\")))", "two versions of IP"),
        ("(traffic: (tunnel: Vxlan(vni: 1, port: 0)))", "`port` is 0"),
        ("(traffic: (tunnel: Vxlan()))", "vni"),
        ("(traffic: (tunnel: Gre(vni: 1)))", "Vxlan"),
        ("(traffic: (partial: true, tunnel: Vxlan(vni: 1)))", "leave out `partial` or `tunnel`"),
        ("(fail: [(\"tos4\", \"1ms\")])", "did you mean `tso4`?"),
        ("(fail: [(\"tso4\", \"1ms\")])", "it cannot do tso4"),
        (
            "(fail: [(\"tso4\", 5)])",
            "expected pairs such as (\"tso4\", \"1ms\") or (\"tso4\", After(1000))",
        ),
        ("(fail: [\"tso4\"])", "expected pairs such as"),
        ("(stall: [\"1s\"])", "expected pairs of times"),
        ("(stall: [(\"1s\", \"1s\")])", "write the earlier time first"),
        ("(caps: All)", "there is no key `caps`"),
    ] {
        let wrong = wrong(args, &plain);
        assert!(wrong.contains(words), "{args}\n{wrong}");
    }
    let group = Common { mac: Some([1, 0, 0, 0, 0, 1]), ..Common::default() };
    assert!(wrong("(traffic: ())", &group).contains("group address"));
}

#[test]
fn failures_are_read_with_their_moments() {
    let spec: Spec =
        config::parse(Args { text: r#"(fail: [("tso4", "1ms"), ("rx_tcp", After(1000))])"# })
            .unwrap();
    let can = facts("()", &common("All"));
    let failing = failing(&spec, &can).unwrap();
    assert_eq!(failing[0], Failing { caps: Caps::TSO4, from: Onset::At(1_000_000) });
    assert_eq!(failing[1], Failing { caps: Caps::RX_TCP, from: Onset::After(1000) });
}

#[test]
fn unfinished_checksums_are_for_ports_that_hand_them_over() {
    let tap = common("tap");
    assert!(facts("(traffic: (partial: true))", &tap).granted.contains(Caps::RX_PARTIAL));
}

/// What hardware makes of a capture lies in a file again.
#[test]
fn a_capture_goes_through_hardware_and_comes_out_as_a_capture() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/captures/vxlan-bulk-v4.pcap");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.pcap");
    let text = format!(
        "Pipeline(name: \"x\", ports: {{
            \"in\": Emulated(caps: All, read: {capture:?}),
            \"out\": Emulated(caps: All, write: {out:?}),
        }}, chains: {{ \"main\": [Rx(\"in\"), ChecksumValidate, Gro, Tx(\"out\")] }})"
    );
    let pipeline = crate::Pipeline::parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let plan = pipeline.plan(&crate::standard(), &crate::Machine::here());
    let report = plan.and_then(|plan| plan.simulate(3)).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(report.balanced, Some(true), "{:?}", report.unbalanced);
    assert_eq!(report.totals.payload_bytes_summed, 0, "hardware did it all");
    let frames = |path: &std::path::Path| {
        let mut file = corelane_device::capture::CaptureFile::open(path).expect("a capture");
        let (mut frames, mut records) = (Vec::new(), file.records());
        while let Some(record) = records.next_record() {
            frames.push(record.expect("a record").data.to_vec());
        }
        frames.sort();
        frames
    };
    assert_eq!(frames(&out), frames(std::path::Path::new(capture)));
}

#[test]
fn a_capture_and_traffic_exclude_each_other() {
    let text = "(read: \"x.pcap\", traffic: (count: 1))";
    let wrong = configure(Args { text }, &Common::default()).err().unwrap().remove(0);
    assert_eq!(wrong.key.as_deref(), Some("read"));
}
