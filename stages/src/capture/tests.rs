//! What is written of each packet, and what happens when nothing can be.

use super::{Capture, CaptureSpec, File, INFO};
use crate::checksum_validate::{ChecksumValidate, OnBad};
use crate::fixture::{KEY, received};
use crate::gro::{self, Gro, GroConfig};
use crate::rewrite::tests::{Shape, put_off, through};
use corelane_runtime::Error;
use corelane_runtime::packet::{Csum, Packet};
use corelane_runtime::stage::{Args, CaptureSink, Declared, StageSpec};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan};
use std::sync::{Arc, Mutex};

/// What a sink was given.
#[derive(Default)]
struct Seen {
    records: Vec<(Vec<u8>, u32, String)>,
    flushed: usize,
    broken: bool,
}

struct Sink(Arc<Mutex<Seen>>);

impl CaptureSink for Sink {
    fn write(&mut self, packet: &Packet, captured_len: u32, comment: &str) -> Result<(), Error> {
        let mut seen = self.0.lock().expect("a test's own");
        if seen.broken {
            return Err(Error::system("capture", "the disk is full"));
        }
        let bytes = packet.parts().flatten().copied().collect();
        seen.records.push((bytes, captured_len, comment.to_owned()));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.0.lock().expect("a test's own").flushed += 1;
        Ok(())
    }
}

fn capture(snap: u32) -> (Harness, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let file = File { sink: Box::new(Sink(Arc::clone(&seen))), packets: 0 };
    (Harness::new(Capture::new(Arc::new(Mutex::new(file)), snap), &INFO), seen)
}

/// The comment of a packet made so.
fn comment(make: impl FnOnce(&mut Harness) -> Packet) -> String {
    let (mut harness, seen) = capture(u32::MAX);
    let packet = make(&mut harness);
    let packet = through(&mut harness, packet);
    harness.release([packet]);
    harness.finish();
    let mut seen = seen.lock().expect("a test's own");
    seen.records.pop().expect("a record").2
}

fn validated(frame: &[u8]) -> String {
    comment(|harness| {
        let mut packet = received(harness, frame, &[]);
        let mut validate =
            Harness::new(ChecksumValidate::new(OnBad::Mark), ChecksumValidate::spec().info());
        packet = through(&mut validate, packet);
        packet
    })
}

#[test]
fn every_state_has_its_words() {
    let right = |udp: bool, v6: bool| Shape::plain(v6, udp).build();
    assert_eq!(validated(&right(false, false)), "packet 1; outer ipv4: good; outer tcp: good");
    assert_eq!(validated(&right(true, true)), "packet 1; outer udp: good");
    let mut zero = Shape::plain(false, true);
    *zero.checksum() = Checksum::Value(0);
    assert_eq!(validated(&zero.build()), "packet 1; outer ipv4: good; outer udp: none");
    let unseen = comment(|harness| received(harness, &right(false, false), &[]));
    assert_eq!(unseen, "packet 1; outer ipv4: not checked; outer tcp: not checked");
    let arp = comment(|harness| received(harness, &[7; 60], &[]));
    assert_eq!(arp, "packet 1");
}

#[test]
fn a_wrong_checksum_is_told_with_the_right_one() {
    for udp in [false, true] {
        let mut shape = Shape::plain(false, udp);
        let frame = shape.build();
        let (name, at) = if udp { ("udp", 40) } else { ("tcp", 50) };
        let right = u16::from_be_bytes([frame[at], frame[at + 1]]);
        *shape.checksum() = Checksum::Value(0xdead);
        let expected = format!(
            "packet 1; outer ipv4: good; outer {name}: bad, found 0xdead, right {right:#06x}"
        );
        assert_eq!(validated(&shape.build()), expected);
    }
    let wrong = Ipv4 { checksum: Checksum::Value(0xbeef), ..Ipv4::default() };
    let ip = |ip: Ipv4| FrameBuilder::new().ipv4(ip).tcp(Tcp::default()).build();
    let right = ip(Ipv4::default());
    let right = u16::from_be_bytes([right[24], right[25]]);
    let expected =
        format!("packet 1; outer ipv4: bad, found 0xbeef, right {right:#06x}; outer tcp: good");
    assert_eq!(validated(&ip(wrong)), expected);
}

#[test]
fn a_computed_zero_of_udp_is_told_as_it_is_sent() {
    // Whatever two bytes make the sum come out as 0.
    let frame = |payload: [u8; 2], checksum| {
        let udp = Udp { checksum, ..Udp::default() };
        FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload(&payload).build()
    };
    let plain = frame([0, 0], Checksum::Right);
    let payload = [plain[40], plain[41]];
    let sent = frame(payload, Checksum::Right);
    assert_eq!(sent[40..42], [0xff; 2]);
    let wrong = validated(&frame(payload, Checksum::Value(1)));
    assert!(wrong.ends_with("bad, found 0x0001, right 0xffff"), "{wrong}");
}

#[test]
fn both_levels_of_a_tunnel_are_told() {
    let mut inside = Shape::plain(true, false);
    *inside.checksum() = Checksum::Value(0x1234);
    let inner = inside.build();
    let frame = FrameBuilder::new()
        .ipv4(Ipv4::default())
        .udp(Udp { dst_port: 4789, ..Udp::default() })
        .vxlan(Vxlan::default())
        .payload(&inner)
        .build();
    let text = validated(&frame);
    let start = "packet 1; outer ipv4: good; outer udp: good; inner tcp: bad, found 0x1234, right ";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn what_is_unfinished_is_told_by_who_says_so() {
    let mut shape = Shape::plain(false, false);
    *shape.checksum() = Checksum::Partial;
    let frame = shape.build();
    let seed = u16::from_be_bytes([frame[50], frame[51]]);
    let looks = comment(|harness| received(harness, &frame, &[]));
    let ip = "packet 1; outer ipv4: not checked; outer tcp:";
    assert_eq!(looks, format!("{ip} looks unfinished, holds {seed:#06x}"));
    let told = comment(|harness| {
        let packet = received(harness, &frame, &[]);
        put_off(packet)
    });
    assert_eq!(told, format!("{ip} unfinished, holds {seed:#06x}"));
}

#[test]
fn what_cannot_be_checked_is_told_with_the_reason() {
    let first = Ipv4 { more_fragments: true, dont_fragment: false, ..Ipv4::default() };
    let fragment = FrameBuilder::new().ipv4(first).udp(Udp::default()).payload_len(64).build();
    let text = validated(&fragment);
    assert!(
        text.ends_with("outer udp: cannot be checked: not all that it covers is here"),
        "{text}"
    );
    let long = Ipv6 { payload_length: Some(900), ..Ipv6::default() };
    let long = FrameBuilder::new().ipv6(long).tcp(Tcp::default()).payload_len(64).build();
    let text = validated(&long);
    assert!(text.ends_with("cannot be checked: the datagram ends behind the frame"), "{text}");
}

#[test]
fn a_superpacket_is_told_with_how_it_is_cut() {
    let text = comment(|_| {
        let mut validate =
            Harness::new(ChecksumValidate::new(OnBad::Mark), ChecksumValidate::spec().info());
        let packets: Vec<_> = (0..3_u16)
            .map(|at| {
                let tcp = Tcp { seq: 1 + u32::from(at) * 1448, ..Tcp::default() };
                let ip = Ipv4 { id: at, ..Ipv4::default() };
                let frame = FrameBuilder::new().ipv4(ip).tcp(tcp).payload_len(1448).build();
                received(&mut validate, &frame, &[])
            })
            .collect();
        validate.feed(packets, &[32]);
        let mut gro = Harness::new(Gro::new(GroConfig::default(), KEY), &gro::INFO);
        gro.feed(validate.take(), &[32]);
        gro.take().pop().expect("a superpacket")
    });
    assert!(
        text.starts_with("packet 1; outer ipv4: good; outer tcp: unfinished, holds 0x"),
        "{text}"
    );
    assert!(text.ends_with("; super tcp4 3 x 1448"), "{text}");
}

#[test]
fn packets_pass_unchanged_and_in_order_and_long_ones_are_cut_in_the_file() {
    let (mut harness, seen) = capture(100);
    let frames: Vec<Vec<u8>> = [40, 100, 101, 3000].map(|len| vec![len as u8; len]).into();
    for frame in &frames {
        let packet = received(&mut harness, frame, &[]);
        harness.push(packet);
    }
    harness.run();
    assert_eq!(harness.take_frames(), frames);
    assert_eq!(harness.counter("written"), 4);
    let seen = seen.lock().expect("a test's own");
    let found: Vec<_> = seen.records.iter().map(|(bytes, len, _)| (bytes.len(), *len)).collect();
    assert_eq!(found, [(40, 40), (100, 100), (101, 100), (3000, 100)]);
}

#[test]
fn what_cannot_be_written_is_counted_and_passes() {
    let (mut harness, seen) = capture(u32::MAX);
    for broken in [false, true, true, false] {
        seen.lock().expect("a test's own").broken = broken;
        let packet = received(&mut harness, &[1; 60], &[]);
        harness.push(packet);
        harness.run();
    }
    assert_eq!(harness.take().len(), 4);
    assert_eq!((harness.counter("written"), harness.counter("not_written")), (2, 2));
    let seen = seen.lock().expect("a test's own");
    let numbers: Vec<&str> = seen.records.iter().map(|(_, _, text)| text.as_str()).collect();
    assert_eq!(numbers, ["packet 1", "packet 4"], "a packet that is missing is missed");
}

#[test]
fn the_file_is_handed_over_after_a_second_and_at_the_end() {
    let (mut harness, seen) = capture(u32::MAX);
    let flushed = || seen.lock().expect("a test's own").flushed;
    assert_eq!(harness.deadline(), None);
    let packet = received(&mut harness, &[1; 60], &[]);
    harness.push(packet);
    harness.run();
    assert_eq!((harness.deadline(), flushed()), (Some(1_000_000_000), 0));
    harness.advance(1_500_000_000);
    assert_eq!((harness.deadline(), flushed()), (None, 1));
    harness.drain();
    assert_eq!(flushed(), 2);
}

#[test]
fn bad_packets_cost_their_payload_once_and_good_ones_nothing() {
    let (mut harness, _) = capture(u32::MAX);
    let mut shape = Shape::plain(false, false);
    for state in [Csum::Good, Csum::Unknown, Csum::Bad] {
        *shape.checksum() = Checksum::Value(7);
        let mut packet = received(&mut harness, &shape.build(), &[]);
        packet.meta_mut().l4[0] = state;
        harness.push(packet);
    }
    harness.run();
    assert_eq!(harness.counter("audit_bytes"), shape.payload.len() as u64);
}

#[test]
fn a_file_without_place_for_comments_is_refused() {
    for (text, key) in
        [("(file: \"x.pcap\")", "file"), ("(file: \"x\", snap: 0)", "snap"), ("()", "file")]
    {
        let errors = CaptureSpec.configure(Args { text }).err().expect("a mistake");
        assert_eq!(errors[0].key.as_deref(), Some(key), "{text}: {errors:?}");
    }
}
