//! The rules that every stage keeps, tried on both; descriptions that are wrong; and what tshark reads of what is
//! sent.

use crate::rig::{Place, config, encap, encap_at, leave, received, through};
use corelane_runtime::packet::Packet;
use corelane_runtime::stage::{Args, OutputId, StageSpec};
use corelane_runtime::testing::{Harness, Trial, check, frames as as_frames, skip};
use corelane_stages::tunnel::{decap::DecapSpec, encap::EncapSpec};
use corelane_wire::testing::{FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan};
use std::process::Command;

/// A UDP header to a port of which nobody thinks to know what it carries.
fn plain() -> Udp {
    Udp { src_port: 40_001, dst_port: 40_002, ..Udp::default() }
}

fn frames() -> Vec<Vec<u8>> {
    let new = FrameBuilder::new;
    let ip = || new().ipv4(Ipv4 { dont_fragment: true, ..Ipv4::default() });
    let tunnelled = || new().ipv4(Ipv4::default()).udp(Udp { dst_port: 4789, ..Udp::default() });
    let inside = ip().tcp(Tcp::default()).payload_len(300).build();
    vec![
        ip().tcp(Tcp::default()).payload_len(500).build(),
        ip().udp(plain()).payload_len(1600).build(),
        new().ipv4(Ipv4::default()).udp(plain()).payload_len(4000).build(),
        new().ipv6(Ipv6::default()).udp(plain()).payload_len(1600).build(),
        [vec![0xff; 12], vec![0x12, 0x34], vec![7; 46]].concat(),
        tunnelled().vxlan(Vxlan::default()).payload(&inside).build(),
        vec![1; 14],
    ]
}

fn tried(spec: &dyn StageSpec, text: &str, rows: &[&str], answers: bool) {
    let config = config(spec, text, rows);
    let outputs = config.traits().outputs.len() + 1;
    let answer = answers.then_some(OutputId(outputs));
    let mut place = Place { mtu: Some(1500), answer, ..Place::default() };
    let packets = |harness: &mut Harness| -> Vec<Packet> {
        let frames = frames();
        let many = frames.iter().cycle().take(60);
        many.map(|frame| received(harness, frame)).collect()
    };
    check(&mut Trial {
        info: spec.info(),
        config: config.as_ref(),
        place: &mut place,
        packets: &packets,
        compare: &without_ids,
    });
}

/// Frames without what copies of a stage number differently: identifications, and IPv4 header sums with them.
fn without_ids(packets: Vec<Packet>, harness: &mut Harness) -> Vec<Vec<u8>> {
    let mut frames = as_frames(packets, harness);
    for frame in frames.iter_mut().filter(|frame| frame.len() > 62) {
        match (&frame[12..14], frame[20]) {
            ([8, 0], _) => {
                frame[18..20].fill(0);
                frame[24..26].fill(0);
            }
            ([0x86, 0xdd], 44) => frame[58..62].fill(0),
            _ => {}
        }
    }
    frames
}

#[test]
fn both_stages_keep_the_rules() {
    let to = "local: Own(\"wan\"), remote: \"192.0.2.7\"";
    tried(&EncapSpec, &format!("(tunnel: Vxlan(vni: 1, {to}))"), &[], false);
    let fragmenting =
        format!("(tunnel: Vxlan(vni: 1, {to}, udp_checksum: On), oversize: [FragmentOuter])");
    tried(&EncapSpec, &fragmenting, &[], false);
    let rows = [r#"(vni: 9, remotes: ["192.0.2.7", "2001:db8::8", "192.0.2.9"])"#];
    let table = "(tunnel: Vxlan(local: Own(\"wan\"), table: \"t\"), oversize: [Segment, FragmentOuter], otherwise: \"rest\")";
    tried(&EncapSpec, table, &rows, false);
    tried(&DecapSpec, "(tunnel: Vxlan(vni: 1), otherwise: \"rest\")", &[], false);
    tried(&DecapSpec, "(tunnel: Vxlan(table: \"t\"))", &rows, false);
}

#[test]
fn what_is_wrong_with_a_description_is_told() {
    let wrong = |spec: &dyn StageSpec, text: &str| -> Vec<String> {
        let errors = spec.configure(Args { text }).err().unwrap_or_default();
        errors.into_iter().map(|error| error.message).collect()
    };
    for (text, part) in [
        ("()", "`tunnel` must be given"),
        ("(tunnel: Erspan(session: 1))", "`Vxlan`"),
        ("(tunnel: Vxlan(vnii: 1))", "did you mean `vni`?"),
        ("(tunnel: Vxlan(local: \"192.0.2.1\", remote: \"192.0.2.2\"))", "needs `vni`"),
        ("(tunnel: Vxlan(vni: 1, local: \"192.0.2.1\"))", "needs `remote`"),
        ("(tunnel: Vxlan(vni: 1, remote: \"192.0.2.1\"))", "needs `local`"),
        ("(tunnel: Vxlan(vni: 1, local: \"192.0.2.1\", remote: \"::1\"))", "different families"),
        ("(tunnel: Vxlan(vni: 16777216, local: \"192.0.2.1\", remote: \"192.0.2.2\"))", "16777215"),
        ("(tunnel: Vxlan(vni: 1, table: \"t\", local: \"192.0.2.1\"))", "in its rows"),
        (
            "(tunnel: Vxlan(vni: 1, local: Own(\"wan\"), remote: \"192.0.2.2\", ttl: 256))",
            "Inherit",
        ),
        ("(tunnel: Vxlan(vni: 1, local: Own(\"wan\"), remote: \"192.0.2.2\"), mtu: 60)", "68"),
        (
            "(tunnel: Vxlan(vni: 1, local: Own(\"wan\"), remote: \"192.0.2.2\"), oversize: [Cut])",
            "Drop",
        ),
    ] {
        let messages = wrong(&EncapSpec, text);
        assert!(messages.iter().any(|message| message.contains(part)), "{text}: {messages:?}");
    }
    let messages = wrong(&DecapSpec, "(tunnel: Vxlan(vni: 1, table: \"t\"))");
    assert!(messages[0].contains("in its rows"), "{messages:?}");
    let row = r#"(vni: 1, remotes: ["2001:db8::1"])"#;
    let text = "(tunnel: Vxlan(table: \"t\", local: \"192.0.2.1\"))";
    let mut config = EncapSpec.configure(Args { text }).expect("a configuration");
    let rows = [corelane_runtime::stage::Row { text: row }];
    let errors = config.take_rows(&rows).expect_err("another family");
    assert!(errors[0].error.message.contains("another family"), "{errors:?}");
    assert_eq!(
        EncapSpec
            .configure(Args {
                text: "(tunnel: Vxlan(vni: 1, local: Own(\"lan\"), remote: \"192.0.2.2\"))"
            })
            .expect("a configuration")
            .build(&mut Place::default())
            .err()
            .map(|error| error.to_string().contains("IPv4")),
        Some(true)
    );
}

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
fn fields(name: &str, frames: &[Vec<u8>], names: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = std::env::temp_dir().join(format!("corelane-{name}-{}.pcap", std::process::id()));
    std::fs::write(&path, capture(frames)).expect("a capture");
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-T", "fields"]);
    for check in ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE"] {
        command.args(["-o", check]);
    }
    command.args(names.iter().flat_map(|name| ["-e", name]));
    let output = command.output();
    std::fs::remove_file(&path).expect("the file goes");
    let output = output.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

#[test]
fn tshark_reads_what_is_sent() {
    let mut sent = Vec::new();
    for v6 in [false, true] {
        for checksum in ["On", "Off"] {
            let remote = if v6 { "2001:db8::7" } else { "192.0.2.7" };
            let args = format!(
                "(tunnel: Vxlan(vni: 4711, local: Own(\"wan\"), remote: \"{remote}\", udp_checksum: {checksum}))"
            );
            let mut harness = encap(&args);
            let frames: Vec<Vec<u8>> = frames().into_iter().take(4).collect();
            let packets = frames.iter().map(|frame| received(&mut harness, frame)).collect();
            let packets = through(&mut harness, packets);
            sent.extend(leave(harness, packets));
        }
    }
    let names = ["vxlan.vni", "_ws.expert.severity", "_ws.expert.message", "udp.dstport"];
    let Some(read) = fields("tunnel", &sent, &names) else {
        return skip("tshark_reads_what_is_sent", "tshark is not there");
    };
    assert_eq!(read.len(), sent.len());
    // Severities: comment 1, chat 2, note 4, warning 6, error 8, in steps of 2^20. Of a lone TCP segment and of UDP over IPv6
    // without a checksum tshark has something to note.
    for (fields, frame) in read.iter().zip(&sent) {
        assert_eq!(fields[0], "4711", "{fields:?}");
        let zero = frame[12] == 0x86 && frame[60..62] == [0, 0];
        let grave = fields[1].split(',').filter_map(|severity| severity.parse::<u32>().ok());
        let most = grave.max().unwrap_or(0);
        assert!(most < 6 << 20 || zero, "{fields:?}: {frame:02x?}");
    }
    fragments_are_read();
}

/// tshark puts fragments together and finds the frame inside.
fn fragments_are_read() {
    let frame = FrameBuilder::new().ipv4(Ipv4::default()).udp(plain());
    let frame = frame.payload_len(3000).build();
    for remote in ["192.0.2.7", "2001:db8::7"] {
        let args = format!(
            "(tunnel: Vxlan(vni: 4711, local: Own(\"wan\"), remote: \"{remote}\", udp_checksum: On), oversize: [FragmentOuter])"
        );
        let mut place = Place { mtu: Some(1500), ..Place::default() };
        let mut harness = encap_at(&args, &[], &mut place);
        let packet = received(&mut harness, &frame);
        let packets = through(&mut harness, vec![packet]);
        let sent = leave(harness, packets);
        assert_eq!(sent.len(), 3);
        let names = ["vxlan.vni", "_ws.expert.severity", "frame.protocols"];
        let Some(read) = fields("fragments", &sent, &names) else { return };
        assert_eq!(read[2][0], "4711", "{read:?}");
        assert!(read[2][2].contains("vxlan:eth"), "{read:?}");
    }
}
