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
    assert!(ended.stdout.contains("corelane run preset:bump"), "{}", ended.stdout);
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
                    record on Ethernet interfaces only (copy.ron:5:20)\n";
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
fn a_report_never_replaces_what_the_run_reads_or_writes() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let bytes = std::fs::read(capture("tcp-bulk-v4.pcap")).expect("a capture");
    bench.file("in.pcap", &bytes);
    bench.file("out.pcap", "older");
    std::fs::hard_link(bench.path("in.pcap"), bench.path("link")).expect("a link");
    std::os::unix::fs::symlink("new.pcap", bench.path("soft")).expect("a link");
    let run = |out: &str, more: &[&str]| {
        let args = ["run", "copy.ron", "--set", "in=in.pcap", "--out", out];
        let ended = bench.run(&[&args, more].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{out}: {}", ended.stderr);
        ended.stderr
    };
    assert!(run("./copy.ron", &[]).starts_with("error: ./copy.ron: is the description"));
    for out in ["in.pcap", "link"] {
        assert!(run(out, &[]).contains("is what port in "));
    }
    assert!(run("out.pcap", &[]).contains("is what port out writes"));
    // Not there yet, by another name.
    assert!(run("soft", &["--set", "out=new.pcap"]).contains("is what port out writes"));
    bench.file("older", "a report");
    assert!(run("older", &["--set", "out=no/x.pcap"]).contains("port out: no/x.pcap"));
    assert!(run("fresh", &["--set", "out=no/x.pcap"]).contains("port out: no/x.pcap"));
    let content = |name: &str| std::fs::read(bench.path(name)).expect(name);
    assert_eq!(content("copy.ron"), COPY.as_bytes());
    assert_eq!(content("in.pcap"), bytes);
    assert_eq!((content("out.pcap"), content("older")), (b"older".into(), b"a report".into()));
    assert!(!bench.path("fresh").exists());
}

#[test]
fn an_older_and_longer_report_is_replaced() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    bench.file("r", "x".repeat(100_000));
    let input = input("tcp-bulk-v4.pcap");
    let ended = bench.run(&["run", "copy.ron", "--set", &input, "--out", "r"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report = std::fs::read_to_string(bench.path("r")).expect("the report");
    assert!(report.starts_with("copy  plan ") && !report.contains("xx"));
}

/// Runs the command with its streams in the hands of a shell.
fn shell(bench: &Bench, line: &str) -> (Option<i32>, String) {
    let mut command = std::process::Command::new("bash");
    command.arg("-c").arg(line).current_dir(bench.path("."));
    command.env("IN", input("tcp-bulk-v4.pcap")).env("BIN", env!("CARGO_BIN_EXE_corelane"));
    let output = command.output().expect("a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn stderr_that_takes_nothing_costs_no_run() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    bench.file("bad.ron", "Pipeline(");
    for to in ["2>/dev/full", "2>&-", "2> >(exec true)"] {
        let run = |args: &str| shell(&bench, &format!("CORELANE_LOG=trace $BIN {args} {to}")).0;
        assert_eq!(run("run copy.ron --set $IN --out r"), Some(0), "{to}");
        assert_eq!(run("run bad.ron"), Some(2), "{to}");
        assert_eq!(run("rnu"), Some(2), "{to}");
    }
}

#[test]
fn results_that_cannot_be_written_are_an_error_unless_nobody_reads_on() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    for args in ["", "--help", "run copy.ron --set $IN"] {
        let (code, stderr) = shell(&bench, &format!("$BIN {args} >/dev/full"));
        assert_eq!(code, Some(1), "{args}: {stderr}");
        assert!(stderr.contains("error: stdout: cannot be written: No space left"), "{stderr}");
        let line = format!("(sleep 0.3; $BIN {args}; echo $? >code) | true");
        let (_, stderr) = shell(&bench, &line);
        assert!(!stderr.contains("error"), "{args}: {stderr}");
        assert_eq!(std::fs::read_to_string(bench.path("code")).expect("a code"), "0\n", "{args}");
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_a_failed_write() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let (code, stderr) = shell(&bench, "ulimit -f 8; $BIN run copy.ron --set $IN --out r");
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("File too large"), "{stderr}");
}

#[test]
fn a_description_without_end_is_refused() {
    let ended = Bench::new().run(&["run", "/dev/zero"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let expected = "error: /dev/zero: cannot be read: it is longer than 16 MiB; name a RON file";
    assert!(ended.stderr.starts_with(expected), "{}", ended.stderr);
}

#[test]
fn a_wrong_filter_for_logs_is_told() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let (code, stderr) = shell(&bench, "CORELANE_LOG='a=b=c' $BIN run copy.ron --set $IN");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with("corelane: CORELANE_LOG=a=b=c: error parsing level"), "{stderr}");
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
