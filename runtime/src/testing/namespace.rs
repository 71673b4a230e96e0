//! Network namespaces that a test makes for itself: a network of its own, gone with the value that made it.
//!
//! It promises that nothing is done to the machine's own interfaces, that names are unique to the process, and that
//! the namespace and what still runs in it go when the value is dropped, on a panic too. What a killed test left
//! behind, the next one removes. It knows `ip` and nothing of what is tested.

use super::skip;
use rustix::process::{Pid, Signal, geteuid, getpid, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Where `ip netns` keeps the names.
const NAMES: &str = "/run/netns";
/// What every name starts with; the number of the process follows.
const PREFIX: &str = "corelane-";
/// The longest that a command inside may take, if the test does not say.
const PATIENCE: Duration = Duration::from_secs(20);

static MADE: AtomicU32 = AtomicU32::new(0);

/// A network namespace with its loopback up and nothing else in it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes one for the test called `test`; `None`, and a skip by name, where that cannot be.
    ///
    /// # Panics
    ///
    /// Where root cannot make one although `ip` is there: then something is broken.
    pub fn new(test: &str) -> Option<Namespace> {
        if let Some(missing) = missing(&["ip"]) {
            skip(test, &missing);
            return None;
        }
        remove_orphans();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let made = run(Command::new("ip").args(["netns", "add", &name]), PATIENCE);
        assert!(made.status.success(), "ip netns add: {}", text(&made));
        let namespace = Namespace { name };
        namespace.ip("link set lo up");
        Some(namespace)
    }

    /// The name `ip netns` knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that stands for it.
    pub fn path(&self) -> PathBuf {
        Path::new(NAMES).join(&self.name)
    }

    /// A command that will run inside. Its process is the program itself, so signals reach it.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]).stdin(Stdio::null());
        command
    }

    /// Runs `line`, words between spaces, inside and gives what it printed.
    ///
    /// # Panics
    ///
    /// If it fails or does not end in 20 seconds, with what it printed.
    #[track_caller]
    pub fn run(&self, line: &str) -> String {
        let output = self.attempt(line);
        assert!(output.status.success(), "{line}: {}", text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs `line`, words between spaces, inside, whether or not it succeeds.
    ///
    /// # Panics
    ///
    /// If it does not end in 20 seconds.
    #[track_caller]
    pub fn attempt(&self, line: &str) -> Output {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or_default();
        run(self.command(program).args(words), PATIENCE)
    }

    /// Runs `ip` with the words of `line` for this namespace, which works without entering it.
    ///
    /// # Panics
    ///
    /// As [`Namespace::run`] does.
    #[track_caller]
    pub fn ip(&self, line: &str) -> String {
        let words = line.split_whitespace();
        let output = run(Command::new("ip").args(["-n", &self.name]).args(words), PATIENCE);
        assert!(output.status.success(), "ip {line}: {}", text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Calls `f` on a thread inside the namespace. What it opens there stays there.
    ///
    /// # Panics
    ///
    /// If the namespace cannot be entered; a panic of `f` goes on.
    pub fn within<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            let file = File::open(self.path()).expect("the namespace has a file");
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("root may enter a namespace");
            f()
        };
        std::thread::scope(|scope| {
            scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Why namespaces, or one of these programs, cannot be had here; names the program.
pub fn missing(programs: &[&str]) -> Option<String> {
    if !geteuid().is_root() {
        return Some("only root can make network namespaces".to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let have = |program: &&str| std::env::split_paths(&path).any(|at| at.join(program).is_file());
    let lacking = programs.iter().find(|program| !have(program))?;
    Some(format!("there is no `{lacking}`"))
}

/// Runs a command to its end, at most so long, and gives what it printed.
///
/// # Panics
///
/// If it cannot be started or does not end in time: it is then killed.
#[track_caller]
pub fn run(command: &mut Command, patience: Duration) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    finish(child, patience).unwrap_or_else(|| panic!("{command:?}: not done after {patience:?}"))
}

/// Waits for the end of a process whose output is piped, at most so long; `None`, and it is killed, if it takes
/// longer.
pub fn finish(mut child: Child, patience: Duration) -> Option<Output> {
    let id = Pid::from_child(&child);
    let deadline = Instant::now() + patience;
    let (sender, receiver) = std::sync::mpsc::channel();
    // The pipes must be read while it runs, or a talkative process waits for ever.
    let pipes = (child.stdout.take(), child.stderr.take());
    std::thread::spawn(move || sender.send((read(pipes.0), read(pipes.1))));
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            let rest = deadline.saturating_duration_since(Instant::now());
            let (stdout, stderr) =
                receiver.recv_timeout(rest.max(Duration::from_secs(1))).unwrap_or_default();
            return Some(Output { status, stdout, stderr });
        }
        if Instant::now() > deadline {
            let _ = kill_process(id, Signal::KILL);
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn read(pipe: Option<impl std::io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before an error is of use; the error is not.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    bytes
}

fn text(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    format!("{}: {}", output.status, String::from_utf8_lossy(&all).trim())
}

/// Ends what runs in a namespace and removes its name; errors only mean that there is nothing left to do.
fn remove(name: &str) {
    let listed = Command::new("ip").args(["netns", "pids", name]).output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let ids = listed.iter().flat_map(|text| text.split_whitespace());
    for id in ids.filter_map(|id| Pid::from_raw(id.parse().ok()?)) {
        // A thread of this process that is still inside counts too, and must not end it.
        if id != getpid() {
            let _ = kill_process(id, Signal::KILL);
        }
    }
    let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
}

/// Removes namespaces whose makers are dead.
fn remove_orphans() {
    let Ok(names) = std::fs::read_dir(NAMES) else { return };
    for name in names.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let maker = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let number = maker.and_then(|maker| maker.parse::<u32>().ok());
        if number.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Namespace;

    #[test]
    fn a_namespace_is_apart_and_goes_with_its_value() {
        let Some(namespace) = Namespace::new("a_namespace_is_apart_and_goes_with_its_value") else {
            return;
        };
        let other = Namespace::new("").expect("there is one already");
        assert_ne!(namespace.name(), other.name());
        namespace.ip("link add one type veth peer name two");
        let inside = namespace.run("ls /sys/class/net");
        assert_eq!(inside.split_whitespace().collect::<Vec<_>>(), ["lo", "one", "two"]);
        assert_eq!(other.run("ls /sys/class/net").trim(), "lo");
        let bound = namespace.within(|| std::net::TcpListener::bind("127.0.0.1:4789").is_ok());
        assert!(bound, "loopback is up");
        let (path, sleeper) = (namespace.path(), namespace.command("sleep").arg("100").spawn());
        drop(namespace);
        assert!(!path.exists());
        let status = sleeper.expect("it started").wait().expect("it was waited for");
        assert!(!status.success(), "what ran inside has ended");
    }

    #[test]
    #[should_panic(expected = "no such command")]
    fn a_panic_inside_goes_on() {
        let Some(namespace) = Namespace::new("a_panic_inside_goes_on") else {
            panic!("no such command here");
        };
        namespace.within(|| panic!("no such command"));
    }
}
