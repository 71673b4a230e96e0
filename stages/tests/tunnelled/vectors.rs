//! What Open vSwitch sends for the same superpackets, byte for byte.

use crate::build::{Stream, payload};
use crate::cut::{limits, through};
use crate::table::{CUT, Case, LEFT};
use corelane_runtime::offload::{Caps, PortCaps};
use corelane_runtime::packet::{Csum, Partial, SegFlags, Tunnel};
use corelane_runtime::testing::Harness;
use corelane_stages::checksum_fill::{ChecksumFill, INFO};
use corelane_wire::testing::assert_same_frames;
use std::sync::Arc;

fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// A stream whose frames are shaped like those of the case.
fn stream(case: &Case) -> Stream {
    Stream {
        tunnel: case.tunnel,
        port: case.port,
        outer_v6: case.outer_v6,
        sum: case.sum,
        // GRE has a key.
        options: if case.tunnel == Tunnel::Gre { 4 } else { 0 },
        inner_v6: case.inner_v6,
        payload: vec![0; 2000],
        flags: SegFlags::empty(),
        ..Stream::default()
    }
}

/// The superpacket whose first segment has this header.
fn whole(stream: &Stream, header: &str) -> Vec<u8> {
    let mut whole = bytes(header);
    whole.extend(&stream.payload);
    stream.complete(&mut whole, true);
    whole
}

#[test]
fn g03_to_g14_tunnelled_superpackets_are_cut_as_open_vswitch_cuts_them() {
    assert_eq!(CUT.len(), 12);
    for case in CUT {
        let stream = stream(case);
        let whole = whole(&stream, case.headers[0]);
        let frames = case.headers.map(|header| [bytes(header), vec![0; 500]].concat());
        for joined in [false, true] {
            for caps in [Caps::empty(), Caps::all()] {
                let make = |harness: &mut Harness| stream.packet_of(&whole, harness, joined);
                let finished = through(make, caps, limits());
                assert_same_frames(&finished.frames, &frames);
                println!("{} {:?}", case.name, finished.segments);
            }
        }
    }
}

/// The header of G03, flags and payload being others.
fn g03(flags: u8, payload: Vec<u8>, rules: SegFlags) -> (Stream, Vec<u8>) {
    let stream = Stream { payload, flags: rules, ..stream(&CUT[0]) };
    let mut whole = whole(&stream, CUT[0].headers[0]);
    let l4 = usize::from(stream.layers().levels[1].l4);
    whole[l4 + 13] = flags;
    (stream, whole)
}

#[test]
fn g16_the_outer_checksum_is_that_of_the_length_whatever_the_payload() {
    for fill in [0, 0x5a] {
        let (stream, whole) = g03(0x10, vec![fill; 1700], SegFlags::empty());
        let make = |harness: &mut Harness| stream.packet_of(&whole, harness, false);
        let finished = through(make, Caps::empty(), limits());
        let sums: Vec<_> = finished.frames.iter().map(|frame| frame[40..42].to_vec()).collect();
        assert_eq!(sums, [[0xbd, 0x99], [0xbd, 0x99], [0xbd, 0x99], [0xbe, 0xc5]]);
    }
}

#[test]
fn g18_cwr_is_on_the_first_fin_and_psh_on_the_last() {
    let (stream, whole) = g03(0xb9, payload(1600), SegFlags::empty());
    let make = |harness: &mut Harness| stream.packet_of(&whole, harness, true);
    let finished = through(make, Caps::empty(), limits());
    let l4 = usize::from(stream.layers().levels[1].l4);
    let flags: Vec<u8> = finished.frames.iter().map(|frame| frame[l4 + 13]).collect();
    assert_eq!(flags, [0xb0, 0x30, 0x30, 0x39]);
}

#[test]
fn h20_a_tail_is_split_off_and_fin_is_the_tails() {
    let body = (0..1700).map(|at| (7 * at) as u8).collect();
    let (stream, whole) = g03(0x19, body, SegFlags::FIXED_ID);
    let port = Caps::TSO4.with_implied() | Caps::GSO_PARTIAL | Caps::TSO_VXLAN;
    let mut harness = {
        use corelane_stages::gso::{Gso, INFO};
        let port = Arc::new(PortCaps::new("wire", port, limits()));
        Harness::new(Gso::new(Some(port)), &INFO).multiplies()
    };
    let packet = stream.packet_of(&whole, &mut harness, false);
    harness.push(packet);
    harness.run();
    let out = harness.take();
    let l4 = usize::from(stream.layers().levels[1].l4);
    let seen: Vec<_> = out
        .iter()
        .map(|packet| {
            let (data, sum) = (packet.data(), &packet.data()[40..42]);
            (packet.segments(), packet.payload_len(), data[l4 + 13], sum.to_vec(), data[19])
        })
        .collect();
    let expected = [(3, 1500, 0x10, vec![0xbd, 0x99], 0), (1, 200, 0x19, vec![0xbe, 0xc5], 3)];
    assert_eq!(seen, expected);
    harness.release(out);
    harness.finish();
}

#[test]
fn d03_to_d07_what_is_left_to_a_device_is_not_touched_and_what_is_around_it_is_right() {
    let sums = Caps::TX_TCP4 | Caps::TX_TCP6 | Caps::TX_UDP4 | Caps::TX_UDP6;
    let finds = sums | Caps::TSO_VXLAN | Caps::TSO4.with_implied();
    for &(name, udp, inner_v6, header) in LEFT {
        let stream = Stream { udp, inner_v6, sum: true, ..Stream::default() };
        let mut frame = bytes(header);
        let (right, l4) = (frame[40..42].to_vec(), usize::from(stream.layers().levels[1].l4));
        frame.extend(0..64_u8);
        stream.complete(&mut frame, true);
        let field = l4 + if udp { 6 } else { 16 };
        for (caps, left) in [
            (Caps::empty(), [Csum::Good; 2]),
            (finds, [Csum::Good, Csum::Partial]),
            // D04: both fields keep what they held.
            (finds | Caps::TX_OUTER_UDP, [Csum::Partial; 2]),
        ] {
            let port = Arc::new(PortCaps::new("wire", caps, limits()));
            let mut harness = Harness::new(ChecksumFill::new(Some(port)), &INFO);
            let mut packet = harness.packet(&frame);
            packet.set_layers(stream.layers(), 64);
            stream.describe(&mut packet);
            let inner = packet.meta().partial[1];
            assert_eq!(inner, Partial { start: l4 as u16, field: field as u16 });
            harness.push(packet);
            harness.run();
            let packet = harness.take().pop().expect("it passes");
            assert_eq!(packet.meta().l4, left, "{name}");
            let data = packet.data();
            let outer_made = left[0] == Csum::Good;
            assert_eq!(data[40..42] == right[..], outer_made, "{name}: {:x?}", &data[40..42]);
            let inner_made = left[1] == Csum::Good;
            assert_eq!(data[field..field + 2] != frame[field..field + 2], inner_made, "{name}");
            harness.release([packet]);
            harness.finish();
        }
    }
}
