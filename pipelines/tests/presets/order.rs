//! Every preset over many seeds with stalls and withheld buffers: balanced, ended, and each flow in order.
//!
//! What presets send to cards in memory is written to captures here and read back with a few lines of this file's
//! own. The order shows in the IPv4 identifications, which every sender of these frames counts up within a flow, or in
//! TCP sequence numbers.

use crate::{four_cores, keeps_its_word, plan_of};
use corelane::{SimConfig, presets};
use corelane_device::capture::CaptureFile;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn seeds(default: u64) -> u64 {
    std::env::var("CORELANE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Ports of presets that send into nowhere, which are made to write what they send.
const SENDS: [(&str, &[&str]); 10] = [
    ("forward", &["a", "b"]),
    ("bump", &["a", "b"]),
    ("vxlan_gateway", &["wan", "lan"]),
    ("vtep", &["lan"]),
    ("monitor", &["out", "mon"]),
    ("split_cores", &["out"]),
    ("fan_out", &["out"]),
    ("scale_gro", &["out"]),
    ("scale_encap", &["out"]),
    ("checksum_audit", &[]),
];

/// The preset's text with files behind those ports, and the files.
fn recorded(name: &str, text: &str, folder: &Path) -> (String, Vec<PathBuf>) {
    let ports = SENDS.iter().find(|(preset, _)| *preset == name).map(|(_, ports)| *ports);
    let Some(ports) = ports else {
        // It writes captures as it is.
        return (text.to_owned(), vec![folder.join("out.pcap")]);
    };
    let files: Vec<PathBuf> =
        ports.iter().map(|port| folder.join(format!("{port}.pcap"))).collect();
    let text = ports.iter().zip(&files).fold(text.to_owned(), |text, (port, file)| {
        let from = format!("\"{port}\": Emulated(");
        assert!(text.contains(&from), "{name} has no emulated port {port}");
        text.replace(&from, &format!("{from}write: {:?}, ", file.display().to_string()))
    });
    (text, files)
}

/// The bytes of a frame from the innermost Ethernet header on.
fn inside(frame: &[u8]) -> &[u8] {
    let is_vxlan = frame.get(12..14) == Some(&[8, 0])
        && frame.get(23) == Some(&17)
        && frame.get(36..38) == Some(&4789_u16.to_be_bytes());
    if is_vxlan { frame.get(50..).unwrap_or_default() } else { frame }
}

/// What names a flow, and the number of its packet: the identification, or where TCP was cut anew the sequence number,
/// since identifications then count up from each packet's own. `None` for what is not IPv4.
fn flow(frame: &[u8], by_sequence: bool) -> Option<(Vec<u8>, u32)> {
    let mut ip = 14;
    while frame.get(ip - 2..ip) == Some(&[0x81, 0]) {
        ip += 4;
    }
    let header = frame.get(ip..ip + 24).filter(|_| frame[ip - 2..ip] == [8, 0])?;
    let key = [&header[9..10], &header[12..24]].concat();
    if by_sequence && header[9] == 6 {
        return Some((key, u32::from_be_bytes(frame.get(ip + 24..ip + 28)?.try_into().ok()?)));
    }
    Some((key, u32::from(u16::from_be_bytes([header[4], header[5]])) << 16))
}

/// Fails where a flow of a capture is not in order; gives how many frames there were.
fn in_order(file: &Path, by_sequence: bool, context: &str) -> u64 {
    let mut file = CaptureFile::open(file).expect("a capture");
    let mut records = file.records();
    let mut last: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut frames = 0;
    while let Some(record) = records.next_record() {
        let record = record.expect("a record");
        frames += 1;
        // A kernel answers a SYN with 0, whatever it counts.
        let Some((flow, id)) = flow(inside(record.data), by_sequence).filter(|(_, id)| *id != 0)
        else {
            continue;
        };
        let before = last.insert(flow, id);
        let forward = before.is_none_or(|before| (1..1 << 31).contains(&id.wrapping_sub(before)));
        assert!(forward, "{context}: frame {frames} has {id} behind {before:?}");
    }
    frames
}

fn many_seeds(names: &[&str]) {
    for &name in names {
        let text = presets::find(name).expect("a preset").text;
        let mut sent = 0;
        for seed in 0..seeds(100) {
            let context = format!("{name}, seed {seed}");
            let folder = tempfile::tempdir().expect("a folder");
            let (text, files) = recorded(name, text, folder.path());
            let faults = SimConfig { stall: 20, withhold: 40, ..SimConfig::new(seed) };
            let ran = plan_of(name, &text, &folder, &four_cores()).simulate_with(&faults);
            let (report, outcome) = ran.unwrap_or_else(|failure| panic!("{context}: {failure}"));
            assert!(outcome.finished, "{context} is stuck: {outcome:?}");
            assert_eq!(report.balanced, Some(true), "{context}: {:?}", report.unbalanced);
            keeps_its_word(name, &report);
            sent += files
                .iter()
                .map(|file| match file.exists() {
                    true => in_order(file, name == "vxlan_gateway", &context),
                    false => 0,
                })
                .sum::<u64>();
        }
        assert!(sent > 0 || name == "checksum_audit", "{name} wrote nothing");
    }
}

#[test]
fn presets_that_join_and_cut_keep_order_under_faults() {
    many_seeds(&["coalesce", "bump", "fan_out", "scale_gro", "split_cores"]);
}

#[test]
fn presets_that_carry_keep_order_under_faults() {
    many_seeds(&["demo", "vxlan_gateway", "vtep", "monitor", "scale_encap"]);
}

#[test]
fn presets_that_pass_on_keep_order_under_faults() {
    many_seeds(&["forward", "checksum_audit"]);
}

#[test]
fn every_preset_is_tried() {
    let tried = [
        "coalesce",
        "bump",
        "fan_out",
        "scale_gro",
        "scale_encap",
        "split_cores",
        "demo",
        "vxlan_gateway",
        "vtep",
        "monitor",
        "forward",
        "checksum_audit",
    ];
    for preset in presets::all() {
        assert!(tried.contains(&preset.name), "{} is not", preset.name);
    }
}

#[test]
fn a_flow_out_of_order_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.pcap");
    let format = corelane_device::capture::Format::Pcap;
    let mut writer =
        corelane_device::capture::CaptureWriter::create(&file, format).expect("a file");
    for id in [7_u16, 9, 8] {
        let mut frame = [0_u8; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[18..20].copy_from_slice(&id.to_be_bytes());
        writer.write(0, 60, std::iter::once(&frame[..]), 60).expect("a record");
    }
    writer.finish().expect("the file");
    assert!(std::panic::catch_unwind(|| in_order(&file, false, "x")).is_err());
}
