//! Every checksum of every committed capture is good, and every frame is whole.
//!
//! Judged by etherparse, which shares no code with corelane; `captures/verify.sh` asks tshark the same.

use std::path::{Path, PathBuf};

use corelane_examples::captures::{self, Frame};
use corelane_examples::compare::{Times, compare};
use corelane_examples::inside::inside;
use etherparse::{NetSlice, SlicedPacket, TcpSlice, TransportSlice};

fn committed() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of captures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcap"))
        .collect();
    files.sort();
    files
}

/// A checksum as found, and as it should be.
type Pair = (u16, u16);

/// The IPv4 and TCP checksums as found, each with the one that etherparse computes; `None` for what is not TCP.
fn sums(frame: &Frame) -> Option<(Option<Pair>, Pair)> {
    let sliced = SlicedPacket::from_ethernet(&frame.data).expect("an Ethernet frame");
    let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { return None };
    Some(match sliced.net.expect("IP") {
        NetSlice::Ipv4(ip) => {
            let ip = ip.header().to_header();
            let right = tcp.calc_checksum_ipv4(ip.source, ip.destination).expect("a TCP length");
            (Some((ip.header_checksum, ip.calc_header_checksum())), (tcp.checksum(), right))
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header().to_header();
            (None, (tcp.checksum(), right_over_ipv6(&tcp, header.source, header.destination)))
        }
        other => panic!("not IP: {other:?}"),
    })
}

fn right_over_ipv6(tcp: &TcpSlice<'_>, source: [u8; 16], destination: [u8; 16]) -> u16 {
    tcp.calc_checksum_ipv6(source, destination).expect("a TCP length")
}

#[test]
fn every_sum_is_good() {
    let files = committed();
    assert!(files.len() >= 2, "found {files:?}");
    for file in files {
        let frames = captures::read(&file).unwrap();
        assert!(frames.len() > 100, "{}: {} frames", file.display(), frames.len());
        let tunnelled =
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vxlan"));
        for (number, frame) in (1..).zip(&inside(frames)) {
            let Some((ip, tcp)) = sums(frame) else {
                // Who asks for addresses in a tunnel, and nobody elsewhere.
                assert!(tunnelled, "{}: frame {number} is not TCP", file.display());
                continue;
            };
            assert_eq!(tcp.0, tcp.1, "{}: TCP of frame {number}", file.display());
            if let Some((found, right)) = ip {
                assert_eq!(found, right, "{}: IPv4 of frame {number}", file.display());
            }
        }
    }
}

#[test]
fn every_frame_is_whole_and_none_is_a_superpacket() {
    for file in committed() {
        for frame in captures::read(&file).unwrap() {
            assert_eq!(frame.data.len(), frame.orig_len as usize, "{}", file.display());
            assert!(frame.data.len() <= 1514, "{}", file.display());
        }
    }
}

#[test]
fn they_are_small_and_have_odd_lengths_in_them() {
    let files = committed();
    let bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 2_000_000, "{bytes} bytes");
    for file in files {
        let odd =
            captures::read(&file).unwrap().iter().filter(|frame| frame.data.len() % 2 == 1).count();
        assert!(odd >= 2, "{}: {odd} odd frames", file.display());
    }
}

#[test]
fn what_a_tunnel_carries_is_what_its_device_saw() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(name);
        captures::read(&path).expect("a committed capture")
    };
    for name in ["vxlan-bulk-v4", "vxlan-bulk-v6"] {
        let (outer, inner) = (read(&format!("{name}.pcap")), read(&format!("{name}-inner.pcap")));
        assert!(compare(&outer, &inner, Times::Free).is_err(), "{name}: it is in no tunnel");
        let same = compare(&inside(outer), &inner, Times::Free);
        assert_eq!(same.map(|summary| summary.frames), Ok(inner.len()), "{name}");
    }
}
