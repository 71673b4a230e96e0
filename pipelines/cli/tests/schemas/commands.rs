//! `explain` and `caps` as commands: what they refuse, with which words and exit code, and files that are written.

use crate::Bench;

/// Exit code, stdout and stderr.
fn run(bench: &Bench, args: &[&str]) -> (Option<i32>, String, String) {
    let output = bench.run(args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_unknown_stage_is_told_which_there_are() {
    let (code, out, said) = run(&Bench::new(), &["explain", "bump.ron", "--why", "main.+Gsp"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(
        said.contains("did you mean `main.+Gso`?") && said.contains("main.0, main.1"),
        "{said}"
    );
}

#[test]
fn a_difference_is_from_the_file_alone() {
    let bench = Bench::new();
    let (code, out, _) = run(&bench, &["explain", "bump.ron", "--diff"]);
    assert_eq!((code, out.as_str()), (Some(0), "nothing changes\n"));
    let (code, out, _) = run(&bench, &["explain", "bump.ron", "--diff", "--caps", "b=ixgbe-like"]);
    assert_eq!(code, Some(0));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.contains(&"main.+Gso"), "{out}");
    let starts = |sign: &str| lines.iter().any(|line| line.starts_with(sign));
    assert!(
        starts("- tcp, udp over ipv4, ipv6") && starts("+ tcp, udp over ipv4, ipv6: hardware"),
        "{out}"
    );
    // What the other port does is as it was.
    assert!(!lines.contains(&"main.1"), "{out}");
}

#[test]
fn a_file_that_needs_its_parameters_is_held_against_itself_with_them() {
    let bench = Bench::new();
    bench.file(
        "needs.ron",
        &crate::BUMP.replace("\"count\": 200", "\"count\": Required(\"packets\")"),
    );
    let args = ["explain", "needs.ron", "--diff", "--set", "count=7"];
    assert_eq!(run(&bench, &args).0, Some(0));
    let (code, _, said) = run(&bench, &args[..3]);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn a_graph_is_of_a_whole_plan() {
    let bench = Bench::new();
    let (code, out, _) = run(&bench, &["explain", "bump.ron", "--format", "dot"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("digraph plan {\n") && out.ends_with("}\n"));
    for option in [&["--diff"][..], &["--why", "main.1"]] {
        let (code, _, said) =
            run(&bench, &[&["explain", "bump.ron", "--format", "dot"], option].concat());
        assert_eq!(code, Some(2));
        assert!(said.contains("write table or json"), "{said}");
    }
}

#[test]
fn a_record_reads_back_and_goes_over_nothing() {
    let bench = Bench::new();
    let record = ["caps", "bump.ron", "a", "--record", "mine.ron"];
    let (code, out, said) = run(&bench, &record);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("tso4"), "{out}");
    // The port that was recorded, and another with that record, can do the same.
    let granted = |args: &[&str]| -> Vec<String> {
        let value = bench.values(&[args, &["--format", "json"]].concat()).remove(0);
        let all = value["ports"][0]["capabilities"].as_array().expect("a list").clone();
        let granted = all.iter().filter(|cap| cap["granted"] == true);
        granted.map(|cap| cap["name"].to_string()).collect()
    };
    let recorded = granted(&["caps", "bump.ron", "b", "--caps", "b=mine.ron"]);
    assert_eq!(recorded, granted(&["caps", "bump.ron", "a"]));
    assert_eq!(recorded, granted(&["caps", "mine.ron"]));
    let (code, _, said) = run(&bench, &record);
    assert_eq!(code, Some(2));
    assert!(said.contains("is there already") && said.contains("--force"), "{said}");
    assert_eq!(run(&bench, &[&record[..], &["--force"]].concat()).0, Some(0));
}

#[test]
fn only_a_record_gives_way_to_a_record() {
    let bench = Bench::new();
    let before = std::fs::read(bench.folder.path().join("bump.ron")).expect("a description");
    std::fs::write(bench.folder.path().join("in.pcap"), [0xd4, 0xc3, 0xb2, 0xa1]).expect("a file");
    for file in ["bump.ron", "in.pcap"] {
        let (code, _, said) = run(&bench, &["caps", "bump.ron", "a", "--record", file, "--force"]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("is no record"), "{said}");
    }
    assert_eq!(std::fs::read(bench.folder.path().join("bump.ron")).expect("a description"), before);
    assert_eq!(std::fs::read(bench.folder.path().join("in.pcap")).expect("a file").len(), 4);
}

#[test]
fn what_would_have_no_effect_is_refused() {
    let bench = Bench::new();
    for (args, part) in [
        (&["caps", "i40e-like", "--set", "a=b"][..], "--set: changes a description"),
        (&["caps", "Emulated()", "--caps", "a=tap"], "--caps: changes a description"),
        (&["check", "bump.ron", "--caps", "a=tap", "--caps", "a=veth"], "`a` is given twice"),
    ] {
        let (code, _, said) = run(&bench, args);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_record_is_of_one_port() {
    let (code, _, said) = run(&Bench::new(), &["caps", "bump.ron", "--record", "two.ron"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("name one of a, b"), "{said}");
}

#[test]
fn what_is_no_port_is_told_so() {
    let bench = Bench::new();
    for (args, part) in [
        (&["caps", "i40e-lik"][..], "did you mean `i40e-like`?"),
        (&["caps", "bump.ron", "c"], "there are `a`, `b`"),
        (&["caps", "none.ron", "a"], "cannot be read"),
        (&["caps", "Emulated(cap: All)"], "`cap`"),
    ] {
        let (code, _, said) = run(&bench, args);
        assert_eq!(code, Some(2), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
    }
}

#[test]
fn profiles_are_listed_with_their_sources() {
    let (code, out, _) = run(&Bench::new(), &["caps"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("i40e-like") && out.contains("drivers/net"), "{out}");
}
