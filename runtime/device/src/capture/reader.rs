//! Opening a capture and walking its records.
//!
//! It promises: a file with any interface that is not Ethernet is refused before its first record;
//! a record is shown where it was read, and nothing is allocated or asked of the system for each; a damaged
//! place is reported once, behind all records in front of it, and then the walk has ended - also where
//! another process cuts the file meanwhile. A position is a value, so that a looping reader keeps its own
//! and starts again where it likes. It does not pace.

use std::path::Path;
use std::sync::Arc;

use super::error::{CaptureError, Fault, Refusal};
use super::format::{Format, PCAP_HEADER_LEN};
use super::interface::Interface;
use super::link::LinkType;
use super::source::{ReadAt, Source};
use super::window::{WINDOW, Window};
use super::{pcap, pcapng};

/// One packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number in the file, from 1, as capture tools count.
    pub number: u64,
    /// When it was captured: nanoseconds since 1970-01-01 UTC; 0 where the file has no time for it.
    pub time_ns: u64,
    /// Its length on the wire in bytes. As the file has it: longer than `data` where the capture cut the
    /// packet, and nothing keeps a broken file from claiming less than `data` holds.
    pub orig_len: u32,
    /// The place of its interface in [`CaptureFile::interfaces`].
    pub interface: u32,
    /// The captured bytes, from the Ethernet header on.
    pub data: &'a [u8],
}

/// What a format reader finds: a record that does not know its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) time_ns: u64,
    pub(super) orig_len: u32,
    pub(super) interface: u32,
    pub(super) data: &'a [u8],
}

/// A place between two records of a capture; the default is before the first.
///
/// It belongs to the file it was moved in. In another file it finds other records or a fault, never a
/// byte out of bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub(super) offset: u64,
    pub(super) section: pcapng::Section,
    records: u64,
    ended: bool,
}

impl Position {
    /// Records passed since the start of the file.
    pub fn records(self) -> u64 {
        self.records
    }
}

/// A capture open for reading, and the window its records are shown in.
///
/// A clone reads the same open file through a window of its own: one for each that reads at a time.
#[derive(Debug)]
pub struct CaptureFile {
    path: Arc<Path>,
    shape: Arc<Shape>,
    window: Window<Source>,
}

impl Clone for CaptureFile {
    fn clone(&self) -> Self {
        let (path, shape) = (self.path.clone(), self.shape.clone());
        Self { path, shape, window: self.window.another() }
    }
}

impl CaptureFile {
    /// Opens a file, tells its format by its first bytes (not its name), and checks every interface in
    /// it. A pcapng file is walked once from block to block for that.
    ///
    /// # Errors
    /// [`CaptureError::Refused`] where it cannot be opened, is not a capture, has an interface that is
    /// not Ethernet, or is being written by this process.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let refused = |reason| CaptureError::refused(path, reason);
        let source = Source::open(path).map_err(refused)?;
        let len = source.len();
        let mut window = Window::new(Arc::new(source), len, WINDOW);
        let shape = Shape::of(&mut window).map_err(refused)?;
        Ok(Self { path: path.into(), shape: Arc::new(shape), window })
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which of the two formats it has.
    pub fn format(&self) -> Format {
        match self.shape.kind {
            Kind::Pcap(_) => Format::Pcap,
            Kind::PcapNg => Format::PcapNg,
        }
    }

    /// Its interfaces, over all sections, in the order of the file.
    pub fn interfaces(&self) -> &[Interface] {
        &self.shape.interfaces
    }

    /// All records from the first on.
    pub fn records(&mut self) -> Records<'_> {
        self.records_from(Position::default())
    }

    /// The records behind `position`.
    pub fn records_from(&mut self, position: Position) -> Records<'_> {
        Records { file: self, position }
    }

    /// The record behind `position`, which moves past it; `None` at the end of the file and after an
    /// error. The record is shown until the next call.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`], once, at the first place that cannot be read.
    pub fn next_at(&mut self, position: &mut Position) -> Option<Result<Record<'_>, CaptureError>> {
        let record = self.shape.next(&mut self.window, position)?;
        Some(record.map_err(|fault| CaptureError::Damaged {
            path: self.path.to_path_buf(),
            record: position.records + 1,
            offset: position.offset,
            fault,
        }))
    }
}

/// A walk over the records of a capture. It is no iterator, since it shows one record at a time.
#[derive(Debug)]
pub struct Records<'a> {
    file: &'a mut CaptureFile,
    position: Position,
}

impl Records<'_> {
    /// Where the walk stands.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next record, as [`CaptureFile::next_at`].
    ///
    /// # Errors
    /// [`CaptureError::Damaged`], once, at the first place that cannot be read.
    pub fn next_record(&mut self) -> Option<Result<Record<'_>, CaptureError>> {
        self.file.next_at(&mut self.position)
    }
}

/// What is known of a file's bytes before its first record.
#[derive(Debug)]
pub(super) struct Shape {
    kind: Kind,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Pcap(pcap::Layout),
    PcapNg,
}

impl Shape {
    /// Tells the format, and refuses what is not a capture of Ethernet only.
    pub(super) fn of<S: ReadAt>(window: &mut Window<S>) -> Result<Self, Refusal> {
        let start = window.get(0, PCAP_HEADER_LEN).map_err(Refusal::Header)?;
        let (kind, interfaces) = if let Some(layout) = pcap::detect(start) {
            (Kind::Pcap(layout), vec![layout.interface(start)?])
        } else if pcapng::detect(start) {
            (Kind::PcapNg, pcapng::interfaces(window).map_err(Refusal::Header)?)
        } else {
            return Err(foreign(start));
        };
        let alien = interfaces.iter().position(|interface| interface.link != LinkType::ETHERNET);
        match alien.and_then(|place| Some((place, interfaces.get(place)?.link))) {
            Some((place, link)) => {
                Err(Refusal::Link { link, interface: place + 1, interfaces: interfaces.len() })
            }
            None => Ok(Self { kind, interfaces }),
        }
    }

    /// The record behind `position`; on a fault `position` stands at the faulty bytes.
    pub(super) fn next<'w, S: ReadAt>(
        &self,
        window: &'w mut Window<S>,
        position: &mut Position,
    ) -> Option<Result<Record<'w>, Fault>> {
        if position.ended {
            return None;
        }
        let frame = match self.kind {
            Kind::Pcap(layout) => layout.next(window, position),
            Kind::PcapNg => pcapng::next(window, &self.interfaces, position),
        };
        match frame {
            Some(Ok(Frame { time_ns, orig_len, interface, data })) => {
                position.records += 1;
                let number = position.records;
                Some(Ok(Record { number, time_ns, orig_len, interface, data }))
            }
            Some(Err(fault)) => {
                position.ended = true;
                Some(Err(fault))
            }
            None => {
                position.ended = true;
                None
            }
        }
    }
}

/// Names formats that people hand to capture readers by mistake.
fn foreign(bytes: &[u8]) -> Refusal {
    const KNOWN: &[(&[u8], &str, &str)] = &[
        (&[0x1f, 0x8b], "compressed by gzip", "unpack it with gunzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd", "unpack it with unzstd"),
        (&[0x04, 0x22, 0x4d, 0x18], "compressed by lz4", "unpack it with unlz4"),
        (b"\xfd7zXZ\0", "compressed by xz", "unpack it with unxz"),
        (b"BZh", "compressed by bzip2", "unpack it with bunzip2"),
        (b"PK\x03\x04", "a zip archive", "unpack it with unzip"),
        (b"snoop\0\0\0", "a snoop capture", "convert it with editcap -F pcapng"),
        (b"GMBU", "a Network Monitor capture", "convert it with editcap -F pcapng"),
    ];
    for &(start, what, remedy) in KNOWN {
        if bytes.starts_with(start) {
            return Refusal::Foreign { what, remedy };
        }
    }
    match bytes.first_chunk() {
        Some(&start) => Refusal::NotACapture { start },
        None => Refusal::TooShort { len: bytes.len() },
    }
}
