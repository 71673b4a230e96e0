//! How rules are read: what each form of value holds, and what is said of those that hold nothing.

use super::{Place, classifier, packet};
use crate::classify::ClassifySpec;
use crate::classify::config::INFO;
use crate::classify::headers::Headers;
use crate::classify::rule::Rule;
use corelane_runtime::stage::{Args, ConfigError, Row, StageConfig, StageSpec};
use corelane_runtime::testing::Harness;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{Ethernet, FrameBuilder, Ipv4, Ipv6, Tcp, Udp};

/// What is wrong with a rule: what stands at the place, and what is said.
fn wrong(rule: &str) -> Vec<(String, String)> {
    let errors = Rule::read(rule).expect_err(rule);
    errors.into_iter().map(|error| shown(rule, error)).collect()
}

fn shown(text: &str, error: ConfigError) -> (String, String) {
    let at = error.span.map(|(from, to)| text[from..to].to_owned()).unwrap_or_default();
    (at, error.message)
}

/// Whether a rule matches a frame.
fn matches(rule: &str, frame: &FrameBuilder) -> bool {
    let mut harness = Harness::new(crate::count::Count {}, &INFO);
    let packet = packet(&mut harness, &frame.build(), 7, 1);
    let found = classifier(&[rule.to_owned()], &Place::default()).find(&Headers::of(&packet));
    harness.buffers.release(packet);
    found.is_some()
}

fn udp() -> FrameBuilder {
    let (src, dst) = ([10, 0, 0, 1], [192, 0, 2, 1]);
    let ip = Ipv4 { src, dst, tos: 0xb9, ..Ipv4::default() };
    FrameBuilder::new().ipv4(ip).udp(Udp { src_port: 9, dst_port: 53, ..Udp::default() })
}

fn syn() -> FrameBuilder {
    let flags = TcpFlags::from_bits(0x02);
    FrameBuilder::new().ipv6(Ipv6::default()).tcp(Tcp { flags, dst_port: 80, ..Tcp::default() })
}

#[test]
fn every_form_of_value_holds_what_it_says() {
    let yes = [
        "()",
        "(udp_dst: 53)",
        "(udp_dst: 0x35)",
        "(udp_dst: 50..=53)",
        "(udp_dst: [1, 40..=60,])",
        "(udp_dst: Not(54))",
        "(udp_dst: Not([1..=52, 54])) // and no more",
        "(proto: Udp, src: \"10.0.0.0/8\", /* this end */ dst: Own(\"p0\"))",
        "(dst: [Own(\"p0\"), \"2001:db8::/32\"])",
        "(src: Not(Own(\"p0\")))",
        "(dscp: 46, ecn: Ect1)",
        "(ethertype: [Arp, Ipv4], fragment: No, vlan: Untagged)",
        "(eth_src: \"02:00:00:00:00:00/24\", length: 0..=60)",
        "(port: \"p1\", mark: 7, proto: 1..=17)",
        "(port: Not([\"p0\", \"p2\"]))",
        "(src: \"0.0.0.0/0\")",
    ];
    for rule in yes {
        let found = matches(rule, &with_source(udp(), [2, 0, 0, 9, 9, 9]));
        assert!(found, "{rule}");
    }
    let no = [
        "(udp_dst: 54)",
        "(udp_dst: Not(53))",
        "(tcp_dst: Not(53))",
        "(src: Not(\"10.0.0.0/8\"))",
        "(src: \"2001:db8::/32\")",
        "(dst: Not(Own(\"p0\")))",
        "(vlan: Not(Untagged))",
        "(vlan: Not(1))",
        "(fragment: Any)",
        "(port: \"p0\")",
        "(vni: 0..=16777215)",
        "(vni: Not(1))",
        "(tunnel_src: \"0.0.0.0/0\")",
        "(udp_dst: 53, mark: 8)",
    ];
    for rule in no {
        assert!(!matches(rule, &with_source(udp(), [2, 0, 0, 9, 9, 9])), "{rule}");
    }
}

/// The same frame from another link-layer address.
fn with_source(frame: FrameBuilder, src: [u8; 6]) -> FrameBuilder {
    let bytes = frame.build();
    let header = Ethernet {
        src,
        ethertype: Some(u16::from_be_bytes([bytes[12], bytes[13]])),
        ..Ethernet::default()
    };
    FrameBuilder::with(header).bytes(&bytes[14..])
}

#[test]
fn flags_are_these_and_no_others_or_those_with_a_sign() {
    for (flags, right) in [
        ("S", true),
        ("SA", false),
        ("+S-A", true),
        ("+S", true),
        ("-S", false),
        ("-FRPAUEC", true),
        ("", false),
    ] {
        assert_eq!(matches(&format!("(tcp_flags: \"{flags}\")"), &syn()), right, "{flags}");
    }
    assert!(matches("(tcp_flags: Not(\"+A\"))", &syn()));
}

/// A rule, what is wrong in it, and what is said of that.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("(udp_dst: 70000)", "70000", PORT),
    ("(udp_dst: [53, \"dns\"])", "\"dns\"", PORT),
    ("(udp_dst: Not(-1))", "-1", PORT),
    ("(udp_dst: 9..=1)", "9..=1", "a range has its smaller end first and both in it; write 1..=9"),
    ("(udp_dst: 1..9)", "1..9", "a range has its smaller end first and both in it; write 1..=9"),
    (
        "(udp_dst: [])",
        "[]",
        "the list of `udp_dst` is empty: nothing would match; leave the key out",
    ),
    (
        "(udp_dst: [1, Not(2)])",
        "Not(2)",
        "`Not` stands around the whole value; write Not([.., ..])",
    ),
    (
        "(udp_dst: Not(Not(2)))",
        "Not(2)",
        "`Not` stands around the whole value; write Not([.., ..])",
    ),
    ("(src: 10)", "10", IP),
    ("(src: \"10.0.0/8\")", "\"10.0.0/8\"", IP),
    ("(src: \"10.0.0.0/33\")", "\"10.0.0.0/33\"", IP),
    ("(src: \"10.0.0.0/+8\")", "\"10.0.0.0/+8\"", IP),
    ("(src: Own(wan))", "wan", IP),
    (
        "(src: \"10.0.0.1/8\")",
        "\"10.0.0.1/8\"",
        "\"10.0.0.1/8\" has bits behind the first 8; write \"10.0.0.0/8\"",
    ),
    (
        "(dst: \"2001:db8::1/32\")",
        "\"2001:db8::1/32\"",
        "\"2001:db8::1/32\" has bits behind the first 32; write \"2001:db8::/32\"",
    ),
    (
        "(eth_dst: \"02:00:00:00:00:01/24\")",
        "\"02:00:00:00:00:01/24\"",
        "\"02:00:00:00:00:01/24\" has bits behind the first 24; write \"02:00:00:00:00:00/24\"",
    ),
    ("(tcp_flags: \"X\")", "\"X\"", FLAGS),
    ("(tcp_flags: \"+S-S\")", "\"+S-S\"", FLAGS),
    ("(tcp_flags: \"S+A\")", "\"S+A\"", FLAGS),
    ("(tcp_flags: \"+\")", "\"+\"", FLAGS),
    (
        "(proto: Tpc)",
        "Tpc",
        "expected a number from 0 to 255, or Icmp, Tcp, Udp, Gre, Esp, Icmp6 or Sctp",
    ),
    ("(port: wan)", "wan", "expected the name of a port such as \"wan\""),
    ("(dts: 1)", "dts", "there is no key `dts`; did you mean `dst`?"),
    ("(teid: 1)", "teid", "`teid` cannot be matched yet; it is to come with GTP"),
    ("(to: main)", "main", "expected the name of a chain in quotes"),
    ("(set_mark: 65536)", "65536", "expected a number from 0 to 65535"),
    (
        "(name: \"1\")",
        "\"1\"",
        "expected a name of letters, digits, `_` and `-`, at most 64, and not digits alone",
    ),
    (
        "(tcp_dst: 1, proto: 6, udp_src: 2)",
        "udp_src",
        "no packet has both `tcp_dst` and `udp_src`; make two rules of it",
    ),
];

#[test]
fn each_mistake_stands_at_its_place_with_what_would_do() {
    for &(rule, at, said) in MISTAKES {
        assert_eq!(wrong(rule), [(at.to_owned(), said.to_owned())], "{rule}");
    }
    assert_eq!(wrong("(udp_dst: 70000, dts: 1, src: 7)").len(), 3);
}

const IP: &str = "expected an address or a network such as \"10.0.0.0/8\", or Own(\"port\")";
const PORT: &str = "expected a port number from 0 to 65535";
const FLAGS: &str = "expected flags out of \"FSRPAUEC\": \"SA\" for these and no others, \"+S-A\" for S set and A not";

fn configured(args: &str) -> Result<Box<dyn StageConfig>, Vec<(String, String)>> {
    let read = ClassifySpec.configure(Args { text: args });
    read.map_err(|errors| errors.into_iter().map(|error| shown(args, error)).collect())
}

#[test]
fn arguments_say_where_each_rule_is_wrong() {
    let wrong = |args: &str| configured(args).err().expect(args);
    let text = "(rules: [(udp_dst: 70000), (dts: 1)], otherwise: drop, tabel: \"t\")";
    let at: Vec<String> = wrong(text).into_iter().map(|(at, _)| at).collect();
    assert_eq!(at, ["70000", "dts", "drop", "tabel"]);
    assert_eq!(wrong("()")[0].1, "`rules` must be given");
    assert_eq!(wrong("(rules: (dst: 1))")[0].1, "expected a list of rules: [(key: value, ..), ..]");
    let twice = "(rules: [(name: \"a\"), (name: \"a\")])";
    assert_eq!(wrong(twice)[0].1, "there is a rule named `a` already; give each a name of its own");
}

#[test]
fn rows_are_rules_behind_those_of_the_arguments() {
    let mut config =
        configured("(rules: [(to: \"a\", name: \"x\")], table: \"t\", otherwise: \"b\")")
            .ok()
            .unwrap();
    assert_eq!(config.traits().table.as_deref(), Some("t"));
    assert!(config.traits().ends);
    let rows = ["(dst: \"10.0.0.0/33\")", "(to: \"a\")", "(name: \"x\")"].map(|text| Row { text });
    let errors = config.take_rows(&rows).expect_err("two of them are wrong");
    assert_eq!(errors.iter().map(|error| error.row).collect::<Vec<_>>(), [0, 2]);
    let mut config =
        configured("(rules: [(to: \"a\", name: \"x\")], table: \"t\", otherwise: \"b\")")
            .ok()
            .unwrap();
    let rows = ["(to: \"a\")", "(to: \"c\", dst: Own(\"p0\"), port: \"p1\")", "(udp_dst: 1)"];
    config.take_rows(&rows.map(|text| Row { text })).expect("all are right");
    let traits = config.traits();
    let chains: Vec<&str> = traits.outputs.iter().map(|(_, chain)| chain.as_str()).collect();
    // Each chain once, and the last row goes on to the next stage.
    assert_eq!((chains.as_slice(), traits.ends), (["a", "c", "b"].as_slice(), false));
    assert_eq!(
        (traits.addressed, traits.named_ports),
        (vec!["p0".to_owned()], vec!["p1".to_owned()])
    );
    assert_eq!(config.extra_counters(), ["rule.x", "rule.1", "rule.2", "rule.3"]);
}
