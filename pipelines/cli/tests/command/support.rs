//! Running the command, with captures and descriptions in a folder of the test's own.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with what a test needs.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// The command in this folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("CORELANE_LOG");
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args).output().expect("the command runs"))
    }

    /// The JSON report of a run, and how it ended.
    pub(crate) fn report(&self, args: &[&str]) -> (Value, Ended) {
        let ended = self.run(&[&["run"], args, &["--format", "json"]].concat());
        let report = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ended.stdout, ended.stderr));
        (report, ended)
    }
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    fn of(output: Output) -> Ended {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ended {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// A run that has begun.
pub(crate) struct Begun {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Begun {
    /// Starts a run and waits until it says that it runs.
    pub(crate) fn start(bench: &Bench, args: &[&str]) -> Begun {
        let mut command = bench.command(&[&["run"], args].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut begun = Begun { child, stderr, said: String::new() };
        begun.until("stop with Ctrl-C");
        begun
    }

    /// Reads stderr up to a line with this in it.
    pub(crate) fn until(&mut self, text: &str) {
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).expect("stderr");
            assert!(read > 0, "ended without saying {text:?}, but: {}", self.said);
            self.said.push_str(&line);
            if line.contains(text) {
                return;
            }
        }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        self.signals(&[name]);
    }

    /// Sends signals without a pause.
    pub(crate) fn signals(&self, names: &[&str]) {
        send(&self.child, names);
    }

    /// Waits for the end; also how long that took.
    pub(crate) fn end(mut self) -> (Ended, Duration) {
        let start = Instant::now();
        let status = self.child.wait().expect("it ends");
        let took = start.elapsed();
        self.stderr.read_to_string(&mut self.said).expect("stderr");
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().expect("piped");
        pipe.read_to_string(&mut stdout).expect("stdout");
        (Ended { code: status.code(), stdout, stderr: self.said }, took)
    }
}

/// Sends signals by name, one behind the other.
pub(crate) fn send(child: &Child, names: &[&str]) {
    let id = child.id();
    let kills: Vec<String> = names.iter().map(|name| format!("kill -s {name} {id}")).collect();
    let sent = Command::new("sh").arg("-c").arg(kills.join(" && ")).status().expect("a shell");
    assert!(sent.success());
}

/// A recorded capture of the examples.
pub(crate) fn capture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/captures");
    root.join(name).canonicalize().expect("a recorded capture").display().to_string()
}

/// `--set in=..` for a recorded capture.
pub(crate) fn input(name: &str) -> String {
    format!("in={}", capture(name))
}

/// From a capture, in circles if it says so, over two actors into a NIC that takes everything but in the
/// times of `stall`.
pub(crate) const LANE: &str = r#"
Pipeline(
    name: "lane",
    params: { "in": Required("capture"), "loop": false, "stall": [] },
    ports: { "in": Pcap(read: "$in", loop: "$loop"), "out": Emulated(caps: None, stall: "$stall") },
    chains: {
        "main": [
            Rx("in"), ChecksumValidate, Gro, Ring(name: "cut", capacity: 64), Gso, ChecksumFill,
            Tx("out"),
        ],
    },
)
"#;

/// From a capture to a capture.
pub(crate) const COPY: &str = r#"
Pipeline(
    name: "copy",
    params: { "in": Required("capture"), "out": "out.pcap" },
    ports: { "in": Pcap(read: "$in"), "out": Pcap(write: "$out") },
    chains: { "main": [Rx("in"), Count, Tx("out")] },
)
"#;
