//! The files of a run: what it reads and what it writes, each with who does so and where that is said.
//!
//! It promises that no write of a run lands in a file that the same run reads, or that another of its parts writes:
//! that is refused at its place before anything is opened. Files are told apart by device and inode, so that links
//! and other spellings of a path count as the same file; one that is not there yet by its folder and name. It sees
//! regular files only, and no other process.

use crate::check::{Checked, CheckedPort, CheckedStage, CheckedStep};
use crate::error::Collector;
use crate::place::Plan;
use crate::ports;
use crate::text::Span;
use crate::trial::spec::{CapsChoice, Expected, FrameSpec, Test};
use crate::trial::{assignments, caps_word};
use corelane_runtime::Error;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// As it is opened.
    pub path: PathBuf,
    /// What it is, in words that follow "is": `the description`, `what port out writes`.
    pub what: String,
    /// Whether the run writes it; it reads it otherwise.
    pub written: bool,
    /// Where the description says so, if it does.
    span: Option<Span>,
}

/// What makes a file the same file, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// Device and inode.
    There(u64, u64),
    /// It is not there yet: device and inode of its folder, and its name in there.
    ToCome(u64, u64, std::ffi::OsString),
}

impl Identity {
    /// `None` for what is no regular file, such as a terminal or a pipe, and for what cannot be there.
    fn of(path: &Path) -> Option<Identity> {
        let key = |found: &Metadata| (found.dev(), found.ino());
        if let Ok(found) = std::fs::metadata(path) {
            let (device, inode) = key(&found);
            return found.is_file().then_some(Identity::There(device, inode));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::metadata(folder.unwrap_or(Path::new("."))).ok()?;
        let (device, inode) = key(&folder);
        Some(Identity::ToCome(device, inode, path.file_name()?.to_owned()))
    }
}

impl FileUse {
    fn read(path: impl Into<PathBuf>, what: impl Into<String>, span: Option<Span>) -> FileUse {
        FileUse { path: path.into(), what: what.into(), written: false, span }
    }

    fn write(path: impl Into<PathBuf>, what: impl Into<String>, span: Option<Span>) -> FileUse {
        FileUse { written: true, ..FileUse::read(path, what, span) }
    }

    /// Whether that path leads to this very file.
    pub fn is(&self, path: &Path) -> bool {
        Identity::of(path).is_some_and(|found| Identity::of(&self.path) == Some(found))
    }
}

/// Every file that a description names, in the order of who names it. A file that would be lost is a problem at the
/// place of whoever would write it.
pub(crate) fn used(checked: &Checked, tests: &[Test], problems: &mut Collector) -> Vec<FileUse> {
    let mut files = texts(problems);
    files.extend(checked.ports.iter().flat_map(|port| of_port(port, problems)));
    files.extend(tests.iter().flat_map(|test| of_test(test, problems)));
    for chain in &checked.chains {
        let stages = chain.steps.iter().filter_map(|step| match step {
            CheckedStep::Stage(stage) => Some(stage),
            CheckedStep::Ring(_) => None,
        });
        files.extend(stages.flat_map(|stage| of_stage(&chain.name, stage)));
    }
    refuse(&files, problems);
    files
}

/// The description itself, and what it loads.
fn texts(problems: &Collector) -> Vec<FileUse> {
    let source = problems.source();
    let name = if source.file() == "-" { "/dev/stdin" } else { source.file() };
    let loaded =
        source.loaded().map(|name| FileUse::read(name, "a table of the description", None));
    std::iter::once(FileUse::read(name, "the description", None)).chain(loaded).collect()
}

fn of_port(port: &CheckedPort, problems: &Collector) -> Vec<FileUse> {
    let name = &port.name;
    let mut written = port.config.writes();
    let mut files: Vec<FileUse> = Vec::new();
    for path in port.config.files().into_iter().rev() {
        // The same file may be read and written; it is refused then, for both are here.
        let writes = written.iter().position(|known| *known == path);
        files.push(match writes.map(|at| written.remove(at)) {
            Some(_) => FileUse::write(path, format!("what port {name} writes"), Some(port.span)),
            None => FileUse::read(path, format!("what port {name} reads"), Some(port.span)),
        });
    }
    files.reverse();
    if let (Some(caps), Some(at)) = (&port.common.caps, port.caps_at)
        && let Some(path) = ports::record_file(&caps.text, problems.folder(at))
    {
        files.push(FileUse::read(path, format!("the record of port {name}"), Some(at)));
    }
    files
}

fn of_stage(chain: &str, stage: &CheckedStage) -> Vec<FileUse> {
    let what = format!("what `{}` of chain `{chain}` writes", stage.info.name);
    let write = |path: &String| FileUse::write(path, what.clone(), stage.span);
    stage.traits.writes.iter().map(write).collect()
}

/// Captures and records that a test reads; a run reads none of them, but whoever wrote the test would miss them.
fn of_test(test: &Test, problems: &Collector) -> Vec<FileUse> {
    let what = format!("a file of test \"{}\"", test.name.text);
    let sent = test.send.iter().flat_map(|(_, sent)| sent).map(|sent| &sent.frame);
    let expected = test.expect.iter().flat_map(|(_, expected)| match expected {
        Expected::These(frames) | Expected::AnyOrder(frames) => frames.as_slice(),
        Expected::Same(_) | Expected::SameAsSet(_) => &[],
    });
    let captures = sent.chain(expected).filter_map(|frame| match frame {
        FrameSpec::File(file) => Some((problems.folder(file.span).join(&file.text), file.span)),
        FrameSpec::Layers(_) | FrameSpec::Bytes(_) => None,
    });
    let words = match &test.caps {
        CapsChoice::These(words) => words.as_slice(),
        CapsChoice::AsWritten | CapsChoice::Every => &[],
    };
    let records = words.iter().flat_map(|word| {
        let folder = problems.folder(word.span);
        let files = assignments(&word.text).into_iter();
        files.filter_map(move |(_, record)| {
            Some((ports::record_file(&caps_word(record), folder)?, word.span))
        })
    });
    captures.chain(records).map(|(path, at)| FileUse::read(path, &*what, Some(at))).collect()
}

/// Notes every write that would take a file away from somebody else of the run.
fn refuse(files: &[FileUse], problems: &mut Collector) {
    let known: Vec<Option<Identity>> = files.iter().map(|file| Identity::of(&file.path)).collect();
    for (at, file) in files.iter().enumerate().filter(|(_, file)| file.written) {
        let Some(identity) = &known[at] else { continue };
        // Of two that write the later one is told.
        let is_other = |other: &usize| {
            *other != at
                && known[*other].as_ref() == Some(identity)
                && (!files[*other].written || *other < at)
        };
        let Some(other) = (0..files.len()).find(is_other) else { continue };
        let message = told(file, &files[other], problems);
        let help = Some("name another file".to_owned());
        match file.span {
            Some(span) => problems.error_at(span, "overwrites", message, help),
            None => problems.unplaced("overwrites", message, help),
        }
    }
}

impl Plan {
    /// For a stage that writes a file which its traits do not name: the same as for those that do.
    pub(crate) fn free_to_write(&self, path: &str) -> Result<(), Error> {
        let read = |file: &&FileUse| !file.written && file.is(Path::new(path));
        match self.files.iter().find(read) {
            Some(file) => {
                let message = format!("is {}, and would be lost; name another file", file.what);
                Err(Error::user(format!("file {path}"), message))
            }
            None => Ok(()),
        }
    }
}

/// What would be lost, and where that is said.
fn told(file: &FileUse, other: &FileUse, problems: &Collector) -> String {
    let place = other.span.map(|span| format!(" ({})", problems.source().place_name(span)));
    let place = place.unwrap_or_default();
    format!(
        "{} is {}, and {}{place}: one of them would be lost",
        file.path.display(),
        file.what,
        other.what
    )
}

#[cfg(test)]
mod tests;
