//! A: checksums that somebody put off, and that must be finished by somebody.

use crate::support::{HOP, Lane, assert_same, corpus, frames_of, inside, timed};
use crate::whole::Whole;
use corelane::{Registry, testing};
use corelane_device::emulated::Frame;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Burst, Partial, SegKind};
use corelane_runtime::stage::{Outputs, Stage, StageContext};
use corelane_stages::{EditPayload, stage};
use corelane_wire::testing::{
    Checksum, Extension, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, assert_same_frames, assert_sound,
    problems, slow_pseudo_header, slow_sum,
};

/// The ports a packet that is to be finished may leave by.
fn ports() -> [Caps; 5] {
    let tso = Caps::TSO4.with_implied() | Caps::TSO6.with_implied();
    [
        Caps::empty(),
        Caps::TX_CHECKSUMS | Caps::TX_IP,
        Caps::TX_GENERIC.with_implied(),
        tso | Caps::TSO_VXLAN_CSUM.with_implied(),
        Caps::asked(),
    ]
}

/// A checksum in a frame of IPv4 or IPv6 without options.
fn place(v6: bool, udp: bool) -> Partial {
    let start = if v6 { 54 } else { 34 };
    Partial { start, field: start + if udp { 6 } else { 16 } }
}

/// Frames of a sender on this host: as it hands them over, and as they must be on the wire.
fn put_off(number: u16) -> Vec<(Whole, Vec<u8>)> {
    let mut packets = Vec::new();
    for (v6, udp) in [(false, false), (true, false), (false, true), (true, true)] {
        let frame = |checksum| {
            let builder = FrameBuilder::new();
            let builder = match v6 {
                true => builder.ipv6(Ipv6::default()),
                false => builder.ipv4(Ipv4 { id: number, ..Ipv4::default() }),
            };
            let builder = match udp {
                true => builder.udp(Udp { src_port: number, checksum, ..Udp::default() }),
                false => builder.tcp(Tcp { src_port: number, checksum, ..Tcp::default() }),
            };
            builder.payload_len(usize::from(number) * 31).build()
        };
        let whole = Whole::frame(frame(Checksum::Partial), place(v6, udp));
        packets.push((whole, frame(Checksum::Right)));
    }
    packets
}

fn many() -> (Vec<Whole>, Vec<Vec<u8>>) {
    (1..20).flat_map(put_off).unzip()
}

/// A2: a DHCP client drops offers that only look corrupt.
#[test]
fn a2_unfinished_is_told_from_corrupt_and_finished_where_the_sender_says_so() {
    let Some(folder) = corpus("a2_unfinished_is_told_from_corrupt") else { return };
    let frames = frames_of(&folder.join("udp-wireguard.pcap"));
    let ran = Lane::new("ChecksumValidate(on_bad: Drop),", frames.clone()).simulate();
    ran.assert_lossless("a capture cannot say that a checksum is to be finished");
    let count = |name| ran.counter("ChecksumValidate", name);
    assert_eq!((count("outer.udp.partial"), count("outer.udp.corrupt")), (289, 0));
    assert_same(&ran.bytes(), &bytes(&frames), "as they came");
    let finish = "ChecksumValidate(on_bad: Drop, on_partial: Finish),";
    let wrong = |frame: &&Frame| !problems(&frame.data).is_empty();
    let partial: Vec<&Frame> = frames.iter().filter(wrong).collect();
    assert_eq!(partial.len(), 289);
    let whole = |frame: &&Frame| Whole::frame(frame.data.clone(), place(false, true));
    let whole: Vec<Whole> = partial.iter().map(whole).collect();
    for tx in ports() {
        let ran = Lane { tx, ..Lane::new(finish, frames.clone()) }.simulate();
        ran.assert_lossless("finished by the explicit setting");
        assert_eq!(ran.frames.len(), frames.len());
        ran.bytes().into_iter().for_each(assert_sound);
        for stages in ["", "ChecksumValidate(on_bad: Drop),", "ChecksumValidate, Gro,"] {
            let ran = Lane { tx, ..Lane::of_host(stages, whole.clone()) }.simulate();
            ran.assert_lossless(stages);
            assert_eq!(ran.frames.len(), 289, "{stages}");
            ran.bytes().into_iter().for_each(assert_sound);
        }
    }
}

fn bytes(frames: &[Frame]) -> Vec<&[u8]> {
    frames.iter().map(|frame| &frame.data[..]).collect()
}

/// A4: a port hands over unfinished packets, which then go into a VXLAN.
#[test]
fn a4_unfinished_packets_of_a_virtual_port_go_into_vxlan() {
    let (whole, sound) = many();
    for (sum, ends) in [
        ("Off", "local: \"192.0.2.1\", remote: \"192.0.2.9\""),
        ("On", "local: \"192.0.2.1\", remote: \"192.0.2.9\""),
        ("Auto", "local: \"2001:db8::1\", remote: \"2001:db8::9\""),
    ] {
        let stages = format!("Encap(Vxlan(vni: 42, {ends}, udp_checksum: {sum}, {HOP})),");
        let mut software: Vec<Vec<u8>> = Vec::new();
        let mut left = 0;
        for tx in ports() {
            let ran = Lane { tx, ..Lane::of_host(&stages, whole.clone()) }.simulate();
            let context = format!("{sum}: {tx:?}");
            ran.assert_lossless(&context);
            ran.bytes().into_iter().for_each(assert_sound);
            let inner = ran.bytes().into_iter().filter_map(|frame| inside(frame, &[4789]));
            assert_same_frames(&inner.collect::<Vec<_>>(), &sound);
            if software.is_empty() {
                software = ran.bytes().into_iter().map(<[u8]>::to_vec).collect();
            }
            assert_same_frames(&ran.bytes(), &software);
            left += ran.counter("ChecksumFill", "left");
        }
        assert!(left > 50, "{sum}: ports finished {left}");
    }
}

/// A5: the work is needed, the port cannot do it, and nothing is said.
#[test]
fn a5_who_cannot_finish_is_named_or_it_is_finished_here() {
    let (whole, sound) = many();
    let lane =
        Lane { tx: Caps::empty(), ..Lane::of_host("ChecksumFill(offload: Require),", whole) };
    let failure = lane.planned(&corelane::standard()).err().expect("refused");
    let text = failure.to_string();
    assert!(failure.is_user(), "exit code 2");
    assert!(text.contains("`out`") || text.contains("out:"), "the port: {text}");
    assert!(text.contains("tx_tcp4") && text.contains("Require"), "the bit: {text}");
    for stages in ["ChecksumFill(offload: SoftwareOnly),", "ChecksumFill,", ""] {
        for tx in ports() {
            let ran = Lane { stages: stages.to_owned(), tx, ..lane.clone() }.simulate();
            ran.assert_lossless(stages);
            assert_same_frames(&ran.bytes(), &sound);
            let by_port = ran.counter("ChecksumFill", "left");
            let may = !stages.contains("SoftwareOnly") && tx.intersects(Caps::TX_CHECKSUMS);
            assert_eq!(by_port > 0, may, "{stages} {tx:?}");
        }
    }
}

/// A6: the address of a packet is rewritten whose checksum is partial.
#[test]
fn a6_a_rewritten_packet_is_the_same_in_all_three_states() {
    let (whole, sound) = many();
    let rewrite = "Rewrite(src: \"203.0.113.77\", sport: 4444),";
    let mut expected: Option<Vec<Vec<u8>>> = None;
    for (stages, lane) in [
        ("", Lane::of_host("", whole)),
        ("", Lane::new("", timed(sound.clone()))),
        ("ChecksumValidate,", Lane::new("", timed(sound))),
    ] {
        for tx in ports() {
            let stages = format!("{stages} {rewrite} ChecksumFill,");
            let ran = Lane { stages: stages.clone(), tx, ..lane.clone() }.simulate();
            ran.assert_lossless(&stages);
            ran.bytes().into_iter().for_each(assert_sound);
            let found: Vec<Vec<u8>> = ran.bytes().into_iter().map(<[u8]>::to_vec).collect();
            let expected = expected.get_or_insert_with(|| found.clone());
            assert_same_frames(&found, expected);
        }
    }
    let expected = expected.expect("some");
    let four = expected.iter().filter(|frame| frame[12..14] == [8, 0]);
    assert!(four.clone().count() > 30);
    assert!(
        four.clone()
            .all(|frame| frame[26..30] == [203, 0, 113, 77] && frame[34..36] == [0x11, 0x5c])
    );
}

stage! {
    /// Answers a request from what the request was: other bytes behind a header that is kept.
    pub struct Stamp {
        /// Byte that payloads are made of
        with: u8 = 7,
    }
    counters { STAMPED }
    traits { edits_payload }
}

impl Stage for Stamp {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for mut packet in burst.drain() {
            let with = self.with;
            let edited = packet.edit_payload(ctx, 0, |_, piece| piece.fill(with));
            ctx.count(Self::STAMPED, edited.unwrap_or(0));
            out.next(packet);
        }
    }
}

/// A7: an offload is asked for, and the field not seeded.
#[test]
fn a7_edited_packets_are_sound_whoever_makes_the_checksum() {
    testing::check_stage::<Stamp>("Stamp");
    let registry: Registry = corelane::standard().with::<Stamp>();
    let (whole, sound) = many();
    let stamped = |frame: &Vec<u8>| {
        let mut frame = frame.clone();
        let (v6, udp) = (frame[12] == 0x86, frame[if frame[12] == 0x86 { 20 } else { 23 }] == 17);
        let Partial { start, field } = place(v6, udp);
        let payload = usize::from(start) + if udp { 8 } else { 20 };
        frame[payload..].fill(7);
        let (start, field) = (usize::from(start), usize::from(field));
        frame[field..field + 2].fill(0);
        let addresses = if v6 { &frame[22..54] } else { &frame[26..34] };
        let (src, dst) = addresses.split_at(addresses.len() / 2);
        let len = (frame.len() - start) as u32;
        let pseudo = slow_pseudo_header(src, dst, len, if udp { 17 } else { 6 });
        let checksum = match !slow_sum(&[&pseudo, &frame[start..]]) {
            0 if udp => 0xffff,
            checksum => checksum,
        };
        frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
        frame
    };
    let expected: Vec<Vec<u8>> = sound.iter().map(stamped).collect();
    expected.iter().for_each(|frame| assert_sound(frame));
    for tx in ports() {
        for lane in [
            Lane::of_host("Stamp,", whole.clone()),
            Lane::new("Stamp,", timed(sound.clone())),
            Lane::new("ChecksumValidate, Gro, Stamp,", timed(sound.clone())),
        ] {
            let ran = Lane { tx, ..lane }.simulate_with(&registry);
            ran.assert_lossless("stamped");
            assert_same(&ran.bytes(), &expected, &format!("{tx:?}"));
        }
    }
}

/// A superpacket of 6,000 bytes in segments of 1,400, with this in its checksum field, and its segments.
fn super_of(v6: bool, seed: impl Fn(&[u8]) -> u16) -> (Whole, Vec<Vec<u8>>) {
    let (headers, kind) = if v6 { (74, SegKind::Tcp6) } else { (54, SegKind::Tcp4) };
    let payload: Vec<u8> = (0..6000_u32).map(|at| (at * 13 / 7) as u8).collect();
    let frame = |checksum, id, seq, payload: &[u8]| {
        let builder = FrameBuilder::new();
        let builder = match v6 {
            true => builder.ipv6(Ipv6::default()),
            false => builder.ipv4(Ipv4 { id, ..Ipv4::default() }),
        };
        builder.tcp(Tcp { seq, checksum, ..Tcp::default() }).payload(payload).build()
    };
    let mut bytes = frame(Checksum::Partial, 9, 100, &payload);
    let field = headers - 4;
    let value = seed(&bytes);
    bytes[field..field + 2].copy_from_slice(&value.to_be_bytes());
    let segments = payload.chunks(1400).zip(0_u16..).map(|(piece, number)| {
        frame(Checksum::Right, 9 + number, 100 + u32::from(number) * 1400, piece)
    });
    (Whole::cut(bytes, kind, place(v6, false), headers, 1400), segments.collect())
}

fn addresses(frame: &[u8]) -> (&[u8], &[u8]) {
    let ends = if frame[12] == 0x86 { &frame[22..54] } else { &frame[26..34] };
    ends.split_at(ends.len() / 2)
}

/// A8: the seed of a superpacket without the length, as one operating system leaves it.
#[test]
fn a8_a_seed_with_the_length_and_one_without_give_sound_segments() {
    for v6 in [false, true] {
        for with_length in [true, false] {
            let (whole, segments) = super_of(v6, |frame| {
                let (src, dst) = addresses(frame);
                let len = frame.len() as u32 - if v6 { 54 } else { 34 };
                slow_sum(&[&slow_pseudo_header(src, dst, if with_length { len } else { 0 }, 6)])
            });
            for tx in ports() {
                for stages in ["", "Gso,", "ChecksumValidate(on_bad: Drop), Gso,"] {
                    let ran = Lane { tx, ..Lane::of_host(stages, vec![whole.clone()]) }.simulate();
                    let context = format!("v6 {v6}, length {with_length}, {tx:?}: {stages}");
                    ran.assert_lossless(&context);
                    ran.bytes().into_iter().for_each(assert_sound);
                    assert_same(&ran.bytes(), &segments, &context);
                }
            }
        }
    }
}

/// A9: a superpacket whose IPv4 length and header checksum are 0.
#[test]
fn a9_a_length_of_0_is_the_rest_of_a_superpacket_and_an_error_in_a_frame() {
    let Some(folder) = corpus("a9_zero_ip_length") else { return };
    let frames = frames_of(&folder.join("tcp-zero-ip-length-tso.pcap"));
    for stages in ["Gso,", "ChecksumValidate, Gro, Gso,", "ChecksumValidate(on_bad: Mark), Gro,"] {
        // Nobody says that it is to be cut: it passes as it is, and is no good.
        let ran = Lane::new(stages, frames.clone()).simulate();
        ran.assert_lossless(stages);
        assert_same_frames(&ran.bytes(), &bytes(&frames));
        assert_eq!((ran.counter("Gso", "cut"), ran.counter("Gro", "merged")), (0, 0));
        if stages.contains("Validate") {
            assert_eq!(ran.counter("ChecksumValidate", "outer.ipv4.bad"), 2);
            assert_eq!(ran.counter("ChecksumValidate", "outer.tcp.good"), 0);
        }
    }
    let strict = "ChecksumValidate(on_bad: Drop, on_unverifiable: Drop), Gso,";
    let ran = Lane::new(strict, frames.clone()).simulate();
    ran.assert_clean(strict);
    assert_eq!((ran.frames.len(), ran.drops().get("ChecksumValidate.bad_ipv4")), (0, Some(&2)));
    // With the word of its sender it is cut, and every header says what is true.
    let whole = Whole::cut(frames[0].data.clone(), SegKind::Tcp4, place(false, false), 54, 1460);
    for tx in ports() {
        let ran = Lane { tx, ..Lane::of_host("Gso,", vec![whole.clone()]) }.simulate();
        ran.assert_lossless("cut");
        let found = ran.bytes();
        found.iter().for_each(|frame| assert_sound(frame));
        let payload: Vec<u8> = found.iter().flat_map(|frame| frame[54..].to_vec()).collect();
        assert_eq!(payload, frames[0].data[54..], "{tx:?}");
        let lengths: Vec<usize> = found.iter().map(|frame| frame.len()).collect();
        assert_eq!(lengths, [1514, 570], "{tx:?}");
        assert_eq!(
            (found[0][18..20].to_vec(), found[1][18..20].to_vec()),
            (vec![0x42, 0xc9], vec![0x42, 0xca])
        );
    }
}

/// A10: IPv6 extension headers hide the transport header.
#[test]
fn a10_checksums_behind_extension_headers_are_found_made_and_not_left_to_ports() {
    let hidden = |checksum, seq, payload: &[u8]| {
        let extensions = vec![
            Extension::HopByHop(vec![5, 2, 0, 0]),
            Extension::Destination(vec![1, 4, 0, 0, 0, 0]),
        ];
        let ip = Ipv6 { extensions, ..Ipv6::default() };
        let tcp = Tcp { seq, checksum, ..Tcp::default() };
        FrameBuilder::new().ipv6(ip).tcp(tcp).payload(payload).build()
    };
    let payload: Vec<u8> = (0..3000_u32).map(|at| (at / 3) as u8).collect();
    let partial = Partial { start: 70, field: 86 };
    let joined = hidden(Checksum::Partial, 5, &payload);
    assert_eq!(joined.len(), 90 + 3000);
    let whole = Whole::cut(joined, SegKind::Tcp6, partial, 90, 1000);
    let segments = payload.chunks(1000).zip(0..);
    let segments: Vec<Vec<u8>> =
        segments.map(|(piece, n)| hidden(Checksum::Right, 5 + n * 1000, piece)).collect();
    let single = Whole::frame(hidden(Checksum::Partial, 5, b"single"), partial);
    for tx in ports() {
        let ran = Lane { tx, ..Lane::of_host("", vec![whole.clone()]) }.simulate();
        ran.assert_lossless("hidden");
        assert_same_frames(&ran.bytes(), &segments);
        assert_eq!(ran.counter("Gso", "left"), 0, "no port cuts behind extension headers");
        let ran = Lane { tx, ..Lane::of_host("", vec![single.clone()]) }.simulate();
        ran.assert_lossless("hidden");
        assert_same_frames(&ran.bytes(), &[hidden(Checksum::Right, 5, b"single")]);
    }
    let Some(folder) = corpus("a10_extension_headers") else { return };
    for file in ["ipv6-exthdr.pcap", "checksum-pairs.pcap"] {
        let frames = frames_of(&folder.join(file));
        for rx in [Caps::empty(), Caps::asked() - Caps::RX_HW_GRO] {
            let lane =
                Lane { rx, ..Lane::new("ChecksumValidate(on_bad: Mark), Gro,", frames.clone()) };
            let ran = lane.simulate();
            ran.assert_lossless(file);
            assert_same(&ran.bytes(), &bytes(&frames), file);
            let count = |name| ran.counter("ChecksumValidate", name);
            let (good, bad) =
                (count("outer.udp.good") + count("outer.tcp.good"), count("outer.udp.corrupt"));
            assert!(good > 0, "{file}");
            assert_eq!(bad > 0, file == "checksum-pairs.pcap", "{file}: {bad} corrupt");
        }
    }
}
