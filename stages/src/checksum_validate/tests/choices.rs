//! Where packets go: every choice of every key, for each of bad, partial, unverifiable and sound.

use super::{frame, received, tunnel};
use crate::checksum_fill::{self, ChecksumFill};
use crate::checksum_validate::ChecksumValidate;
use corelane_runtime::offload::Looks;
use corelane_runtime::packet::{Csum, Partial};
use corelane_runtime::stage::{Args, Declared, Nowhere};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{Checksum, FrameBuilder, Ipv4, Udp, assert_sound, problems};

/// The stage with these arguments, and as many outputs as it has.
fn configured(text: &str) -> (Harness, Looks) {
    let spec = ChecksumValidate::spec();
    let config = spec.configure(Args { text }).expect("sound arguments");
    let traits = config.traits();
    let built = config.build(&mut Nowhere).expect("it needs no port");
    let harness = Harness::built(built, spec.info()).outputs(1 + traits.outputs.len());
    (harness, traits.makes)
}

fn kinds() -> [(&'static str, Vec<u8>); 6] {
    let first = Ipv4 { more_fragments: true, ..Ipv4::default() };
    let first = FrameBuilder::new().ipv4(first).udp(Udp::default()).payload(&[5; 64]).build();
    [
        ("sound", frame(false, false, Checksum::Right, 50).build()),
        ("bad tcp", frame(true, false, Checksum::Wrong, 50).build()),
        ("bad udp", frame(false, true, Checksum::Wrong, 50).build()),
        ("partial", frame(false, true, Checksum::Partial, 51).build()),
        ("unverifiable", first),
        ("zero", frame(false, true, Checksum::Value(0), 50).build()),
    ]
}

/// What becomes of each kind: `0` for the next stage, `1..` for an output, or the drop reason.
fn ways(text: &str) -> Vec<(&'static str, String)> {
    let outputs = text.matches("Output").count();
    let way = |(kind, frame): (&'static str, Vec<u8>)| {
        let (mut harness, _) = configured(text);
        let packet = received(&mut harness, &frame, &[]);
        harness.feed([packet], &[1]);
        let reasons = ["bad_ipv4", "bad_tcp", "bad_udp", "partial", "unverifiable"];
        let dropped = reasons.iter().filter(|reason| harness.dropped(reason).packets > 0);
        let mut went: Vec<String> = dropped.map(|reason| (*reason).to_owned()).collect();
        for output in 0..=outputs {
            let packets = harness.take_from(output);
            went.extend(packets.iter().map(|_| output.to_string()));
            for packet in packets {
                assert_eq!(harness.unpack(packet), frame, "no byte is changed");
            }
        }
        harness.finish();
        (kind, went.join(" and "))
    };
    kinds().into_iter().map(way).collect()
}

#[test]
fn every_kind_goes_where_its_key_says() {
    let expect = |text: &str, others: [&str; 4]| {
        let [tcp, udp, partial, unverifiable] = others;
        let expected = [
            ("sound", "0"),
            ("bad tcp", tcp),
            ("bad udp", udp),
            ("partial", partial),
            ("unverifiable", unverifiable),
            ("zero", "0"),
        ];
        assert_eq!(ways(text), expected.map(|(kind, way)| (kind, way.to_owned())), "{text}");
    };
    expect("()", ["0", "0", "0", "0"]);
    expect("(on_bad: Mark, on_partial: Finish)", ["0", "0", "0", "0"]);
    expect("(on_bad: Drop)", ["bad_tcp", "bad_udp", "0", "0"]);
    expect("(on_bad: Output(\"b\"))", ["1", "1", "0", "0"]);
    expect("(on_partial: Drop)", ["0", "0", "partial", "0"]);
    expect("(on_unverifiable: Drop)", ["0", "0", "0", "unverifiable"]);
    let each = "(on_bad: Output(\"b\"), on_unverifiable: Output(\"u\"), on_partial: Output(\"p\"))";
    expect(each, ["1", "1", "2", "3"]);
}

#[test]
fn an_unfinished_checksum_can_be_asked_to_be_finished() {
    for (v6, udp) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut harness, makes) = configured("(on_partial: Finish)");
        assert!(makes.contains(Looks::PARTIAL_TCP4 | Looks::PARTIAL_UDP6));
        let unfinished = frame(v6, udp, Checksum::Partial, 333).build();
        assert!(!problems(&unfinished).is_empty());
        let packet = received(&mut harness, &unfinished, &[]);
        harness.feed([packet], &[1]);
        let packets = harness.take();
        let l4 = if v6 { 54 } else { 34 };
        let field = l4 + if udp { 6 } else { 16 };
        assert_eq!(packets[0].meta().l4[0], Csum::Partial);
        assert_eq!(packets[0].meta().partial[0], Partial { start: l4, field });
        // It was read to be sure that it is not right as it stands; it is not read again.
        let mut fill = Harness::new(ChecksumFill::new(None), &checksum_fill::INFO);
        fill.feed(packets, &[1]);
        assert_eq!((fill.counter("reused"), fill.counter("summed")), (1, 0));
        assert_sound(&fill.take_frames()[0]);
        assert_eq!(
            harness.counter(&format!("outer.{}.partial", if udp { "udp" } else { "tcp" })),
            1
        );
        fill.finish();
        harness.finish();
    }
}

#[test]
fn a_checksum_around_one_to_be_finished_is_not_judged() {
    let (mut harness, _) = configured("(on_partial: Finish, on_bad: Drop)");
    let inner = frame(false, false, Checksum::Partial, 90).build();
    // Made as if the inner one were finished, as a sender does that leaves the inner one to its device.
    let finished = frame(false, false, Checksum::Right, 90).build();
    let mut packet = tunnel(&finished, Checksum::Right);
    let at = packet.len() - inner.len();
    packet[at..].copy_from_slice(&inner);
    let packet = received(&mut harness, &packet, &[]);
    harness.feed([packet], &[1]);
    let packets = harness.take();
    assert_eq!(packets[0].meta().l4, [Csum::Unknown, Csum::Partial]);
    let mut fill = Harness::new(ChecksumFill::new(None), &checksum_fill::INFO);
    fill.feed(packets, &[1]);
    assert_sound(&fill.take_frames()[0]);
    fill.finish();
    harness.finish();
}

#[test]
fn a_field_without_the_length_cannot_be_finished_and_passes() {
    let (mut harness, _) = configured("(on_partial: Finish)");
    let mut bytes = frame(false, false, Checksum::Partial, 50).build();
    let field = u16::from_be_bytes([bytes[50], bytes[51]]);
    let length = 20 + 50;
    let without = if field > length { field - length } else { field + (0xffff - length) };
    bytes[50..52].copy_from_slice(&without.to_be_bytes());
    let packet = received(&mut harness, &bytes, &[]);
    harness.feed([packet], &[1]);
    assert_eq!(harness.counter("outer.tcp.partial"), 1);
    let packets = harness.take();
    assert_eq!(packets[0].meta().l4[0], Csum::Unknown);
    harness.release(packets);
    harness.finish();
}
