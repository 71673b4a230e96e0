//! Packets that are too long once they are in the tunnel: cut, answered, fragmented or dropped, whichever comes first
//! and can be done.

use crate::rig::{Place, bytes_of, encap_at, received, through};
use corelane_runtime::packet::{Csum, Packet, SegFlags, SegKind};
use corelane_runtime::stage::OutputId;
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{
    Ethernet, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, assert_sound, slow_pseudo_header, slow_sum,
};
use proptest::prelude::*;

fn place(mtu: u32) -> Place {
    Place { mtu: Some(mtu), answer: Some(OutputId(1)), ..Place::default() }
}

fn stage(oversize: &str, v6: bool, mtu: u32) -> Harness {
    let remote = if v6 { "2001:db8::7" } else { "192.0.2.7" };
    let args = format!(
        "(tunnel: Vxlan(vni: 5, local: Own(\"wan\"), remote: \"{remote}\", udp_checksum: On), oversize: {oversize})"
    );
    encap_at(&args, &[], &mut place(mtu))
}

fn tcp(payload: usize) -> Vec<u8> {
    FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).payload_len(payload).build()
}

fn udp(payload: usize, df: bool) -> Vec<u8> {
    let ip = Ipv4 { dont_fragment: df, ..Ipv4::default() };
    FrameBuilder::new().ipv4(ip).udp(Udp::default()).payload_len(payload).build()
}

fn udp6(payload: usize) -> Vec<u8> {
    FrameBuilder::new().ipv6(Ipv6::default()).udp(Udp::default()).payload_len(payload).build()
}

/// A packet whose checksums somebody has found right.
fn checked(harness: &mut Harness, frame: &[u8]) -> Packet {
    let mut packet = received(harness, frame);
    let meta = packet.meta_mut();
    (meta.l3[0], meta.l4[0]) = (Csum::Good, Csum::Good);
    packet
}

#[test]
fn what_fits_goes_as_it_is() {
    for v6 in [false, true] {
        let mut harness = stage("[Segment, PmtuReply, FragmentOuter]", v6, 1500);
        // 1500 bytes of outer IP packet, and one more.
        let fits = 1500 - if v6 { 56 } else { 36 } - 54;
        let packets =
            vec![checked(&mut harness, &tcp(fits)), checked(&mut harness, &tcp(fits + 1))];
        let packets = through(&mut harness, packets);
        assert_eq!(packets.iter().map(Packet::segments).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(harness.counter("segmented"), 1);
        harness.release(packets);
        harness.finish();
    }
}

#[test]
fn tcp_is_cut_to_fit() {
    let mut harness = stage("[Segment, PmtuReply]", false, 1500);
    let frame = tcp(8000);
    let packet = checked(&mut harness, &frame);
    let packets = through(&mut harness, vec![packet]);
    let [packet] = &packets[..] else { panic!("{} packets", packets.len()) };
    let request = packet.segmentation();
    assert_eq!((request.kind, request.gso_size, request.count), (SegKind::Tcp4, 1410, 6));
    assert_eq!(packet.meta().l4[1], Csum::Partial);
    let pseudo = slow_pseudo_header(&frame[26..30], &frame[30..34], 8020, 6);
    assert_eq!(packet.data()[100..102], slow_sum(&[&pseudo]).to_be_bytes(), "the inner seed");
    harness.release(packets);
    harness.finish();
}

#[test]
fn a_superpacket_gets_shorter_segments_only_where_they_do_not_fit() {
    for (size, right) in
        [(1400_u16, (1400, 6, SegFlags::BY_PARTS)), (2000, (1410, 6, SegFlags::empty()))]
    {
        let mut harness = stage("[Segment]", false, 1500);
        let mut packet = checked(&mut harness, &tcp(8000));
        let given = corelane_runtime::packet::Segmentation {
            kind: SegKind::Tcp4,
            gso_size: size,
            count: 8000_u32.div_ceil(u32::from(size)) as u16,
            flags: SegFlags::BY_PARTS,
        };
        packet.set_segmentation(given);
        let packets = through(&mut harness, vec![packet]);
        let request = packets[0].segmentation();
        let flags = request.flags - SegFlags::OUTER_FIXED_ID;
        assert_eq!((request.gso_size, request.count, flags), right);
        harness.release(packets);
        harness.finish();
    }
}

#[test]
fn what_nobody_vouches_for_is_not_cut() {
    let fin = Tcp { flags: corelane_wire::tcp::TcpFlags::from_bits(0x12), ..Tcp::default() };
    let syn = FrameBuilder::new().ipv4(Ipv4::default()).tcp(fin).payload_len(2000).build();
    for (what, frame, state) in [
        ("unknown", tcp(2000), Csum::Unknown),
        ("bad", tcp(2000), Csum::Bad),
        ("UDP", udp(2000, true), Csum::Good),
        ("SYN", syn, Csum::Good),
    ] {
        let mut harness = stage("[Segment]", false, 1500);
        let mut packet = checked(&mut harness, &frame);
        packet.meta_mut().l4[0] = state;
        assert!(through(&mut harness, vec![packet]).is_empty(), "{what}");
        assert_eq!(harness.dropped("too_big").packets, 1, "{what}");
        harness.finish();
    }
}

/// The answer to a frame that is too long, if there is one.
fn answer(frame: &[u8]) -> Option<Vec<u8>> {
    let mut harness = stage("[PmtuReply]", false, 1500);
    let packet = received(&mut harness, frame);
    assert!(through(&mut harness, vec![packet]).is_empty());
    let answers = harness.take_from(1);
    let replied = harness.counter("replied");
    assert_eq!((answers.len() as u64, 1 - replied), (replied, harness.dropped("too_big").packets));
    let bytes = answers.first().map(bytes_of);
    harness.release(answers);
    harness.finish();
    bytes
}

#[test]
fn the_sender_is_told_what_would_fit() {
    let frame = udp(2000, true);
    let reply = answer(&frame).expect("an answer");
    assert_sound(&reply);
    assert_eq!((&reply[..6], &reply[6..12]), (&frame[6..12], &frame[..6]));
    assert_eq!((&reply[26..30], &reply[30..34]), (&frame[30..34], &frame[26..30]));
    assert_eq!(reply[34..42][..2], [3, 4], "destination unreachable, fragmentation needed");
    assert_eq!(reply[40..42], 1450_u16.to_be_bytes(), "1500 less the outer headers");
    assert_eq!(reply.len(), 14 + 576);
    assert_eq!(reply[42..], frame[14..14 + 548], "the packet it is about");
    assert_eq!(slow_sum(&[&reply[34..]]), 0xffff);

    let frame = udp6(2000);
    let reply = answer(&frame).expect("an answer");
    assert_eq!((reply[20], reply[54], reply[55]), (58, 2, 0), "ICMPv6 packet too big");
    assert_eq!(reply[58..62], 1450_u32.to_be_bytes());
    assert_eq!(reply.len(), 14 + 1280);
    assert_eq!(reply[62..], frame[14..14 + 1232]);
    let pseudo = slow_pseudo_header(&reply[22..38], &reply[38..54], 1240, 58);
    assert_eq!(slow_sum(&[&pseudo, &reply[54..]]), 0xffff);
}

#[test]
fn tags_are_kept_in_an_answer() {
    let frame = FrameBuilder::new().vlan(7).ipv6(Ipv6::default()).udp(Udp::default());
    let frame = frame.payload_len(2000).build();
    let reply = answer(&frame).expect("an answer");
    assert_eq!(reply[12..18], frame[12..18]);
    assert_eq!(reply[62..66], 1446_u32.to_be_bytes(), "the tag counts");
}

#[test]
fn nobody_is_told_whom_the_rules_forbid() {
    let group = Ethernet { dst: [1, 0, 0x5e, 0, 0, 1], ..Ethernet::default() };
    let to_group = Ipv4 { dst: [239, 1, 1, 1], dont_fragment: true, ..Ipv4::default() };
    let to_group = FrameBuilder::with(group).ipv4(to_group).udp(Udp::default());
    let later = Ipv4 { fragment_offset: 1480, dont_fragment: true, ..Ipv4::default() };
    let unreachable = Ipv4 { protocol: Some(1), dont_fragment: true, ..Ipv4::default() };
    let mut error = vec![3, 1, 0, 0];
    error.extend([0; 1996]);
    for (what, frame) in [
        ("may be fragmented", udp(2000, false)),
        ("to a group", to_group.payload_len(2000).build()),
        ("a later fragment", FrameBuilder::new().ipv4(later).payload_len(2000).build()),
        ("an error", FrameBuilder::new().ipv4(unreachable).payload(&error).build()),
        ("no IP", [vec![2; 12], vec![0x12, 0x34], vec![0; 2000]].concat()),
    ] {
        assert_eq!(answer(&frame), None, "{what}");
    }
}

#[test]
fn answers_are_bounded() {
    let mut harness = stage("[PmtuReply]", false, 1500);
    let packets: Vec<Packet> = (0..200).map(|_| received(&mut harness, &udp(2000, true))).collect();
    assert!(through(&mut harness, packets).is_empty());
    let answers = harness.take_from(1);
    assert_eq!((answers.len(), harness.dropped("too_big").packets), (50, 150));
    harness.release(answers);
    harness.finish();
}

/// Puts IP fragments together.
fn reassemble(fragments: &[Vec<u8>], v6: bool, mtu: usize) -> Vec<u8> {
    let header = if v6 { 62 } else { 34 };
    let mut whole = Vec::new();
    for (n, fragment) in fragments.iter().enumerate() {
        let last = n + 1 == fragments.len();
        assert!(fragment.len() <= mtu + 14, "{} bytes", fragment.len());
        let (offset, more, length) = if v6 {
            let word = u16::from_be_bytes([fragment[56], fragment[57]]);
            assert_eq!((fragment[20], fragment[54]), (44, 17));
            let length = usize::from(u16::from_be_bytes([fragment[18], fragment[19]])) + 54;
            (usize::from(word & 0xfff8), word & 1 != 0, length)
        } else {
            assert_eq!(slow_sum(&[&fragment[14..34]]), 0xffff, "the header sum");
            let word = u16::from_be_bytes([fragment[20], fragment[21]]);
            assert_eq!(word & 0x4000, 0, "DF");
            let length = usize::from(u16::from_be_bytes([fragment[16], fragment[17]])) + 14;
            (usize::from(word & 0x1fff) * 8, word & 0x2000 != 0, length)
        };
        assert_eq!((offset, more, length), (whole.len(), !last, fragment.len()));
        let id = if v6 { 58..62 } else { 18..20 };
        assert_eq!(fragment[id.clone()], fragments[0][id]);
        whole.extend(&fragment[header..]);
    }
    whole
}

fn fragments(frame: &[u8], v6: bool, mtu: u32) -> (Vec<Vec<u8>>, u64) {
    let mut harness = stage("[FragmentOuter]", v6, mtu);
    let packet = received(&mut harness, frame);
    let packets = through(&mut harness, vec![packet]);
    let found = packets.iter().map(bytes_of).collect();
    let summed = harness.tally().payload_bytes_summed;
    harness.release(packets);
    harness.finish();
    (found, summed)
}

/// What fragments carry is the datagram with a right checksum around the frame.
fn assert_carries(fragments: &[Vec<u8>], frame: &[u8], v6: bool, mtu: u32) {
    let datagram = reassemble(fragments, v6, mtu as usize);
    let first = &fragments[0];
    let (src, dst) = if v6 { (22..38, 38..54) } else { (26..30, 30..34) };
    let pseudo = slow_pseudo_header(&first[src], &first[dst], datagram.len() as u32, 17);
    assert_eq!(slow_sum(&[&pseudo, &datagram]), 0xffff, "the outer UDP checksum");
    assert_eq!(datagram[4..6], (datagram.len() as u16).to_be_bytes());
    assert_eq!(datagram[16..], *frame);
}

#[test]
fn v4_the_outer_datagram_becomes_two_fragments() {
    for v6 in [false, true] {
        let frame = udp(1450, true);
        let (found, summed) = fragments(&frame, v6, 1500);
        assert_eq!((found.len(), summed), (2, 1450));
        assert_carries(&found, &frame, v6, 1500);
    }
}

#[test]
fn a_superpacket_that_cannot_be_cut_shorter_is_cut_and_then_fragmented() {
    let mut harness = stage("[Segment, FragmentOuter]", false, 1500);
    let mut packet = checked(&mut harness, &udp(6000, true));
    let pseudo = slow_pseudo_header(&packet.data()[26..30], &packet.data()[30..34], 6008, 17);
    let seed = slow_sum(&[&pseudo]).to_be_bytes();
    packet.data_mut().expect("its own")[40..42].copy_from_slice(&seed);
    let partial = corelane_runtime::packet::Partial { start: 34, field: 40 };
    packet.meta_mut().request(0, partial);
    packet.set_segmentation(corelane_runtime::packet::Segmentation {
        kind: SegKind::Udp4,
        gso_size: 3000,
        count: 2,
        flags: SegFlags::empty(),
    });
    let packets = through(&mut harness, vec![packet]);
    assert_eq!((harness.counter("finished"), harness.counter("fragmented")), (1, 2));
    let found: Vec<Vec<u8>> = packets.iter().map(bytes_of).collect();
    assert_eq!(found.len(), 6);
    for datagram in found.chunks(3) {
        let whole = reassemble(datagram, false, 1500);
        assert_sound(&whole[16..]);
        assert_eq!(whole.len(), 16 + 42 + 3000);
    }
    assert_ne!(found[0][18..20], found[3][18..20], "each datagram has its own identification");
    harness.release(packets);
    harness.finish();
}

#[test]
fn fragments_wait_for_room_and_for_buffers() {
    let mut harness = stage("[FragmentOuter]", true, 1280).home(16, 24, 2);
    harness.set_room(1);
    let frame = udp(4000, true);
    let packet = received(&mut harness, &frame);
    harness.push(packet);
    let mut found = Vec::new();
    for round in 0..100 {
        harness.buffers.withhold(if round % 3 == 0 { [0; 3] } else { [16, 24, 2] });
        harness.step();
        harness.assert_balanced();
        let packets = harness.take();
        found.extend(packets.iter().map(bytes_of));
        harness.release(packets);
    }
    harness.buffers.withhold([0; 3]);
    assert_carries(&found, &frame, true, 1280);
    harness.finish();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn fragments_are_the_datagram(
        payload in 0usize..5000, mtu in 100u32..2000, (v6, tagged) in any::<(bool, bool)>(),
    ) {
        let builder = FrameBuilder::new();
        let builder = if tagged { builder.vlan(9) } else { builder };
        let frame = builder.ipv4(Ipv4::default()).udp(Udp::default()).payload_len(payload).build();
        let (found, _) = fragments(&frame, v6, mtu);
        let whole = frame.len() as u32 + if v6 { 56 } else { 36 };
        if whole <= mtu {
            prop_assert_eq!(found.len(), 1);
        } else {
            prop_assert!(found.len() > 1);
            assert_carries(&found, &frame, v6, mtu);
        }
    }
}
