//! What the command prints for programs is what `docs/schemas` says, key by key: no key that is not documented, none
//! that is missing.
//!
//! It does not look at values beyond their type; the commands' own tests do.

mod commands;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BUMP: &str = r#"Pipeline(
    name: "bump",
    params: { "count": 200 },
    ports: {
        "a": Emulated(caps: All, mtu: 1500, traffic: (flows: 3, size: 900, protocol: TcpBulk, count: "$count")),
        "b": Emulated(caps: None, mtu: 1500),
    },
    chains: {
        "main": [Rx("a"), ChecksumValidate(on_bad: Output("bad")), Gro, Ring("cut"), Count(name: "behind"), Tx("b")],
        "bad": [Drop("bad")],
    },
)"#;

/// Everything that can be wrong with a run: frames, numbers, what cannot be planned.
const TESTED: &str = r#"Pipeline(
    name: "tested",
    ports: { "a": Emulated, "b": Emulated },
    chains: { "main": [Rx("a"), Gro, Tx("b")] },
    tests: [
        Test(name: "wrong", caps: ["none", "lies"], counters: { "main.Gro.merged": 7 },
             send: { "a": [Frame([Eth(), Ipv4(), Udp(), Payload(9)])] },
             expect: { "b": [Frame([Eth(), Ipv4(ttl: 3), Udp(checksum: Good)]), Frame([Eth()])] }),
    ],
)"#;

/// A folder with descriptions.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench { folder: tempfile::tempdir().expect("a folder") };
        bench.file("bump.ron", BUMP);
        bench.file("tested.ron", TESTED);
        bench.file("wrong.ron", &BUMP.replace("Gro", "Grow"));
        bench.file(
            "doubtful.ron",
            &BUMP.replace("\"b\": E", "\"c\": Emulated(),\n        \"b\": E"),
        );
        bench
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("CORELANE_LOG").output().expect("the command runs")
    }

    /// What a command prints, one value a line or one over many lines.
    fn values(&self, args: &[&str]) -> Vec<Value> {
        let output = self.run(args);
        let text = String::from_utf8(output.stdout).expect("text");
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let values: Result<Vec<Value>, _> = values.collect();
        let said = String::from_utf8_lossy(&output.stderr);
        let values = values.unwrap_or_else(|error| panic!("{args:?}: {error}\n{text}\n{said}"));
        assert!(!values.is_empty(), "{args:?} prints nothing\n{said}");
        values
    }
}

fn schema(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let text = std::fs::read_to_string(folder.join(format!("{name}.schema.json"))).expect(name);
    serde_json::from_str(&text).expect(name)
}

/// Everything that is wrong with a value.
fn wrong(schema: &Value, value: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(schema).expect("a schema");
    let errors = validator.iter_errors(value);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Each command with the schema of what it prints.
const COMMANDS: &[(&str, &[&str])] = &[
    ("explain", &["explain", "bump.ron"]),
    (
        "explain",
        &["explain", "bump.ron", "--caps", "a=i40e-like", "--caps", "b=veth", "--cores", "2"],
    ),
    ("explain", &["explain", "preset:bump", "--caps", "a=lies"]),
    ("explain", &["explain", "preset:fan_out"]),
    ("why", &["explain", "bump.ron", "--why", "main.1"]),
    ("why", &["explain", "bump.ron", "--why", "main.+Gso"]),
    ("why", &["explain", "bump.ron", "--why", "behind"]),
    ("diff", &["explain", "bump.ron", "--diff"]),
    ("diff", &["explain", "bump.ron", "--diff", "--caps", "b=mlx5-like"]),
    ("caps", &["caps"]),
    ("caps", &["caps", "i40e-like"]),
    ("caps", &["caps", "Emulated(caps: All)"]),
    ("caps", &["caps", "lies", "--verify"]),
    ("caps", &["caps", "bump.ron", "b"]),
    ("check", &["check", "bump.ron"]),
    ("check", &["check", "wrong.ron"]),
    ("check", &["check", "doubtful.ron"]),
    ("check", &["check", "bump.ron", "--cores", "60000"]),
    ("check", &["check", "bump.ron", "--port", "a=Emulatde"]),
    ("report", &["run", "bump.ron"]),
    ("report", &["run", "bump.ron", "--simulate", "3"]),
    ("stages", &["stages"]),
    ("stages", &["stages", "ChecksumValidate"]),
    ("stages", &["stages", "Ring"]),
    ("stages", &["stages", "Use"]),
    ("stages", &["stages", "Pcap"]),
    ("stages", &["stages", "Emulated"]),
    ("doctor", &["doctor"]),
    (
        "scale",
        &[
            "scale",
            "preset:scale_encap",
            "--cores",
            "1,70000",
            "--rounds",
            "1",
            "--measure",
            "20ms",
            "--warm-up",
            "5ms",
        ],
    ),
    ("test", &["test", "preset:bump"]),
    ("test", &["test", "tested.ron"]),
];

#[test]
fn what_is_printed_for_programs_is_as_documented() {
    let bench = Bench::new();
    let mut complaints = Vec::new();
    for (name, args) in COMMANDS {
        let schema = schema(name);
        for value in bench.values(&[*args, &["--format", "json"]].concat()) {
            assert_eq!(value["schema"], 1, "{args:?}");
            let wrong = wrong(&schema, &value);
            complaints.extend(wrong.iter().map(|wrong| format!("{args:?}: {wrong}")));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Every object in a schema lists its keys and allows no other, and every schema has a command that is tried.
#[test]
fn schemas_allow_no_key_that_they_do_not_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    for file in std::fs::read_dir(folder).expect("schemas").filter_map(Result::ok) {
        let file = file.file_name().to_string_lossy().into_owned();
        let name = file.strip_suffix(".schema.json").expect("a schema");
        assert!(COMMANDS.iter().any(|(known, _)| *known == name), "{name} is tried by nothing");
        closed(&schema(name), name);
    }
}

fn closed(value: &Value, place: &str) {
    if value.get("properties").is_some_and(Value::is_object) && value.get("type").is_some() {
        assert_eq!(value.get("additionalProperties"), Some(&Value::Bool(false)), "{place}");
        let required = value.get("required").and_then(Value::as_array).expect(place);
        for key in required {
            let key = key.as_str().expect("a key");
            assert!(value["properties"].get(key).is_some(), "{place}: {key} has no description");
        }
    }
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().map(|value| ("[]".to_owned(), value)).collect(),
        _ => Vec::new(),
    };
    children.iter().for_each(|(key, value)| closed(value, &format!("{place}/{key}")));
}

/// The validator refuses what it should: a test of the test.
#[test]
fn a_key_too_many_and_one_too_few_are_refused() {
    let bench = Bench::new();
    let mut value = bench.values(&["explain", "bump.ron", "--format", "json"]).remove(0);
    let schema = schema("explain");
    assert_eq!(wrong(&schema, &value), Vec::<String>::new());
    value["chains"][0]["stages"][0]["undocumented"] = 1.into();
    assert_eq!(wrong(&schema, &value).len(), 1);
    value["chains"][0]["stages"][0].as_object_mut().expect("a stage").remove("undocumented");
    value["ports"][0].as_object_mut().expect("a port").remove("granted");
    assert_eq!(wrong(&schema, &value).len(), 1);
}
