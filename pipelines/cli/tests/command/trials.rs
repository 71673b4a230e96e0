//! `corelane test`: what passes, what fails and how that is shown, and exit codes.

use crate::support::Bench;

const FILE: &str = r#"Pipeline(
    name: "copy",
    params: { "ttl": 64 },
    ports: { "a": Pcap("no.pcap"), "b": Pcap(write: "out.pcap") },
    chains: { "main": [Rx("a"), ChecksumValidate(on_bad: Drop), Tx("b")] },
    tests: [
        Test(
            name: "it's the same",
            caps: ["none", "all"],
            send: { "a": [Frame([Eth(), Ipv4(src: "10.0.0.1"), Udp(), Payload("hello")])] },
            expect: { "b": [Frame([Eth(), Ipv4(src: "10.0.0.1", ttl: "$ttl"), Udp(checksum: Good), Payload("hello")])] },
        ),
        Test(
            name: "bad ones go",
            send: { "a": [Frame([Eth(), Ipv4(), Tcp(checksum: Bad)])] },
            expect: { "b": [] },
            drops: { "main.ChecksumValidate.bad_tcp": 1 },
        ),
    ],
)"#;

#[test]
fn tests_that_pass_are_a_line_each() {
    let bench = Bench::new();
    bench.file("copy.ron", FILE);
    let ended = bench.run(&["test", "copy.ron"]);
    let expected = "\
ok    it's the same  (2 cases)
ok    bad ones go  (1 case)
copy.ron: 2 tests, 3 cases: all passed
";
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), expected, ""));
    assert!(!bench.path("out.pcap").exists(), "no port of the file was opened");
}

#[test]
fn a_test_that_fails_shows_the_byte_and_the_command_that_runs_it_again() {
    let bench = Bench::new();
    bench.file("copy.ron", FILE);
    let ended = bench.run(&["test", "copy.ron", "--set", "ttl=65"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    let expected = "\
FAIL  it's the same  (2 of 2 cases failed)
  caps none, seed 1
  port b, frame 1 of 1: byte 22 (Ipv4.ttl) differs: 64, and 65 was expected
                    sent                 expected             received
  Eth               the same
";
    assert!(ended.stdout.starts_with(expected), "{}", ended.stdout);
    let row = "  * ttl             64                   65                   64\n";
    assert!(ended.stdout.contains(row), "{}", ended.stdout);
    let again = "again: ";
    let again = ended.stdout.lines().find_map(|line| line.trim().strip_prefix(again));
    let again = again.expect("a command");
    let expected =
        r"corelane test copy.ron --set ttl=65 --only 'it'\''s the same' --caps-case none --seed 1";
    assert_eq!(again, expected);
    assert!(ended.stdout.contains("  and 1 more: \"all\"\n"), "{}", ended.stdout);
    assert!(ended.stdout.ends_with("copy.ron: 2 tests, 3 cases: 2 failed\n"), "{}", ended.stdout);
    let wide = ended.stdout.lines().filter(|line| !line.contains("again: "));
    wide.for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
    // The command runs that case and no other.
    let args = [
        "test",
        "copy.ron",
        "--set",
        "ttl=65",
        "--only",
        "it's the same",
        "--caps-case",
        "none",
        "--seed",
        "1",
    ];
    let again = bench.run(&args);
    assert_eq!(again.code, Some(1));
    assert!(again.stdout.ends_with("copy.ron: 1 test, 1 case: 1 failed\n"), "{}", again.stdout);
}

#[test]
fn numbers_that_are_not_as_expected_are_named() {
    let bench = Bench::new();
    bench.file("copy.ron", FILE.replace("\"main.ChecksumValidate.bad_tcp\": 1", ""));
    let ended = bench.run(&["test", "copy.ron", "--only", "bad ones go"]);
    assert_eq!(ended.code, Some(1));
    let expected = "  drops.bad_tcp is 1, and 0 was expected\n";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
}

#[test]
fn what_is_wrong_with_the_file_or_the_selection_is_told_and_exits_with_2() {
    let bench = Bench::new();
    bench.file("copy.ron", FILE);
    bench.file("wrong.ron", FILE.replace("Udp()", "Upd()"));
    bench.file("none.ron", FILE.split("    tests:").next().expect("a start").to_owned() + ")");
    for (args, said) in [
        (&["wrong.ron"][..], "error[unknown-header]: no header is called `Upd`"),
        (&["none.ron"], "error: none.ron: has no tests; add `tests: ["),
        (&["copy.ron", "--only", "bad one go"], "did you mean `bad ones go`?"),
        (&["copy.ron", "--caps-case", "nonne"], "did you mean `none`?"),
        (&["copy.ron", "--set", "x=1"], "x"),
    ] {
        let ended = bench.run(&[&["test"], args].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ended.stderr.contains(said), "{args:?}: {}", ended.stderr);
    }
    // `check` looks at tests without running them.
    let ended = bench.run(&["check", "wrong.ron"]);
    assert!(ended.stdout.contains("unknown-header"), "{}", ended.stdout);
}

#[test]
fn programs_get_frames_in_fields() {
    let bench = Bench::new();
    bench.file("copy.ron", FILE);
    let ended = bench.run(&["test", "copy.ron", "--set", "ttl=65", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&ended.stdout).expect("an object");
    assert_eq!((&value["passed"], &value["failed"]), (&1.into(), &2.into()));
    let mismatch = &value["outcomes"][0]["mismatches"][0];
    assert_eq!((&mismatch["kind"], &mismatch["port"]), (&"frame".into(), &"b".into()));
    let first = &mismatch["first"];
    assert_eq!((&first["byte"], &first["field"]), (&22.into(), &"ttl".into()));
    assert_eq!(mismatch["received"][1]["fields"]["ttl"], "64");
    assert!(
        value["outcomes"][0]["rerun"]
            .as_str()
            .is_some_and(|text| text.starts_with("corelane test"))
    );
}
