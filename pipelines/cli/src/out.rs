//! The file a result goes to, opened before the work and emptied only when the result is there.
//!
//! It is never one that the command reads, or that a run reads or writes: files are told apart by device and
//! inode, so links and other spellings of a path are seen through. What does not begin leaves an older result as
//! it was.

use crate::args::{Given, Output};
use crate::paint::Paint;
use crate::say;
use corelane::{Error, Plan, visible};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where a result goes.
pub(crate) enum Out {
    /// To whoever reads stdout.
    Stdout,
    /// To the file of `--out`.
    File(OutFile),
}

/// An open file for a result.
pub(crate) struct OutFile {
    path: PathBuf,
    file: File,
    regular: bool,
    /// Whether it was not there before, and shall not be if nothing is written.
    fresh: bool,
}

impl Out {
    /// Opens the file that `--out` names, if it does, for a command that reads no file.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub(crate) fn plain(output: &Output) -> Result<Out, Error> {
        Out::apart(output, |_| None)
    }

    /// The same for what somebody will edit: no file that is there is replaced.
    ///
    /// # Errors
    /// Where it is there already, or cannot be created.
    pub(crate) fn fresh(output: &Output) -> Result<Out, Error> {
        let out = Out::plain(output)?;
        match &out {
            Out::File(file) if file.regular && !file.fresh => {
                Err(wrong(&file.path, "is there already; name another file".to_owned()))
            }
            _ => Ok(out),
        }
    }

    /// Opens the file that `--out` names, if it does, without touching its content.
    ///
    /// # Errors
    /// Where it cannot be opened, or is a file of the command itself, or of the plan.
    pub(crate) fn open(given: &Given, plan: Option<&Plan>) -> Result<Out, Error> {
        Out::apart(&given.output, |out| owner(out, given, plan))
    }

    fn apart(output: &Output, owner: impl Fn(&Metadata) -> Option<String>) -> Result<Out, Error> {
        let Some(path) = &output.out else { return Ok(Out::Stdout) };
        let opened = open(path).and_then(|(file, fresh)| Ok((file.metadata()?, file, fresh)));
        let (metadata, file, fresh) = opened.map_err(|error| {
            wrong(path, format!("cannot be created: {error}; name another file"))
        })?;
        let out = OutFile { path: path.clone(), file, regular: metadata.is_file(), fresh };
        match out.regular.then(|| owner(&metadata)).flatten() {
            Some(owner) => {
                Err(wrong(path, format!("is {owner}, and would be lost; name another file")))
            }
            None => Ok(Out::File(out)),
        }
    }

    /// How text is painted that goes there.
    pub(crate) fn paint(&self) -> Paint {
        match self {
            Out::Stdout => Paint::stdout(),
            Out::File(_) => Paint::plain(),
        }
    }

    /// Writes a whole result.
    ///
    /// # Errors
    /// Where it cannot be written though somebody still reads.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Error> {
        self.begin()?;
        self.add(text)
    }

    /// Gets ready for a result that comes in pieces: an older one goes.
    ///
    /// # Errors
    /// Where the file cannot be emptied.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        let Out::File(out) = self else { return Ok(()) };
        out.fresh = false;
        let emptied = if out.regular { out.file.set_len(0) } else { Ok(()) };
        emptied.map_err(|error| out.failed(&error))
    }

    /// Writes a piece of a result that was begun.
    ///
    /// # Errors
    /// As for [`Out::write`].
    pub(crate) fn add(&mut self, text: &str) -> Result<(), Error> {
        let Out::File(out) = self else { return say::result(text) };
        match out.file.write_all(text.as_bytes()) {
            // Whoever reads the pipe has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| out.failed(&error)),
        }
    }
}

impl OutFile {
    fn failed(&self, error: &io::Error) -> Error {
        let what = visible(&self.path.display().to_string());
        Error::system(what, format!("cannot be written: {error}; the work itself is done"))
    }
}

impl Drop for OutFile {
    fn drop(&mut self) {
        if self.fresh && self.regular {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The file, and whether it was made just now.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.write(true);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            options.create(true).truncate(false).open(path).map(|file| (file, false))
        }
        opened => opened.map(|file| (file, true)),
    }
}

/// What of the command or the plan the file is, in words.
fn owner(out: &Metadata, given: &Given, plan: Option<&Plan>) -> Option<String> {
    let is_it = |path: &Path| {
        std::fs::metadata(path)
            .is_ok_and(|other| (other.dev(), other.ino()) == (out.dev(), out.ino()))
    };
    let read = given.files().find(|(_, path)| is_it(path)).map(|(what, _)| what.to_owned());
    let of_plan =
        || plan?.files().iter().find(|file| is_it(&file.path)).map(|file| file.what.clone());
    read.or_else(of_plan)
}

fn wrong(path: &Path, message: String) -> Error {
    Error::user(visible(&path.display().to_string()), message)
}
