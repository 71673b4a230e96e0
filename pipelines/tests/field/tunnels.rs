//! B: checksums around tunnels.

use crate::support::{HOP, Lane, VXLAN, assert_same, corpus, frames_of, inside, recorded, timed};
use crate::whole::Whole;
use corelane_device::emulated::Frame;
use corelane_runtime::offload::{Caps, UdpPorts};
use corelane_runtime::packet::{Partial, SegFlags, SegKind};
use corelane_wire::testing::{
    Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan, assert_same_frames, assert_sound,
    slow_pseudo_header, slow_sum,
};

fn encap(more: &str) -> String {
    format!("Encap(Vxlan(vni: 42, local: \"192.0.2.1\", remote: \"192.0.2.9\", {HOP}, {more})),")
}

/// TCP of one frame each; as a sender on this host hands it over, and as it is on the wire.
fn tcp(number: u16) -> (Whole, Vec<u8>) {
    let frame = |checksum| {
        let tcp = Tcp { src_port: number, checksum, ..Tcp::default() };
        let builder = FrameBuilder::new().ipv4(Ipv4 { id: number, ..Ipv4::default() });
        builder.tcp(tcp).payload_len(usize::from(number)).build()
    };
    (
        Whole::frame(frame(Checksum::Partial), Partial { start: 34, field: 50 }),
        frame(Checksum::Right),
    )
}

/// B1: the 63-second stall. The outer source port is rewritten while the outer checksum is still to be made.
#[test]
fn b1_a_rewritten_outer_port_leaves_all_checksums_right() {
    let (whole, sound): (Vec<Whole>, Vec<Vec<u8>>) = (100..140).map(tcp).unzip();
    let tso = Caps::TSO4.with_implied() | Caps::TSO_VXLAN_CSUM.with_implied();
    let ports = [Caps::empty(), Caps::TX_CHECKSUMS, Caps::TX_GENERIC.with_implied(), tso];
    for (sum, summed) in [("udp_checksum: On", true), ("udp_checksum: Off", false)] {
        let stages = format!("{} Rewrite(sport: 5555),", encap(sum));
        for lane in [
            Lane::of_host(&stages, whole.clone()),
            Lane::new(&stages, timed(sound.clone())),
            Lane::new(&format!("ChecksumValidate, {stages}"), timed(sound.clone())),
        ] {
            for tx in ports {
                let ran = Lane { tx, ..lane.clone() }.simulate();
                ran.assert_lossless(sum);
                for frame in ran.bytes() {
                    assert_sound(frame);
                    assert_eq!(frame[34..36], 5555_u16.to_be_bytes());
                    assert_eq!(frame[40..42] != [0, 0], summed, "{sum}");
                }
                let inner = ran.bytes().into_iter().filter_map(|frame| inside(frame, &[VXLAN]));
                assert_same_frames(&inner.collect::<Vec<_>>(), &sound);
            }
        }
    }
}

/// The same frames with right outer UDP checksums.
fn summed(frames: &[Frame]) -> Vec<Frame> {
    let mut frames = frames.to_vec();
    for frame in &mut frames {
        let Some(udp) = crate::support::udp_to(&frame.data, &[VXLAN]) else { continue };
        let end = udp + usize::from(u16::from_be_bytes([frame.data[udp + 4], frame.data[udp + 5]]));
        frame.data[udp + 6..udp + 8].fill(0);
        let addresses = &frame.data[udp - 8..udp];
        let pseudo = slow_pseudo_header(&addresses[..4], &addresses[4..], (end - udp) as u32, 17);
        let checksum = match !slow_sum(&[&pseudo, &frame.data[udp..end]]) {
            0 => 0xffff,
            checksum => checksum,
        };
        frame.data[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
        assert_sound(&frame.data);
    }
    frames
}

/// B2: an outer checksum of 0 switches the receiver's GRO off.
#[test]
fn b2_a_zero_outer_checksum_joins_exactly_as_often_as_a_right_one() {
    let mut captures = vec![(recorded("vxlan-bulk-v4.pcap"), 40)];
    if let Some(folder) = corpus("b2_a_zero_outer_checksum, with captures of others") {
        // Shell sessions: each segment has PSH and acknowledges more than the one before.
        captures.push((frames_of(&folder.join("vxlan-zero-outer.pcap")), 0));
    }
    for (zero, least) in captures {
        let right = summed(&zero);
        assert_ne!(zero, right);
        for stages in
            ["ChecksumValidate, Gro,", "Decap(Vxlan()), Gro,", "Gro, Decap(Vxlan()), Gro,"]
        {
            let merged = [&zero, &right].map(|frames| {
                let ran = Lane::new(stages, frames.clone()).simulate();
                ran.assert_lossless(stages);
                assert_eq!(ran.frames.len(), frames.len());
                ran.counter("Gro", "merged")
            });
            assert!(merged[0] >= least, "{stages}: {merged:?}");
            assert_eq!(merged[0], merged[1], "{stages}");
        }
    }
}

/// B3: an IPv6 underlay with zero UDP checksums vanishes in the receiver.
#[test]
fn b3_zero_checksums_over_ipv6_are_dropped_by_name_unless_the_port_is_accepted() {
    let frame = |port| {
        let udp = Udp { dst_port: port, checksum: Checksum::Value(0), ..Udp::default() };
        let outer = FrameBuilder::new().ipv6(Ipv6::default()).udp(udp);
        outer.vxlan(Vxlan::default()).payload(&tcp(77).1).build()
    };
    let sent = timed(vec![frame(VXLAN), frame(5000)]);
    for rx in [Caps::empty(), Caps::asked() - Caps::RX_HW_GRO] {
        let ran = Lane { rx, ..Lane::new("ChecksumValidate,", sent.clone()) }.simulate();
        ran.assert_clean("by default");
        assert_eq!(ran.frames.len(), 0);
        let drops = ran.drops();
        assert_eq!(drops.get("ChecksumValidate.udp6_zero_checksum"), Some(&2), "{drops:?}");
        let accept = "ChecksumValidate(zero6_ports: [4789]), Decap(Vxlan()),";
        let ran = Lane { rx, ..Lane::new(accept, sent.clone()) }.simulate();
        ran.assert_clean("accepted");
        assert_same_frames(&ran.bytes(), &[tcp(77).1]);
        assert_eq!(ran.drops().get("ChecksumValidate.udp6_zero_checksum"), Some(&1));
        let strict = "Decap(Vxlan(udp6_zero_checksum: Drop)),";
        let ran = Lane { rx, ..Lane::new(strict, sent[..1].to_vec()) }.simulate();
        ran.assert_clean("by the tunnel's end");
        assert_eq!(ran.drops().get("Decap.no_checksum"), Some(&1));
    }
}

/// A train of TCP.
fn train() -> Vec<Frame> {
    let segment = |n: u16| {
        let tcp = Tcp { seq: u32::from(n) * 1000, ..Tcp::default() };
        let ip = Ipv4 { id: n, ..Ipv4::default() };
        FrameBuilder::new().ipv4(ip).tcp(tcp).payload_len(1000).build()
    };
    timed((0..30).map(segment).collect())
}

/// B4: the NIC does its tunnel offload for the port that it knows.
#[test]
fn b4_another_udp_port_goes_to_software_and_the_bytes_are_the_same() {
    let tso = Caps::TSO4.with_implied() | Caps::TSO_VXLAN_CSUM.with_implied();
    for sum in ["Off", "On"] {
        let run = |port: u16| {
            let stages = format!(
                "ChecksumValidate, Gro, {}",
                encap(&format!("port: {port}, udp_checksum: {sum}"))
            );
            let ran = Lane { tx: tso, ..Lane::new(&stages, train()) }.simulate();
            ran.assert_lossless(&stages);
            ran.bytes().into_iter().for_each(assert_sound);
            (ran.counter("Gso", "left"), ran.counter("Gso", "cut"), ran.frames)
        };
        let (known, elsewhere) = (run(4789), run(8472));
        assert!(known.0 > 0 && known.1 == 0, "hardware for the port it knows");
        assert!(elsewhere.0 == 0 && elsewhere.1 > 0, "software for another");
        let moved = |frame: &Frame| {
            let mut frame = frame.data.clone();
            frame[36..38].copy_from_slice(&4789_u16.to_be_bytes());
            frame[40..42].fill(0);
            frame
        };
        let without = |frame: &Frame| {
            let mut frame = frame.data.clone();
            frame[40..42].fill(0);
            frame
        };
        let known: Vec<Vec<u8>> = known.2.iter().map(without).collect();
        assert_same_frames(&elsewhere.2.iter().map(moved).collect::<Vec<_>>(), &known);
    }
}

/// Where the headers of a superpacket of `gso-tunnels.pcap` are.
struct Found {
    kind: SegKind,
    headers: usize,
    partial: [Option<Partial>; 2],
}

fn be16(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

/// Ethernet at `at`, IP, TCP or a UDP tunnel.
fn find(frame: &[u8], at: usize, level: usize, mut partial: [Option<Partial>; 2]) -> Found {
    let l3 = at + 14;
    let v6 = be16(frame, at + 12) == 0x86dd;
    let (l4, protocol) = if v6 { (l3 + 40, frame[l3 + 6]) } else { (l3 + 20, frame[l3 + 9]) };
    let start = l4 as u16;
    if protocol == 6 {
        partial[level] = Some(Partial { start, field: start + 16 });
        let headers = l4 + usize::from(frame[l4 + 12] >> 4) * 4;
        return Found { kind: if v6 { SegKind::Tcp6 } else { SegKind::Tcp4 }, headers, partial };
    }
    assert_eq!(protocol, 17);
    assert!([4789, 6081].contains(&be16(frame, l4 + 2)));
    if be16(frame, l4 + 6) != 0 {
        partial[level] = Some(Partial { start, field: start + 6 });
    }
    find(frame, l4 + 16, level + 1, partial)
}

/// B5: tunnel TSO without an outer checksum, and every other subset.
#[test]
fn b5_superpackets_in_tunnels_give_the_same_bytes_under_every_subset() {
    let Some(folder) = corpus("b5_superpackets_in_tunnels") else { return };
    let frames = frames_of(&folder.join("gso-tunnels.pcap"));
    assert_eq!(frames.len(), 5);
    let whole = |flags: SegFlags| -> Vec<Whole> {
        let request = frames.iter().map(|frame| {
            let Found { kind, headers, partial } = find(&frame.data, 0, 0, [None, None]);
            let whole = Whole::cut(frame.data.clone(), kind, Partial::default(), headers, 1398);
            Whole { partial, flags, ..whole }
        });
        request.collect()
    };
    let bits = [
        Caps::TSO4 | Caps::TSO6,
        Caps::TSO_VXLAN | Caps::TSO_GENEVE,
        Caps::TSO_VXLAN_CSUM | Caps::TSO_GENEVE_CSUM,
        Caps::TX_OUTER_UDP,
        Caps::TX_OUTER_IP,
        Caps::GSO_PARTIAL,
        Caps::TX_CHECKSUMS | Caps::TX_IP,
        Caps::TSO_FIXED_ID,
    ];
    for flags in [SegFlags::empty(), SegFlags::FIXED_ID] {
        let packets = whole(flags);
        let mut software: Vec<Vec<u8>> = Vec::new();
        let (mut left, mut cut) = (0, 0);
        for number in 0..1_u32 << bits.len() {
            let chosen = bits.iter().enumerate().filter(|(bit, _)| number & 1 << bit != 0);
            let tx = chosen.fold(Caps::MULTI_PART, |set, (_, bit)| set | *bit).without_orphans();
            let known = UdpPorts::of(&[4789, 6081]).expect("two ports");
            let ran = Lane { tx, known, ..Lane::of_host("", packets.clone()) }.simulate();
            let context = format!("{tx:?}, {flags:?}");
            ran.assert_lossless(&context);
            if software.is_empty() {
                software = ran.bytes().into_iter().map(<[u8]>::to_vec).collect();
                software.iter().for_each(|frame| assert_sound(frame));
                let payload: usize = software
                    .iter()
                    .map(|frame| frame.len() - find(frame, 0, 0, [None, None]).headers)
                    .sum();
                assert_eq!(payload, 35_250, "the payload that truth.json counts");
            }
            assert_same(&ran.bytes(), &software, &context);
            left += ran.counter("Gso", "left") + ran.counter("Gso", "rechunked");
            cut += ran.counter("Gso", "cut");
        }
        assert!(left > 100 && cut > 200, "{left} at the port, {cut} here");
    }
}
