//! The stage at work: where packets go, what is counted, and fields that are not in the bytes.

use super::{Place, classifier, packet};
use crate::classify::config::INFO;
use crate::classify::headers::Headers;
use crate::classify::{ClassifySpec, table};
use crate::fixture::received;
use corelane_runtime::packet::{Level, Packet, SegFlags, SegKind, Segmentation, Taken, Tunnel};
use corelane_runtime::stage::{Args, StageConfig, StageSpec};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{FrameBuilder, Gre, Ipv4, Ipv6, Tcp, Udp, Vxlan};

fn build(args: &str) -> (Box<dyn StageConfig>, Harness) {
    let config = ClassifySpec.configure(Args { text: args }).expect("right arguments");
    let built = config.build(&mut Place::default()).expect("a stage");
    let outputs = 1 + config.traits().outputs.len();
    let extra = config.extra_counters().len();
    (config, Harness::built(built, &INFO).outputs(outputs).extra_counters(extra))
}

fn to_port(port: u16) -> Vec<u8> {
    let udp = Udp { dst_port: port, ..Udp::default() };
    FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).payload(b"ten bytes.").build()
}

#[test]
fn packets_go_where_the_first_rule_says_and_are_counted_there() {
    let (_, mut harness) = build(
        "(rules: [(udp_dst: 1, to: \"a\"), (udp_dst: 1..=2, to: \"b\"), (udp_dst: 3, set_mark: 9)], otherwise: \"a\")",
    );
    for port in [1, 2, 2, 3, 3, 3, 4] {
        let packet = received(&mut harness, &to_port(port), &[]);
        harness.push(packet);
    }
    harness.run();
    // Rule by rule behind the one of the kind.
    assert_eq!(harness.tally().counters, [1, 1, 2, 3]);
    let next = harness.take();
    assert_eq!(next.iter().map(Packet::mark).collect::<Vec<_>>(), [9, 9, 9]);
    let (a, b) = (harness.take_from(1), harness.take_from(2));
    assert_eq!((a.len(), b.len()), (2, 2));
    harness.release(next.into_iter().chain(a).chain(b));
    harness.finish();
}

/// Whether a packet matches a rule.
fn holds(rule: &str, packet: &Packet) -> bool {
    let classifier = classifier(&[rule.to_owned()], &Place::default());
    classifier.find(&Headers::of(packet)).is_some()
}

#[test]
fn what_was_taken_off_is_known_where_nothing_stands_in_its_place() {
    let mut harness = Harness::new(crate::count::Count {}, &INFO);
    let mut plain = packet(&mut harness, &to_port(1), 0, 0);
    assert!(!holds("(vni: 0..=16777215)", &plain));
    plain.meta_mut().taken = Taken::tunnel(42);
    assert!(holds("(vni: 42, vlan: Untagged)", &plain) && !holds("(vni: Not(42))", &plain));
    // Its addresses went with it.
    assert!(!holds("(tunnel_src: \"0.0.0.0/0\")", &plain));
    plain.meta_mut().taken = Taken::vlan(0xf00a);
    assert!(holds("(vlan: 10)", &plain) && !holds("(vlan: Untagged)", &plain));
    let tagged = FrameBuilder::new().vlan(0x2014).ipv4(Ipv4::default()).udp(Udp::default()).build();
    let mut tagged = packet(&mut harness, &tagged, 0, 0);
    tagged.meta_mut().taken = Taken::vlan(10);
    assert!(holds("(vlan: 20)", &tagged));
    harness.release([plain, tagged]);
}

#[test]
fn headers_are_the_outermost_that_are_left() {
    let mut harness = Harness::new(crate::count::Count {}, &INFO);
    let inner = to_port(7);
    let ip = |last: u8| Ipv4 { src: [10, 0, 0, last], dst: [10, 0, 1, last], ..Ipv4::default() };
    let vxlan = |inner: &[u8], last: u8| {
        let vxlan = Vxlan { vni: last.into(), ..Vxlan::default() };
        FrameBuilder::new().ipv4(ip(last)).udp(Udp::vxlan()).vxlan(vxlan).payload(inner).build()
    };
    let mut frame = inner;
    for depth in 1..=5 {
        frame = vxlan(&frame, depth);
        let packet = packet(&mut harness, &frame, 0, 0);
        let network = format!("\"10.0.0.{depth}\"");
        let rule = format!("(udp_dst: 4789, vni: {depth}, src: {network}, tunnel_src: {network})");
        assert!(holds(&rule, &packet), "{rule}");
        assert!(!holds("(udp_dst: 7)", &packet));
        harness.buffers.release(packet);
    }
    let inside = FrameBuilder::bare().ipv4(ip(9)).tcp(Tcp::default());
    let gre = Gre { key: Some(0xffff_fff0), ..Gre::default() };
    let frame = FrameBuilder::new().ipv6(Ipv6::default()).gre(gre).inside(inside).build();
    let packet = packet(&mut harness, &frame, 0, 0);
    assert!(holds("(gre_key: 4294967280, proto: Gre, ethertype: Ipv6)", &packet));
    assert!(!holds("(tcp_dst: 0..=65535)", &packet) && !holds("(vni: 0..=16777215)", &packet));
    harness.buffers.release(packet);
}

/// A tunnel on a port of its own, known by what was noted when it was put there.
#[test]
fn a_tunnel_on_another_port_is_known_by_its_layers() {
    let mut harness = Harness::new(crate::count::Count {}, &INFO);
    let inner = to_port(7);
    let udp = Udp { dst_port: 999, ..Udp::default() };
    let vxlan = Vxlan { vni: 42, ..Vxlan::default() };
    let frame =
        FrameBuilder::new().ipv4(Ipv4::default()).udp(udp).vxlan(vxlan).payload(&inner).build();
    let mut whole = packet(&mut harness, &frame, 0, 0);
    assert!(!holds("(vni: 42)", &whole));
    let outer = whole.meta().layers.levels[0];
    let moved = |at: u16| at + 50;
    let inside = packet(&mut harness, &inner, 0, 0);
    let level = inside.meta().layers.levels[0];
    let inner_level = Level {
        l2: moved(level.l2),
        l3: moved(level.l3),
        l4: moved(level.l4),
        payload: moved(level.payload),
        ..level
    };
    let mut layers = whole.meta().layers;
    layers.levels = [outer, inner_level];
    (layers.count, layers.tunnel) = (2, Tunnel::Vxlan);
    whole.set_layers(layers, 10);
    assert!(holds("(vni: 42, tunnel_dst: \"0.0.0.0/0\", udp_dst: 999)", &whole));
    harness.release([whole, inside]);
}

/// What a tunnel for IP carried has no link header; a superpacket's own lengths say nothing.
#[test]
fn packets_without_link_header_and_superpackets_are_classified_too() {
    let mut harness = Harness::new(crate::count::Count {}, &INFO);
    let ip = Ipv4 { src: [10, 0, 0, 1], ..Ipv4::default() };
    let frame = FrameBuilder::new()
        .ipv4(ip)
        .tcp(Tcp { dst_port: 80, ..Tcp::default() })
        .payload(&[0; 64])
        .build();
    let mut bare = packet(&mut harness, &frame, 0, 0);
    bare.pull(14, &mut harness.buffers);
    let mut layers = bare.meta().layers;
    let level = &mut layers.levels[0];
    (level.l2, level.l3) = (0, 0);
    (level.l4, level.payload) = (level.l4 - 14, level.payload - 14);
    bare.set_layers(layers, 64);
    assert!(holds("(src: \"10.0.0.1\", tcp_dst: 80, length: 104, vlan: Untagged)", &bare));
    for rule in ["(ethertype: 0..=65535)", "(eth_src: \"00:00:00:00:00:00/0\")"] {
        assert!(!holds(rule, &bare), "{rule}");
    }
    let mut joined = packet(&mut harness, &frame, 0, 0);
    let segmentation =
        Segmentation { kind: SegKind::Tcp4, gso_size: 32, count: 2, flags: SegFlags::empty() };
    joined.set_segmentation(segmentation);
    assert!(holds("(proto: Tcp, fragment: No, tcp_dst: 80)", &joined));
    harness.release([bare, joined]);
}

#[test]
fn no_rule_is_found_among_none() {
    let mut harness = Harness::new(crate::count::Count {}, &INFO);
    let packet = packet(&mut harness, &to_port(1), 0, 0);
    assert_eq!(table::Classifier::default().find(&Headers::of(&packet)), None);
    harness.buffers.release(packet);
}
