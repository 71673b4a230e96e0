//! Checksums of tunnels: GRE's own, levels that meta does not track, and UDP over IPv6 that has none.

use super::{frame, harness, outcome, received, tunnel, validate};
use crate::checksum_validate::{ChecksumValidate, OnBad};
use corelane_runtime::packet::Csum;
use corelane_runtime::stage::{Args, Declared, Nowhere};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{
    Checksum, FrameBuilder, Gre, Ipv4, Ipv6, Tcp, Udp, Vxlan, assert_sound, problems,
};

fn configured(text: &str) -> Harness {
    let spec = ChecksumValidate::spec();
    let config = spec.configure(Args { text: &format!("({text})") }).expect("sound arguments");
    Harness::built(config.build(&mut Nowhere).expect("no port"), spec.info()).outputs(2)
}

/// TCP in GRE with such a checksum, over IPv4 or IPv6.
fn gre(v6: bool, checksum: Checksum, inner: Checksum) -> Vec<u8> {
    let start = FrameBuilder::new();
    let ip = if v6 { start.ipv6(Ipv6::default()) } else { start.ipv4(Ipv4::default()) };
    let gre = Gre { checksum: Some(checksum), key: Some(7), ..Gre::default() };
    ip.gre(gre).inside(frame(false, false, inner, 501)).build()
}

fn has(counters: &[(&'static str, u64)], name: &str) -> bool {
    counters.contains(&(name, 1))
}

#[test]
fn the_checksum_of_gre_covers_all_it_carries_and_the_payload_is_read_once() {
    for v6 in [false, true] {
        let cases = [
            (Checksum::Right, "outer.gre.good", Csum::Good),
            (Checksum::OtherZero, "outer.gre.good", Csum::Good),
            (Checksum::Wrong, "outer.gre.corrupt", Csum::Bad),
        ];
        for (checksum, counter, state) in cases {
            let (counters, states) = outcome(&gre(v6, checksum, Checksum::Right));
            assert!(has(&counters, counter) && has(&counters, "inner.tcp.good"), "{counters:?}");
            assert_eq!(states, [state, Csum::Good]);
        }
        let mut harness = harness(OnBad::Mark);
        let packet = received(&mut harness, &gre(v6, Checksum::Right, Checksum::Right), &[90, 300]);
        let packet = validate(&mut harness, packet);
        assert_eq!(harness.tally().payload_bytes_summed, 501);
        harness.release([packet]);
    }
}

#[test]
fn without_the_flag_there_is_no_checksum_of_gre() {
    let inner = || frame(true, true, Checksum::Right, 99);
    let frame = FrameBuilder::new().ipv4(Ipv4::default()).gre(Gre::default()).inside(inner());
    let (counters, _) = outcome(&frame.build());
    assert!(!counters.iter().any(|(name, _)| name.contains("gre")), "{counters:?}");
    // A frame that carries no IP has a checksum of GRE all the same.
    let sum = Gre { checksum: Some(Checksum::Right), protocol: Some(0x8847), ..Gre::default() };
    let opaque = FrameBuilder::new().ipv4(Ipv4::default()).gre(sum).payload(&[9; 77]).build();
    let mut harness = harness(OnBad::Mark);
    let packet = received(&mut harness, &opaque, &[]);
    let packet = validate(&mut harness, packet);
    assert!(has(&harness.counters(), "outer.gre.good"));
    harness.release([packet]);
}

#[test]
fn gre_that_cannot_be_judged_says_so() {
    let more = Ipv4 { more_fragments: true, ..Ipv4::default() };
    let long = Ipv4 { total_length: Some(900), ..Ipv4::default() };
    let sum = || Gre { checksum: Some(Checksum::Right), ..Gre::default() };
    for (ip, counter) in [(more, "outer.gre.unverifiable"), (long, "outer.gre.overrun")] {
        let frame = FrameBuilder::new().ipv4(ip).gre(sum()).payload(&[1; 80]).build();
        let (counters, _) = outcome(&frame);
        assert!(has(&counters, counter), "{counters:?}");
    }
}

#[test]
fn a_wrong_checksum_of_gre_is_a_reason_to_drop() {
    let mut harness = configured("on_bad: Drop");
    let packet = received(&mut harness, &gre(false, Checksum::Wrong, Checksum::Right), &[]);
    harness.feed([packet], &[1]);
    assert_eq!(harness.dropped("bad_gre").packets, 1);
    harness.finish();
}

#[test]
fn levels_around_those_that_are_tracked_are_checked_and_counted() {
    let inner = frame(false, false, Checksum::Right, 200).build();
    let three = |outer, middle| tunnel(&tunnel(&inner, middle), outer);
    let cases = [
        (three(Checksum::Right, Checksum::Right), "outer.udp.good", "inner.udp.good"),
        (three(Checksum::Wrong, Checksum::Value(0)), "outer.udp.corrupt", "inner.udp.zero"),
        (three(Checksum::Value(0), Checksum::Wrong), "outer.udp.zero", "inner.udp.corrupt"),
    ];
    for (frame, outer, middle) in cases {
        let mut harness = harness(OnBad::Mark);
        let packet = received(&mut harness, &frame, &[]);
        let packet = validate(&mut harness, packet);
        let counters = harness.counters();
        for name in [outer, middle, "inner.tcp.good", "outer.ipv4.good", "inner.ipv4.good"] {
            assert!(has(&counters, name), "{name}: {counters:?}");
        }
        assert_eq!(harness.tally().payload_bytes_summed, 200);
        harness.release([packet]);
        harness.finish();
    }
    let mut harness = configured("on_bad: Drop");
    let packet = received(&mut harness, &three(Checksum::Wrong, Checksum::Right), &[]);
    harness.feed([packet], &[1]);
    assert_eq!(harness.dropped("bad_udp").packets, 1, "the outermost alone is wrong");
    harness.finish();
}

/// UDP over IPv6 without a checksum to this port: as VXLAN where that is one of its ports.
fn zero6(port: u16) -> Vec<u8> {
    let udp = Udp { dst_port: port, ..Udp::vxlan() };
    let builder = FrameBuilder::new().ipv6(Ipv6::default()).udp(udp);
    let inner = FrameBuilder::new().ipv4(Ipv4::default()).tcp(Tcp::default()).payload(b"hi");
    builder.vxlan(Vxlan::default()).inside(inner).build()
}

/// Field report B3: an IPv6 underlay whose UDP checksum is zero vanishes without a trace.
#[test]
fn b3_zero_checksum_over_ipv6_is_dropped_by_name_unless_the_port_is_accepted() {
    // (arguments, port, what becomes of it)
    let cases = [
        ("", 4789, "udp6_zero_checksum"),
        ("zero6_ports: [4789]", 4789, "next"),
        ("zero6_ports: [4789]", 53, "udp6_zero_checksum"),
        ("on_zero6: Pass", 4789, "next"),
        ("on_zero6: Output(\"odd\")", 4789, "odd"),
        ("on_zero6: Output(\"odd\"), zero6_ports: [53, 4789]", 4789, "next"),
    ];
    for (text, port, expected) in cases {
        let frame = zero6(port);
        let mut harness = configured(text);
        let packet = received(&mut harness, &frame, &[]);
        harness.feed([packet], &[1]);
        let dropped = harness.dropped("udp6_zero_checksum").packets;
        let (next, odd) = (harness.take_from(0), harness.take_from(1));
        let went = match (dropped, next.len(), odd.len()) {
            (1, 0, 0) => "udp6_zero_checksum",
            (0, 1, 0) => "next",
            (0, 0, 1) => "odd",
            _ => panic!("{text}: one packet goes one way"),
        };
        assert_eq!(went, expected, "{text:?}, port {port}");
        let accepted = text.contains(&port.to_string());
        assert_eq!(has(&harness.counters(), "outer.udp.zero6"), !accepted, "{text:?}");
        assert!(has(&harness.counters(), "outer.udp.zero"));
        harness.release(next.into_iter().chain(odd));
        harness.finish();
    }
}

#[test]
fn zero_over_ipv4_is_nobodys_concern() {
    let frame = frame(false, true, Checksum::Value(0), 10).build();
    assert_sound(&frame);
    let mut harness = configured("");
    let packet = received(&mut harness, &frame, &[]);
    harness.feed([packet], &[1]);
    assert_eq!(harness.take_frames(), [frame]);
    harness.finish();
}

#[test]
fn the_oracle_calls_the_same_gre_wrong() {
    let wrong = gre(false, Checksum::Wrong, Checksum::Right);
    assert_eq!(problems(&wrong), ["byte 34: wrong GRE checksum"]);
}
