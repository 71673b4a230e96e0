//! Reads every frame of a pcap or pcapng file, with its time and its length on the wire.
//!
//! Promises that nothing is skipped: a record that cannot be read is an error with its place. Does not
//! stream (the whole file is held in memory) and does not look into frames.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapReader, PcapTsResolution};
use pcap_file::pcapng::{Block, PcapNgReader};

/// One captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Time of capture since 1970-01-01 00:00:00 UTC; zero where the file has none.
    pub time: Duration,
    /// Bytes the frame had on the wire; more than `data` holds where the capture was cut.
    pub orig_len: u32,
    /// The bytes captured, starting with the Ethernet header.
    pub data: Vec<u8>,
}

/// Why a capture could not be read.
#[derive(Debug)]
pub struct ReadError {
    path: PathBuf,
    frame: usize,
    cause: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: after {} frames: {}", self.path.display(), self.frame, self.cause)
    }
}

impl std::error::Error for ReadError {}

/// All frames of the capture at `path`, in the order of the file.
///
/// # Errors
///
/// The file cannot be opened, is neither pcap nor pcapng, holds a link type other than Ethernet, or
/// has a record that cannot be read; the error says after how many frames.
pub fn read(path: &Path) -> Result<Vec<Frame>, ReadError> {
    let mut frames = Vec::new();
    read_into(path, &mut frames).map_err(|cause| ReadError {
        path: path.to_path_buf(),
        frame: frames.len(),
        cause,
    })?;
    Ok(frames)
}

/// First four bytes of a pcapng file: the section header's block type, the same in either byte order.
const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

fn read_into(path: &Path, frames: &mut Vec<Frame>) -> Result<(), String> {
    let open = || File::open(path).map_err(|error| error.to_string());
    let mut magic = [0; 4];
    open()?.read_exact(&mut magic).map_err(|error| format!("no capture header: {error}"))?;
    if magic == PCAPNG_MAGIC { read_pcapng(open()?, frames) } else { read_pcap(open()?, frames) }
}

fn read_pcap(file: File, frames: &mut Vec<Frame>) -> Result<(), String> {
    let mut reader = PcapReader::new(file).map_err(|error| error.to_string())?;
    only_ethernet(reader.header().datalink)?;
    let nanoseconds_per_tick = match reader.header().ts_resolution {
        PcapTsResolution::MicroSecond => 1000,
        PcapTsResolution::NanoSecond => 1,
    };
    // Raw records: captures exist whose frames are longer than their header's snapshot length.
    while let Some(record) = reader.next_raw_packet() {
        let record = record.map_err(|error| error.to_string())?;
        let nanoseconds = u64::from(record.ts_frac) * nanoseconds_per_tick;
        frames.push(Frame {
            time: Duration::from_secs(record.ts_sec.into()) + Duration::from_nanos(nanoseconds),
            orig_len: record.orig_len,
            data: record.data.into_owned(),
        });
    }
    Ok(())
}

fn read_pcapng(file: File, frames: &mut Vec<Frame>) -> Result<(), String> {
    let mut reader = PcapNgReader::new(file).map_err(|error| error.to_string())?;
    while let Some(block) = reader.next_block() {
        let (block, _) = block.map_err(|error| error.to_string())?;
        match block {
            Block::InterfaceDescription(interface) => only_ethernet(interface.linktype)?,
            Block::EnhancedPacket(packet) => frames.push(Frame {
                time: packet.timestamp,
                orig_len: packet.original_len,
                data: packet.data.into_owned(),
            }),
            Block::SimplePacket(packet) => frames.push(Frame {
                time: Duration::ZERO,
                orig_len: packet.original_len,
                data: packet.data.into_owned(),
            }),
            Block::Packet(_) => return Err("an obsolete packet block, which is not read".into()),
            _ => {}
        }
    }
    Ok(())
}

fn only_ethernet(link: DataLink) -> Result<(), String> {
    match link {
        DataLink::ETHERNET => Ok(()),
        other => Err(format!("link type {other:?} is not Ethernet")),
    }
}
