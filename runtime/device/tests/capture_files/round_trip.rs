//! What the writer writes, other readers read; what another writer writes, the reader reads.
//!
//! Oracles: pcap-file in both directions, tshark where it is installed.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{Seen, ours, theirs, tshark};
use corelane_device::capture::{CaptureFile, CaptureWriter, Format, Position, TOOL_LIMIT};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapTsResolution, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::simple_packet::SimplePacketBlock;
use pcap_file::{DataLink, Endianness};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

const FORMATS: [(Format, &str); 2] = [(Format::Pcap, "x.pcap"), (Format::PcapNg, "x.pcapng")];
/// The last second that classic pcap can hold.
const CLASSIC_SECONDS: u64 = u32::MAX as u64;

fn packets(longest: usize) -> impl Strategy<Value = Vec<Seen>> {
    let packet = (0..CLASSIC_SECONDS * 1_000_000_000, 0..100u32, vec(any::<u8>(), 0..longest));
    vec(packet, 0..8).prop_map(|packets| {
        let seen = |(time_ns, cut, data): (u64, u32, Vec<u8>)| Seen {
            time_ns: time_ns.into(),
            orig_len: data.len() as u32 + cut,
            data,
        };
        packets.into_iter().map(seen).collect()
    })
}

/// Writes packets, each cut into pieces of at most `piece` bytes.
fn write(dir: &TempDir, name: &str, format: Format, packets: &[Seen], piece: usize) -> PathBuf {
    let path = dir.path().join(name);
    let mut writer = CaptureWriter::create(&path, format).unwrap();
    for packet in packets {
        let time_ns = u64::try_from(packet.time_ns).unwrap();
        let parts = packet.data.chunks(piece);
        writer.write(time_ns, packet.orig_len, parts, packet.data.len() as u32).unwrap();
    }
    assert_eq!(writer.records(), packets.len() as u64);
    assert_eq!(writer.clamped_times(), 0);
    let long = packets.iter().filter(|packet| packet.data.len() > TOOL_LIMIT as usize).count();
    assert_eq!(writer.over_tool_limit(), long as u64);
    writer.finish().unwrap();
    path
}

fn read_back(path: &Path) -> Vec<Seen> {
    let (seen, error) = ours(path).unwrap();
    assert!(error.is_none(), "{error:?}");
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_files_read_the_same_everywhere(packets in packets(300), piece in 1usize..200) {
        let dir = TempDir::new().unwrap();
        for (format, name) in FORMATS {
            let path = write(&dir, name, format, &packets, piece);
            prop_assert_eq!(&theirs(&path).unwrap(), &packets);
            prop_assert_eq!(&read_back(&path), &packets);
        }
    }

    #[test]
    fn classic_files_of_another_writer_read_the_same(
        mut packets in packets(100),
        big: bool,
        nano: bool,
    ) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("x.pcap");
        let header = PcapHeader {
            endianness: if big { Endianness::Big } else { Endianness::Little },
            ts_resolution:
                if nano { PcapTsResolution::NanoSecond } else { PcapTsResolution::MicroSecond },
            ..PcapHeader::default()
        };
        let mut writer = PcapWriter::with_header(File::create(&path).unwrap(), header).unwrap();
        for packet in &mut packets {
            packet.time_ns -= if nano { 0 } else { packet.time_ns % 1000 };
            let time = Duration::from_nanos(u64::try_from(packet.time_ns).unwrap());
            let theirs = PcapPacket::new(time, packet.orig_len, &packet.data[..]).unwrap();
            writer.write_packet(&theirs).unwrap();
        }
        drop(writer);
        prop_assert_eq!(read_back(&path), packets);
        let file = CaptureFile::open(&path).unwrap();
        prop_assert_eq!(file.interfaces()[0].snaplen, 65535);
    }

    #[test]
    fn next_generation_files_of_another_writer_read_the_same(
        packets in packets(100),
        kinds in vec(any::<(bool, bool)>(), 8),
        big: bool,
        exponents in (0u8..10, 0u8..30),
        offset in 0i64..2,
    ) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("x.pcapng");
        let order = if big { Endianness::Big } else { Endianness::Little };
        let mut writer =
            PcapNgWriter::with_endianness(File::create(&path).unwrap(), order).unwrap();
        for resolution in [
            InterfaceTsResolution::new(false, exponents.0).unwrap(),
            InterfaceTsResolution::new(true, exponents.1).unwrap(),
        ] {
            let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
            interface.options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed("eth0")),
                InterfaceDescriptionOption::IfTsResol(resolution),
                InterfaceDescriptionOption::IfTsOffset(offset * 1000),
            ];
            writer.write_pcapng_block(interface).unwrap();
        }
        for (packet, (simple, second)) in packets.iter().zip(kinds) {
            let data = Cow::Borrowed(&packet.data[..]);
            if simple {
                let original_len = packet.data.len() as u32;
                writer.write_pcapng_block(SimplePacketBlock { original_len, data }).unwrap();
                continue;
            }
            let late = packet.time_ns + 2_000_000_000_000;
            writer
                .write_pcapng_block(EnhancedPacketBlock {
                    interface_id: second.into(),
                    timestamp: Duration::from_nanos(u64::try_from(late).unwrap()),
                    original_len: packet.orig_len,
                    data,
                    options: Vec::new(),
                })
                .unwrap();
        }
        drop(writer);
        prop_assert_eq!(read_back(&path), theirs(&path).unwrap());
    }
}

#[test]
fn superpackets_read_back_whole() {
    let dir = TempDir::new().unwrap();
    let seen = |len: usize| Seen {
        time_ns: len as u128,
        orig_len: len as u32,
        data: (0..len).map(|at| at as u8).collect(),
    };
    let packets: Vec<_> = [14, 65_549, 262_144, 524_302, 1 << 20].into_iter().map(seen).collect();
    for (format, name) in FORMATS {
        let path = write(&dir, name, format, &packets, 65_536);
        assert!(theirs(&path).unwrap() == packets, "pcap-file, {format:?}");
        assert!(read_back(&path) == packets, "{format:?}");
        assert_eq!(CaptureFile::open(&path).unwrap().format(), format);
    }
}

#[test]
fn tshark_reads_written_files_with_their_nanoseconds() {
    let dir = TempDir::new().unwrap();
    let packet = |(time_ns, orig_len, len): (u128, u32, usize)| Seen {
        time_ns,
        orig_len,
        data: vec![0x5a; len],
    };
    let expected = [
        (1, 60, 60),
        (1_700_000_000_123_456_789, 61, 61),
        (1_700_000_000_123_456_790, 1514, 96),
        (2_000_000_000_000_000_001, 262_144, 262_144),
    ];
    let packets: Vec<_> = expected.into_iter().map(packet).collect();
    for (format, name) in FORMATS {
        let path = write(&dir, name, format, &packets, 1000);
        match tshark(&path) {
            Some(seen) => assert_eq!(seen, expected, "{format:?}"),
            None => {
                let test = "tshark_reads_written_files_with_their_nanoseconds";
                return corelane_runtime::testing::skip(test, "tshark is not installed");
            }
        }
    }
}

#[test]
fn a_position_starts_again_where_it_was_taken() {
    let dir = TempDir::new().unwrap();
    let packet = |number: u8| Seen { time_ns: 7, orig_len: 60, data: vec![number; 60] };
    let packets: Vec<_> = (1..=5).map(packet).collect();
    for (format, name) in FORMATS {
        let path = write(&dir, name, format, &packets, 60);
        let mut file = CaptureFile::open(&path).unwrap();
        let mut position = Position::default();
        // Three rounds, as a looping reader goes; each counts from 1 again.
        for _ in 0..3 {
            let mut numbers = Vec::new();
            while let Some(record) = file.next_at(&mut position) {
                let record = record.unwrap();
                assert_eq!(record.data, vec![record.number as u8; 60]);
                numbers.push(record.number);
            }
            assert_eq!(numbers, [1, 2, 3, 4, 5]);
            assert_eq!(position.records(), 5);
            position = Position::default();
        }
        let mut first = file.records();
        first.next_record();
        first.next_record();
        let position = first.position();
        // A second reader goes on where the first one stands.
        let mut second = file.clone();
        let mut rest = second.records_from(position);
        for number in 3..=5 {
            assert_eq!(rest.next_record().unwrap().unwrap().number, number);
            assert!(file.next_at(&mut Position::default()).unwrap().is_ok());
        }
        assert!(rest.next_record().is_none());
    }
}

#[test]
fn times_behind_the_end_of_classic_pcap_are_clamped_and_counted() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("late.pcap");
    let mut writer = CaptureWriter::create(&path, Format::Pcap).unwrap();
    let last = CLASSIC_SECONDS * 1_000_000_000 + 999_999_999;
    for time_ns in [last, last + 1, u64::MAX] {
        writer.write(time_ns, 1, [&b"x"[..]], 1).unwrap();
    }
    assert_eq!(writer.clamped_times(), 2);
    writer.finish().unwrap();
    assert!(read_back(&path).iter().all(|seen| seen.time_ns == last.into()));
}
