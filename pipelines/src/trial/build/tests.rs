//! Frames of this builder held against the checker of the wire formats, which shares no code with it.

use super::super::compare::Wanted;
use super::super::dissect::dissect;
use super::super::layout::{Kind, LAYOUTS, followers};
use super::super::sums;
use super::*;
use proptest::prelude::*;

fn layer(kind: Kind, fields: &[(&'static str, u128)]) -> Layer {
    let fields = fields.iter().map(|&(name, value)| (name, Value::Raw(value))).collect();
    Layer { kind, fields, tail: None }
}

fn payload(bytes: &[u8]) -> Layer {
    Layer { tail: Some(bytes.to_vec()), ..layer(Kind::Payload, &[]) }
}

/// Frames whose headers stand behind each other as they can, with values drawn for some fields that nothing else
/// depends on.
fn frames() -> impl Strategy<Value = Vec<Layer>> {
    let choices = prop::collection::vec((any::<prop::sample::Index>(), any::<u128>()), 1..9);
    (choices, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(choices, bytes)| {
        let mut layers = vec![layer(Kind::Eth, &[])];
        for (which, value) in choices {
            let before = layers[layers.len() - 1].kind;
            let may: Vec<Kind> =
                followers(before).into_iter().filter(|kind| *kind != Kind::Payload).collect();
            if may.is_empty() || before == Kind::Icmp || before == Kind::Icmp6 {
                break;
            }
            let kind = may[which.index(may.len())];
            let free = ["src", "vni", "seq", "ttl", "hop_limit", "id", "key", "sender"];
            let fields = kind.layout().fields.iter().filter(|field| free.contains(&field.name));
            let drawn = |field: &'static Field| (field.name, value & field.most());
            layers.push(layer(kind, &fields.map(drawn).collect::<Vec<_>>()));
        }
        layers.push(payload(&bytes));
        layers
    })
}

proptest! {
    /// What is built is taken apart into the same headers, is what was asked for, and has right checksums.
    #[test]
    fn what_is_built_is_taken_apart_again(layers in frames()) {
        let frame = build(&layers);
        let kinds: Vec<Kind> = layers.iter().map(|layer| layer.kind).collect();
        let seen = dissect(&frame, &kinds);
        let mut found: Vec<Kind> = seen.iter().map(|seen| seen.kind).collect();
        if found.last() != Some(&Kind::Payload) {
            found.push(Kind::Payload);
        }
        prop_assert_eq!(&found, &kinds);
        prop_assert_eq!(Wanted::Like(layers.clone()).difference(&frame), None);
        for (index, seen) in seen.iter().enumerate() {
            let sum = seen.kind.layout().field("checksum");
            let header = &frame[seen.at..seen.at + seen.len];
            if sum.is_some_and(|field| field.place(seen.kind, header).is_some()) {
                prop_assert!(sums::is_right(&frame, &seen_all(&frame, &kinds), index), "{}", seen.kind);
            }
        }
        // A tunnel that holds no frame is none for others.
        let before = kinds[kinds.len() - 2];
        if !matches!(before, Kind::Vxlan | Kind::Geneve | Kind::Gre) {
            prop_assert_eq!(corelane_wire::testing::problems(&frame), Vec::<String>::new());
        }
    }

    /// A bit that is turned over anywhere is found, and at its byte.
    #[test]
    fn every_bit_is_compared(layers in frames(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let frame = build(&layers);
        let mut other = frame.clone();
        let byte = at.index(frame.len());
        other[byte] ^= 1 << bit;
        let difference = Wanted::Exactly(frame.clone()).difference(&other);
        prop_assert_eq!(difference.map(|difference| difference.byte), Some(byte));
        prop_assert_eq!(Wanted::Exactly(frame.clone()).difference(&frame), None);
    }

    /// A field that is said is compared, at the byte where it differs; a field that is not said is not.
    #[test]
    fn what_is_said_is_compared_and_nothing_else(layers in frames(), seed in any::<u128>()) {
        let frame = build(&layers);
        for (depth, whole) in layers.iter().enumerate() {
            for field in whole.kind.layout().fields {
                let kinds: Vec<Kind> = layers.iter().map(|layer| layer.kind).collect();
                let seen = dissect(&frame, &kinds);
                let Some(seen) = seen.get(depth) else { continue };
                let header = &frame[seen.at..seen.at + seen.len];
                let Some(there) = field.get(seen.kind, header) else { continue };
                let other = there ^ 1 << (seed % field.bits as u128);
                let said = |value: u128| {
                    let mut pattern: Vec<Layer> = layers[..=depth].iter().map(|whole| layer(whole.kind, &[])).collect();
                    pattern[depth].fields = vec![(field.name, Value::Raw(value))];
                    Wanted::Like(pattern).difference(&frame)
                };
                prop_assert_eq!(said(there), None);
                let found = said(other).map(|found| (found.depth, found.field));
                prop_assert_eq!(found, Some((depth, Some(field.name.to_owned()))));
            }
        }
    }

    /// Whatever the bytes, taking them apart ends, and every byte is in something.
    #[test]
    fn any_bytes_are_taken_apart(bytes in prop::collection::vec(any::<u8>(), 0..200), like in 0..18_usize) {
        let seen = dissect(&bytes, &[Kind::Eth, LAYOUTS[like].kind, LAYOUTS[17 - like].kind]);
        let covered: usize = seen.iter().map(|seen| seen.len).sum();
        prop_assert_eq!(covered, bytes.len());
        Wanted::Exactly(bytes.clone()).view(Some(7));
    }
}

fn seen_all(frame: &[u8], kinds: &[Kind]) -> Vec<super::super::dissect::Seen> {
    dissect(frame, kinds)
}

#[test]
fn what_is_written_is_sent_however_wrong() {
    let ip = layer(Kind::Ipv4, &[("length", 7), ("ttl", 0), ("protocol", 200)]);
    let udp = layer(Kind::Udp, &[("checksum", 0xdead), ("length", 9999)]);
    let frame = build(&[layer(Kind::Eth, &[]), ip, udp, payload(b"hello")]);
    assert_eq!(frame.len(), 14 + 20 + 8 + 5);
    assert_eq!((&frame[16..18], frame[22], frame[23]), (&[0, 7][..], 0, 200));
    assert_eq!(&frame[38..42], &[0x27, 0x0f, 0xde, 0xad]);
    assert_eq!(sums::sum(&[&frame[14..34]]), 0xffff, "the header's own checksum is right");
}

#[test]
fn good_and_bad_checksums_are_told_apart() {
    for kind in [Kind::Tcp, Kind::Udp, Kind::Icmp] {
        for (value, is_right) in [(Value::Good, true), (Value::Bad, false)] {
            let mut summed = layer(kind, &[]);
            summed.fields.push(("checksum", value));
            let layers = [layer(Kind::Eth, &[]), layer(Kind::Ipv4, &[]), summed, payload(b"odd")];
            let frame = build(&layers);
            assert_eq!(sums::is_right(&frame, &dissect(&frame, &[]), 2), is_right, "{kind}");
            assert_eq!(Wanted::Like(layers.to_vec()).difference(&frame), None, "{kind}");
            let mut other = layers.clone();
            let opposite = if is_right { Value::Bad } else { Value::Good };
            other[2].fields = vec![("checksum", opposite)];
            let found = Wanted::Like(other.to_vec()).difference(&frame).unwrap();
            assert_eq!(found.field.as_deref(), Some("checksum"));
        }
    }
}

/// RFC 7348: the outer header, a VNI of 24 bits, an inner frame.
#[test]
fn a_tunnel_is_announced_by_the_headers_around_it() {
    let inner = [layer(Kind::Eth, &[]), layer(Kind::Ipv6, &[]), layer(Kind::Tcp, &[])];
    let outer = [
        layer(Kind::Eth, &[]),
        layer(Kind::Ipv4, &[]),
        layer(Kind::Udp, &[]),
        layer(Kind::Vxlan, &[("vni", 0x01_0203)]),
    ];
    let frame = build(&[&outer[..], &inner[..]].concat());
    assert_eq!(&frame[36..38], &4789_u16.to_be_bytes());
    assert_eq!(&frame[42..50], &[8, 0, 0, 0, 1, 2, 3, 0]);
    assert_eq!(corelane_wire::testing::problems(&frame), Vec::<String>::new());
}
