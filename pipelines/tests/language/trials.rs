//! Mistakes in a `tests:` block, each told at its place with what to write instead, all of a file together.

use crate::support::{problems, shown};

/// A file with two ports, a chain from one to the other, and these tests.
fn with(tests: &str) -> String {
    format!(
        "Pipeline(name: \"t\", params: {{ \"hold\": \"20us\" }},\n\
         ports: {{ \"in\": Emulated, \"out\": Emulated }},\n\
         chains: {{ \"main\": [Rx(\"in\"), Gro(hold: \"$hold\"), Count(name: \"seen\"), Tx(\"out\")] }},\n\
         tests: [{tests}])"
    )
}

/// A test that is sound but for `part`.
fn test(part: &str) -> String {
    with(&format!("Test(name: \"x\", {part})"))
}

/// Whether a text has exactly this problem: code, what is underlined, and words of the message and the help.
#[track_caller]
fn assert_told(text: &str, code: &str, marked: &str, words: &[&str]) {
    let problems = problems(text);
    let [found] = &shown(&problems)[..] else { panic!("{marked}:\n{problems}") };
    let [found_code, found_marked, message, help] = found;
    assert_eq!((found_code.as_str(), found_marked.as_str()), (code, marked), "{problems}");
    let said = format!("{message}; {help}");
    words.iter().for_each(|word| assert!(said.contains(word), "no {word:?} in\n{problems}"));
}

const SENDS: &str = "send: { \"in\": [Frame([Eth()])] }, expect: { \"out\": Same(\"in\") }";

#[test]
fn a_sound_block_is_sound() {
    let everything = r#"
        caps: ["none", "i40e-like", "in=mlx5-like, out=none"], set: { "hold": "1ms" }, seed: 7, seeds: 3,
        send: { "in": [
            Frame([Eth(dst: "ff:ff:ff:ff:ff:ff"), Vlan(id: 5, pcp: 3), Arp(operation: Reply, sender: "192.0.2.9")]),
            At("10us", Frame([Eth(), Ipv4(options: Hex("01 01 01 00"), df: false, mf: true, offset: 8), Payload(16)])),
            Repeat(3, Frame([Eth(), Ipv6(), HopByHop(), Fragment(more: true), Tcp(flags: "SAEC"), Payload("x")])),
            Frame([Eth(), Ipv4(), Udp(checksum: Bad), Vxlan(vni: 0x2a), Eth(), Ipv6(), Icmp6(), Nd(target: "fe80::1")]),
            Frame([Eth(), Ipv4(), Udp(), Geneve(options: Hex("00000000")), Ipv6(), Icmp6(type: 2, mtu: 1400)]),
            Frame([Eth(), Ipv4(), Gre(key: 7, sequence: 1), Ipv4(), Icmp(id: 1, seq: 2), Payload(Hex("00:ff"))]),
            Hex("02 00"), File("x.pcap"),
        ] },
        expect: { "out": AnyOrder([Frame([Eth(), Ipv4(), Udp(checksum: Good), Payload()])]), "in": [] },
        counters: { "main.Gro.merged": 1, "main.1.merged": 1, "main.seen.packets": 9, "main.+Gso.cut": 0,
                    "totals.payload_bytes_summed": 3, "main.seen.packets_in": 1 },
        drops: {}"#;
    let problems = problems(&test(everything));
    assert!(problems.list.is_empty(), "{problems}");
}

#[test]
fn keys_of_a_test_are_known() {
    let text = test(&format!("{SENDS}, drpos: {{}}"));
    assert_told(
        &text,
        "unknown-key",
        "drpos",
        &["`Test` has no key `drpos`", "did you mean `drops`"],
    );
    assert_told(&with("Tset(name: \"x\")"), "bad-value", "Tset", &["Test(name"]);
    assert_told(&with(&format!("Test({SENDS})")), "missing-key", "Test", &["needs `name`"]);
    assert_told(&test("expect: { \"out\": [] }"), "missing-key", "Test", &["needs `send`"]);
    let text = test("send: { \"in\": [Frame([Eth()])] }");
    assert_told(&text, "missing-key", "Test", &["cannot fail", "expect:"]);
    for nothing in ["expect: {}", "counters: {}", "expect: {}, counters: {}"] {
        let text = test(&format!("send: {{ \"in\": [Frame([Eth()])] }}, {nothing}"));
        assert_told(&text, "missing-key", "Test", &["cannot fail", "expect:"]);
    }
    let text = test("send: {}, expect: { \"out\": [] }");
    assert_told(&text, "bad-value", "{}", &["sends nothing", "Frame([..])"]);
    let twice = format!("Test(name: \"x\", {SENDS}), Test(name: \"x\", {SENDS})");
    assert_told(&with(&twice), "duplicate-name", "\"x\"", &["two tests called `x`"]);
}

#[test]
fn values_of_a_test_are_what_they_must_be() {
    let of = |part: &str| test(&format!("{SENDS}, {part}"));
    assert_told(&of("caps: Evrey"), "bad-value", "Evrey", &["did you mean `Every`"]);
    assert_told(&of("caps: [\"i40e\"]"), "bad-value", "\"i40e\"", &["i40e-like"]);
    assert_told(&of("caps: [\"on=none\"]"), "no-such-port", "\"on=none\"", &["port `on`"]);
    assert_told(&of("set: { \"hlod\": 1 }"), "bad-set", "\"hlod\"", &["did you mean `hold`"]);
    assert_told(&of("seeds: 0"), "bad-value", "0", &["from 1 to 10000"]);
    assert_told(&of("counters: { \"main.Gro.merged\": -1 }"), "bad-value", "-1", &["whole number"]);
}

#[test]
fn names_of_ports_counters_and_reasons_are_looked_up() {
    let text = test("send: { \"on\": [] }, expect: { \"out\": [] }");
    assert_told(&text, "no-such-port", "\"on\"", &["`on`", "`in`"]);
    let text = test("send: { \"in\": [] }, expect: { \"out\": Same(\"ni\") }");
    assert_told(&text, "no-such-port", "\"ni\"", &["sends nothing to port `ni`", "`in`"]);
    let text = test("send: { \"out\": [] }, expect: { \"out\": [] }");
    assert_told(&text, "no-way", "\"out\"", &["no stage receives from port `out`"]);
    let text = test("send: { \"in\": [] }, expect: { \"in\": Same(\"in\") }");
    assert_told(&text, "no-way", "\"in\"", &["no stage sends to port `in`"]);
    let of = |part: &str| test(&format!("{SENDS}, {part}"));
    let text = of("counters: { \"main.Gro.mreged\": 1 }");
    assert_told(
        &text,
        "unknown-counter",
        "\"main.Gro.mreged\"",
        &["did you mean `main.Gro.merged`"],
    );
    let text = of("counters: { \"main.Gor.merged\": 1 }");
    assert_told(
        &text,
        "unknown-counter",
        "\"main.Gor.merged\"",
        &["did you mean `main.Gro.merged`"],
    );
    let text = of("drops: { \"no_rooom\": 1 }");
    assert_told(&text, "unknown-reason", "\"no_rooom\"", &["did you mean `no_room`"]);
}

#[test]
fn frames_are_of_headers_that_can_stand_there() {
    let of = |frame: &str| test(&format!("send: {{ \"in\": [{frame}] }}, drops: {{}}"));
    let text = of("Frame([Eth(), Ipv5()])");
    assert_told(&text, "unknown-header", "Ipv5", &["did you mean `Ipv4`"]);
    let text = of("Frame([Eth(), Tcp()])");
    assert_told(&text, "bad-frame", "Tcp()", &["`Tcp` cannot stand behind `Eth`", "`Ipv4`"]);
    assert_told(&of("Frame([Ipv4()])"), "bad-frame", "Ipv4()", &["write `Eth()` first"]);
    let text = of("Frame([Eth(), Payload(3), Eth()])");
    assert_told(&text, "bad-frame", "Eth()", &["`Payload` ends a frame"]);
    assert_told(&of("Frme([Eth()])"), "bad-value", "Frme([Eth()])", &["did you mean `Frame`"]);
    assert_told(&of("Ipv4()"), "bad-value", "Ipv4()", &["Frame([Ipv4(..), ..])"]);
    assert_told(&of("Frame([])"), "bad-value", "Frame([])", &["1 to 32 headers"]);
    assert_told(&of("Hex(\"012\")"), "bad-value", "\"012\"", &["even number of hex digits"]);
    assert_told(&of("At(10, Frame([Eth()]))"), "bad-value", "10", &["a time such as \"10us\""]);
    assert_told(&of("At(\"1us\")"), "bad-value", "At(\"1us\")", &["write `At(\"10us\""]);
    let text = test("send: { \"in\": [] }, expect: { \"out\": [At(\"1us\", Frame([Eth()]))] }");
    assert_told(&text, "bad-value", "At(\"1us\", Frame([Eth()]))", &["times are not compared"]);
}

#[test]
fn fields_take_what_fits_them() {
    let of =
        |layer: &str| test(&format!("send: {{ \"in\": [Frame([Eth(), {layer}])] }}, drops: {{}}"));
    assert_told(&of("Ipv4(tll: 1)"), "unknown-key", "tll", &["did you mean `ttl`"]);
    assert_told(&of("Ipv4(ttl: 256)"), "bad-value", "256", &["a number from 0 to 255"]);
    assert_told(&of("Ipv4(offset: 7)"), "bad-value", "7", &["a multiple of 8"]);
    assert_told(&of("Ipv4(src: \"10.0.0\")"), "bad-value", "\"10.0.0\"", &["\"192.0.2.1\""]);
    assert_told(&of("Ipv4(src: \"::1\")"), "bad-value", "\"::1\"", &["\"192.0.2.1\""]);
    assert_told(&of("Ipv4(df: 1)"), "bad-value", "1", &["`true` or `false`"]);
    assert_told(&of("Ipv4(checksum: Godo)"), "bad-value", "Godo", &["did you mean `Good`"]);
    assert_told(&of("Ipv4(options: \"00\")"), "bad-value", "\"00\"", &["Hex("]);
    assert_told(&of("Ipv4(), Tcp(flags: \"PX\")"), "bad-value", "\"PX\"", &["FSRPAUECN"]);
    assert_told(&of("Arp(operation: Replay)"), "bad-value", "Replay", &["did you mean `Reply`"]);
    assert_told(&of("Ipv4(64)"), "mixed-arguments", "64", &["write `key: value`"]);
    assert_told(&of("Payload(len: 3)"), "unknown-key", "len", &["`Payload` has no key"]);
    assert_told(&of("Payload(70000)"), "bad-value", "70000", &["from 0 to 65535"]);
}

#[test]
fn all_mistakes_are_told_together_and_parameters_stand_in_tests_too() {
    let text = test(
        "send: { \"in\": [Frame([Eth(), Ipv4(ttl: 999, dst: 3)])], \"on\": [] },
         expect: { \"out\": [Frame([Eth(), Upd()])] }, counters: { \"main.Gro.merged\": x }",
    );
    let problems = problems(&text);
    assert_eq!(problems.errors(), 5, "{problems}");
    let text = test("send: { \"in\": [Frame([Eth(), Payload(\"$hold\")])] }, drops: {}");
    assert!(self::problems(&text).list.is_empty(), "{}", self::problems(&text));
}
