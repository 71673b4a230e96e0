//! Field reports: the same packet in every state of its checksum leaves as the same bytes.

use super::{Net, Shape, Status, Top, finished, stage, through, with_status};
use crate::checksum_validate::{ChecksumValidate, OnBad};
use crate::fixture::received;
use crate::gro::{self, Gro, GroConfig};
use crate::gso::{self, Gso};
use crate::rewrite::Rewrite;
use corelane_runtime::packet::{Csum, Packet, Partial};
use corelane_runtime::stage::Declared;
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{Checksum, Tcp, assert_same_frames, assert_sound};

const STATUS: [Status; 4] = [Status::Unknown, Status::Good, Status::Bad, Status::Partial];

/// Report A6: source address and port of a packet whose checksum is partial, full, and unknown.
#[test]
fn a6_address_rewrite_on_a_packet_whose_checksum_is_partial() {
    for (v6, udp) in [(false, false), (false, true), (true, false), (true, true)] {
        let shape = Shape::plain(v6, udp);
        let mut after = shape.clone();
        let src = match &mut after.net {
            Net::V4(ip) => {
                ip.src = [10, 1, 2, 3];
                "10.1.2.3"
            }
            Net::V6(ip) => {
                ip.src = "2001:db8::77".parse::<std::net::Ipv6Addr>().expect("an address").octets();
                "2001:db8::77"
            }
        };
        match &mut after.top {
            Top::Tcp(tcp) => tcp.src_port = 3333,
            Top::Udp(udp) => udp.src_port = 3333,
        }
        for status in STATUS {
            let mut harness = stage::<Rewrite>(&format!("(src: \"{src}\", sport: 3333)"));
            let packet = with_status(&mut harness, &shape.build(), status);
            let packet = through(&mut harness, packet);
            assert_sound(&after.build());
            assert_same_frames(&[finished(packet)], &[after.build()]);
        }
    }
}

/// An encapsulated packet whose outer UDP checksum is `outer`, the inner one partial or not.
fn encapsulated(harness: &mut Harness, outer: Checksum, inner_partial: bool) -> Packet {
    let mut inside = Shape::plain(false, false);
    if inner_partial {
        *inside.checksum() = Checksum::Partial;
    }
    let mut shape = Shape { payload: inside.build(), tunnel: true, ..Shape::plain(false, true) };
    if let Top::Udp(udp) = &mut shape.top {
        (udp.dst_port, udp.checksum) = (4789, outer);
    }
    let mut packet = received(harness, &shape.build(), &[]);
    let levels = packet.meta().layers.levels;
    if inner_partial {
        let start = levels[1].l4;
        packet.meta_mut().request(1, Partial { start, field: start + 16 });
    }
    if outer == Checksum::Partial {
        let start = levels[0].l4;
        packet.meta_mut().request(0, Partial { start, field: start + 6 });
    }
    packet
}

/// Report B1: a port of the outer header is rewritten while its checksum is absent, still to be filled, or there.
#[test]
fn b1_the_63_second_vxlan_stall() {
    let outer_field = |frame: &[u8]| u16::from_be_bytes([frame[40], frame[41]]);
    for inner_partial in [false, true] {
        for outer in [Checksum::Value(0), Checksum::Partial, Checksum::Right] {
            // A full outer checksum over an unfinished inner one is made for what it will be: the wire's.
            if inner_partial && outer == Checksum::Right {
                continue;
            }
            let arguments = "(sport: 4242, dst: \"203.0.113.7\")";
            let mut harness = stage::<Rewrite>(arguments);
            let packet = encapsulated(&mut harness, outer, inner_partial);
            let packet = through(&mut harness, packet);
            let frame = finished(packet);
            assert_sound(&frame);
            assert_eq!(frame[34..36], 4242_u16.to_be_bytes());
            assert_eq!(outer_field(&frame) == 0, outer == Checksum::Value(0), "{outer:?}");
        }
    }
}

/// A full outer checksum that was made for the inner one as it will be stays so.
#[test]
fn b1_an_outer_checksum_made_ahead_stays_right() {
    let mut harness = stage::<Rewrite>("(sport: 4242, src: \"203.0.113.7\")");
    // Whole, then the inner checksum put back: that is what filling the outer one alone gives.
    let whole = encapsulated(&mut harness, Checksum::Right, false);
    let mut packet = whole;
    let start = usize::from(packet.meta().layers.levels[1].l4);
    let partial = encapsulated(&mut harness, Checksum::Value(0), true);
    let seed = partial.data()[start + 16..start + 18].to_vec();
    harness.release([partial]);
    packet.data_mut().expect("its own")[start + 16..start + 18].copy_from_slice(&seed);
    packet.meta_mut().request(1, Partial { start: start as u16, field: start as u16 + 16 });
    let packet = through(&mut harness, packet);
    assert_sound(&finished(packet));
}

/// Superpackets are rewritten once, and cut to what their segments would have become.
#[test]
fn a_superpacket_is_cut_to_rewritten_segments() {
    for v6 in [false, true] {
        let segment = |at: u32| {
            let mut shape = Shape::plain(v6, false);
            shape.payload = (0..1000).map(|byte| (byte * 13 + at) as u8).collect();
            shape.top = Top::Tcp(Tcp { seq: 1 + at * 1000, ..Tcp::default() });
            if let Net::V4(ip) = &mut shape.net {
                ip.id = at as u16;
            }
            shape
        };
        let arguments = match v6 {
            true => "(dst: \"2001:db8::5\", dport: 9, ttl: 7, dscp: 11)",
            false => "(dst: \"203.0.113.5\", dport: 9, ttl: 7, dscp: 11)",
        };
        let segments: Vec<Vec<u8>> = (0..5).map(|at| segment(at).build()).collect();
        let mut validate =
            Harness::new(ChecksumValidate::new(OnBad::Mark), ChecksumValidate::spec().info());
        let packets: Vec<_> =
            segments.iter().map(|frame| received(&mut validate, frame, &[])).collect();
        validate.feed(packets, &[32]);
        let mut gro = Harness::new(Gro::new(GroConfig::default(), 1), &gro::INFO);
        gro.feed(validate.take(), &[32]);
        let joined = gro.take();
        assert_eq!(joined.len(), 1, "the segments are joined");
        let mut rewrite = stage::<Rewrite>(arguments);
        rewrite.feed(joined, &[32]);
        let mut gso = Harness::new(Gso::new(None), &gso::INFO).multiplies();
        gso.feed(rewrite.take(), &[32]);
        gso.drain();
        let cut: Vec<Vec<u8>> = gso.take().into_iter().map(finished).collect();
        let one_by_one: Vec<Vec<u8>> = segments
            .iter()
            .map(|frame| {
                let mut rewrite = stage::<Rewrite>(arguments);
                let packet = with_status(&mut rewrite, frame, Status::Good);
                finished(through(&mut rewrite, packet))
            })
            .collect();
        assert_same_frames(&cut, &one_by_one);
        cut.iter().for_each(|frame| assert_sound(frame));
    }
}

#[test]
fn what_a_packet_lacks_is_counted_once_a_packet() {
    let mut harness = stage::<Rewrite>("(vlan: 7, sport: 1, dport: 2)");
    let tagged =
        Shape { tag: Some(corelane_wire::testing::Vlan::default()), ..Shape::plain(false, true) };
    for frame in [tagged.build(), Shape::plain(false, false).build(), vec![1; 40], vec![2; 9]] {
        let packet = received(&mut harness, &frame, &[]);
        harness.push(packet);
    }
    harness.run();
    let packets = harness.take();
    assert!(packets.iter().all(|packet| packet.meta().l4[0] == Csum::Unknown));
    harness.release(packets);
    assert_eq!(harness.counter("changed"), 2);
    assert_eq!(harness.counter("lacking"), 3);
    harness.finish();
}
