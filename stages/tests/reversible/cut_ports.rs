//! What `Gso` leaves to a port, how it meets the port's limits, and how it behaves where room or buffers are
//! short.

use crate::supers::{Super, cut, finished, port, software, tcp4, tcp6, udp};
use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::{Burst, Csum, Packet, SegFlags, SegKind, Segmentation};
use corelane_runtime::stage::{Outputs, Stage, StageContext, StageInfo};
use corelane_runtime::testing::Harness;
use corelane_stages::gso::INFO;
use corelane_stages::rx::describe;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{
    Checksum, Extension, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, assert_same_frames,
};

#[test]
fn a_port_that_can_cut_is_left_the_work_until_it_cannot() {
    let (caps, mut harness) = port(Caps::TSO4.with_implied(), Limits::default());
    let request = tcp4(Ipv4::default(), Tcp::default(), 3000, 1000);
    let run = |harness: &mut Harness, request: &Super| -> Vec<u16> {
        let packet = request.packet(harness);
        harness.push(packet);
        harness.run();
        let out = harness.take();
        let segments = out.iter().map(Packet::segments).collect();
        harness.release(out);
        segments
    };
    assert_eq!(run(&mut harness, &request), [3]);
    let flags = [SegFlags::FIXED_ID, SegFlags::CWR_ALL, SegFlags::PAD_LAST];
    for flag in flags {
        assert_eq!(run(&mut harness, &request.clone().with(flag)), [1, 1, 1], "{flag:?}");
    }
    let cwr = Tcp { flags: TcpFlags::ACK | TcpFlags::CWR, ..Tcp::default() };
    let cwr = tcp4(Ipv4::default(), cwr, 3000, 1000);
    assert_eq!(run(&mut harness, &cwr), [1, 1, 1], "CWR without TSO_ECN");
    let v6 = tcp6(Ipv6::default(), Tcp::default(), 3000, 1000);
    assert_eq!(run(&mut harness, &v6), [1, 1, 1]);
    assert_eq!(run(&mut harness, &udp(false, 3000, 1000)), [1, 1, 1]);
    assert_eq!(run(&mut harness, &Super { state: Csum::Good, ..request.clone() }), [1, 1, 1]);
    let wrong = Ipv4 { checksum: Checksum::Wrong, ..Ipv4::default() };
    assert_eq!(run(&mut harness, &tcp4(wrong, Tcp::default(), 3000, 1000)), [1, 1, 1]);
    caps.demote(Caps::TX_TCP4);
    assert_eq!(run(&mut harness, &request), [1, 1, 1]);
    assert_eq!(harness.counter("left"), 1);
    assert_eq!(harness.counter("segments"), 3 * harness.counter("cut"));
    harness.finish();
    let (_, mut harness) = port(Caps::all(), Limits::default());
    for flag in flags {
        assert_eq!(run(&mut harness, &request.clone().with(flag)), [3], "{flag:?}");
    }
    assert_eq!(run(&mut harness, &cwr), [3]);
    assert_eq!(run(&mut harness, &udp(true, 3000, 1000)), [3]);
    let fixed_udp = udp(false, 3000, 1000).with(SegFlags::FIXED_ID);
    assert_eq!(run(&mut harness, &fixed_udp), [1, 1, 1]);
    let extensions = vec![Extension::Destination(vec![1, 4, 0, 0, 0, 0])];
    let hidden = tcp6(Ipv6 { extensions, ..Ipv6::default() }, Tcp::default(), 3000, 1000);
    assert_eq!(run(&mut harness, &hidden), [1, 1, 1]);
    harness.finish();
}

/// Lets the port cut what it was given: each packet once more through a `Gso` that does everything itself.
fn cut_all(packets: Vec<Packet>, from: &mut Harness) -> Vec<Vec<u8>> {
    let mut port = software();
    let mut frames = Vec::new();
    for packet in packets {
        port.push(packet);
        port.run();
        let out = port.take();
        frames.extend(out.iter().map(finished));
        port.release(out);
    }
    port.buffers.flush();
    from.buffers.flush();
    port.finish();
    frames
}

#[test]
fn limits_of_the_port_are_met_by_smaller_superpackets() {
    let tcp = Tcp { flags: TcpFlags::ACK | TcpFlags::CWR | TcpFlags::FIN, ..Tcp::default() };
    let whole = tcp4(Ipv4 { id: 9, ..Ipv4::default() }, tcp, 45 * 1000 + 7, 1000);
    let expected = cut(software(), &whole);
    let limits = [
        (Limits { tso_bytes: 20_054, ..Limits::default() }, vec![20, 20, 6]),
        (Limits { tso_bytes: 15_100, ..Limits::default() }, vec![15, 15, 15, 1]),
        (Limits { tso_segments: 40, ..Limits::default() }, vec![40, 6]),
        (Limits { tso_bytes: 2_000, ..Limits::default() }, vec![1; 46]),
        (Limits { header_len: 53, ..Limits::default() }, vec![1; 46]),
        (Limits { header_len: 54, ..Limits::default() }, vec![46]),
    ];
    for (limits, segments) in limits {
        let (_, mut harness) = port(Caps::all(), limits);
        let packet = whole.packet(&mut harness);
        harness.push(packet);
        harness.run();
        let out = harness.take();
        assert_eq!(out.iter().map(Packet::segments).collect::<Vec<_>>(), segments);
        let fits = |packet: &&Packet| {
            packet.len() <= limits.tso_bytes && packet.segments() <= limits.tso_segments
        };
        assert!(out.iter().filter(|packet| packet.is_super()).all(|packet| fits(&packet)));
        let rechunked = u64::from(segments.len() > 1 && segments[0] > 1);
        assert_eq!(harness.counter("rechunked"), rechunked);
        assert_same_frames(&expected, &cut_all(out, &mut harness));
        harness.finish();
    }
}

#[test]
fn a_cut_pauses_where_there_is_no_room_and_goes_on_first() {
    let mut harness = software();
    harness.set_room(7);
    let request = tcp4(Ipv4::default(), Tcp::default(), 20_000, 1000);
    let ordinary = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::default()).build();
    let packet = request.packet(&mut harness);
    harness.push(packet);
    let packet = harness.packet(&ordinary);
    harness.push(packet);
    let mut sizes = Vec::new();
    for _ in 0..4 {
        harness.step();
        harness.assert_balanced();
        let out = harness.take();
        sizes.push(out.len());
        harness.release(out);
    }
    // The rest is due at once: a step ticks, then processes.
    assert_eq!(sizes, [7, 14, 0, 0]);
    assert_eq!((harness.counter("cut"), harness.counter("segments")), (1, 20));
    harness.finish();
}

#[test]
fn a_cut_goes_on_without_more_input() {
    let mut harness = software();
    harness.set_room(3);
    let packet = tcp4(Ipv4::default(), Tcp::default(), 10_000, 1000).packet(&mut harness);
    harness.push(packet);
    harness.drain();
    assert_eq!(harness.take_frames().len(), 10);
    harness.finish();
}

#[test]
fn a_cut_waits_for_buffers_and_is_given_up_only_where_there_are_never_enough() {
    let mut harness = software().home(12, 12, 2);
    let request = tcp4(Ipv4::default(), Tcp::default(), 10_000, 1000);
    let packet = request.packet(&mut harness);
    harness.push(packet);
    harness.buffers.withhold([4, 0, 0]);
    harness.step();
    assert!(harness.take().is_empty());
    assert_eq!(harness.waiting(), 1, "it stays in the burst");
    assert!(harness.buffers.starved());
    harness.assert_balanced();
    harness.buffers.withhold([0; 3]);
    harness.run();
    assert_eq!(harness.take_frames().len(), 10);
    let many = tcp4(Ipv4::default(), Tcp::default(), 10_000, 100).packet(&mut harness);
    let units = many.units();
    harness.push(many);
    harness.run();
    assert_eq!(harness.dropped("too_many_segments"), units);
    harness.finish();
}

#[test]
fn only_the_last_of_smaller_superpackets_is_padded() {
    let whole = tcp4(Ipv4::default(), Tcp::default(), 19, 4).with(SegFlags::PAD_LAST);
    let expected = cut(software(), &whole);
    assert_eq!(expected.iter().map(Vec::len).collect::<Vec<_>>(), [58, 58, 58, 58, 60]);
    let (_, mut harness) = port(Caps::all(), Limits { tso_segments: 2, ..Limits::default() });
    let packet = whole.packet(&mut harness);
    harness.push(packet);
    harness.run();
    let out = harness.take();
    assert_eq!(out.iter().map(Packet::segments).collect::<Vec<_>>(), [2, 2, 1]);
    assert_same_frames(&expected, &cut_all(out, &mut harness));
    harness.finish();
}

/// Joins a whole burst into one packet whose segments are those received, whatever their lengths.
struct Join {
    gso_size: u16,
}

impl Stage for Join {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let mut packets = burst.drain();
        let Some(mut head) = packets.next() else { return };
        head.mark_piece();
        for mut packet in packets {
            packet.mark_piece();
            let bytes = packet.payload_len();
            packet.pull(packet.len() - bytes, ctx.buffers);
            ctx.absorb(&mut head, packet, bytes);
        }
        let (kind, flags) = (SegKind::Tcp4, SegFlags::BY_PARTS);
        let count = head.segments();
        head.set_segmentation(Segmentation { kind, gso_size: self.gso_size, count, flags });
        head.meta_mut().orig_len = head.len();
        out.next(head);
    }
}

#[test]
fn segments_of_uneven_length_are_cut_as_received_and_never_by_a_port() {
    let info = StageInfo { name: "Join", ..INFO };
    for (lens, expected) in [([100, 50, 100], vec![1; 3]), ([100, 100, 50], vec![3])] {
        let mut join = Harness::new(Join { gso_size: 100 }, &info);
        let mut frames = Vec::new();
        let mut seq = 7;
        for (len, id) in lens.into_iter().zip(3..) {
            let builder = FrameBuilder::new().ipv4(Ipv4 { id, ..Ipv4::default() });
            let frame = builder.tcp(Tcp { seq, ..Tcp::default() }).payload_len(len).build();
            let mut packet = join.packet(&frame);
            describe(&mut packet, 7, &mut join.buffers).expect("headers are contiguous");
            packet.meta_mut().l4[0] = Csum::Partial;
            join.push(packet);
            frames.push(frame);
            seq += len as u32;
        }
        join.run();
        let (_, mut harness) = port(Caps::all(), Limits::default());
        join.take().into_iter().for_each(|packet| harness.push(packet));
        harness.run();
        let out = harness.take();
        assert_eq!(out.iter().map(Packet::segments).collect::<Vec<_>>(), expected);
        assert_same_frames(&frames, &cut_all(out, &mut harness));
        harness.buffers.flush();
        join.finish();
        harness.finish();
    }
}

#[test]
fn pieces_that_are_not_the_payload_are_no_request() {
    let mut harness = software();
    // One piece, where three segments are asked for.
    let mut packet = tcp4(Ipv4::default(), Tcp::default(), 3000, 1000).packet(&mut harness);
    let request = packet.segmentation();
    packet.set_segmentation(Segmentation { flags: SegFlags::BY_PARTS, ..request });
    packet.mark_piece();
    harness.push(packet);
    harness.run();
    assert_eq!(harness.dropped("bad_segmentation").packets, 1);
    harness.finish();
}
