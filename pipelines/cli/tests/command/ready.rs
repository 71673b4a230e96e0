//! What a newcomer meets first: the greeting, whose commands work as they are printed, and the presets.

use crate::support::Bench;
use serde_json::Value;
use std::process::Command;

/// The commands that `corelane` alone prints.
fn printed() -> Vec<String> {
    let greeting = Bench::new().run(&[]);
    assert_eq!((greeting.code, greeting.stderr.as_str()), (Some(0), ""));
    let lines = greeting.stdout.lines().filter_map(|line| line.strip_prefix("  corelane "));
    // What a command is for stands behind it, after two spaces at least.
    let commands = lines.map(|line| line.split("  ").next().unwrap_or_default().to_owned());
    commands.map(|command| format!("corelane {command}")).collect()
}

#[test]
fn every_command_of_the_greeting_works_as_it_is_printed() {
    let commands = printed();
    assert_eq!(commands.len(), 5, "{commands:?}");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_corelane"));
    let folder = binary.parent().expect("a folder").display();
    for line in commands {
        let bench = Bench::new();
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(format!("PATH={folder}:$PATH; {line}")).current_dir(bench.path("."));
        let output = shell.output().expect("a shell");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{line}\n{stdout}{stderr}");
        assert!(stdout.lines().count() > 0, "{line}");
    }
}

#[test]
fn new_lists_the_presets_and_prints_each_as_it_is() {
    let bench = Bench::new();
    let list = bench.run(&["new"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    for name in ["coalesce", "bump", "checksum_audit", "fan_out", "scale_gro"] {
        let line = list.stdout.lines().find(|line| line.starts_with(&format!("{name} ")));
        assert!(line.is_some_and(|line| line.len() > 30), "{name}\n{}", list.stdout);
        let path = format!("{}/../presets/{name}.ron", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read_to_string(path).expect("a preset");
        for name in [name.to_owned(), format!("preset:{name}")] {
            let printed = bench.run(&["new", &name]);
            assert_eq!((printed.code, printed.stdout.as_str()), (Some(0), file.as_str()));
        }
    }
    let ended = bench.run(&["new", "bump", "--out", "mine.ron"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert_eq!(bench.run(&["check", "mine.ron"]).code, Some(0));
    // By now it may have been edited.
    let again = bench.run(&["new", "coalesce", "--out", "mine.ron"]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
    let kept = std::fs::read_to_string(bench.path("mine.ron")).expect("a file");
    assert!(kept.contains("name: \"bump\""), "{kept}");
}

/// The lines of a page under a heading.
fn under<'p>(page: &'p str, heading: &str) -> Vec<&'p str> {
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().filter_map(Value::as_str).collect()
}

/// All that a page must say of a kind, from its JSON.
fn expected(kind: &Value) -> Vec<(&'static str, Vec<String>)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let keys = |keys: &Value| -> Vec<String> {
        let lines = keys.as_array().expect("keys").iter().flat_map(|key| {
            let default = key["default"].as_str();
            let default = default.map_or("must be given".to_owned(), |d| format!("default {d}"));
            let doc = Some(text(&key["doc"])).filter(|doc| !doc.is_empty());
            let words = key["words"].as_array().expect("words").iter();
            let words =
                words.map(|word| format!("{}: {}", text(&word["word"]), text(&word["doc"])));
            let head = format!("  {}: {}; {default}", text(&key["name"]), text(&key["kind"]));
            let more: Vec<String> = doc.into_iter().chain(words).collect();
            std::iter::once(head).chain(more.into_iter().map(|line| format!("      {line}")))
        });
        lines.collect()
    };
    let list = |value: &Value| texts(value).iter().map(|line| format!("  {line}")).collect();
    let lines = |value: &Value| text(value).lines().map(|line| format!("  {line}")).collect();
    let common = match kind["sort"].as_str() {
        Some("stage") => "KEYS OF EVERY STAGE",
        _ => "KEYS OF EVERY PORT",
    };
    let name = text(&kind["name"]);
    let subject = kind["subject"].as_str();
    let short = subject.map(|subject| format!("  {name}(value) is {name}({subject}: value)"));
    vec![
        ("ABOUT", lines(&kind["doc"])),
        ("STANDS", lines(&kind["place"])),
        ("KEYS", keys(&kind["keys"])),
        ("SHORT", short.into_iter().collect()),
        ("OUTPUTS", list(&kind["outputs"])),
        ("DROPS", list(&kind["drops"])),
        ("COUNTERS", list(&kind["counters"])),
        ("EXAMPLE", lines(&kind["example"])),
        (common, keys(&kind["common_keys"])),
    ]
}

#[test]
fn stages_and_ports_are_listed_and_each_shows_all_there_is_of_it() {
    let bench = Bench::new();
    let list = bench.run(&["stages"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    let json = |args: &[&str]| -> Value {
        let ended = bench.run(&[args, &["--format", "json"]].concat());
        serde_json::from_str(&ended.stdout).expect("JSON")
    };
    let all = json(&["stages"]);
    let kinds = |key: &str| all[key].as_array().expect("a list").clone();
    let (stages, ports) = (kinds("stages"), kinds("ports"));
    let names = |kinds: &[Value]| -> Vec<String> {
        kinds.iter().map(|kind| kind["name"].as_str().expect("a name").to_owned()).collect()
    };
    for name in ["Rx", "Gro", "Ring", "Use", "Tx", "Drop"] {
        assert!(names(&stages).iter().any(|known| known == name), "{name}");
    }
    assert_eq!(names(&ports), ["Pcap", "Emulated", "Tap"]);
    for kind in stages.iter().chain(&ports) {
        let (name, summary) = (kind["name"].as_str(), kind["summary"].as_str());
        let (name, summary) = (name.expect("a name"), summary.expect("a summary"));
        let line = list.stdout.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some_and(|line| line.ends_with(summary)), "{name}");
        let page = bench.run(&["stages", name]);
        assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""), "{name}");
        assert_eq!(page.stdout.lines().next(), Some(&*format!("{name}   {summary}")));
        for (heading, lines) in expected(kind) {
            assert_eq!(under(&page.stdout, heading), lines, "{name} {heading}");
        }
        let mut one = json(&["stages", name]);
        assert_eq!(one.as_object_mut().expect("an object").remove("schema"), Some(1.into()));
        assert_eq!(&one, kind);
    }
}

/// A name that is not there, and what stands there instead.
#[test]
fn a_kind_that_is_not_there_has_a_near_one_of_either_sort() {
    for (name, near) in [("Gor", "Gro"), ("Rign", "Ring"), ("use", "Use"), ("pcap", "Pcap")] {
        let ended = Bench::new().run(&["stages", name]);
        let said =
            format!("error: {name}: no stage or port is called so; did you mean `{near}`?\n");
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        assert_eq!(ended.stderr, said);
    }
}
