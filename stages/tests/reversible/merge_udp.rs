//! What `Gro` merges of UDP (C.1 and K of our notes of the kernel's self-tests), how many flows it holds, and
//! for how long (A.7, VPP's R22).

use crate::cases::{V4, expect, p};
use crate::rig::{Frame, Rig, payloads};
use corelane_stages::config::Nanoseconds;
use corelane_stages::gro::GroConfig;
use corelane_wire::testing::{Checksum, FrameBuilder, Ipv4, Ipv6, Tcp, Udp};

// C and K: UDP.

fn udp(len: usize, edit: impl FnOnce(&mut Udp)) -> Frame {
    let mut header = Udp::default();
    edit(&mut header);
    Frame::new(FrameBuilder::new().ipv4(Ipv4::default()).udp(header).payload_len(len).build())
}

fn datagrams(lens: &[usize]) -> Vec<Frame> {
    lens.iter().map(|&len| udp(len, |_| {})).collect()
}

#[test]
fn udp_trains() {
    let all =
        |lens: &[usize], expected: &[u32]| expect(GroConfig::default(), datagrams(lens), expected);
    all(&[1472; 10], &[14_720]);
    all(&[500; 4], &[2000]);
    all(&[100, 50, 100], &[150, 100]);
    all(&[50, 100], &[50, 100]);
    all(&[0, 0], &[0, 0]);
    all(&[100, 0, 100], &[100, 0, 100]);
    all(&[300], &[300]);
    let counters = all(&[100; 65], &[6400, 100]);
    assert!(counters.contains(&("ended.size", 1)));
    let config = GroConfig { max_datagrams: 128, ..GroConfig::default() };
    expect(config, datagrams(&[100; 130]), &[12_800, 200]);
}

#[test]
fn udp_over_ipv6_and_the_largest_packet() {
    let frame = || {
        let builder = FrameBuilder::new().ipv6(Ipv6::default()).udp(Udp::default());
        Frame::new(builder.payload_len(1452).build())
    };
    // 45 datagrams make 65,388 bytes of IPv6 packet; one more would not fit the length field.
    expect(GroConfig::default(), vec![frame(); 46], &[65_340, 1452]);
}

#[test]
fn udp_without_checksum_or_with_odd_lengths_passes() {
    let none = || udp(100, |udp| udp.checksum = Checksum::Value(0));
    expect(GroConfig::default(), vec![none(), none()], &[100, 100]);
    let short = || udp(100, |udp| udp.length = Some(58));
    expect(GroConfig::default(), vec![short(), short()], &[50, 50]);
    let long = || udp(100, |udp| udp.length = Some(200));
    expect(GroConfig::default(), vec![udp(100, |_| {}), long()], &[100, 100]);
    let zero = || udp(100, |udp| udp.length = Some(0));
    expect(GroConfig::default(), vec![zero(), zero()], &[100, 100]);
}

#[test]
fn udp_differs_by_port_or_header() {
    let other = || udp(100, |udp| udp.src_port = 1);
    expect(GroConfig::default(), vec![udp(100, |_| {}), other(), other()], &[100, 200]);
    let ttl = |ttl| {
        let builder = FrameBuilder::new().ipv4(Ipv4 { ttl, ..Ipv4::default() });
        Frame::new(builder.udp(Udp::default()).payload_len(100).build())
    };
    expect(GroConfig::default(), vec![ttl(64), ttl(63), ttl(63)], &[100, 200]);
}

#[test]
fn what_is_no_tunnel_passes_where_tunnels_are_and_nothing_overtakes_it() {
    let inner =
        FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).payload_len(60).build();
    let tunnel = || {
        let builder = FrameBuilder::new().ipv4(Ipv4::default());
        let builder = builder.udp(Udp { dst_port: 4789, ..Udp::default() });
        Frame::new(builder.vxlan(Default::default()).payload(&inner).build())
    };
    // The same outer flow, but no tunnel.
    let plain = || udp(100, |udp| udp.dst_port = 4789);
    expect(GroConfig::default(), vec![plain(), plain(), tunnel(), tunnel()], &[100, 100, 60, 60]);
}

// A.7 and R15: capacity and time.

#[test]
fn a_full_table_lets_the_oldest_go() {
    let flow = |port: u16, off| p(V4, off, 100).tcp(|tcp| tcp.src_port = port).build();
    let config = GroConfig { flows: 16, ..GroConfig::default() };
    let mut rig = Rig::new(config);
    let mut frames: Vec<Frame> = (0..17).map(|index| flow(1500 + index, 0)).collect();
    frames.extend((0..17).map(|index| flow(1500 + index, 100)));
    let packets = rig.receive(&frames);
    let merged = rig.merge(packets);
    // Flow 1500 gave way to the seventeenth; it came back and took the place of the next oldest, and so on.
    assert_eq!(merged.len(), 34);
    rig.cut(merged);
    rig.finish();
    let config = GroConfig { flows: 32, ..GroConfig::default() };
    let mut rig = Rig::new(config);
    let packets = rig.receive(&frames);
    let merged = rig.merge(packets);
    assert_eq!(payloads(&merged), [200; 17]);
    rig.cut(merged);
    rig.finish();
}

#[test]
fn a_held_merge_leaves_when_its_time_has_come() {
    let config = GroConfig { hold: Some(Nanoseconds(10_000)), ..GroConfig::default() };
    let mut rig = Rig::new(config);
    let frames: Vec<Frame> = (0..3).map(|index| p(V4, index * 100, 100).build()).collect();
    let mut packets = rig.receive(&frames).into_iter();
    rig.gro.now = 500;
    for now in [500, 5_000] {
        rig.gro.advance(now);
        let packet = packets.next().unwrap();
        assert!(rig.merge(vec![packet]).is_empty());
    }
    rig.gro.advance(10_499);
    assert!(rig.gro.take().is_empty(), "it left early");
    rig.gro.advance(10_500);
    let merged = rig.gro.take();
    assert_eq!(payloads(&merged), [200]);
    assert!(rig.gro.counters().contains(&("ended.time", 1)));
    assert!(rig.merge(packets.collect()).is_empty());
    rig.gro.drain();
    let last = rig.gro.take();
    assert_eq!(payloads(&last), [100]);
    let cut = rig.cut(merged.into_iter().chain(last).collect());
    assert_eq!(frames, cut);
    rig.finish();
}
