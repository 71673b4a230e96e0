//! Tables: rows in the file and in files beside it, what stages make of them, and what is said of wrong ones.

use crate::support::{plan, problems, problems_with, shown};
use corelane::Overrides;
use std::path::PathBuf;

/// A file with tables in front of sound ports and these chains.
fn with_tables(tables: &str, chains: &str) -> String {
    format!(
        "Pipeline(name: \"test\", params: {{ \"low\": 0, \"chain\": \"rest\" }}, tables: {{ {tables} }}, ports: {{\n\
         \"in\": Emulated(mac: \"02:00:00:00:00:09\", addresses: [\"192.0.2.1/24\"], traffic: (flows: 4, size: 300, protocol: Udp, count: 1000)),\n\
         \"out\": Emulated(),\n}}, chains: {{\n{chains}\n}})"
    )
}

const CHAINS: &str = r#"
    "main": [Rx("in"), Classify(name: "sort", rules: [(tcp_dst: 1, to: "rest", name: "web")], table: "t", otherwise: "${chain}")],
    "first": [Drop("first")],
    "rest": [Tx("out")],
"#;

const ROWS: &str = r#"
    (port: "in", udp_src: "$low", to: "first"),
    (src: Not(Own("in")), proto: Udp, length: 0..=9999, to: "$chain", name: "udp"),
"#;

fn counted(text: &str, overrides: &Overrides) -> Vec<(String, u64)> {
    let plan = plan(text, overrides).unwrap_or_else(|failure| panic!("{failure}"));
    let report = plan.simulate(7).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(report.balanced, Some(true), "{:?}", report.unbalanced);
    let stage = report.stages.iter().find(|stage| stage.name == "sort").expect("the stage");
    stage.counters.iter().map(|(name, n)| (name.to_owned(), *n)).collect()
}

/// A folder of its own, gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("corelane-tables-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, name: &str, text: &[u8]) {
        std::fs::write(self.0.join(name), text).expect("a file");
    }

    /// The problems of a description in the folder, each as it is shown.
    fn problems(&self, text: &str) -> corelane::Problems {
        use corelane::{Failure, Pipeline};
        let file = self.0.join("gw.ron");
        let pipeline = Pipeline::load(&file.display().to_string(), text, &Overrides::default());
        let registry = crate::support::registry();
        let planned = pipeline.map_err(Failure::from);
        match planned.and_then(|it| it.plan(&registry, &crate::support::machine())) {
            Ok(plan) => plan.warnings().clone(),
            Err(Failure::Description(problems)) => problems,
            Err(Failure::Error(error)) => panic!("{error}"),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn rows_are_rules_with_parameters_put_in_and_counted() {
    let text = with_tables(&format!("\"t\": [{ROWS}]"), CHAINS);
    assert_eq!(shown(&problems(&text)), Vec::<[String; 4]>::new());
    let names = ["unmatched", "rule.web", "rule.1", "rule.udp"];
    let all: Vec<(String, u64)> =
        names.into_iter().map(str::to_owned).zip([0, 0, 0, 1000]).collect();
    assert_eq!(counted(&text, &Overrides::default()), all);
    // Now the first row takes some: what is set on the command line is put in there too.
    let sets = Overrides::sets([("low".to_owned(), "0..=65535".to_owned())]);
    assert_eq!(counted(&text, &sets)[2], ("rule.1".to_owned(), 1000));
}

#[test]
fn rows_of_a_file_beside_mean_what_they_would_mean_in_the_file() {
    let folder = Folder::new("same");
    folder.write("rules.ron", format!("// rows\n[{ROWS}]\n").as_bytes());
    let beside = with_tables("\"t\": Load(\"rules.ron\")", CHAINS);
    assert_eq!(shown(&folder.problems(&beside)), Vec::<[String; 4]>::new());
    let path = folder.0.join("rules.ron").display().to_string();
    let beside = with_tables(&format!("\"t\": Load(\"{path}\")"), CHAINS);
    let inside = with_tables(&format!("\"t\": [{ROWS}]"), CHAINS);
    let none = Overrides::default();
    assert_eq!(counted(&beside, &none), counted(&inside, &none));
    // The same rows are the same plan, other rows another.
    let hash = |text: &str| plan(text, &none).expect("a plan").hash().to_owned();
    assert_eq!(hash(&beside), hash(&inside));
    let other = with_tables(&format!("\"t\": [{}]", ROWS.replace("9999", "9998")), CHAINS);
    assert_ne!(hash(&other), hash(&inside));
}

#[test]
fn mistakes_in_a_file_beside_are_shown_in_that_file() {
    let folder = Folder::new("mistakes");
    let rows = "[\n    (udp_dst: 53, to: \"rest\"),\n    (udp_dst: 70000, dts: \"$lwo\", to: \"frist\"),\n]\n";
    folder.write("rules.ron", rows.as_bytes());
    let found = folder.problems(&with_tables("\"t\": Load(\"rules.ron\")", CHAINS));
    let shown = found.to_string();
    let file = folder.0.join("rules.ron").display().to_string();
    let expected =
        format!("error[unknown-parameter]: no parameter is called `lwo`\n --> {file}:3:27\n");
    assert!(shown.contains(&expected), "{shown}");
    folder.write("rules.ron", rows.replace("\"$lwo\"", "1").as_bytes());
    let found = folder.problems(&with_tables("\"t\": Load(\"rules.ron\")", CHAINS));
    let shown = found.to_string();
    for expected in [
        format!(
            "error[bad-value]: a row of `t`: `udp_dst` takes a port number from 0 to 65535, not `70000`\n --> {file}:3:15\n\
             3 |     (udp_dst: 70000, dts: 1, to: \"frist\"),\n"
        ),
        format!("error[unknown-key]: a row of `t` has no key `dts`\n --> {file}:3:22\n"),
    ] {
        assert!(shown.contains(&expected), "{expected}\n{shown}");
    }
    folder.write("rules.ron", rows.replace("70000, dts: \"$lwo\"", "7").as_bytes());
    let found = folder.problems(&with_tables("\"t\": Load(\"rules.ron\")", CHAINS));
    let shown = found.to_string();
    let expected = format!(
        "error[no-such-chain]: `Classify` sends to chain `frist`, which is not in this file\n --> {file}:3:22\n"
    );
    assert!(shown.contains(&expected) && shown.contains("did you mean `first`?"), "{shown}");
    // Programs are told the file too.
    let json = serde_json::to_value(&found).expect("JSON");
    let mut problems = json["problems"].as_array().expect("a list").iter();
    assert!(problems.any(|problem| problem["place"]["file"] == file.as_str()), "{json}");
    // And the syntax of that file is its own.
    folder.write("rules.ron", b"[\n  (udp_dst: 53\n");
    let shown = folder.problems(&with_tables("\"t\": Load(\"rules.ron\")", CHAINS)).to_string();
    assert!(shown.contains(&format!("--> {file}:")) && shown.contains("error[syntax]"), "{shown}");
}

#[test]
fn files_that_cannot_be_loaded_are_told_where_they_are_named() {
    let folder = Folder::new("files");
    folder.write("binary.ron", &[0xff, 0xfe, 0]);
    folder.write("one.ron", b"(udp_dst: 53)");
    let told = |load: &str| -> Vec<[String; 4]> {
        let found = shown(&folder.problems(&with_tables(&format!("\"t\": {load}"), CHAINS)));
        let found = found.into_iter().filter(|problem| problem[0] != "unused-parameter");
        found.collect()
    };
    let path = |name: &str| folder.0.join(name).display().to_string();
    for (name, why) in [
        ("none.ron", "No such file or directory"),
        (".", "it is no file"),
        ("binary.ron", "stream did not contain valid UTF-8"),
    ] {
        let found = told(&format!("Load(\"{name}\")"));
        assert_eq!(found.len(), 1, "{found:?}");
        let [code, at, message, _] = &found[0];
        assert_eq!(
            (code.as_str(), at.as_str()),
            ("cannot-load", format!("Load(\"{name}\")").as_str())
        );
        let expected = format!("cannot load {}: {why}", path(name).trim_end_matches("/."));
        assert!(message.starts_with(expected.as_str()) || message.contains(why), "{message}");
    }
    let found = told("Load(\"one.ron\")");
    assert_eq!(found[0][2], "table `t` takes a list of rows");
    assert_eq!(told("Load(7)")[0][2], "`Load` takes the name of a file");
}

const GOOD: &str = "\"t\": [(to: \"first\")]";
const SORT: &str = "Classify(table: \"t\", otherwise: \"rest\")";

/// Tables, the stage that reads them, and of each mistake its code, where it stands, and what is said.
type Mistakes = (&'static str, &'static str, &'static [[&'static str; 4]]);

const WRONG: &[Mistakes] = &[
    (GOOD, SORT, &[]),
    (
        "\"tt\": [(to: \"first\")]",
        SORT,
        &[[
            "no-such-table",
            "\"t\"",
            "`Classify` names table `t`, which is not in this file",
            "the only one is `tt`",
        ]],
    ),
    (
        "\"t\": [(to: \"first\")], \"u\": [()]",
        SORT,
        &[[
            "unused-table",
            "\"u\"",
            "table `u` is used by no stage",
            "write `table: \"u\"` in a stage, or leave it out",
        ]],
    ),
    (
        "\"t\": [(to: \"first\")], \"t\": [(to: \"first\")]",
        SORT,
        &[[
            "duplicate-name",
            "\"t\"",
            "there are two tables called `t`",
            "the first one is on line 1; keep one",
        ]],
    ),
    (
        "\"t\": [7, (to: \"first\"), (1, to: \"first\")]",
        SORT,
        &[
            ["bad-value", "7", "a row is (key: value, ..)", "put it in round brackets"],
            ["mixed-arguments", "1", "a row takes no value without a key", "write `key: value`"],
        ],
    ),
    (
        "\"t\": 7",
        SORT,
        &[[
            "bad-value",
            "7",
            "table `t` takes a list of rows",
            "write [(key: value, ..), ..], or `Load(\"rows.ron\")`",
        ]],
    ),
    (
        "\"t\": [(to: \"first\", dst: Own(\"inn\"))]",
        SORT,
        &[[
            "no-such-port",
            "\"inn\"",
            "`Classify` names port `inn`, which is not there",
            "did you mean `in`?",
        ]],
    ),
    (
        "\"t\": [(to: \"first\", port: \"inn\")]",
        SORT,
        &[[
            "no-such-port",
            "\"inn\"",
            "`Classify` names port `inn`, which is not there",
            "did you mean `in`?",
        ]],
    ),
    (
        GOOD,
        "Classify(rules: [(src: Own(\"out\"), to: \"first\")], table: \"t\", otherwise: \"rest\")",
        &[[
            "no-addresses",
            "\"out\"",
            "port `out` has no addresses",
            "give it some: addresses: [\"192.0.2.1/24\"]",
        ]],
    ),
    (
        GOOD,
        "Classify(table: \"t\", otherwise: \"rest\"), Count, Drop",
        &[[
            "after-the-end",
            "Count",
            "nothing comes here: `Classify` before it ends the chain",
            "take it out, or put it in front of `Classify`",
        ]],
    ),
    (
        GOOD,
        "Classify(table: \"t\", rules: [(mark: 1)], otherwise: \"rest\")",
        &[[
            "no-end",
            "Classify(table: \"t\", rules: [(mark: 1)], otherwise: \"rest\")",
            "chain `main` ends here, but `Classify` passes packets on",
            "end the chain with `Tx(\"PORT\")` or `Drop(\"label\")`",
        ]],
    ),
    (
        GOOD,
        "Classify(table: \"t\", otherwise: \"rest\", on_panic: Bypass)",
        &[[
            "bad-value",
            "Bypass",
            "`Classify` cannot be bypassed: it has no next stage to pass packets on to",
            "write `Drop`, `Stop` or `Restart(..)`",
        ]],
    ),
    (
        GOOD,
        "Classify(rules: [(udp_dst: 70000, to: \"first\"), (dts: 1)], table: \"t\", otherwise: \"rest\")",
        &[
            [
                "bad-value",
                "70000",
                "`Classify`: `udp_dst` takes a port number from 0 to 65535, not `70000`",
                "",
            ],
            ["unknown-key", "dts", "`rules` of `Classify` has no key `dts`", "did you mean `dst`?"],
        ],
    ),
    // Whether it ends its chain nobody can tell now, so nothing is said of that.
    (
        "",
        "Classify(rules: [(udp_dst: 70000, to: \"first\")], otherwise: \"rest\")",
        &[[
            "bad-value",
            "70000",
            "`Classify`: `udp_dst` takes a port number from 0 to 65535, not `70000`",
            "",
        ]],
    ),
];

#[test]
fn wrong_tables_are_told_at_their_places() {
    let rest = "\"first\": [Drop], \"rest\": [Tx(\"out\")]";
    let main = |stage: &str| format!("\"main\": [Rx(\"in\"), {stage}], {rest}");
    let mut wrong = Vec::new();
    for &(tables, stage, expected) in WRONG {
        let text = with_tables(tables, &main(stage)).replace("\"low\": 0, \"chain\": \"rest\"", "");
        let found = shown(&problems(&text));
        if found != expected {
            wrong.push((tables, stage, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_stage_that_ends_a_chain_by_its_type_sends_to_its_outputs() {
    // Both outputs of `Split` are named, and no next stage stands in front of them.
    let text = crate::support::with_chains(
        r#""main": [Rx("in"), Split(left: "a", right: "b")], "a": [Drop("a")], "b": [Tx("out")]"#,
    );
    let plan = plan(&text, &Overrides::default()).expect("a plan");
    let report = plan.simulate(1).expect("a run");
    assert_eq!(report.balanced, Some(true), "{:?}", report.unbalanced);
    let stage = |id: &str| report.stages.iter().find(|stage| stage.id == id).expect("a stage");
    assert_eq!((stage("a.0").packets_in, stage("b.0").packets_in), (500, 500));
}

#[test]
fn what_is_set_for_a_row_says_so() {
    let text = with_tables("\"t\": [(udp_dst: \"$low\", to: \"first\")]", CHAINS);
    let sets = Overrides::sets([("low".to_owned(), "70000".to_owned())]);
    let found = problems_with(&text, &sets);
    let message =
        "a row of `t`: `udp_dst` takes a port number from 0 to 65535, not `70000` (from --set low)";
    assert_eq!(found.list[0].message, message, "{found}");
}
