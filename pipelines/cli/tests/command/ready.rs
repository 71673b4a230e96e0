//! What a newcomer meets first: the greeting, whose commands work as they are printed, and the presets.

use crate::support::Bench;
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
}

/// Text with single spaces.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn stages_are_listed_and_each_shows_its_keys() {
    let bench = Bench::new();
    let list = bench.run(&["stages"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    let all = bench.run(&["stages", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&all.stdout).expect("JSON");
    let stages = all["stages"].as_array().expect("stages");
    assert!(stages.len() >= 7, "{}", stages.len());
    for stage in stages {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let name = text(&stage["name"]);
        let line = list.stdout.lines().find(|line| line.split(' ').next() == Some(&name));
        assert!(line.is_some_and(|line| line.ends_with(&text(&stage["summary"]))), "{name}");
        let page = bench.run(&["stages", &name]);
        assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""), "{name}");
        assert!(page.stdout.starts_with(&name), "{}", page.stdout);
        for key in stage["keys"].as_array().expect("keys") {
            let head = format!("{} {}; ", text(&key["name"]), squeezed(&text(&key["kind"])));
            let mut lines = page.stdout.lines().map(squeezed);
            assert!(lines.any(|line| line.starts_with(&head)), "{name}: {key}");
            assert_eq!(lines.next(), Some(squeezed(&text(&key["doc"]))), "{name}: {key}");
        }
    }
    let ended = bench.run(&["stages", "Gor"]);
    let said = "error: stage Gor: no stage is called so; did you mean `Gro`?\n";
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(2), "", said));
}
