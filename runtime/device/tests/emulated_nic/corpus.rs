//! Every capture that `CORELANE_CORPUS` names: what the device reports against the truth of the file, which
//! other programs found out, and that joining and cutting give the frames back. Skipped by name where the
//! variable is unset.

use crate::joining::there_and_back;
use crate::support::*;
use crate::tunnel_cut::tunnel_nic;
use corelane_device::capture::CaptureFile;
use corelane_device::emulated::Frame;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::Csum;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The Ethernet captures of the corpus with what is known of them, or a skip of `test`.
fn corpus(test: &str) -> Option<Vec<(PathBuf, Value)>> {
    let Some(folder) = std::env::var_os("CORELANE_CORPUS").map(PathBuf::from) else {
        corelane_runtime::testing::skip(test, "CORELANE_CORPUS is unset");
        return None;
    };
    let truth: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("truth.json")).unwrap()).unwrap();
    let files = truth["files"].as_object().unwrap().iter();
    let ethernet = files.filter(|(_, facts)| {
        facts["link_types"].as_array().unwrap().iter().all(|link| link["id"] == 1)
    });
    let files: Vec<_> = ethernet.map(|(name, facts)| (folder.join(name), facts.clone())).collect();
    assert!(files.len() > 50);
    Some(files)
}

fn frames_of(path: &Path) -> Vec<Frame> {
    let mut file = CaptureFile::open(path).unwrap();
    let (mut records, mut frames) = (file.records(), Vec::new());
    while let Some(record) = records.next_record() {
        let record = record.unwrap();
        frames.push(Frame::cut(record.time_ns, record.data.to_vec(), record.orig_len));
    }
    frames
}

#[test]
fn every_capture_is_given_back() {
    let Some(files) = corpus("every_capture_is_given_back") else { return };
    let mut joined = 0;
    for (path, _) in files {
        let frames = frames_of(&path);
        there_and_back(&frames, |packets| {
            joined += frames.len() - packets.len();
        });
    }
    assert!(joined > 300, "only {joined} segments joined others");
}

#[test]
fn reports_are_the_truth_of_the_capture() {
    let Some(files) = corpus("reports_are_the_truth_of_the_capture") else { return };
    let mut compared = 0;
    for (path, facts) in files {
        let count = |key: &str| facts[key].as_u64().unwrap();
        let walker = |key: &str| facts["walker"][key].as_u64().unwrap();
        let opaque = count("tunnel_packets") + walker("mpls") + walker("pppoe");
        // Left to software: truncated frames, fragments, extension headers, datagrams of length 0.
        let unjudged = ["truncated_packets", "zero_total_length"].map(count).iter().sum::<u64>()
            + walker("ipv6_ext")
            + walker("fragments_v4");
        if opaque + unjudged > 0 || facts.get("disagreements").is_some() {
            continue;
        }
        compared += 1;
        let mut nic = nic(Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP, &frames_of(&path));
        let mut bench = Bench::with(0, 1024, 64);
        let packets = bench.receive_all(&mut *nic.rx);
        let found = |level: fn(&corelane_runtime::packet::Meta) -> Csum, state| {
            packets.iter().filter(|packet| level(packet.meta()) == state).count() as u64
        };
        let bad = ["corrupt_tcp", "corrupt_udp", "partial_tcp", "partial_udp"].map(count);
        let bad: u64 = bad.iter().sum();
        let name = path.display();
        assert_eq!(found(|meta| meta.l4[0], Csum::Bad), bad, "{name}");
        let all = walker("tcp_packets") + walker("udp_packets");
        // Overruns are among the unverifiable.
        let none = ["unverifiable_tcp", "unverifiable_udp", "zero_udp_v4", "zero_udp_v6"];
        let unknown: u64 = none.into_iter().map(walker).sum();
        assert_eq!(found(|meta| meta.l4[0], Csum::Good), all - bad - unknown, "{name}");
        assert_eq!(found(|meta| meta.l3[0], Csum::Bad), walker("bad_ipv4_header"), "{name}");
        bench.release(packets);
    }
    assert!(compared >= 15, "{compared} files compared");
}

/// In each of these files every packet is in one tunnel, and in no second one.
const TUNNELLED: [&str; 7] = [
    "geneve-many-options.pcap",
    "geneve-plain.pcap",
    "gre-plain.pcap",
    "ipip-4in6.pcap",
    "ipip-6in4-tcp.pcap",
    "vxlan-vlan-outer-partial.pcap",
    "vxlan-zero-outer.pcap",
];

#[test]
fn reports_of_tunnels_are_the_truth_of_each_level() {
    let Some(files) = corpus("reports_of_tunnels_are_the_truth_of_each_level") else { return };
    let named = |name: &str| files.iter().find(|(path, _)| path.ends_with(name)).unwrap();
    for name in TUNNELLED {
        let (path, facts) = named(name);
        let count = |key: &str| facts[key].as_u64().unwrap();
        let mut nic = tunnel_nic(Caps::all() - Caps::RX_HW_GRO, &frames_of(path));
        let mut bench = Bench::with(0, 1024, 64);
        let packets = bench.receive_all(&mut *nic.rx);
        let found = |level: usize, state| {
            packets.iter().filter(|packet| packet.meta().l4[level] == state).count() as u64
        };
        let bad = count("bad_tcp_inner") + count("bad_udp_inner");
        assert_eq!(found(1, Csum::Bad), bad, "{name}");
        let all: u64 = ["tunnel_tcp", "tunnel_udp"]
            .into_iter()
            .map(|key| facts["walker"][key].as_u64().unwrap())
            .sum();
        assert_eq!(found(1, Csum::Good), all - bad, "{name}");
        assert_eq!(found(0, Csum::Bad), count("bad_udp_outer"), "{name}");
        let header = |level: usize| {
            packets.iter().filter(|packet| packet.meta().l3[level] == Csum::Bad).count() as u64
        };
        let headers = (count("bad_ipv4_header_outer"), count("bad_ipv4_header_inner"));
        assert_eq!((header(0), header(1)), headers, "{name}");
        bench.release(packets);
    }
}
