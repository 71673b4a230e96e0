//! `corelane check`: problems are its result.

use crate::support::{Bench, COPY, Ended};
use serde_json::Value;

/// Two mistakes in one chain.
fn bad() -> String {
    COPY.replace("Count", "Cuont").replace("Tx(\"out\")", "Tx(\"uot\")")
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ended.stdout, ended.stderr))
}

#[test]
fn a_sound_file_is_counted() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    // The capture need not be there.
    let ended = bench.run(&["check", "copy.ron", "--set", "in=no.pcap"]);
    let expected = "copy.ron: no problems; 1 chain, 2 ports, 1 actor\n";
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), expected, ""));
    assert!(!bench.path("out.pcap").exists(), "nothing was opened");
}

#[test]
fn all_problems_go_to_stdout_each_at_its_place() {
    let bench = Bench::new();
    bench.file("bad.ron", bad());
    let ended = bench.run(&["check", "bad.ron", "--set", "in=x.pcap"]);
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
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(2), expected, ""));
}

#[test]
fn programs_get_the_same_problems_in_fields() {
    let bench = Bench::new();
    bench.file("bad.ron", bad());
    let ended = bench.run(&["check", "bad.ron", "--set", "in=x.pcap", "--format", "json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), ""));
    let found = json(&ended);
    assert_eq!((&found["errors"], &found["warnings"]), (&2.into(), &0.into()));
    let first = &found["problems"][0];
    let keys: Vec<&str> =
        found.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["errors", "file", "more", "problems", "schema", "warnings"]);
    assert_eq!((&found["schema"], &found["file"]), (&1.into(), &"bad.ron".into()));
    let place = ["line", "column", "width", "lead"].map(|key| first["place"][key].as_u64());
    assert_eq!(place, [Some(6), Some(34), Some(5), Some(33)]);
    assert_eq!(first["place"]["text"], bad().lines().nth(5).expect("a line"));
    assert_eq!((&first["severity"], &first["code"]), (&"error".into(), &"unknown-stage".into()));
    assert_eq!(first["help"], "did you mean `Count`?");
    assert_eq!(found["problems"].as_array().map(Vec::len), Some(2));
    bench.file("good.ron", COPY);
    let ended = bench.run(&["check", "good.ron", "--set", "in=x", "--format", "json"]);
    let found = json(&ended);
    assert_eq!(ended.code, Some(0));
    assert_eq!((&found["errors"], &found["problems"]), (&0.into(), &Value::Array(Vec::new())));
    assert_eq!((&found["schema"], &found["file"]), (&1.into(), &"good.ron".into()));
    assert_eq!((&found["pipeline"], &found["ports"]), (&"copy".into(), &2.into()));
    assert_eq!(found["plan"].as_str().map(str::len), Some(8));
}

#[test]
fn warnings_are_shown_and_cost_nothing() {
    let bench = Bench::new();
    bench.file("more.ron", COPY.replace("ports: {", "ports: { \"idle\": Emulated(),"));
    let ended = bench.run(&["check", "more.ron", "--set", "in=x.pcap"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("warning[unused-port]: port `idle`"), "{}", ended.stdout);
    let last = "more.ron: no errors, 1 warning; 1 chain, 3 ports, 1 actor";
    assert_eq!(lines.last(), Some(&last), "{}", ended.stdout);
    let run = bench.run(&["check", "more.ron", "--set", "in=x", "--format", "json"]);
    assert_eq!(json(&run)["warnings"], 1);
}

#[test]
fn what_cannot_be_planned_is_a_problem_too() {
    let bench = Bench::new();
    bench.file("copy.ron", COPY);
    let args = ["check", "copy.ron", "--set", "in=x.pcap", "--cores", "60000"];
    let ended = bench.run(&args);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), ""));
    assert!(ended.stdout.starts_with("error[no-plan]: cores: 60000 CPUs"), "{}", ended.stdout);
    assert!(ended.stdout.ends_with("\n1 error (exit 2)\n"), "{}", ended.stdout);
    let ended = bench.run(&[&args[..], &["--format", "json"]].concat());
    let found = json(&ended);
    assert_eq!((ended.code, &found["errors"]), (Some(2), &1.into()));
    let problem = &found["problems"][0];
    assert_eq!((&problem["code"], &problem["place"]), (&"no-plan".into(), &Value::Null));
}

#[test]
fn no_file_is_no_result() {
    let ended = Bench::new().run(&["check", "no.ron"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.starts_with("error: no.ron: cannot be read"), "{}", ended.stderr);
}

#[test]
fn a_result_never_replaces_what_is_read() {
    let bench = Bench::new();
    bench.file("bad.ron", bad());
    let ended = bench.run(&["check", "bad.ron", "--set", "in=x", "--out", "bad.ron"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.starts_with("error: bad.ron: is the description"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(bench.path("bad.ron")).expect("the file"), bad());
    let ended = bench.run(&["check", "bad.ron", "--set", "in=x", "--out", "found"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(2), "", ""));
    let found = std::fs::read_to_string(bench.path("found")).expect("the result");
    assert!(found.ends_with("2 errors (exit 2)\n"), "{found}");
}
