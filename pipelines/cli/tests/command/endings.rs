//! Exit codes 0, 1 and 2, and what is said on the way.

use crate::support::{Bench, COPY, LANE, capture, input};
use std::io::Write;
use std::process::Stdio;

/// A classic capture of one interface of this link type, with one record of 20 bytes.
fn capture_of_link(link: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 65_535, link] {
        bytes.extend(u32::to_le_bytes(word));
    }
    for word in [1, 0, 20_u32, 20] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.extend([0x45; 20]);
    bytes
}

#[test]
fn alone_it_says_what_to_try_next() {
    let ended = Bench::new().run(&[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("corelane run FILE.ron"), "{}", ended.stdout);
    assert!(Bench::new().run(&["run", "--help"]).stdout.contains("Exit codes: 0 clean"));
}

#[test]
fn a_clean_run_exits_0_with_results_on_stdout_alone() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let name = capture("tcp-bulk-v6.pcap");
    let ended = bench.run(&["run", "copy.ron", "--set", &format!("in={name}")]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("\nBALANCED rx 370 + created 0 = tx 370"), "{}", ended.stdout);
    let announced = "corelane: copy, plan ";
    assert!(ended.stderr.starts_with(announced) && ended.stderr.lines().count() == 1);
    // Frames and times are those of the input; the file header is the writer's own.
    let (written, read) = (std::fs::read(bench.path("out.pcap")), std::fs::read(name));
    let (written, read) = (written.expect("output"), read.expect("input"));
    assert_eq!(written.len(), read.len());
    assert!(written[24..] == read[24..], "records differ");
}

#[test]
fn damaged_input_exits_1_behind_the_packets_before_it() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let mut bytes = std::fs::read(capture("tcp-bulk-v4.pcap")).expect("a capture");
    bytes.truncate(bytes.len() - 7);
    bench.file("cut.pcap", bytes);
    let (report, ended) = bench.report(&["copy.ron", "--set", "in=cut.pcap"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(report["balanced"], true, "{}", report["unbalanced"]);
    assert_eq!(report["ports"]["out"]["tx_packets"], 401);
    assert!(ended.stderr.contains("cut.pcap: record 402 at byte "), "{}", ended.stderr);
    assert_eq!(report["errors"].as_array().map(Vec::len), Some(1), "{}", report["errors"]);
}

#[test]
fn a_wrong_description_exits_2_with_every_mistake_at_its_place() {
    let bench = Bench::new();
    bench.file("bad.ron", COPY.replace("Count", "Cuont").replace("Tx(\"out\")", "Tx(\"uot\")"));
    let ended = bench.run(&["run", "bad.ron", "--set", "in=x.pcap"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let expected = "\
error[unknown-stage]: no stage is called `Cuont`
 --> bad.ron:6:34
6 |     chains: { \"main\": [Rx(\"in\"), Cuont, Tx(\"uot\")] },
  |                                  ^^^^^ did you mean `Count`?
error[no-such-port]: `Tx` names port `uot`, which is not there
 --> bad.ron:6:44
6 |     chains: { \"main\": [Rx(\"in\"), Cuont, Tx(\"uot\")] },
  |                                            ^^^^^ did you mean `out`?
2 errors (exit 2)
";
    assert_eq!(ended.stderr, expected);
}

#[test]
fn wrong_arguments_exit_2_in_one_sentence() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let input = input("tcp-bulk-v4.pcap");
    let cases: [(&[&str], &str); 8] = [
        (&["run", "no.ron"], "error: no.ron: cannot be read: No such file"),
        (&["run", "copy.ron", "--set", "in=no.pcap"], "error: port in: no.pcap: cannot be opened"),
        (&["run", "copy.ron", "--set", "in=copy.ron"], "error: port in: copy.ron: begins with"),
        (&["run", "copy.ron", "--set", &input, "--cpus", "60000"], "error: --cpus: this process"),
        (&["run", "copy.ron", "--set", &input, "--cores", "60000"], "error: cores: 60000 CPUs"),
        (
            &["run", "copy.ron", "--set", &input, "--set", "out=x.txt"],
            "error: port out: x.txt: ends",
        ),
        (&["run", "copy.ron", "--set", &input, "--out", "no/x"], "error: no/x: cannot be created"),
        (
            &["run", "copy.ron", "--set", &input, "--set", "out=no/x.pcap"],
            "error: port out: no/x.pcap",
        ),
    ];
    for (args, start) in cases {
        let ended = bench.run(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ended.stderr.starts_with(start), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{args:?}: {}", ended.stderr);
    }
    for args in [&["run"][..], &["rnu"], &["run", "copy.ron", "--duration", "3"]] {
        let ended = bench.run(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    }
}

#[test]
fn another_link_type_is_refused_in_one_sentence_and_costs_no_older_output() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    bench.file("raw.pcap", capture_of_link(101));
    bench.file("out.pcap", "older");
    let ended = bench.run(&["run", "copy.ron", "--set", "in=raw.pcap"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let expected = "error: port in: raw.pcap: has link type RAW (101), but only ETHERNET (1) is read; \
                    record on Ethernet interfaces only\n";
    assert_eq!(ended.stderr, expected);
    assert_eq!(std::fs::read_to_string(bench.path("out.pcap")).expect("the file"), "older");
    // The same file with the right link type is read, so it was the link type that was refused.
    bench.file("raw.pcap", capture_of_link(1));
    assert_eq!(bench.run(&["run", "copy.ron", "--set", "in=raw.pcap"]).code, Some(0));
}

#[test]
fn a_file_cannot_be_read_and_written_at_once() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let bytes = std::fs::read(capture("tcp-bulk-v4.pcap")).expect("a capture");
    bench.file("same.pcap", &bytes);
    let ended = bench.run(&["run", "copy.ron", "--set", "in=same.pcap", "--set", "out=same.pcap"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(std::fs::read(bench.path("same.pcap")).expect("the file"), bytes);
}

#[test]
fn a_description_can_come_by_stdin() {
    let bench = Bench::new();
    let mut command = bench.command(&["run", "-", "--set", &input("tcp-bulk-v4.pcap")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    child.stdin.take().expect("piped").write_all(LANE.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("BALANCED rx 402"));
}
