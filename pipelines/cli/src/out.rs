//! The file a report goes to, opened before the run and emptied only when the report is there.
//!
//! It is never one that the run reads or writes itself: files are told apart by device and inode, so links and
//! other spellings of a path are seen through. A run that does not begin leaves an older report as it was.

use crate::args::RunArgs;
use corelane::{Error, Plan, visible};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An open file for a report.
pub(crate) struct Out {
    path: PathBuf,
    file: File,
    regular: bool,
    /// Whether it was not there before, and shall not be if nothing is written.
    fresh: bool,
}

impl Out {
    /// Opens the file that `--out` names, if it does, without touching its content.
    ///
    /// # Errors
    /// Where it cannot be opened, or is a file of the run itself.
    pub(crate) fn open(args: &RunArgs, plan: &Plan) -> Result<Option<Out>, Error> {
        let Some(path) = &args.out else { return Ok(None) };
        let opened = open(path).and_then(|(file, fresh)| Ok((file.metadata()?, file, fresh)));
        let (metadata, file, fresh) = opened.map_err(|error| {
            wrong(path, format!("cannot be created: {error}; name another file"))
        })?;
        let out = Out { path: path.clone(), file, regular: metadata.is_file(), fresh };
        match out.regular.then(|| owner(&metadata, &args.file, plan)).flatten() {
            Some(owner) => {
                Err(wrong(path, format!("is {owner}, and would be lost; name another file")))
            }
            None => Ok(Some(out)),
        }
    }

    /// Replaces the content of the file.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Error> {
        let mut write = || {
            if self.regular {
                self.file.set_len(0)?;
            }
            self.file.write_all(text.as_bytes())
        };
        let written = write();
        self.fresh = false;
        match written {
            // Whoever reads the pipe has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| {
                let what = visible(&self.path.display().to_string());
                Error::system(what, format!("cannot be written: {error}; the run itself has ended"))
            }),
        }
    }
}

impl Drop for Out {
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

/// What of the run the file is, in words.
fn owner(out: &Metadata, description: &str, plan: &Plan) -> Option<String> {
    let is_it = |path: &Path| {
        std::fs::metadata(path)
            .is_ok_and(|other| (other.dev(), other.ino()) == (out.dev(), out.ino()))
    };
    let description = if description == "-" { "/dev/stdin" } else { description };
    if is_it(Path::new(description)) {
        return Some("the description".to_owned());
    }
    plan.files().find(|(_, path)| is_it(path)).map(|(port, _)| format!("a file of port {port}"))
}

fn wrong(path: &Path, message: String) -> Error {
    Error::user(visible(&path.display().to_string()), message)
}
