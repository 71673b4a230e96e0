//! The probe vectors against another crate, honest devices, and every lie.

use super::vectors::{Sent, sent};
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

/// The sum of all 16-bit words as a plain number.
fn word_sum(bytes: &[u8]) -> u64 {
    let words =
        bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&b| b.into()));
    words.sum()
}

/// The Ethernet frame inside a probe frame in a tunnel, whose outer headers must be right; any other frame as it is.
fn unwrapped(request: &Sent, frame: &[u8]) -> Vec<u8> {
    let sliced = SlicedPacket::from_ethernet(frame).unwrap();
    let (outer, protocol, payload) = match sliced.net.as_ref().unwrap() {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.calc_header_checksum(), header.header_checksum, "{request:?}");
            let addresses = [header.source, header.destination].concat();
            (addresses, header.protocol.0, ip.payload().payload)
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            let addresses = [header.source(), header.destination()].concat();
            (addresses, header.next_header().0, ip.payload().payload)
        }
        other => panic!("{other:?}"),
    };
    let ethernet = |kind: [u8; 2], packet: &[u8]| [&[2; 12][..], &kind, packet].concat();
    match protocol {
        17 if matches!(payload[2..4], [0x12, 0xb5] | [0x17, 0xc1]) => {
            assert_eq!(usize::from(payload[4]) << 8 | usize::from(payload[5]), payload.len());
            let with_checksum = payload[6..8] != [0, 0];
            let sum = word_sum(&outer) + 17 + payload.len() as u64 + word_sum(payload);
            assert!(!with_checksum || sum.is_multiple_of(0xffff), "{request:?}");
            let options = if payload[2] == 0x12 { 0 } else { usize::from(payload[8]) * 4 };
            payload[16 + options..].to_vec()
        }
        47 if payload[0] & 0x80 != 0 => {
            assert_eq!(word_sum(payload) % 0xffff, 0, "{request:?}");
            ethernet([payload[2], payload[3]], &payload[12..])
        }
        47 => ethernet([payload[2], payload[3]], &payload[8..]),
        4 => ethernet([0x08, 0], payload),
        41 => ethernet([0x86, 0xdd], payload),
        _ => frame.to_vec(),
    }
}

/// The frames of a request, without the tunnels around them.
fn frames_inside(request: &Sent) -> Vec<Vec<u8>> {
    request.frames().iter().map(|frame| unwrapped(request, frame)).collect()
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
    for request in sent().filter(|request| !is_generic(request)) {
        let mut whole = Vec::new();
        for frame in frames_inside(request) {
            let (right, found, payload) = judged(&frame);
            assert_eq!(right, found, "{request:?}");
            whole.extend(payload);
        }
        assert_eq!(whole, vectors::payload(0, request.payload).collect::<Vec<_>>(), "{request:?}");
    }
}

#[test]
fn an_unknown_protocol_sums_to_all_ones() {
    let generic = sent().find(|request| is_generic(request)).unwrap();
    let frame = generic.frames().remove(0);
    let sliced = SlicedPacket::from_ethernet(&frame).unwrap();
    let Some(NetSlice::Ipv4(ip)) = sliced.net else { panic!("{sliced:?}") };
    assert_eq!(ip.header().protocol(), IpNumber(253));
    let payload = ip.payload().payload;
    let pseudo = [&ip.header().source()[..], &ip.header().destination(), &[0, 253]].concat();
    let bytes = [pseudo, (payload.len() as u16).to_be_bytes().to_vec(), payload.to_vec()].concat();
    assert_eq!(word_sum(&bytes) % 0xffff, 0);
}

#[test]
fn a_udp_checksum_is_never_zero_and_both_families_have_one_that_would_be() {
    for bit in [Caps::TX_UDP4, Caps::TX_UDP6] {
        let of_bit = sent().filter(|request| request.bit == bit);
        let fields: Vec<u16> = of_bit.map(|request| judged(&request.frames()[0]).1).collect();
        assert!(fields.contains(&0xffff) && !fields.contains(&0), "{fields:?}");
    }
}

#[test]
fn segments_count_as_their_bit_says() {
    for request in sent() {
        let Some((_, gso_size, flags)) = request.cut else { continue };
        let frames = frames_inside(request);
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
        let wire = request.frames();
        if request.asks.l4[1].is_some() && wire[0][14] >> 4 == 4 {
            let id = |frame: &[u8]| u16::from_be_bytes([frame[18], frame[19]]);
            let steps = wire.windows(2).map(|pair| id(&pair[1]).wrapping_sub(id(&pair[0])));
            assert!(steps.into_iter().all(|step| step == 1), "outer IDs count up: {request:?}");
        }
        let padded = flags.contains(SegFlags::PAD_LAST);
        assert_eq!(padded, request.back.last().unwrap().padding > 0);
        assert!(!padded || frames.last().unwrap().len() == 60);
    }
}

#[test]
fn every_bit_that_can_be_tried_is() {
    let sent = sent().map(|request| request.bit).collect::<Caps>();
    let received = RECEIVED.iter().map(|(bit, _)| *bit).collect::<Caps>();
    let untried = Caps::RX_HASH | Caps::MULTI_PART;
    let all = sent | received | untried;
    // More may be tried than is asked for.
    assert!(all.contains(Caps::asked()), "not tried: {}", (Caps::asked() - all).names());
    assert!(!untried.intersects(sent | received));
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

/// A capability with all that mean nothing without it.
fn standing_on(bit: Caps) -> Caps {
    all() - (all() - bit).without_orphans()
}

/// Cutting, in a tunnel and outside.
fn cuts() -> Caps {
    standing_on(Caps::TSO4) | Caps::TSO6 | Caps::USO4 | Caps::USO6
}

#[test]
fn every_lie_is_found_and_told() {
    let judges = Caps::RX_IP | Caps::RX_TCP | Caps::RX_UDP | Caps::RX_OUTER_IP | Caps::RX_OUTER_UDP;
    let sums = Caps::TX_CHECKSUMS | Caps::TX_GENERIC | Caps::TX_OUTER_UDP;
    let outer_sums = Caps::TSO_VXLAN_CSUM | Caps::TSO_GENEVE_CSUM | Caps::TX_OUTER_UDP;
    let tunnels = Caps::TSO_VXLAN
        | Caps::TSO_VXLAN_CSUM
        | Caps::TSO_GENEVE
        | Caps::TSO_GENEVE_CSUM
        | Caps::TSO_GRE
        | Caps::TSO_GRE_CSUM
        | Caps::TSO_IPIP;
    for (lie, lost, bit, why) in [
        (Lies::SKIP_CHECKSUM, cuts() | sums, Caps::TX_TCP6, "a wrong TCP checksum"),
        (Lies::SKIP_CHECKSUM, cuts() | sums, Caps::TX_GENERIC, "a wrong checksum"),
        (Lies::SKIP_CHECKSUM, cuts() | sums, Caps::TSO_GENEVE, "a wrong TCP checksum"),
        (Lies::CORRUPT_LAST_SEGMENT, cuts(), Caps::USO6, "other payload than was sent"),
        (Lies::CORRUPT_LAST_SEGMENT, cuts(), Caps::TSO_IPIP, "other payload than was sent"),
        // Whoever asks for one ID gets what was asked for, but cannot do without counting.
        (Lies::SAME_IP_ID, standing_on(Caps::TSO4) | Caps::USO4, Caps::TSO4, "another IPv4 ID"),
        (Lies::SAME_IP_ID, standing_on(Caps::TSO4) | Caps::USO4, Caps::TSO_GRE, "another IPv4 ID"),
        (Lies::OUTER_LENGTH, tunnels, Caps::TSO_GRE, "another length in its outer IP header"),
        (
            Lies::SKIP_OUTER_CHECKSUM,
            outer_sums | Caps::TSO_GRE_CSUM,
            Caps::TSO_GRE_CSUM,
            "a wrong GRE checksum",
        ),
        (
            Lies::SKIP_OUTER_CHECKSUM,
            outer_sums | Caps::TSO_GRE_CSUM,
            Caps::TX_OUTER_UDP,
            "a wrong outer UDP checksum",
        ),
        (
            Lies::SKIP_OUTER_CHECKSUM,
            outer_sums | Caps::TSO_GRE_CSUM,
            Caps::TSO_VXLAN_CSUM,
            "a wrong outer UDP checksum",
        ),
        (
            Lies::SAME_OUTER_IP_ID,
            tunnels | Caps::GSO_PARTIAL,
            Caps::GSO_PARTIAL,
            "another outer IPv4 ID",
        ),
        (
            Lies::SKIP_IP_CHECKSUM,
            Caps::TX_IP | Caps::TX_OUTER_IP,
            Caps::TX_IP,
            "a wrong IPv4 header checksum",
        ),
    ] {
        told(lie, lost, bit, &format!("a probe frame came back with {why}"));
    }
    let received = judges | Caps::RX_HW_GRO;
    told(Lies::REPORT_BAD_AS_GOOD, received, Caps::RX_UDP, WRONG_AS_GOOD);
    told(Lies::REPORT_BAD_AS_GOOD, received, Caps::RX_OUTER_UDP, WRONG_AS_GOOD);
    let none = probed(all(), Lies::all());
    let headers = Caps::TX_IP | Caps::TX_OUTER_IP;
    assert_eq!(none.granted, all() - cuts() - sums - received - headers);
}

/// A device that tells this lie loses these capabilities, one of them with these words.
fn told(lie: Lies, lost: Caps, bit: Caps, why: &str) {
    let facts = probed(all(), lie);
    assert_eq!(facts.granted, all() - lost, "{lie:?}");
    assert_eq!(facts.why(bit), Some(why), "{lie:?}: {}", bit.names());
    for bit in lost {
        assert!(facts.why(bit).is_some(), "{lie:?}: no reason for {}", bit.names());
    }
}

/// What is asked for, and what else can be tried.
fn all() -> Caps {
    Caps::asked() | Caps::TSO_GRE_CSUM
}

/// The header checksum that a device claims and leaves as it is costs it that claim, and nothing else.
#[test]
fn e10_ipv4_header_checksum_claimed_and_not_done() {
    let facts = probed(all(), Lies::SKIP_IP_CHECKSUM);
    assert_eq!(facts.granted, all() - Caps::TX_IP - Caps::TX_OUTER_IP);
}

#[test]
fn an_outer_checksum_is_tried_only_with_an_inner_one_that_it_covers() {
    let facts = probed(Caps::TX_OUTER_UDP, Lies::SKIP_OUTER_CHECKSUM);
    assert_eq!(facts.granted, Caps::TX_OUTER_UDP, "nobody can ask it for that");
    let caps = (Caps::TX_OUTER_UDP | Caps::TSO_VXLAN).with_implied();
    assert_eq!(probed(caps, Lies::SKIP_OUTER_CHECKSUM).granted, caps - Caps::TX_OUTER_UDP);
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
        let request = sent().find(|request| request.bit == Caps::TSO4).unwrap();
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
