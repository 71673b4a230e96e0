//! What can go wrong with a capture, in sentences that say what, where and what to do.
//!
//! It promises that the three classes stay apart: a file refused before its first packet, a file
//! damaged behind packets that were delivered, and a file that could not be written. It does not decide
//! on exit codes; a command does, from the class.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::format::MAX_CAPTURED;
use super::link::LinkType;

/// A capture that cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file was turned down before any packet was read or written.
    Refused {
        /// The file, as it was named.
        path: PathBuf,
        /// Why it was turned down.
        reason: Refusal,
    },
    /// The file is cut or contradicts itself; all records before this place were delivered.
    Damaged {
        /// The file, as it was named.
        path: PathBuf,
        /// The record that could not be read, counted from 1.
        record: u64,
        /// Where that record, or the block in front of it, begins: bytes from the start of the file.
        offset: u64,
        /// What is wrong there.
        fault: Fault,
    },
    /// Writing failed after the file was created.
    Write {
        /// The file, as it was named.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl CaptureError {
    pub(super) fn refused(path: &Path, reason: Refusal) -> Self {
        Self::Refused { path: path.to_owned(), reason }
    }

    /// Whether packets before a damaged place were delivered: a run that failed, not one that was
    /// asked for wrongly.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }

    /// Whether the file was turned down before any packet: a run that was asked for wrongly.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// The file it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Refused { path, .. } | Self::Damaged { path, .. } | Self::Write { path, .. } => {
                path
            }
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Damaged { path, record, offset, fault } => {
                write!(f, "{}: record {record} at byte {offset}: {fault}; ", path.display())?;
                match record.saturating_sub(1) {
                    0 => f.write_str("nothing was read")?,
                    1 => f.write_str("the record before it was read")?,
                    before => write!(f, "the {before} records before it were read")?,
                }
                f.write_str(
                    "; copy the file again from its source, or wait until its writer has closed it",
                )
            }
            Self::Write { path, source } => write!(
                f,
                "{}: cannot be written: {source}; what it holds so far is incomplete: \
                 make room or name another file, and run again",
                path.display()
            ),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused { reason: Refusal::Open(source) | Refusal::Create(source), .. }
            | Self::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why a file was turned down before its first packet.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It could not be opened for reading.
    Open(io::Error),
    /// It could not be created.
    Create(io::Error),
    /// It cannot be read at any place, as a file can: a directory, a pipe, a device.
    NotAFile,
    /// It is neither a file nor a character device, the only things that are written.
    NotWritten {
        /// What it is.
        what: &'static str,
    },
    /// It has no bytes at all.
    Empty,
    /// Another port of this process reads it.
    BeingRead,
    /// Another port of this process writes it.
    BeingWritten,
    /// Its name ends in neither `.pcap` nor `.pcapng`.
    UnknownExtension,
    /// It begins like a format that is known but not read.
    Foreign {
        /// What it is.
        what: &'static str,
        /// What makes a capture of it.
        remedy: &'static str,
    },
    /// It begins like no capture.
    NotACapture {
        /// Its first bytes.
        start: [u8; 4],
    },
    /// It is too short to tell a format.
    TooShort {
        /// Its bytes, fewer than four.
        len: usize,
    },
    /// It begins like a capture, but the header that describes it cannot be read.
    Header(Fault),
    /// An interface, used or not, is not Ethernet.
    Link {
        /// Its link type.
        link: LinkType,
        /// Its place among the interfaces of the whole file, counted from 1.
        interface: usize,
        /// How many interfaces the whole file describes.
        interfaces: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(source) => {
                write!(f, "cannot be opened: {source}; check the name and the right to read it")
            }
            Self::Create(source) => {
                write!(f, "cannot be created: {source}; check the folder and the right to write")
            }
            Self::NotAFile => f.write_str("is not a regular file; name a .pcap or .pcapng file"),
            Self::NotWritten { what } => write!(
                f,
                "is a {what}, and only regular files and character devices are written; \
                 name a .pcap or .pcapng file"
            ),
            Self::Empty => f.write_str("is empty (0 bytes), not a capture; record it again"),
            Self::BeingRead => {
                f.write_str("is being read by this run; write to a file of another name")
            }
            Self::BeingWritten => {
                f.write_str("is being written by this run; give every port a file of its own")
            }
            Self::UnknownExtension => {
                f.write_str("ends in neither .pcap nor .pcapng; end the name in one of them")
            }
            Self::Foreign { what, remedy } => {
                write!(f, "is {what}, not a pcap or pcapng file; {remedy}")
            }
            Self::NotACapture { start: [a, b, c, d] } => write!(
                f,
                "begins with {a:02x} {b:02x} {c:02x} {d:02x}, which is neither pcap nor pcapng; \
                 convert it (editcap -F pcapng) or name another file"
            ),
            Self::TooShort { len } => {
                let bytes = if *len == 1 { "byte" } else { "bytes" };
                write!(f, "has only {len} {bytes}, too few for a capture; record it again")
            }
            Self::Header(fault) => {
                write!(
                    f,
                    "begins like a capture but is damaged at its start: {fault}; \
                     copy the file again from its source"
                )
            }
            Self::Link { link, interface, interfaces } => {
                if *interfaces > 1 {
                    write!(f, "interface {interface} of {interfaces} ")?;
                }
                write!(
                    f,
                    "has link type {link}, but only ETHERNET (1) is read; \
                     record on Ethernet interfaces only"
                )
            }
        }
    }
}

/// What is wrong with the bytes at a damaged place; lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The file ends within a header.
    HeaderCut {
        /// Bytes the header has.
        needed: usize,
        /// Bytes left in the file.
        left: usize,
    },
    /// A frame is longer than what follows of the file.
    CapturedOverFile {
        /// Captured length of the frame.
        captured: u32,
        /// Bytes left in the file.
        left: usize,
    },
    /// A frame is longer than the block around it.
    CapturedOverBlock {
        /// Captured length of the frame.
        captured: u32,
        /// Bytes the block has for it.
        room: usize,
    },
    /// A frame is longer than [`MAX_CAPTURED`].
    CapturedOverLimit {
        /// Captured length of the frame.
        captured: u32,
    },
    /// A block is longer than what follows of the file.
    BlockOverFile {
        /// Length of the block.
        length: u32,
        /// Bytes left in the file.
        left: usize,
    },
    /// A block is too short for what its type must hold.
    BlockShort {
        /// Length of the block.
        length: u32,
        /// The least a block of its type has.
        needed: usize,
    },
    /// The length of a block is not a multiple of four.
    BlockUnaligned {
        /// Length of the block.
        length: u32,
    },
    /// The length at the end of a block differs from that at its start.
    BlockMismatch {
        /// Length at the start.
        length: u32,
        /// Length at the end.
        trailer: u32,
    },
    /// A section begins with neither byte order's mark.
    ByteOrder {
        /// What stands there, read as little endian.
        magic: u32,
    },
    /// A version of the format that nobody has defined.
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// A packet names an interface that its section has not described.
    NoInterface {
        /// The number it names, counted from 0.
        interface: u32,
        /// Interfaces described so far.
        described: usize,
    },
    /// The file ends before bytes that it had when it was opened: it was cut while it was read.
    FileCut {
        /// Length of the file when it was opened.
        length: u64,
    },
    /// The system cannot read the file there.
    Unread {
        /// The system's number for the error; 0 where it gave none.
        code: i32,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::HeaderCut { needed, left } => {
                write!(f, "header of {needed} bytes exceeds the {left} bytes left in the file")
            }
            Self::CapturedOverFile { captured, left } => {
                write!(f, "captured length {captured} exceeds the {left} bytes left in the file")
            }
            Self::CapturedOverBlock { captured, room } => {
                write!(
                    f,
                    "captured length {captured} exceeds the {room} bytes its block has for it"
                )
            }
            Self::CapturedOverLimit { captured } => {
                write!(f, "captured length {captured} exceeds the limit of {MAX_CAPTURED} bytes")
            }
            Self::BlockOverFile { length, left } => {
                write!(f, "block length {length} exceeds the {left} bytes left in the file")
            }
            Self::BlockShort { length, needed } => {
                write!(f, "block length {length} is below the {needed} bytes its type needs")
            }
            Self::BlockUnaligned { length } => {
                write!(f, "block length {length} is not a multiple of 4")
            }
            Self::BlockMismatch { length, trailer } => {
                write!(f, "block length {length} differs from {trailer} at the end of the block")
            }
            Self::ByteOrder { magic } => {
                write!(f, "byte order mark {magic:#010x} is of neither byte order")
            }
            Self::Version { major, minor } => {
                write!(f, "format version {major}.{minor} is not known")
            }
            Self::NoInterface { interface, described } => write!(
                f,
                "interface {interface} is not among the {described} described before in its section"
            ),
            Self::FileCut { length } => {
                write!(f, "the file had {length} bytes when opened and was cut while it was read")
            }
            Self::Unread { code } => {
                write!(f, "cannot be read: {}", io::Error::from_raw_os_error(code))
            }
        }
    }
}
