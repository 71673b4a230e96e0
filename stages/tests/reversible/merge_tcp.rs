//! What `Gro` merges of TCP: data, flags, header fields (A.1 to A.3 of the kernel's self-tests, VPP's R cases,
//! DPDK's defects), as packets in and payload lengths out. Each case is also cut again, and must come out as
//! it went in.

use crate::cases::{V4, V6, both, case, p};
use crate::rig::{Rig, payloads};
use corelane_stages::gro::GroConfig;
use corelane_wire::tcp::TcpFlags;
use corelane_wire::testing::{Checksum, Tcp, assert_same_frames};

const ACK: TcpFlags = TcpFlags::ACK;

// A.1 Data.

#[test]
fn data_same() {
    both(|v6| {
        let counters = case(vec![p(v6, 0, 100), p(v6, 100, 100)], &[200]);
        assert_eq!(counters, [("merged", 1), ("superpackets", 1), ("ended.burst", 1)]);
    });
}

#[test]
fn data_lrg_sml_ends_short() {
    both(|v6| {
        let counters = case(vec![p(v6, 0, 100), p(v6, 100, 50), p(v6, 150, 50)], &[150, 50]);
        assert!(counters.contains(&("ended.short", 1)));
    });
}

#[test]
fn data_lrg_1byte_padded_to_the_shortest_frame() {
    case(vec![p(V4, 0, 100), p(V4, 100, 1).pad()], &[101]);
    case(vec![p(V6, 0, 100), p(V6, 100, 1)], &[101]);
}

#[test]
fn data_sml_lrg() {
    both(|v6| {
        let counters = case(vec![p(v6, 0, 50), p(v6, 50, 100)], &[50, 100]);
        assert_eq!(counters, []);
    });
}

#[test]
fn single_and_pure_acks() {
    both(|v6| {
        case(vec![p(v6, 0, 100)], &[100]);
        let ack = || p(v6, 0, 0);
        case(vec![ack(), ack(), p(v6, 0, 0).tcp(|tcp| tcp.ack = 101)], &[0, 0, 0]);
    });
    // DPDK G4: an ACK padded to the shortest frame has no data.
    case(vec![p(V4, 0, 100), p(V4, 100, 0).pad(), p(V4, 100, 100)], &[100, 0, 100]);
}

// A.2 Flags.

#[test]
fn flags_psh() {
    both(|v6| {
        let psh = p(v6, 200, 100).flags(ACK | TcpFlags::PSH);
        let packets = vec![p(v6, 0, 100), p(v6, 100, 100), psh, p(v6, 300, 100), p(v6, 400, 100)];
        let counters = case(packets, &[300, 200]);
        assert!(counters.contains(&("ended.push", 1)) && counters.contains(&("ended.burst", 1)));
    });
}

#[test]
fn flags_syn_rst_urg() {
    for flag in [TcpFlags::SYN, TcpFlags::RST, TcpFlags::URG] {
        both(|v6| {
            let packets = vec![
                p(v6, 0, 100),
                p(v6, 100, 100),
                p(v6, 0, 0).flags(ACK | flag),
                p(v6, 300, 100),
                p(v6, 400, 100),
            ];
            case(packets, &[200, 0, 200]);
        });
        let with_data = vec![p(V4, 0, 100), p(V4, 100, 100).flags(ACK | flag), p(V4, 200, 100)];
        let counters = case(with_data, &[100, 100, 100]);
        assert_eq!(counters, []);
    }
}

#[test]
fn flags_cwr_merges_runs_of_equal_flags() {
    both(|v6| {
        let cwr = |off| p(v6, off, 100).flags(ACK | TcpFlags::CWR);
        let packets = vec![p(v6, 0, 100), cwr(100), cwr(200), p(v6, 300, 100), p(v6, 400, 100)];
        let counters = case(packets, &[100, 200, 200]);
        assert!(counters.contains(&("ended.flags", 1)));
    });
}

#[test]
fn flags_of_accurate_ecn_and_reserved_bits_must_be_equal() {
    for bits in [TcpFlags::ECE, TcpFlags::AE, TcpFlags::from_bits(0x200)] {
        let marked = |off| p(V4, off, 100).flags(ACK | bits);
        case(vec![p(V4, 0, 100), marked(100), marked(200)], &[100, 200]);
    }
}

#[test]
fn fin_on_data_joins_and_ends_and_alone_passes() {
    both(|v6| {
        let fin = |off, len| p(v6, off, len).flags(ACK | TcpFlags::FIN);
        case(vec![p(v6, 0, 100), fin(100, 100), p(v6, 200, 100)], &[200, 100]);
        case(vec![p(v6, 0, 100), fin(100, 0)], &[100, 0]);
        case(vec![fin(0, 100), p(v6, 100, 100), p(v6, 200, 100)], &[100, 200]);
    });
}

// A.3 TCP header.

#[test]
fn tcp_csum_stays_wrong_and_apart() {
    both(|v6| {
        let bad = p(v6, 100, 100).tcp(|tcp| tcp.checksum = Checksum::Wrong);
        let counters = case(vec![p(v6, 0, 100), bad, p(v6, 200, 100)], &[100, 100, 100]);
        assert_eq!(counters, []);
    });
}

#[test]
fn a_bad_checksum_in_the_middle_splits_the_train() {
    // Field report D4.
    let packets = (0..10).map(|index| {
        let packet = p(V4, index * 100, 100);
        if index == 4 { packet.tcp(|tcp| tcp.checksum = Checksum::Wrong) } else { packet }
    });
    let counters = case(packets.collect(), &[400, 100, 500]);
    assert!(counters.contains(&("ended.unfit", 1)));
}

#[test]
fn tcp_seq_gap_overlap_and_repetition() {
    both(|v6| {
        let counters = case(vec![p(v6, 0, 100), p(v6, 101, 100)], &[100, 100]);
        assert_eq!(counters, []);
        let twice = vec![p(v6, 0, 100), p(v6, 100, 100), p(v6, 100, 100), p(v6, 200, 100)];
        let counters = case(twice, &[200, 200]);
        assert!(counters.contains(&("ended.gap", 1)));
        case(vec![p(v6, 0, 100), p(v6, 200, 100), p(v6, 100, 100)], &[100, 100, 100]);
    });
    // R17: out of order in the middle; nothing is joined out of order, nothing is lost.
    case(vec![p(V4, 0, 100), p(V4, 200, 100), p(V4, 100, 100), p(V4, 300, 100)], &[100; 4]);
}

#[test]
fn sequence_numbers_wrap() {
    let at = |seq: u32| p(V4, 0, 100).tcp(|tcp| tcp.seq = seq);
    case(vec![at(u32::MAX - 149), at(u32::MAX - 49), at(50)], &[300]);
}

#[test]
fn tcp_ts() {
    both(|v6| {
        let ts = |off, options: Vec<u8>| p(v6, off, 100).tcp(|tcp| tcp.options = options);
        let stamp = |value: u32| [&[8, 10][..], &value.to_be_bytes(), &[0; 4]].concat();
        let padded = |value| [&[1, 1][..], &stamp(value)].concat();
        let packets = vec![
            ts(0, padded(0)),
            ts(100, padded(0)),
            ts(200, padded(100)),
            ts(300, [&[1][..], &stamp(100), &[1]].concat()),
            ts(400, [&stamp(100)[..], &[1, 1]].concat()),
        ];
        let counters = case(packets, &[200, 100, 100, 100]);
        assert!(counters.contains(&("ended.header", 1)));
    });
}

#[test]
fn tcp_opt_of_another_length_or_another_byte() {
    let with = |off, options: &[u8]| p(V4, off, 100).tcp(|tcp| tcp.options = options.to_vec());
    let stamp = Tcp::timestamps(0, 0);
    case(vec![with(0, &stamp), with(100, &stamp), with(200, &[1, 3, 3, 7])], &[200, 100]);
    case(vec![with(0, &stamp), with(100, &[])], &[100, 100]);
    case(vec![with(0, &[]), with(100, &stamp)], &[100, 100]);
    for at in 0..stamp.len() {
        let mut other = stamp.clone();
        other[at] ^= 0x10;
        case(vec![with(0, &stamp), with(100, &other)], &[100, 100]);
    }
}

#[test]
fn ack_window_and_urgent_pointer_must_be_equal() {
    case(vec![p(V4, 0, 100), p(V4, 100, 100).tcp(|tcp| tcp.ack = 101)], &[100, 100]);
    case(vec![p(V4, 0, 100), p(V4, 100, 100).tcp(|tcp| tcp.window = 65_534)], &[100, 100]);
    case(vec![p(V4, 0, 100), p(V4, 100, 100).tcp(|tcp| tcp.urgent = 1)], &[100, 100]);
}

#[test]
fn the_window_may_be_ignored_on_request() {
    let config = GroConfig { compare_window: false, ..GroConfig::default() };
    let mut rig = Rig::new(config);
    let frames = [p(V4, 0, 100), p(V4, 100, 100).tcp(|tcp| tcp.window = 1)].map(|p| p.build());
    let packets = rig.receive(&frames);
    let merged = rig.merge(packets);
    assert_eq!(payloads(&merged), [200]);
    let cut = rig.cut(merged);
    let first_window = p(V4, 100, 100).build();
    assert_same_frames(&[&frames[0], &first_window], &cut.iter().collect::<Vec<_>>());
    rig.finish();
}
