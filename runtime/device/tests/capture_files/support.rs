//! What the integration tests of captures share: our reader and an independent one, in one shape.

use std::path::Path;
use std::process::Command;

use corelane_device::capture::{CaptureError, CaptureFile};
use pcap_file::pcap::{PcapReader, PcapTsResolution};
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::block_common::Block;

/// Bytes of buffer for the independent reader; the longest frame of any test fits.
const BUFFER_LEN: usize = 2 << 20;

/// One record, whoever read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Nanoseconds since 1970.
    pub(crate) time_ns: u128,
    /// Bytes on the wire.
    pub(crate) orig_len: u32,
    /// Captured bytes.
    pub(crate) data: Vec<u8>,
}

/// All records by the reader under test, and the error behind them.
pub(crate) fn ours(path: &Path) -> Result<(Vec<Seen>, Option<CaptureError>), CaptureError> {
    let mut file = CaptureFile::open(path)?;
    let mut seen = Vec::new();
    let mut records = file.records();
    while let Some(record) = records.next_record() {
        match record {
            Ok(record) => seen.push(Seen {
                time_ns: record.time_ns.into(),
                orig_len: record.orig_len,
                data: record.data.to_vec(),
            }),
            Err(error) => return Ok((seen, Some(error))),
        }
    }
    Ok((seen, None))
}

/// All records by pcap-file, or why it cannot read them.
pub(crate) fn theirs(path: &Path) -> Result<Vec<Seen>, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    if bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        theirs_ng(&bytes)
    } else {
        theirs_classic(&bytes)
    }
}

/// Its raw records, since its checked ones refuse captured lengths above the original.
fn theirs_classic(bytes: &[u8]) -> Result<Vec<Seen>, String> {
    let mut reader = PcapReader::with_capacity(bytes, BUFFER_LEN).map_err(|e| e.to_string())?;
    let unit = match reader.header().ts_resolution {
        PcapTsResolution::MicroSecond => 1000,
        PcapTsResolution::NanoSecond => 1,
    };
    let mut seen = Vec::new();
    while let Some(packet) = reader.next_raw_packet() {
        let packet = packet.map_err(|e| e.to_string())?;
        seen.push(Seen {
            time_ns: u128::from(packet.ts_sec) * 1_000_000_000 + u128::from(packet.ts_frac) * unit,
            orig_len: packet.orig_len,
            data: packet.data.into_owned(),
        });
    }
    Ok(seen)
}

fn theirs_ng(bytes: &[u8]) -> Result<Vec<Seen>, String> {
    let mut reader = PcapNgReader::with_capacity(bytes, BUFFER_LEN).map_err(|e| e.to_string())?;
    let mut seen = Vec::new();
    while let Some(block) = reader.next_block() {
        let (block, _) = block.map_err(|e| e.to_string())?;
        let (time_ns, orig_len, data) = match block {
            Block::EnhancedPacket(p) => (p.timestamp.as_nanos(), p.original_len, p.data),
            Block::Packet(p) => (p.timestamp.as_nanos(), p.original_len, p.data),
            Block::SimplePacket(p) => (0, p.original_len, p.data),
            _ => continue,
        };
        seen.push(Seen { time_ns, orig_len, data: data.into_owned() });
    }
    Ok(seen)
}

/// Time, length on the wire and captured length of each packet by tshark; `None` without tshark.
pub(crate) fn tshark(path: &Path) -> Option<Vec<(u128, u32, usize)>> {
    let output = Command::new("tshark")
        .args(["-r".as_ref(), path.as_os_str()])
        .args(["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.cap_len"])
        .output()
        .ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark refuses {}: {errors}", path.display());
    let text = String::from_utf8(output.stdout).expect("tshark prints text");
    Some(text.lines().map(tshark_line).collect())
}

fn tshark_line(line: &str) -> (u128, u32, usize) {
    let fields: Vec<&str> = line.split('\t').collect();
    let [time, len, cap_len] = fields[..] else { panic!("tshark printed {line:?}") };
    let (seconds, fraction) = time.split_once('.').expect("a fraction");
    let fraction: u128 = format!("{fraction:0<9}").parse().expect("digits");
    let seconds: u128 = seconds.parse().expect("digits");
    (
        seconds * 1_000_000_000 + fraction,
        len.parse().expect("digits"),
        cap_len.parse().expect("digits"),
    )
}
