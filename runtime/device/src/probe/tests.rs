//! The probe vectors against another crate, honest devices, and every lie.

use super::vectors::{SENT, Sent};
use super::*;
use crate::EmulatedConfig;
use crate::emulated::{Faults, Lies};
use corelane_runtime::offload::Facts;
use corelane_runtime::packet::SegFlags;
use etherparse::{IpNumber, NetSlice, SlicedPacket, TransportSlice};

/// The right transport checksum of a frame and the one in it, the payload, and where it says it ends.
fn judged(frame: &[u8]) -> (u16, u16, Vec<u8>) {
    let sliced = SlicedPacket::from_ethernet(frame).unwrap();
    let transport = sliced.transport.unwrap();
    match (sliced.net.unwrap(), transport) {
        (NetSlice::Ipv4(ip), transport) => {
            let header = ip.header().to_header();
            assert_eq!(header.calc_header_checksum(), header.header_checksum);
            let payload = ip.payload().payload;
            match transport {
                TransportSlice::Tcp(tcp) => {
                    let right =
                        tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination());
                    (right.unwrap(), tcp.checksum(), tcp.payload().to_vec())
                }
                TransportSlice::Udp(udp) => {
                    assert_eq!(usize::from(udp.length()), payload.len());
                    let right = udp.to_header().calc_checksum_ipv4_raw(
                        ip.header().source(),
                        ip.header().destination(),
                        udp.payload(),
                    );
                    (right.unwrap(), udp.checksum(), udp.payload().to_vec())
                }
                other => panic!("{other:?}"),
            }
        }
        (NetSlice::Ipv6(ip), transport) => match transport {
            TransportSlice::Tcp(tcp) => {
                let (from, to) = (ip.header().source(), ip.header().destination());
                (tcp.calc_checksum_ipv6(from, to).unwrap(), tcp.checksum(), tcp.payload().to_vec())
            }
            TransportSlice::Udp(udp) => {
                let (from, to) = (ip.header().source(), ip.header().destination());
                let right = udp.to_header().calc_checksum_ipv6_raw(from, to, udp.payload());
                (right.unwrap(), udp.checksum(), udp.payload().to_vec())
            }
            other => panic!("{other:?}"),
        },
        (other, _) => panic!("{other:?}"),
    }
}

/// What differs from segment to segment: ID, sequence number, flags.
fn counted(frame: &[u8]) -> (Option<u16>, Option<u32>, u8) {
    let sliced = SlicedPacket::from_ethernet(frame).unwrap();
    let id = match sliced.net.unwrap() {
        NetSlice::Ipv4(ip) => Some(ip.header().identification()),
        _ => None,
    };
    match sliced.transport.unwrap() {
        TransportSlice::Tcp(tcp) => (id, Some(tcp.sequence_number()), tcp.slice()[13]),
        _ => (id, None, 0),
    }
}

fn is_generic(request: &Sent) -> bool {
    request.bit == Caps::TX_GENERIC
}

#[test]
fn every_answer_has_right_checksums_and_the_payload_that_was_sent() {
    for request in SENT.iter().filter(|request| !is_generic(request)) {
        let mut whole = Vec::new();
        for frame in request.frames() {
            let (right, found, payload) = judged(&frame);
            assert_eq!(right, found, "{request:?}");
            whole.extend(payload);
        }
        assert_eq!(whole, vectors::payload(0, request.payload).collect::<Vec<_>>(), "{request:?}");
    }
}

#[test]
fn an_unknown_protocol_sums_to_all_ones() {
    let generic = SENT.iter().find(|request| is_generic(request)).unwrap();
    let frame = generic.frames().remove(0);
    let sliced = SlicedPacket::from_ethernet(&frame).unwrap();
    let Some(NetSlice::Ipv4(ip)) = sliced.net else { panic!("{sliced:?}") };
    assert_eq!(ip.header().protocol(), IpNumber(253));
    let payload = ip.payload().payload;
    let pseudo = [&ip.header().source()[..], &ip.header().destination(), &[0, 253]].concat();
    let bytes = [pseudo, (payload.len() as u16).to_be_bytes().to_vec(), payload.to_vec()].concat();
    let words =
        bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&b| b.into()));
    assert_eq!(words.sum::<u64>() % 0xffff, 0);
}

#[test]
fn a_udp_checksum_is_never_zero_and_both_families_have_one_that_would_be() {
    for bit in [Caps::TX_UDP4, Caps::TX_UDP6] {
        let of_bit = SENT.iter().filter(|request| request.bit == bit);
        let fields: Vec<u16> = of_bit.map(|request| judged(&request.frames()[0]).1).collect();
        assert!(fields.contains(&0xffff) && !fields.contains(&0), "{fields:?}");
    }
}

#[test]
fn segments_count_as_their_bit_says() {
    for request in SENT {
        let Some((_, gso_size, flags)) = request.cut else { continue };
        let frames = request.frames();
        assert!(frames.len() > 2, "a cut with a first, a middle and a last");
        let counted: Vec<_> = frames.iter().map(|frame| counted(frame)).collect();
        for (n, pair) in counted.windows(2).enumerate() {
            let step = u16::from(!flags.contains(SegFlags::FIXED_ID));
            assert_eq!(pair[1].0, pair[0].0.map(|id| id.wrapping_add(step)), "{request:?}");
            assert_eq!(pair[1].1, pair[0].1.map(|seq| seq + u32::from(gso_size)), "{request:?}");
            let [before, after] = [pair[0].2, pair[1].2];
            assert_eq!(before & 0x09, 0, "PSH and FIN are the last one's: {request:?}");
            let cwr_stays = n == 0 && before & 0x80 != 0;
            let cwr =
                if cwr_stays && !flags.contains(SegFlags::CWR_ALL) { 0 } else { before & 0x80 };
            assert_eq!(after & 0xc0, before & 0x40 | cwr, "ECE everywhere: {request:?}");
        }
        let padded = flags.contains(SegFlags::PAD_LAST);
        assert_eq!(padded, request.back.last().unwrap().padding > 0);
        assert!(!padded || frames.last().unwrap().len() == 60);
    }
}

#[test]
fn every_bit_that_can_be_tried_is() {
    let sent = SENT.iter().map(|request| request.bit).collect::<Caps>();
    let received = RECEIVED.iter().map(|(bit, _)| *bit).collect::<Caps>();
    let untried = Caps::RX_HASH | Caps::TX_IP | Caps::MULTI_PART;
    assert_eq!(sent | received | untried, Caps::asked());
}

fn probed(caps: Caps, lies: Lies) -> Facts {
    let faults = Faults { lies, ..Faults::default() };
    emulated(&EmulatedConfig { caps, faults, ..EmulatedConfig::new("x") }).unwrap()
}

#[test]
fn an_honest_device_is_granted_all_it_claims() {
    for caps in Caps::every_set() {
        let facts = probed(caps, Lies::empty());
        assert_eq!((facts.granted, facts.reasons), (caps, vec![]));
    }
}

#[test]
fn every_lie_is_found_and_told() {
    let cuts = Caps::TSO4
        | Caps::TSO6
        | Caps::TSO_FIXED_ID
        | Caps::TSO_ECN
        | Caps::TSO_CWR_ALL
        | Caps::TSO_PAD
        | Caps::USO4
        | Caps::USO6;
    let judges = Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP;
    for (lie, lost, bit, why) in [
        (
            Lies::SKIP_CHECKSUM,
            cuts | Caps::TX_CHECKSUMS | Caps::TX_GENERIC,
            Caps::TX_TCP6,
            "a probe frame came back with a wrong TCP checksum",
        ),
        (
            Lies::SKIP_CHECKSUM,
            cuts | Caps::TX_CHECKSUMS | Caps::TX_GENERIC,
            Caps::TX_GENERIC,
            "a probe frame came back with a wrong checksum",
        ),
        (
            Lies::CORRUPT_LAST_SEGMENT,
            cuts,
            Caps::USO6,
            "a probe frame came back with other payload than was sent",
        ),
        // Whoever asks for one ID gets what was asked for, but cannot do without counting.
        (
            Lies::SAME_IP_ID,
            Caps::TSO4
                | Caps::TSO_FIXED_ID
                | Caps::TSO_ECN
                | Caps::TSO_CWR_ALL
                | Caps::TSO_PAD
                | Caps::USO4,
            Caps::TSO4,
            "a probe frame came back with another IPv4 ID",
        ),
        (Lies::REPORT_BAD_AS_GOOD, judges | Caps::RX_HW_GRO, Caps::RX_UDP, WRONG_AS_GOOD),
    ] {
        let facts = probed(Caps::asked(), lie);
        assert_eq!(facts.granted, Caps::asked() - lost, "{lie:?}");
        assert_eq!(facts.why(bit), Some(why), "{lie:?}");
        for bit in lost {
            assert!(facts.why(bit).is_some(), "{lie:?}: no reason for {}", bit.names());
        }
    }
    let none = probed(Caps::asked(), Lies::all());
    assert_eq!(
        none.granted,
        Caps::asked() - cuts - Caps::TX_CHECKSUMS - Caps::TX_GENERIC - judges - Caps::RX_HW_GRO
    );
}

#[test]
fn what_stands_on_a_lie_is_told_so() {
    let facts = probed(Caps::asked(), Lies::SAME_IP_ID);
    assert_eq!(facts.why(Caps::TSO_FIXED_ID), Some("means nothing without tso4"));
    let facts = probed(Caps::asked(), Lies::REPORT_BAD_AS_GOOD);
    assert_eq!(facts.why(Caps::RX_HW_GRO), Some("means nothing without rx_ip, rx_tcp"));
}

/// A device of which single answers can be falsified.
struct Forged {
    send: fn(&Sent) -> Vec<Vec<u8>>,
    receive: fn(&[Vec<u8>]) -> Vec<Seen>,
}

impl Loopback for Forged {
    fn send(&mut self, request: &Sent) -> Result<Vec<Vec<u8>>, Error> {
        Ok((self.send)(request))
    }

    fn receive(&mut self, frames: &[Vec<u8>]) -> Result<Vec<Seen>, Error> {
        Ok((self.receive)(frames))
    }
}

#[test]
fn whatever_is_wrong_with_a_frame_is_put_into_words() {
    let why = |bit: Caps, send: fn(&Sent) -> Vec<Vec<u8>>| {
        let (granted, reasons) = probe(&mut Forged { send, receive: |_| Vec::new() }, bit).unwrap();
        assert!(granted.is_empty());
        reasons[0].why.clone()
    };
    let change = |request: &Sent, at: usize| {
        let mut frames = request.frames();
        frames[1][at] ^= 1;
        frames
    };
    assert_eq!(why(Caps::TSO4, |_| vec![]), "a probe frame did not come back");
    assert_eq!(
        why(Caps::TSO4, |request| vec![request.packet()]),
        "a probe packet came back as 1 frames instead of 3"
    );
    let unpadded = |request: &Sent| {
        let mut frames = request.frames();
        frames[2].truncate(55);
        frames
    };
    assert_eq!(why(Caps::TSO_PAD, unpadded), "a probe frame came back with 55 bytes instead of 60");
    for (at, words) in [
        (18, "another IPv4 ID"),
        (25, "a wrong IPv4 header checksum"),
        (17, "another length in its IP header"),
        (41, "another sequence number"),
        (47, "other TCP flags"),
        (51, "a wrong TCP checksum"),
        (54, "other payload than was sent"),
        (22, "another byte 22"),
    ] {
        let request = SENT.iter().find(|request| request.bit == Caps::TSO4).unwrap();
        let told = words::difference(request, &change(request, at));
        assert_eq!(told, Some(format!("a probe frame came back with {words}")));
    }
}

#[test]
fn a_receive_unit_must_say_good_and_give_the_sum_of_the_bytes() {
    let receive: fn(&[Vec<u8>]) -> Vec<Seen> = |frames| {
        let seen = |bytes: &Vec<u8>| Seen {
            bytes: bytes.clone(),
            l3: Csum::Unknown,
            l4: Csum::Unknown,
            known: Some(Known { from: 14, sum: 7 }),
            joined: None,
        };
        frames.iter().map(seen).collect()
    };
    let claims = Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP | Caps::RX_COMPLETE | Caps::RX_HW_GRO;
    let (granted, reasons) = probe(&mut Forged { send: |_| vec![], receive }, claims).unwrap();
    assert_eq!(granted, Caps::empty());
    let why: Vec<&str> = reasons.iter().map(|reason| reason.why.as_str()).collect();
    assert_eq!(
        why,
        [
            RIGHT_NOT_GOOD,
            "the sum that came with a probe frame is not that of its bytes",
            "means nothing without rx_ip, rx_tcp",
        ]
    );
    // What is joined wrongly is found by its bytes.
    let joined: fn(&[Vec<u8>]) -> Vec<Seen> = |frames| {
        let bytes = frames.concat();
        vec![Seen { bytes, l3: Csum::Good, l4: Csum::Partial, known: None, joined: Some((3, 512)) }]
    };
    let (_, reasons) =
        probe(&mut Forged { send: |_| vec![], receive: joined }, Caps::RX_HW_GRO).unwrap();
    assert!(reasons[0].why.contains("cannot be cut into what was sent"), "{reasons:?}");
}
