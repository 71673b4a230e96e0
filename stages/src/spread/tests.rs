//! A flow goes to one copy, in both directions and whatever was done to its outer headers; flows are shared
//! fairly; the key decides.

use super::{By, INFO, Spread};
use crate::fixture::{KEY, received};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{FrameBuilder, Ipv4, Ipv6, Tcp, Udp, Vxlan, address_v6};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn harness(ways: usize, by: By, key: u64) -> Harness {
    Harness::new(Spread::new(ways, by, key), &INFO).outputs(ways).home(0, 512, 4)
}

/// Which output each frame came out of.
fn ways_of(ways: usize, by: By, key: u64, frames: &[Vec<u8>]) -> Vec<usize> {
    let mut harness = harness(ways, by, key);
    let mut found = Vec::new();
    for frame in frames {
        let packet = received(&mut harness, frame, &[]);
        harness.feed([packet], &[1]);
        let out: Vec<usize> = (0..ways)
            .filter(|&way| {
                let taken = harness.take_from(way);
                let any = !taken.is_empty();
                harness.release(taken);
                any
            })
            .collect();
        assert_eq!(out.len(), 1, "each packet takes one way");
        found.push(out[0]);
    }
    harness.finish();
    found
}

fn tcp(src: u16, dst: u16, payload: usize) -> Vec<u8> {
    let tcp = Tcp { src_port: src, dst_port: dst, ..Tcp::default() };
    FrameBuilder::new().ipv4(Ipv4::default()).tcp(tcp).payload_len(payload).build()
}

/// The same inner frame in a tunnel with an outer source port of its own.
fn tunnelled(outer_port: u16, inner: &[u8]) -> Vec<u8> {
    let udp = Udp { src_port: outer_port, ..Udp::vxlan() };
    let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(udp);
    outer.vxlan(Vxlan::default()).payload(inner).build()
}

#[test]
fn packets_of_a_flow_take_one_way_and_flows_take_all() {
    for by in [By::Flow, By::InnerFlow] {
        let mut shares = BTreeMap::new();
        for flow in 0..200 {
            let frames: Vec<Vec<u8>> = (0..5).map(|n| tcp(1000 + flow, 80, n * 100)).collect();
            let ways = ways_of(4, by, KEY, &frames);
            assert!(ways.iter().all(|way| *way == ways[0]), "{by:?} flow {flow}: {ways:?}");
            *shares.entry(ways[0]).or_insert(0) += 1;
        }
        assert_eq!(shares.len(), 4, "{by:?}");
        assert!(shares.values().all(|&flows| (25..=80).contains(&flows)), "{by:?}: {shares:?}");
    }
}

#[test]
fn another_key_spreads_otherwise() {
    let frames: Vec<Vec<u8>> = (0..64).map(|flow| tcp(1000 + flow, 80, 10)).collect();
    for by in [By::Flow, By::InnerFlow] {
        let [one, other] = [1, 2].map(|key| ways_of(8, by, key, &frames));
        let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        assert!(same < 32, "{by:?}: {same} of 64 flows go the same way under two keys");
    }
}

#[test]
fn an_inner_flow_takes_one_way_whatever_is_around_it() {
    let inner = tcp(1, 80, 40);
    let frames: Vec<Vec<u8>> = (0..20).map(|n| tunnelled(2000 + n, &inner)).collect();
    let ways = ways_of(8, By::InnerFlow, KEY, &frames);
    assert!(ways.iter().all(|way| *way == ways[0]), "{ways:?}");
    // And the flow goes there without its tunnel too.
    assert_eq!(ways_of(8, By::InnerFlow, KEY, &[inner])[0], ways[0]);
}

#[test]
fn fragments_of_a_datagram_take_one_way_though_later_ones_have_no_ports() {
    let fragment = |offset: u16, more: bool| {
        let ip = Ipv4 { fragment_offset: offset, more_fragments: more, id: 9, ..Ipv4::default() };
        FrameBuilder::new().ipv4(ip).udp(Udp::default()).payload_len(64).build()
    };
    let frames = [fragment(0, true), fragment(72, true), fragment(144, false)];
    for by in [By::Flow, By::InnerFlow] {
        let ways = ways_of(16, by, KEY, &frames);
        assert!(ways.iter().all(|way| *way == ways[0]), "{by:?}: {ways:?}");
    }
}

proptest! {
    /// Both directions of a flow go the same way, over both versions of IP.
    #[test]
    fn directions_share_a_way(
        ports in any::<(u16, u16)>(), v6 in any::<bool>(), ways in 1..9_usize, key in any::<u64>(),
    ) {
        let frame = |there: bool| {
            let (src, dst) = if there { ports } else { (ports.1, ports.0) };
            let tcp = Tcp { src_port: src, dst_port: dst, ..Tcp::default() };
            let frame = FrameBuilder::new();
            let (a, b) = (address_v6(1), address_v6(2));
            let frame = match (v6, there) {
                (true, true) => frame.ipv6(Ipv6 { src: a, dst: b, ..Ipv6::default() }),
                (true, false) => frame.ipv6(Ipv6 { src: b, dst: a, ..Ipv6::default() }),
                (false, true) => frame.ipv4(Ipv4 { src: [10, 0, 0, 1], dst: [10, 0, 0, 2], ..Ipv4::default() }),
                (false, false) => frame.ipv4(Ipv4 { src: [10, 0, 0, 2], dst: [10, 0, 0, 1], ..Ipv4::default() }),
            };
            frame.tcp(tcp).payload_len(30).build()
        };
        for by in [By::Flow, By::InnerFlow] {
            let found = ways_of(ways, by, key, &[frame(true), frame(false)]);
            prop_assert_eq!(found[0], found[1]);
        }
    }
}
