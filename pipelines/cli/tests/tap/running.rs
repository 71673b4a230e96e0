//! `corelane run` as a process inside a namespace, and how it ended.
//!
//! It promises to end the process whatever happens to the test, and that nothing waits for ever.

use corelane_runtime::testing::namespace::{Namespace, finish};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long anything that should come at once may take on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// A run that has begun.
pub(crate) struct Running {
    child: Option<Child>,
    said: Arc<Mutex<String>>,
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// Its report, `Null` if it printed none.
    pub(crate) report: Value,
    pub(crate) stderr: String,
}

/// The command with its arguments inside a namespace.
pub(crate) fn corelane(inside: &Namespace, args: &[&str]) -> Command {
    let mut command = inside.command(env!("CARGO_BIN_EXE_corelane"));
    command.args(args).env_remove("CORELANE_LOG");
    command
}

impl Running {
    /// Starts a run and waits until it says that it runs.
    #[track_caller]
    pub(crate) fn start(inside: &Namespace, args: &[&str]) -> Running {
        let all = [&["run"], args, &["--format", "json"]].concat();
        let running = Running::spawn(corelane(inside, &all));
        running.until("stop with Ctrl-C");
        running
    }

    pub(crate) fn spawn(mut command: Command) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut heard = heard.lock().expect("nobody panics with it");
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        Running { child: Some(child), said }
    }

    /// What it has said on stderr so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("nobody panics with it").clone()
    }

    /// Waits until it has said this on stderr.
    #[track_caller]
    pub(crate) fn until(&self, text: &str) {
        let said = wait_for(PATIENCE, || self.said().contains(text));
        assert!(said, "never said {text:?}, but: {}", self.said());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_child(self.child.as_ref().expect("it runs"));
        kill_process(id, signal).expect("it is there");
    }

    /// Ends it as Ctrl-C does.
    #[track_caller]
    pub(crate) fn stop(self) -> Ended {
        self.signal(Signal::INT);
        self.end()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let child = self.child.take().expect("it runs");
        let output = finish(child, PATIENCE);
        let Some(output) = output else { panic!("it did not end: {}", self.said()) };
        // The other thread may have some lines to go.
        std::thread::sleep(Duration::from_millis(10));
        let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Ended { code: output.status.code(), report, stderr: self.said() }
    }
}

/// What tells why, without the pages of counters.
impl std::fmt::Debug for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "exit {:?}, stderr:\n{}", self.code, self.stderr)?;
        for key in ["errors", "balanced", "unbalanced", "stopped"] {
            writeln!(f, "{key}: {}", self.report[key])?;
        }
        for (name, port) in self.report["ports"].as_object().into_iter().flatten() {
            let errors =
                port["queues"].as_array().into_iter().flatten().map(|queue| &queue["error"]);
            writeln!(f, "{name}: drops {} demoted {}", port["drops"], port["demoted"])?;
            errors
                .filter(|error| !error.is_null())
                .try_for_each(|error| writeln!(f, "  {error}"))?;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Ended {
    /// It ended as it should: nothing forced, nothing lost without a reason, no surprise on the way.
    #[track_caller]
    pub(crate) fn assert_clean(&self) -> &Ended {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.assert_balanced();
        assert_eq!(self.report["errors"], Value::Array(Vec::new()), "{self:?}");
        self
    }

    /// As [`Ended::assert_clean`], but a few packets may have been lost for this one reason: a link is down while it
    /// is moved.
    #[track_caller]
    pub(crate) fn assert_clean_but(&self, reason: &str) -> &Ended {
        self.assert_balanced();
        let errors = self.report["errors"].as_array().expect("errors");
        assert_eq!(self.code, Some(i32::from(!errors.is_empty())), "{self:?}");
        let allowed = format!("packets lost: {reason}");
        for error in errors {
            assert!(error.as_str().is_some_and(|error| error.ends_with(&allowed)), "{self:?}");
        }
        for port in self.report["ports"].as_object().expect("ports").keys() {
            assert!(self.dropped(port, reason) < 20, "{self:?}");
        }
        self
    }

    /// Every packet is accounted for, and no stage panicked.
    #[track_caller]
    pub(crate) fn assert_balanced(&self) -> &Ended {
        assert_eq!(self.report["balanced"], true, "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        for stage in self.report["stages"].as_array().expect("stages") {
            assert_eq!(stage["panics"], 0, "{stage}");
        }
        self
    }

    /// A number of the report: `ports.a.rx_packets`.
    #[track_caller]
    pub(crate) fn number(&self, path: &str) -> u64 {
        let pointer = format!("/{}", path.replace('.', "/"));
        let value = self.report.pointer(&pointer).and_then(Value::as_u64);
        value.unwrap_or_else(|| panic!("no number {path} in {}", self.report))
    }

    /// How many packets a port dropped for a reason.
    pub(crate) fn dropped(&self, port: &str, reason: &str) -> u64 {
        let drops = &self.report["ports"][port]["drops"][reason];
        drops.as_u64().or_else(|| drops["packets"].as_u64()).unwrap_or(0)
    }

    /// The sum of a key over all stages of a kind.
    pub(crate) fn of_stages(&self, kind: &str, key: &str) -> u64 {
        let stages = self.report["stages"].as_array().into_iter().flatten();
        stages.filter(|stage| stage["kind"] == kind).filter_map(|stage| stage[key].as_u64()).sum()
    }

    /// Mean bytes of the frames that a port received from the host.
    pub(crate) fn mean_received(&self, port: &str) -> u64 {
        let packets = self.number(&format!("ports.{port}.rx_packets"));
        self.number(&format!("ports.{port}.rx_bytes")) / packets.max(1)
    }

    /// Mean bytes of the frames that a port handed to the host.
    pub(crate) fn mean_sent(&self, port: &str) -> u64 {
        let packets = self.number(&format!("ports.{port}.tx_packets"));
        self.number(&format!("ports.{port}.tx_bytes")) / packets.max(1)
    }
}

/// Whether something became true in time.
pub(crate) fn wait_for(patience: Duration, mut what: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if what() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
