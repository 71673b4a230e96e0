//! C: superpackets and what they are taken for on their way through tunnels.

use crate::support::{HOP, Lane, VXLAN, inside, timed};
use crate::whole::Whole;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Partial, SegKind};
use corelane_wire::testing::{
    Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan, assert_same_frames, assert_sound,
};

fn in_vxlan(inner: &[u8], id: u16, checksum: Checksum) -> Vec<u8> {
    let udp = Udp { dst_port: VXLAN, checksum, ..Udp::default() };
    let outer = FrameBuilder::new().ipv4(Ipv4 { id, ..Ipv4::default() }).udp(udp);
    outer.vxlan(Vxlan::default()).payload(inner).build()
}

/// C1: what a superpacket is to be cut into grows by the header that is taken off.
#[test]
fn c1_segments_keep_their_size_through_decapsulation() {
    for (sizes, checksum) in [
        ([1348, 30], Checksum::Value(0)),
        ([1348, 30], Checksum::Right),
        ([30, 12], Checksum::Right),
        ([1348, 1348], Checksum::Right),
    ] {
        let mut seq = 1;
        let inner = sizes.map(|len: u32| {
            let tcp = Tcp { seq, ..Tcp::default() };
            seq += len;
            FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).payload_len(len as usize).build()
        });
        let outer = inner.iter().zip(1..).map(|(inner, id)| in_vxlan(inner, id, checksum));
        let outer = timed(outer.collect());
        for stages in [
            "Gro, Decap(Vxlan()), Gso,",
            "ChecksumValidate, Gro, Decap(Vxlan()), Ring(\"cut\"), Gso, ChecksumFill,",
        ] {
            for tx in [Caps::empty(), Caps::MULTI_PART, Caps::asked()] {
                let ran = Lane { tx, ..Lane::new(stages, outer.clone()) }.simulate();
                ran.assert_lossless(stages);
                assert_eq!(ran.counter("Gro", "merged"), 1, "{stages}");
                assert_same_frames(&ran.bytes(), &inner);
            }
        }
    }
}

/// TCP over IPv6 in one piece, 1428 bytes of payload a segment.
fn super6() -> Whole {
    let tcp = Tcp { checksum: Checksum::Partial, ..Tcp::default() };
    let bytes = FrameBuilder::new().ipv6(Ipv6::default()).tcp(tcp).payload_len(14_280).build();
    Whole::cut(bytes, SegKind::Tcp6, Partial { start: 54, field: 70 }, 74, 1428)
}

/// C2: a superpacket is judged by its whole length, and not by that of a segment.
#[test]
fn c2_a_superpacket_is_held_against_the_mtu_segment_by_segment() {
    let tunnel = format!("Vxlan(vni: 42, local: \"2001:db8::1\", remote: \"2001:db8::9\", {HOP})");
    // A segment has 1,488 bytes, in the tunnel 70 more.
    for (stages, mtu, sent) in [
        (String::new(), 1488, 10),
        (String::new(), 1487, 0),
        (format!("Encap(tunnel: {tunnel}, oversize: [Drop]),"), 1558, 10),
        (format!("Encap(tunnel: {tunnel}, oversize: [Drop]),"), 1557, 0),
    ] {
        for tx in [Caps::empty(), Caps::MULTI_PART, Caps::asked()] {
            let lane = Lane { tx, mtu: Some(mtu), ..Lane::of_host(&stages, vec![super6()]) };
            let ran = lane.simulate();
            let context = format!("MTU {mtu}, {tx:?}: {stages}");
            ran.assert_clean(&context);
            assert_eq!(ran.frames.len(), sent, "{context}: {:?}", ran.drops());
            ran.bytes().into_iter().for_each(assert_sound);
            let drops = ran.drops();
            let too_big = drops.iter().filter(|(why, _)| why.ends_with(".too_big"));
            assert_eq!(too_big.count(), usize::from(sent == 0), "{context}: {drops:?}");
        }
    }
}

/// C11: a superpacket of UDP whose datagrams are each a VXLAN packet.
#[test]
fn c11_a_train_of_vxlan_datagrams_gives_one_inner_packet_a_datagram() {
    let inner = |n: u32| {
        let tcp = Tcp { seq: n * 200, ..Tcp::default() };
        FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).payload_len(200).build()
    };
    let inner: Vec<Vec<u8>> = (0..6).map(inner).collect();
    let datagrams = inner.iter().map(|inner| in_vxlan(inner, 1, Checksum::Right)[42..].to_vec());
    let payload = datagrams.collect::<Vec<_>>().concat();
    let udp = Udp { dst_port: VXLAN, checksum: Checksum::Partial, ..Udp::default() };
    let bytes = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload(&payload).build();
    let size = payload.len() / 6;
    let whole = Whole::cut(bytes, SegKind::Udp4, Partial { start: 34, field: 40 }, 42, size);
    for stages in ["Decap(Vxlan()),", "ChecksumValidate, Gro, Decap(Vxlan()), Gro,"] {
        for tx in [Caps::empty(), Caps::asked()] {
            let ran = Lane { tx, ..Lane::of_host(stages, vec![whole.clone()]) }.simulate();
            ran.assert_lossless(stages);
            assert_eq!(ran.counter("Decap", "trains"), 1, "{stages}");
            assert_same_frames(&ran.bytes(), &inner);
        }
    }
    // Left alone it is cut into the datagrams that it is made of.
    let ran = Lane::of_host("", vec![whole]).simulate();
    ran.assert_lossless("no tunnel ends here");
    let found = ran.bytes().into_iter().filter_map(|frame| inside(frame, &[VXLAN]));
    assert_same_frames(&found.collect::<Vec<_>>(), &inner);
}
