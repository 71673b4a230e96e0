//! Writing captures: nanosecond times, little endian, one Ethernet interface.
//!
//! It promises that what is written is read back equal - bytes, original length, time - by this module and
//! by other tools, and that a frame may come in any number of pieces without being put together first. A
//! failed write is an error then and at every later call, since half a record makes the rest unreadable;
//! nothing more is handed to the system then. Until records are, they wait in a buffer, and
//! [`CaptureWriter::handed_over`] tells how many no longer do. It does not sync to the disk, and it does not cut frames above [`TOOL_LIMIT`]: it counts them.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::error::{CaptureError, Refusal};
use super::format::{
    BLOCK_ENHANCED, BLOCK_INTERFACE, BLOCK_MIN_LEN, BLOCK_SECTION, BYTE_ORDER_MAGIC,
    ENHANCED_BODY_LEN, Format, MAX_CAPTURED, OPTION_COMMENT, OPTION_END, OPTION_TS_RESOLUTION,
    OPTION_USER_APPLICATION, PCAP_HEADER_LEN, PCAP_MAGIC_NS, PCAP_RECORD_LEN, PCAP_VERSION_MAJOR,
    PCAP_VERSION_MINOR, PCAPNG_VERSION_MAJOR, TOOL_LIMIT, padding,
};
use super::in_use::InUse;
use super::interface::Clock;
use super::link::LinkType;

/// What a classic file says its longest record is. Above every frame that corelane makes (512 KiB), as
/// some readers refuse records longer than this; no reader sets that much aside in advance.
const SNAPLEN: u32 = 1 << 20;
const BUFFER_LEN: usize = 256 << 10;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// A capture being written. Dropped without [`finish`](Self::finish) it still writes out its buffer,
/// but nobody learns whether that worked.
#[derive(Debug)]
pub struct CaptureWriter {
    path: PathBuf,
    out: BufWriter<Taken>,
    format: Format,
    records: u64,
    handed_over: u64,
    clamped_times: u64,
    over_tool_limit: u64,
    failure: Option<(io::ErrorKind, String)>,
    // Behind `out`: the file is released when its last bytes are written.
    _in_use: Option<InUse>,
}

impl CaptureWriter {
    /// Creates the file, or empties it if it exists, and puts the headers in the buffer. A character
    /// device is written as it is.
    ///
    /// # Errors
    /// [`CaptureError::Refused`] where it cannot be created, is something else (a pipe would wait for a
    /// reader), or this process reads or writes it already; its content is untouched then.
    pub fn create(path: impl AsRef<Path>, format: Format) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let (file, in_use) =
            create_alone(path).map_err(|reason| CaptureError::refused(path, reason))?;
        let mut writer = Self {
            path: path.to_owned(),
            out: BufWriter::with_capacity(BUFFER_LEN, Taken { file, bytes: 0, broken: false }),
            format,
            records: 0,
            handed_over: 0,
            clamped_times: 0,
            over_tool_limit: 0,
            failure: None,
            _in_use: in_use,
        };
        writer.attempt(|out| match format {
            Format::Pcap => out.write_all(&pcap_header()),
            Format::PcapNg => out.write_all(&pcapng_headers()),
        })?;
        Ok(writer)
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records written so far, to the buffer at least.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Records that the system has taken whole, for sure. After a failed write there may be more in the
    /// file: of a buffer that it took in part, none is counted.
    pub fn handed_over(&self) -> u64 {
        self.handed_over
    }

    /// Records whose time classic pcap cannot hold, so that its last moment, in the year 2106, stands in
    /// their place.
    pub fn clamped_times(&self) -> u64 {
        self.clamped_times
    }

    /// Records longer than [`TOOL_LIMIT`]: read back by this module, but not by tcpdump or tshark.
    pub fn over_tool_limit(&self) -> u64 {
        self.over_tool_limit
    }

    /// [`write_with`](Self::write_with) no comment.
    ///
    /// # Errors
    /// As there.
    pub fn write<'p>(
        &mut self,
        time_ns: u64,
        orig_len: u32,
        parts: impl IntoIterator<Item = &'p [u8]>,
        captured_len: u32,
    ) -> Result<(), CaptureError> {
        self.write_with(time_ns, orig_len, parts, captured_len, "")
    }

    /// Writes one record: the first `captured_len` bytes of `parts`, with `orig_len` as its length on the
    /// wire and `time_ns` in nanoseconds since 1970-01-01 UTC. Classic pcap has no place for a comment; of one longer
    /// than 65,535 bytes the start is written.
    ///
    /// # Errors
    /// [`CaptureError::Write`] where the system refuses; where `captured_len` is above
    /// [`MAX_CAPTURED`] (nothing is written); or where `parts` are shorter than `captured_len` (zeros
    /// stand for what is missing, so that the file stays readable).
    pub fn write_with<'p>(
        &mut self,
        time_ns: u64,
        orig_len: u32,
        parts: impl IntoIterator<Item = &'p [u8]>,
        captured_len: u32,
        comment: &str,
    ) -> Result<(), CaptureError> {
        if captured_len > MAX_CAPTURED {
            let text = format!("a frame of {captured_len} bytes is above {MAX_CAPTURED}");
            return Err(self.error(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        let before = self.out.get_ref().bytes;
        let missing = match self.format {
            Format::Pcap => {
                let header = self.pcap_record(time_ns, orig_len, captured_len);
                self.attempt(|out| {
                    out.write_all(&header)?;
                    write_parts(out, parts, captured_len)
                })
            }
            Format::PcapNg => self.attempt(|out| {
                let comment = shortened(comment);
                let length = block_length(captured_len) + options_length(comment);
                out.write_all(&enhanced_header(length, time_ns, orig_len, captured_len))?;
                let missing = write_parts(out, parts, captured_len)?;
                out.write_all(&[0; 3][..padding(captured_len as usize)])?;
                write_comment(out, comment)?;
                out.write_all(&length.to_le_bytes())?;
                Ok(missing)
            }),
        }?;
        if self.out.get_ref().bytes != before {
            // The buffer went out whole, with all records in front of this one; of this one, some of
            // it may be in the buffer again.
            self.handed_over = self.records;
        }
        self.records += 1;
        self.over_tool_limit += u64::from(captured_len > TOOL_LIMIT);
        if missing > 0 {
            let text = format!("record {} lacks {missing} of {captured_len} bytes", self.records);
            return Err(self.error(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        Ok(())
    }

    /// Hands everything written so far to the system.
    ///
    /// # Errors
    /// [`CaptureError::Write`] where the system refuses.
    pub fn flush(&mut self) -> Result<(), CaptureError> {
        self.attempt(Write::flush)?;
        self.handed_over = self.records;
        Ok(())
    }

    /// Writes out the rest and closes the file.
    ///
    /// # Errors
    /// [`CaptureError::Write`] where the system refuses, or refused before.
    pub fn finish(mut self) -> Result<(), CaptureError> {
        self.flush()
    }

    /// Runs `action` unless an earlier one failed, and remembers its failure.
    fn attempt<T>(
        &mut self,
        action: impl FnOnce(&mut BufWriter<Taken>) -> io::Result<T>,
    ) -> Result<T, CaptureError> {
        if let Some((kind, text)) = &self.failure {
            return Err(self.error(io::Error::new(*kind, text.clone())));
        }
        action(&mut self.out).map_err(|source| {
            self.failure = Some((source.kind(), format!("an earlier write failed: {source}")));
            self.error(source)
        })
    }

    fn error(&self, source: io::Error) -> CaptureError {
        CaptureError::Write { path: self.path.clone(), source }
    }

    fn pcap_record(
        &mut self,
        time_ns: u64,
        orig_len: u32,
        captured_len: u32,
    ) -> [u8; PCAP_RECORD_LEN] {
        let (seconds, fraction) = match u32::try_from(time_ns / NS_PER_SECOND) {
            Ok(seconds) => (seconds, (time_ns % NS_PER_SECOND) as u32),
            Err(_) => {
                self.clamped_times += 1;
                (u32::MAX, NS_PER_SECOND as u32 - 1)
            }
        };
        words([seconds, fraction, captured_len, orig_len])
    }
}

/// The file, and how much of it the system has taken. After a failure it takes nothing more, so that a
/// buffer that is dropped does not try again behind everybody's back.
#[derive(Debug)]
struct Taken {
    file: File,
    bytes: u64,
    broken: bool,
}

impl Write for Taken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.broken {
            return Err(io::Error::other("an earlier write failed"));
        }
        let written = self.file.write(bytes);
        match &written {
            Ok(0) if !bytes.is_empty() => self.broken = true,
            Ok(written) => self.bytes += *written as u64,
            Err(error) => self.broken = error.kind() != io::ErrorKind::Interrupted,
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether something of this type is written: a file, or a device that takes bytes one by one.
fn check_type(kind: FileType) -> Result<(), Refusal> {
    let what = match kind {
        _ if kind.is_file() || kind.is_char_device() => return Ok(()),
        _ if kind.is_dir() => "directory",
        _ if kind.is_fifo() => "pipe",
        _ if kind.is_socket() => "socket",
        _ => "block device",
    };
    Err(Refusal::NotWritten { what })
}

/// Opens for writing without emptying: first it must be sure that nobody here has the file.
fn create_alone(path: &Path) -> Result<(File, Option<InUse>), Refusal> {
    // Asked by name first: opening a pipe without a reader would wait for one.
    if let Ok(metadata) = std::fs::metadata(path) {
        check_type(metadata.file_type())?;
    }
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(Refusal::Create)?;
    let metadata = file.metadata().map_err(Refusal::Create)?;
    check_type(metadata.file_type())?;
    if !metadata.is_file() {
        return Ok((file, None));
    }
    let in_use = InUse::writing(&metadata)?;
    file.set_len(0).map_err(Refusal::Create)?;
    Ok((file, Some(in_use)))
}

/// Writes exactly `captured_len` bytes, zeros where `parts` end early; returns how many were missing.
fn write_parts<'p>(
    out: &mut impl Write,
    parts: impl IntoIterator<Item = &'p [u8]>,
    captured_len: u32,
) -> io::Result<usize> {
    let mut left = captured_len as usize;
    for part in parts {
        if left == 0 {
            break;
        }
        let part = &part[..part.len().min(left)];
        out.write_all(part)?;
        left -= part.len();
    }
    if left > 0 {
        io::copy(&mut io::Read::take(io::repeat(0), left as u64), out)?;
    }
    Ok(left)
}

/// Words in the order of the file, little endian.
fn words<const N: usize, const BYTES: usize>(values: [u32; N]) -> [u8; BYTES] {
    const { assert!(N * 4 == BYTES) };
    let mut bytes = [0; BYTES];
    for (to, value) in bytes.chunks_exact_mut(4).zip(values) {
        to.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// Two halves as one little endian word, the first one first in the file.
const fn halves(first: u16, second: u16) -> u32 {
    first as u32 | (second as u32) << 16
}

fn pcap_header() -> [u8; PCAP_HEADER_LEN] {
    let version = halves(PCAP_VERSION_MAJOR, PCAP_VERSION_MINOR);
    words([PCAP_MAGIC_NS, version, 0, 0, SNAPLEN, LinkType::ETHERNET.0])
}

/// One section header and one interface description; the snapshot length 0 means no limit.
fn pcapng_headers() -> [u8; 44 + 32] {
    const NAME: &[u8; 8] = b"corelane";
    let name = |at: usize| u32::from_le_bytes([NAME[at], NAME[at + 1], NAME[at + 2], NAME[at + 3]]);
    words([
        BLOCK_SECTION,
        44,
        BYTE_ORDER_MAGIC,
        halves(PCAPNG_VERSION_MAJOR, 0),
        u32::MAX,
        u32::MAX,
        halves(OPTION_USER_APPLICATION, 8),
        name(0),
        name(4),
        u32::from(OPTION_END),
        44,
        BLOCK_INTERFACE,
        32,
        LinkType::ETHERNET.0,
        0,
        halves(OPTION_TS_RESOLUTION, 1),
        u32::from(Clock::NANOSECONDS.resolution),
        u32::from(OPTION_END),
        32,
    ])
}

/// Whole length of the enhanced packet block around a frame.
fn block_length(captured_len: u32) -> u32 {
    let fixed = (BLOCK_MIN_LEN + ENHANCED_BODY_LEN) as u32;
    fixed + captured_len + padding(captured_len as usize) as u32
}

/// As much of a comment as the length of an option can say.
fn shortened(comment: &str) -> &str {
    &comment[..comment.floor_char_boundary(usize::from(u16::MAX))]
}

/// Bytes of the options of a record with that comment.
fn options_length(comment: &str) -> u32 {
    match comment.len() {
        0 => 0,
        len => (4 + len + padding(len) + 4) as u32,
    }
}

fn write_comment(out: &mut impl Write, comment: &str) -> io::Result<()> {
    if comment.is_empty() {
        return Ok(());
    }
    out.write_all(&words::<1, 4>([halves(OPTION_COMMENT, comment.len() as u16)]))?;
    out.write_all(comment.as_bytes())?;
    out.write_all(&[0; 3][..padding(comment.len())])?;
    out.write_all(&words::<1, 4>([u32::from(OPTION_END)]))
}

fn enhanced_header(length: u32, time_ns: u64, orig_len: u32, captured_len: u32) -> [u8; 28] {
    let (high, low) = ((time_ns >> 32) as u32, time_ns as u32);
    words([BLOCK_ENHANCED, length, 0, high, low, captured_len, orig_len])
}
