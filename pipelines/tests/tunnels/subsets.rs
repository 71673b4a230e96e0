//! The same packets leave under every set of capabilities: into a tunnel, out of one, and joined inside one.
//!
//! What software makes is held against frames built by hand; every set of capabilities of the sending port, and every
//! set of what the receiving port reports, must then give the same bytes, in order per flow, without asking the
//! device for what it cannot do. It says nothing about times.

use crate::support::{HOP, Lane, Ran, VXLAN, assert_same, inside, timed};
use corelane_device::emulated::Frame;
use corelane_runtime::offload::{Caps, UdpPorts};
use corelane_wire::testing::{
    Arp, Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan, assert_same_frames, assert_sound,
    problems,
};

/// What a sending port may have for tunnels; every subset is tried.
const SENDS: [Caps; 8] = [
    Caps::TSO4.union(Caps::TSO6),
    Caps::TSO_VXLAN,
    Caps::TSO_VXLAN_CSUM,
    Caps::TX_OUTER_UDP,
    Caps::TX_OUTER_IP,
    Caps::GSO_PARTIAL,
    Caps::TX_CHECKSUMS.union(Caps::TX_IP),
    Caps::TSO_FIXED_ID,
];

/// What a receiving port may report; every subset is tried.
const REPORTS: [Caps; 6] = [
    Caps::RX_IP,
    Caps::RX_TCP,
    Caps::RX_UDP,
    Caps::RX_OUTER_IP,
    Caps::RX_OUTER_UDP,
    Caps::RX_COMPLETE,
];

/// Every subset, those left out that mean the same to a port.
fn subsets(bits: &[Caps], always: Caps) -> Vec<Caps> {
    let subset = |number: u32| {
        let chosen = bits.iter().enumerate().filter(|(bit, _)| number & 1 << bit != 0);
        chosen.fold(always, |set, (_, bit)| set | *bit).without_orphans()
    };
    let mut sets: Vec<Caps> = (0..1 << bits.len()).map(subset).collect();
    sets.sort_by_key(|set| set.bits());
    sets.dedup();
    sets
}

/// Sets of a sending port: takes packets of several parts, and finishes what it has no name for, or not.
fn sends() -> Vec<Caps> {
    let mut sets = subsets(&SENDS, Caps::MULTI_PART);
    sets.extend([Caps::empty(), Caps::TX_GENERIC.with_implied(), Caps::asked()]);
    sets
}

fn reports() -> Vec<Caps> {
    subsets(&REPORTS, Caps::empty())
}

/// Pairs of what the receiving and the sending port can do: all reports with a few sending sets and all sending sets
/// with some reports. At night (`CORELANE_SEEDS` above 1,000) each with each.
fn pairs(some: [Caps; 3], few: [Caps; 3]) -> Vec<(Caps, Caps)> {
    let seeds = std::env::var("CORELANE_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let each = |reports: &[Caps], sends: &[Caps]| -> Vec<(Caps, Caps)> {
        sends.iter().flat_map(|&tx| reports.iter().map(move |&rx| (rx, tx))).collect()
    };
    let (reports, sends) = (reports(), sends());
    let mut pairs = if seeds.unwrap_or(0_u64) > 1000 { each(&reports, &sends) } else { Vec::new() };
    pairs.extend(each(&reports, &few));
    pairs.extend(each(&some, &sends));
    pairs
}

/// Whether the device looks for VXLAN behind the usual port.
const KNOWN: [UdpPorts; 2] = [UdpPorts::one(VXLAN), UdpPorts::NONE];

/// Trains of every kind with a short last segment, and in between what is in no train.
fn mixed() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let payload =
        |n: u8, len: usize| -> Vec<u8> { (0..len).map(|at| (at * 7) as u8 ^ n).collect() };
    for n in 0..6_u8 {
        let len = if n == 5 { 33 } else { 400 };
        let bytes = payload(n, len);
        let tcp = |port| Tcp { src_port: port, seq: 9000 + u32::from(n) * 400, ..Tcp::default() };
        let udp = |port| Udp { src_port: port, ..Udp::default() };
        let first = 65_534_u16;
        let counting = Ipv4 { id: first.wrapping_add(n.into()), ..Ipv4::default() };
        let fixed = Ipv4 { id: 7, ..Ipv4::default() };
        let six = Ipv6::default();
        let trains = [
            FrameBuilder::new().ipv4(counting.clone()).tcp(tcp(1)),
            FrameBuilder::new().ipv4(fixed).tcp(tcp(2)),
            FrameBuilder::new().ipv6(six.clone()).tcp(tcp(3)),
            FrameBuilder::new().ipv4(counting).udp(udp(4)),
            FrameBuilder::new().ipv6(six).udp(udp(5)),
        ];
        frames.extend(trains.map(|train| train.payload(&bytes).build()));
        frames.extend(tiny(n));
        frames.extend(odd(n));
    }
    frames
}

/// Trains whose superpackets are no longer than the headers that are looked at.
fn tiny(n: u8) -> [Vec<u8>; 2] {
    let tcp = Tcp { src_port: 6, seq: u32::from(n) * 10, ..Tcp::default() };
    let udp = Udp { src_port: 7, ..Udp::default() };
    let four = || FrameBuilder::new().ipv4(Ipv4 { id: 40 + u16::from(n), ..Ipv4::default() });
    [four().tcp(tcp).payload(&[n; 10]).build(), four().udp(udp).payload(&[n; 26]).build()]
}

/// What is not joined: wrong, absent and odd.
fn odd(n: u8) -> Vec<Vec<u8>> {
    let four = || FrameBuilder::new().ipv4(Ipv4 { id: u16::from(n) << 8, ..Ipv4::default() });
    let tcp = |checksum| Tcp { src_port: 11, seq: u32::from(n), checksum, ..Tcp::default() };
    let udp = |checksum| Udp { src_port: 12, checksum, ..Udp::default() };
    let bad_ip = Ipv4 { id: n.into(), checksum: Checksum::Wrong, ..Ipv4::default() };
    match n {
        0 => vec![four().tcp(tcp(Checksum::Wrong)).payload(b"corrupt").build()],
        1 => vec![four().udp(udp(Checksum::Value(0))).payload_len(101).build()],
        2 => vec![FrameBuilder::new().arp(Arp::default()).pad_to(60).build()],
        3 => vec![
            FrameBuilder::new().ipv4(bad_ip).udp(Udp { src_port: 13, ..Udp::default() }).build(),
        ],
        4 => vec![
            four().tcp(Tcp { src_port: 14, ..Tcp::default() }).payload(b"x").pad_to(60).build(),
            four().udp(udp(Checksum::Partial)).payload_len(77).build(),
        ],
        _ => vec![
            FrameBuilder::new()
                .ipv6(Ipv6::default())
                .udp(Udp { src_port: 15, checksum: Checksum::Wrong, ..Udp::default() })
                .payload_len(64)
                .build(),
        ],
    }
}

/// The tunnels that are tried: over IPv4 without and with an outer checksum, over IPv6.
fn tunnels() -> [String; 3] {
    let v4 = "local: \"192.0.2.1\", remote: \"192.0.2.9\"";
    let v6 = "local: \"2001:db8::1\", remote: \"2001:db8::9\"";
    [(v4, "Off"), (v4, "On"), (v6, "Auto")]
        .map(|(ends, sum)| format!("Encap(Vxlan(vni: 42, {ends}, udp_checksum: {sum}, {HOP}))"))
}

fn inner(ran: &Ran) -> Vec<Vec<u8>> {
    ran.frames.iter().filter_map(|frame| inside(&frame.data, &[VXLAN])).collect()
}

/// What software makes of it, which is around every frame what must be around it.
fn software(stages: &str, sent: &[Vec<u8>]) -> Ran {
    let lane = Lane { tx: Caps::empty(), ..Lane::new(stages, timed(sent.to_vec())) };
    let ran = lane.simulate();
    ran.assert_lossless(stages);
    assert!(ran.counter("Gro", "merged") > 20 && ran.counter("Gso", "cut") >= 5, "{stages}");
    assert_same(&inner(&ran), sent, stages);
    for frame in &ran.frames {
        let carried = inside(&frame.data, &[VXLAN]).expect("a tunnel");
        // Nothing is repaired, and nothing but what came is wrong.
        assert_eq!(problems(&frame.data).len(), problems(&carried).len(), "{stages}");
        if problems(&carried).is_empty() {
            assert_sound(&frame.data);
        }
    }
    ran
}

#[test]
fn into_a_tunnel() {
    let sent = mixed();
    for tunnel in tunnels() {
        let stages = format!("ChecksumValidate, Gro, {tunnel},");
        let expected = software(&stages, &sent);
        let mut left = 0;
        let some = [Caps::empty(), Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP, Caps::RX_COMPLETE];
        for (rx, tx) in pairs(some, [Caps::empty(), Caps::TX_CHECKSUMS, Caps::asked()]) {
            for known in KNOWN {
                let lane = Lane { rx, tx, known, ..Lane::new(&stages, timed(sent.clone())) };
                let ran = lane.simulate();
                let context = format!("rx {rx:?}, tx {tx:?}, known {known}: {tunnel}");
                ran.assert_lossless(&context);
                assert_same(&ran.bytes(), &expected.bytes(), &context);
                left += ran.counter("Gso", "left");
            }
        }
        assert!(left > 100, "the port was left {left} superpackets: {tunnel}");
    }
}

/// Frames in each tunnel, with odd ones around; and what is in those whose outer headers are sound.
fn carried() -> (Vec<Frame>, Vec<Vec<u8>>) {
    let sent = mixed();
    let (mut frames, mut inner): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    for tunnel in tunnels() {
        let ran = software(&format!("ChecksumValidate, Gro, {tunnel},"), &sent);
        frames.extend(ran.frames.into_iter().map(|frame| frame.data));
        inner.extend(sent.clone());
    }
    for (checksum, number) in [(Checksum::Wrong, 1), (Checksum::Partial, 2), (Checksum::Right, 3)] {
        let outer = FrameBuilder::new().ipv4(Ipv4 { id: number, ..Ipv4::default() });
        let outer = outer.udp(Udp { dst_port: VXLAN, checksum, ..Udp::default() });
        let tcp = Tcp { src_port: 20 + number, ..Tcp::default() };
        let carried = FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).payload_len(90);
        if checksum != Checksum::Wrong {
            inner.push(carried.build());
        }
        frames.push(outer.vxlan(Vxlan::default()).inside(carried).trailer(b"behind").build());
    }
    (timed(frames), inner)
}

/// Of broken outer headers nothing comes out; what is in no tunnel goes elsewhere.
#[test]
fn out_of_a_tunnel() {
    let (mut frames, inner) = carried();
    frames.extend(timed(odd(1)));
    let decap = "Decap(tunnel: Vxlan(vni: 42), otherwise: \"rest\")";
    for stages in [
        format!("ChecksumValidate, Gro, {decap}, Gro,"),
        format!("ChecksumValidate, {decap}, Gro, Gso,"),
        format!("{decap}, ChecksumValidate, Gro,"),
    ] {
        let chains = "\"rest\": [Drop(\"rest\")],".to_owned();
        let lane = Lane { chains, tx: Caps::empty(), ..Lane::new(&stages, frames.clone()) };
        let expected = lane.simulate();
        expected.assert_clean(&stages);
        let drops = expected.drops();
        assert_eq!(drops.get("Decap.bad_checksum"), Some(&1), "{drops:?}");
        assert_eq!(drops.get("Drop.rest"), Some(&1), "{drops:?}");
        let (mut found, mut inner) = (expected.bytes(), inner.clone());
        found.sort_unstable();
        inner.sort_unstable();
        assert_same_frames(&found, &inner);
        let few = [Caps::empty(), Caps::TX_CHECKSUMS, Caps::asked()];
        let some = [
            Caps::empty(),
            Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP,
            Caps::asked() - Caps::RX_HW_GRO,
        ];
        for (rx, tx) in pairs(some, few) {
            for known in KNOWN {
                let ran = Lane { rx, tx, known, ..lane.clone() }.simulate();
                let context = format!("rx {rx:?}, tx {tx:?}, known {known}: {stages}");
                ran.assert_clean(&context);
                assert_eq!(ran.drops(), drops, "{context}");
                assert_same(&ran.bytes(), &expected.bytes(), &context);
            }
        }
    }
}

#[test]
fn joined_inside_a_tunnel() {
    let (frames, _) = carried();
    let came: Vec<&[u8]> = frames.iter().map(|frame| &frame.data[..]).collect();
    let few = [
        Caps::empty(),
        Caps::TSO_VXLAN_CSUM.with_implied() | Caps::TSO6.with_implied(),
        Caps::asked(),
    ];
    let some =
        [Caps::empty(), Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP, Caps::asked() - Caps::RX_HW_GRO];
    let mut left = 0;
    for (rx, tx) in pairs(some, few) {
        for known in KNOWN {
            let lane =
                Lane { rx, tx, known, ..Lane::new("ChecksumValidate, Gro,", frames.clone()) };
            let ran = lane.simulate();
            let context = format!("rx {rx:?}, tx {tx:?}, known {known}");
            ran.assert_lossless(&context);
            assert_same(&ran.bytes(), &came, &context);
            assert!(ran.counter("Gro", "merged") > 60, "{context}");
            left += ran.counter("Gso", "left");
        }
    }
    assert!(left > 100, "the port was left {left} superpackets");
}
