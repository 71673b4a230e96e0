//! `corelane run --expect`: what holds, what does not, and what is refused before anything runs.

use crate::support::{Bench, Ended, LANE, capture, input};

/// A recorded capture with one bit of the last byte of some of its long records turned. That is TCP payload, so
/// each of them has a wrong checksum, and nothing else wrong with it.
fn corrupted(records: &[usize]) -> Vec<u8> {
    let mut bytes = std::fs::read(capture("tcp-bulk-v4.pcap")).expect("a capture");
    let (mut at, mut long) = (24, 0);
    while at < bytes.len() {
        let length = bytes[at + 8..at + 12].try_into().map(u32::from_le_bytes).expect("4 bytes");
        at += 16 + length as usize;
        if length > 1000 {
            if records.contains(&long) {
                bytes[at - 1] ^= 0x10;
            }
            long += 1;
        }
    }
    assert!(records.iter().all(|&record| record < long));
    bytes
}

fn audit(bench: &Bench, expectation: &str) -> Ended {
    let args = ["run", "preset:checksum_audit", "--set", "file=x.pcap", "--expect", expectation];
    bench.run(&args)
}

#[test]
fn an_audit_fails_where_a_checksum_is_wrong_and_only_there() {
    let bench = Bench::new();
    bench.file("x.pcap", corrupted(&[]));
    let ended = audit(&bench, "drops.bad_checksum == 0");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    bench.file("x.pcap", corrupted(&[3, 4, 50]));
    let ended = audit(&bench, "drops.bad_checksum == 0");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let said = "\nerror: expected drops.bad_checksum == 0, found 3\n";
    assert!(ended.stderr.ends_with(said), "{}", ended.stderr);
    assert!(ended.stdout.contains("\nBALANCED rx 402 "), "the report is there all the same");
    assert_eq!(audit(&bench, "drops.bad_checksum == 3").code, Some(0));
}

#[test]
fn each_that_fails_is_told() {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    let input = input("tcp-bulk-v4.pcap");
    let run = ["run", "lane.ron", "--set", &input];
    let expect = |expectations: &[&str]| {
        let flags = expectations.iter().flat_map(|expectation| ["--expect", expectation]);
        bench.run(&run.into_iter().chain(flags).collect::<Vec<_>>())
    };
    let held = ["balanced == true", "ports.out.tx_packets == ports.in.rx_packets"];
    assert_eq!(expect(&held).code, Some(0));
    let failed = ["totals.held > 0", "balanced == true", "ports.in.rx_packets<totals.held"];
    let ended = expect(&failed);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let said: Vec<&str> = ended.stderr.lines().skip(1).collect();
    let expected = [
        "error: expected totals.held > 0, found 0",
        "error: expected ports.in.rx_packets < totals.held, found 402 and 0",
    ];
    assert_eq!(said, expected);
    // In virtual time too.
    let ended =
        bench.run(&[&run[..], &["--simulate", "7", "--expect", "totals.held > 0"]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_looked_up_is_refused_before_the_run() {
    let bench = Bench::new();
    bench.file("lane.ron", LANE);
    let input = input("tcp-bulk-v4.pcap");
    let wrong = ["--expect", "ports.out.tx_packet > 0", "--expect", "totals.held", "--out", "r"];
    let ended = bench.run(&[&["run", "lane.ron", "--set", &input], &wrong[..]].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let expected = "\
error: --expect 'ports.out.tx_packet > 0': the report of this pipeline has no `ports.out.tx_packet`; did you mean `ports.out.tx_packets`?
error: --expect 'totals.held': write PATH OP VALUE, such as drops.bad_checksum == 0; OP is one of == != < <= > >=
";
    assert_eq!(ended.stderr, expected);
    assert!(!bench.path("r").exists());
}
