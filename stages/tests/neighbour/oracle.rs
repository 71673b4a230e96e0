//! What is sent, as tshark reads it.

use crate::rig::{arp, both, nd, through, to_v4, to_v6};
use corelane_runtime::testing::skip;
use std::process::Command;

const HOST: [u8; 6] = [2, 0, 0, 0, 0, 7];

/// A capture file of these frames: pcap, microseconds, Ethernet.
fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    for frame in frames {
        let len = (frame.len() as u32).to_le_bytes();
        file.extend([[0; 4], [0; 4], len, len].concat());
        file.extend(frame);
    }
    file
}

/// Fields of every frame; `None` without tshark.
fn fields(frames: &[Vec<u8>], names: &[&str]) -> Option<Vec<Vec<String>>> {
    let folder = std::env::temp_dir().join(format!("corelane-neighbour-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("frames.pcap");
    std::fs::write(&path, capture(frames)).expect("a capture");
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-T", "fields"]);
    command.args(names.iter().flat_map(|name| ["-e", name]));
    let output = command.output();
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let output = output.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

#[test]
fn tshark_reads_what_is_sent() {
    let mut harness = both("");
    let target = "20010db8000000000000000000000001";
    let frames = [
        arp(1, HOST, [192, 0, 2, 7], [192, 0, 2, 1]),
        nd(
            "3333ff000001 020000000007",
            "2001:db8::7",
            "ff02::1:ff00:1",
            255,
            &format!("8700 0000 00000000 {target} 0101 020000000007"),
        ),
        nd(
            "3333ff000001 020000000007",
            "::",
            "ff02::1:ff00:1",
            255,
            &format!("8700 0000 00000000 {target}"),
        ),
    ];
    let [_, mut sent] = through(&mut harness, &frames);
    let [asked, _] =
        through(&mut harness, &[to_v4([192, 0, 2, 9], b"x"), to_v6("2001:db8::9:9", b"x")]);
    sent.extend(asked);
    harness.advance(5_000_000_000);
    crate::rig::out(&mut harness);
    harness.finish();
    let names = [
        "_ws.col.Info",
        "icmpv6.checksum.status",
        "icmpv6.nd.na.flag",
        "icmpv6.opt.linkaddr",
        "_ws.expert.severity",
    ];
    let Some(read) = fields(&sent, &names) else {
        return skip("tshark_reads_what_is_sent", "tshark is not there");
    };
    let infos: Vec<&str> = read.iter().map(|fields| fields[0].as_str()).collect();
    assert_eq!(
        infos,
        [
            "192.0.2.1 is at 02:00:00:00:00:01",
            "Neighbor Advertisement 2001:db8::1 (sol, ovr) is at 02:00:00:00:00:01",
            "Neighbor Advertisement 2001:db8::1 (ovr) is at 02:00:00:00:00:01",
            "Who has 192.0.2.9? Tell 192.0.2.1",
            "Neighbor Solicitation for 2001:db8::9:9 from 02:00:00:00:00:01",
        ]
    );
    for fields in &read {
        assert!(matches!(fields[1].as_str(), "" | "1" | "Good"), "a checksum: {fields:?}");
        assert_eq!(fields[4], "", "an expert has something to say: {fields:?}");
    }
}
