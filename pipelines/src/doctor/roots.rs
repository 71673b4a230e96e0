//! Where a machine is looked at, and how its small text files are read.
//!
//! What cannot be read is taken as not there: on a bare machine that is the usual case, and no error.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders that are looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
    /// Folders with shared libraries; folders such as `x86_64-linux-gnu` in them are looked into as well.
    pub libraries: Vec<PathBuf>,
    /// Folders with programs, as in `PATH`.
    pub programs: Vec<PathBuf>,
    /// The program whose rights are meant, for the command that grants them.
    pub program: PathBuf,
}

/// Folders for programs of administrators, which a user's `PATH` often lacks though the programs are there.
const SYSTEM_PROGRAMS: [&str; 2] = ["/usr/sbin", "/sbin"];

impl Roots {
    /// This machine, as this process sees it.
    pub fn here() -> Roots {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut programs: Vec<PathBuf> = std::env::split_paths(&path).collect();
        programs.extend(SYSTEM_PROGRAMS.map(PathBuf::from));
        Roots {
            proc: "/proc".into(),
            sys: "/sys".into(),
            dev: "/dev".into(),
            libraries: ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib", "/lib64"]
                .map(PathBuf::from)
                .to_vec(),
            programs,
            program: std::env::current_exe().unwrap_or_else(|_| "corelane".into()),
        }
    }

    /// A file below `/proc`, without the spaces around its text.
    pub(super) fn proc(&self, file: &str) -> Option<String> {
        read(&self.proc.join(file))
    }

    /// A file below `/sys`.
    pub(super) fn sys(&self, file: &str) -> Option<String> {
        read(&self.sys.join(file))
    }

    /// The value behind `key:` in a file of such lines below `/proc`.
    pub(super) fn field(&self, file: &str, key: &str) -> Option<String> {
        let text = self.proc(file)?;
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(name, _)| name.trim() == key)?;
        Some(value.trim().to_owned())
    }

    /// The number at the start of such a value.
    pub(super) fn number(&self, file: &str, key: &str) -> Option<u64> {
        self.field(file, key)?.split_whitespace().next()?.parse().ok()
    }

    /// The program of that name, where there is one.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        self.programs.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// Shared libraries whose file names begin so and go on with `.so`.
    pub(super) fn libraries(&self, name: &str) -> Vec<PathBuf> {
        let stem = format!("{name}.so");
        let mut found: Vec<PathBuf> = Vec::new();
        for folder in self.libraries.iter().flat_map(|folder| with_triplets(folder)) {
            for path in entries(&folder) {
                let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let rest = file.strip_prefix(&stem);
                // A dangling link is no library.
                if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                    && path.exists()
                {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// A folder, and those in it that are named after a kind of machine.
fn with_triplets(folder: &Path) -> Vec<PathBuf> {
    let is_triplet = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.contains("-linux-") && path.is_dir()
    };
    let mut folders = vec![folder.to_path_buf()];
    folders.extend(entries(folder).into_iter().filter(is_triplet));
    folders
}

/// What is in a folder, in order of names.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// More CPUs or nodes than any machine has.
const NUMBER_MAX: usize = 65_536;

/// The numbers of a list such as `0-3,8`.
pub(super) fn list(text: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<usize>()) {
            numbers.extend(first..=last.min(NUMBER_MAX));
        }
    }
    numbers
}

/// `1 CPU`, `2 CPUs`.
pub(super) fn counted(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
