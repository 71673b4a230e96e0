//! How `Gso` cuts superpackets that arrive in one piece: packets in, frames out, through the real stage.
//!
//! Cases follow the kernel's GSO rules and tables (B and K in our notes of them), VPP's GSO tests, and the
//! field reports C.

use crate::rig::frame_of;
use crate::supers::{Super, cut, of, software, tcp4, tcp6, udp};
use corelane_runtime::packet::{Csum, SegFlags, SegKind};
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{
    Checksum, Extension, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, assert_same_frames, slow_sum,
};

/// The segments that a sender without offload would have made.
fn by_hand(request: &Super, make: impl Fn(usize, usize, bool) -> FrameBuilder) -> Vec<Vec<u8>> {
    let size = usize::from(request.gso_size);
    let at = request.frame.len() - payload_of(request);
    let payload = &request.frame[at..];
    let chunks = payload.chunks(size).enumerate();
    chunks
        .map(|(index, chunk)| {
            let last = (index + 1) * size >= payload.len();
            make(index, index * size, last).payload(chunk).build()
        })
        .collect()
}

fn payload_of(request: &Super) -> usize {
    let mut harness = software();
    let packet = request.packet(&mut harness);
    let len = packet.payload_len() as usize;
    harness.release([packet]);
    len
}

#[test]
fn tcp_numbers_flags_and_ids_count_on() {
    let (fin, cwr) = (TcpFlags::FIN | TcpFlags::PSH, TcpFlags::CWR);
    let base = TcpFlags::ACK | TcpFlags::ECE | TcpFlags::AE;
    let tcp = Tcp { seq: u32::MAX - 1500, flags: base | fin | cwr, ..Tcp::default() };
    for (fixed, cwr_all) in [(false, false), (true, false), (false, true), (true, true)] {
        let ip = Ipv4 { id: 65_534, ..Ipv4::default() };
        let mut flags = SegFlags::empty();
        flags.set(SegFlags::FIXED_ID, fixed);
        flags.set(SegFlags::CWR_ALL, cwr_all);
        let request = tcp4(ip.clone(), tcp.clone(), 3100, 1000).with(flags);
        let expected = by_hand(&request, |index, offset, last| {
            let mut flags = base;
            flags = if last { flags | fin } else { flags };
            flags = if index == 0 || cwr_all { flags | cwr } else { flags };
            let id = if fixed { ip.id } else { ip.id.wrapping_add(index as u16) };
            let seq = tcp.seq.wrapping_add(offset as u32);
            FrameBuilder::new().ipv4(Ipv4 { id, ..ip.clone() }).tcp(Tcp {
                seq,
                flags,
                ..tcp.clone()
            })
        });
        assert_same_frames(&expected, &cut(software(), &request));
    }
}

#[test]
fn vpp_superpackets() {
    // G6 and G7: 65,200 bytes make 44 full segments and one of 960 bytes.
    let lens = |frames: Vec<Vec<u8>>, headers: usize| -> Vec<usize> {
        frames.iter().map(|frame| frame.len() - headers).collect()
    };
    let expected = [vec![1460; 44], vec![960]].concat();
    let v4 = tcp4(Ipv4::default(), Tcp::default(), 65_200, 1460);
    assert_eq!(lens(cut(software(), &v4), 54), expected);
    let v6 = tcp6(Ipv6::default(), Tcp::default(), 65_200, 1460);
    assert_eq!(lens(cut(software(), &v6), 74), expected);
    // G10: segments larger than a small buffer.
    let jumbo = tcp4(Ipv4::default(), Tcp::default(), 65_200, 8940);
    assert_eq!(cut(software(), &jumbo).len(), 8);
}

#[test]
fn options_tags_and_extension_headers_are_repeated() {
    let options = Tcp::timestamps(5, 6);
    let ip = Ipv4 { options: vec![7, 4, 4, 0], ..Ipv4::default() };
    let tcp = Tcp { options, checksum: Checksum::Partial, ..Tcp::default() };
    let build = |checksum| {
        let tcp = Tcp { checksum, ..tcp.clone() };
        FrameBuilder::new().vlan(10).vlan(20).ipv4(ip.clone()).tcp(tcp)
    };
    let frame = build(Checksum::Partial).payload_len(2500).build();
    let request = of(frame, SegKind::Tcp4, 2500, 1000).with(SegFlags::FIXED_ID);
    let frames = cut(software(), &request);
    assert_eq!(frames.len(), 3);
    assert!(frames.iter().all(|frame| frame[12..20] == request.frame[12..20]));
    let extensions = vec![Extension::HopByHop(vec![5, 2, 0, 0])];
    let request = tcp6(Ipv6 { extensions, ..Ipv6::default() }, Tcp::default(), 2500, 1000);
    assert_eq!(cut(software(), &request).len(), 3);
}

#[test]
fn udp_table() {
    // Payload, size asked for, lengths that come out.
    let table: [(usize, u16, Vec<usize>); 8] = [
        (1473, 1472, vec![1472, 1]),
        (2944, 1472, vec![1472; 2]),
        (2945, 1472, vec![1472, 1472, 1]),
        (64_768, 1472, vec![1472; 44]),
        (65_507, 1472, [vec![1472; 44], vec![739]].concat()),
        (2, 1, vec![1; 2]),
        (5, 2, vec![2, 2, 1]),
        (128, 1, vec![1; 128]),
    ];
    for (payload, gso_size, expected) in table {
        for v6 in [false, true] {
            let frames = cut(software(), &udp(v6, payload, gso_size));
            let headers = if v6 { 62 } else { 42 };
            let lens: Vec<usize> = frames.iter().map(|frame| frame.len() - headers).collect();
            assert_eq!(lens, expected);
            let udp_at = headers - 8;
            let checksums = frames.iter().map(|frame| &frame[udp_at + 6..udp_at + 8]);
            assert!(checksums.into_iter().all(|field| field != [0, 0]));
        }
    }
}

#[test]
fn a_request_for_one_segment_is_none() {
    // Field report C6, and rows 3 and 10 of the kernel's table.
    for (payload, gso_size) in [(300, 1200), (1200, 1200), (1, 1)] {
        let request = udp(false, payload, gso_size);
        let mut harness = software();
        let packet = request.packet(&mut harness);
        harness.push(packet);
        harness.run();
        let out = harness.take();
        assert_eq!(out.len(), 1);
        assert!(!out[0].is_super());
        assert_eq!(out[0].meta().l4[0], Csum::Partial, "its checksum is still to be finished");
        assert_eq!(frame_of(&out[0]).bytes, request.frame);
        harness.release(out);
        harness.finish();
    }
}

#[test]
fn requests_that_contradict_their_packet_are_dropped_by_name() {
    let good = tcp4(Ipv4::default(), Tcp::default(), 3000, 1000);
    let short = |mut request: Super| {
        request.frame.truncate(46);
        request
    };
    let trailing = |mut request: Super| {
        request.frame.extend([0; 4]);
        request
    };
    let bad = [
        Super { gso_size: 0, ..good.clone() },
        Super { count: 4, ..good.clone() },
        Super { count: 2, ..good.clone() },
        Super { count: 1, ..good.clone() },
        Super { kind: SegKind::Udp4, ..good.clone() },
        Super { kind: SegKind::Tcp6, ..good.clone() },
        Super { flags: SegFlags::BY_PARTS, ..good.clone() },
        Super { state: Csum::Bad, ..good.clone() },
        Super { state: Csum::Unknown, ..good.clone() },
        short(good.clone()),
        tcp4(Ipv4 { more_fragments: true, ..Ipv4::default() }, Tcp::default(), 3000, 1000),
        tcp4(Ipv4::default(), Tcp { header_words: Some(4), ..Tcp::default() }, 3000, 1000),
        Super { frame: vec![0xff; 3000], ..good.clone() },
    ];
    for (index, request) in bad.iter().enumerate() {
        let mut harness = software();
        let packet = request.packet(&mut harness);
        let units = packet.units();
        harness.push(packet);
        harness.run();
        assert_eq!(harness.dropped("bad_segmentation"), units, "request {index}");
        harness.finish();
    }
    // What follows a superpacket's datagram belongs to its payload: there is no length to say otherwise.
    assert_eq!(cut(software(), &Super { count: 4, ..trailing(good) }).len(), 4);
}

#[test]
fn an_unfinished_ipv4_header_is_finished_and_a_wrong_one_stays_wrong() {
    // Field report A9.
    let left_out = Ipv4 { total_length: Some(0), checksum: Checksum::Value(0), ..Ipv4::default() };
    let frames = cut(software(), &tcp4(left_out, Tcp::default(), 3000, 1000));
    assert_eq!(frames.len(), 3);
    let wrong = Ipv4 { checksum: Checksum::Wrong, ..Ipv4::default() };
    let mut harness = software();
    let packet = tcp4(wrong, Tcp::default(), 3000, 1000).packet(&mut harness);
    harness.push(packet);
    harness.run();
    for frame in harness.take_frames() {
        assert_eq!(slow_sum(&[&frame[14..34]]), 1, "off by as much as before");
    }
    harness.finish();
}

#[test]
fn a_zero_checksum_of_a_segment_is_sent_as_ones_in_udp() {
    // The first two payload bytes of each datagram make its checksum zero.
    let payload = |index: usize, first: [u8; 2]| {
        let mut bytes = vec![index as u8; 100];
        bytes[..2].copy_from_slice(&first);
        bytes
    };
    let frame = |index: usize, first| {
        let ip = Ipv4 { id: 1 + index as u16, ..Ipv4::default() };
        FrameBuilder::new().ipv4(ip).udp(Udp::default()).payload(&payload(index, first)).build()
    };
    let words: Vec<[u8; 2]> = (0..3)
        .map(|index| {
            let plain = frame(index, [0, 0]);
            [plain[40], plain[41]]
        })
        .collect();
    let all: Vec<u8> = (0..3).flat_map(|index| payload(index, words[index])).collect();
    let header = Udp { checksum: Checksum::Partial, ..Udp::default() };
    let whole = FrameBuilder::new().ipv4(Ipv4::default()).udp(header).payload(&all).build();
    let frames = cut(software(), &of(whole, SegKind::Udp4, 300, 100));
    let expected: Vec<Vec<u8>> = (0..3).map(|index| frame(index, words[index])).collect();
    assert!(expected.iter().all(|frame| frame[40..42] == [0xff, 0xff]));
    assert_same_frames(&expected, &frames);
}

#[test]
fn a_last_segment_of_a_linear_superpacket_is_padded_though_its_buffer_is_shared() {
    // The pool has just what the cut sets aside; the segments before are still on their way.
    let request = tcp4(Ipv4::default(), Tcp::default(), 15, 4).with(SegFlags::PAD_LAST);
    let frames = cut(software().home(4, 6, 1), &request);
    let lens: Vec<usize> = frames.iter().map(Vec::len).collect();
    assert_eq!(lens, [58, 58, 58, 60]);
    assert_eq!(frames[3][57..], [0; 3]);
}
