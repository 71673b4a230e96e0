//! Any rules over any packets: what is found is what one gets by trying the rules one after the other.

use super::facts::{self, Fact, Facts};
use super::{Place, classifier, packet};
use crate::classify::config::INFO;
use crate::classify::headers::Headers;
use corelane_runtime::testing::Harness;
use corelane_wire::testing::strategies;
use corelane_wire::testing::{Arp, FrameBuilder, Ipv4, Ipv6, Udp, Vxlan};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A small generator, so that a rule is one number that can be shrunk.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides.max(1)
    }

    fn wide(&mut self) -> u64 {
        self.roll(1 << 31) << 33 ^ self.roll(1 << 31) << 11 ^ self.roll(1 << 31)
    }
}

/// One value of a list: as written, and what it holds.
#[derive(Clone, Debug)]
enum Item {
    Range(u64, u64),
    V6(u128, u128),
    /// Mask and value.
    Flags(u64, u64),
    Absent,
}

/// What a rule asks of one key.
#[derive(Clone, Debug)]
struct Ask {
    key: &'static str,
    not: bool,
    items: Vec<Item>,
}

impl Ask {
    /// The obvious meaning.
    fn holds(&self, facts: &Facts) -> bool {
        let fact = facts.get(self.key);
        let any = self.items.iter().any(|item| match (item, fact) {
            (Item::Range(low, high), Some(Fact::Number(n))) => low <= n && n <= high,
            (Item::V6(low, high), Some(Fact::V6(n))) => low <= n && n <= high,
            (Item::Flags(mask, value), Some(Fact::Number(n))) => n & mask == *value,
            (Item::Absent, None) => true,
            _ => false,
        });
        // What is negated must be there.
        if self.not { fact.is_some() && !any } else { any }
    }
}

const KEYS: [(&str, u64); 22] = [
    ("eth_src", 0xffff_ffff_ffff),
    ("eth_dst", 0xffff_ffff_ffff),
    ("ethertype", 0xffff),
    ("vlan", 4095),
    ("src", 0xffff_ffff),
    ("dst", 0xffff_ffff),
    ("proto", 255),
    ("dscp", 63),
    ("ecn", 3),
    ("fragment", 2),
    ("tcp_src", 0xffff),
    ("tcp_dst", 0xffff),
    ("tcp_flags", 255),
    ("udp_src", 0xffff),
    ("udp_dst", 0xffff),
    ("vni", 0xff_ffff),
    ("gre_key", 0xffff_ffff),
    ("tunnel_src", 0xffff_ffff),
    ("tunnel_dst", 0xffff_ffff),
    ("mark", 0xffff),
    ("port", 3),
    ("length", 0xffff_ffff),
];

fn item(key: &str, max: u64, near: Option<&Fact>, dice: &mut Dice) -> Item {
    let (near, wide) = match near {
        Some(Fact::Number(near)) => (*near, None),
        Some(Fact::V6(near)) => (0, Some(*near)),
        None => (dice.wide() & max, (dice.roll(2) == 0).then(|| u128::from(dice.wide()))),
    };
    match key {
        "src" | "dst" | "tunnel_src" | "tunnel_dst" => match wide {
            Some(address) => {
                let low = u128::MAX.checked_shr(dice.roll(129) as u32).unwrap_or(0);
                Item::V6(address & !low, address | low)
            }
            None => prefix(near, 32, dice),
        },
        "eth_src" | "eth_dst" => prefix(near, 48, dice),
        "tcp_flags" => {
            let mask = if dice.roll(2) == 0 { 255 } else { dice.roll(256).max(1) };
            Item::Flags(mask, near & mask)
        }
        "port" => Item::Range(near.min(3), near.min(3)),
        "vlan" if dice.roll(4) == 0 => Item::Absent,
        _ => {
            let spread = [0, 0, 1, max / 8][dice.roll(4) as usize];
            Item::Range(
                near.saturating_sub(dice.roll(spread + 1)),
                (near + dice.roll(spread + 1)).min(max),
            )
        }
    }
}

fn prefix(near: u64, bits: u64, dice: &mut Dice) -> Item {
    let low = (1 << (bits - dice.roll(bits + 1))) - 1;
    Item::Range(near & !low, near | low)
}

/// A rule that is likely to match the packet with these facts.
fn rule(facts: &Facts, seed: u64) -> Vec<Ask> {
    let mut dice = Dice(seed);
    let mut asks: Vec<Ask> = Vec::new();
    for _ in 0..dice.roll(4) {
        let (key, max) = match dice.roll(4) {
            0 => KEYS[dice.roll(22) as usize],
            // Of those that the packet has.
            _ => {
                let key = facts.keys().nth(dice.roll(facts.len() as u64) as usize).copied();
                KEYS.into_iter().find(|(known, _)| Some(*known) == key).expect("a known key")
            }
        };
        let clash = |ask: &Ask| {
            let both = |a: &str, b: &str| ask.key.starts_with(a) && key.starts_with(b);
            ask.key == key || both("tcp", "udp") || both("udp", "tcp")
        };
        if asks.iter().any(clash) {
            continue;
        }
        let not = dice.roll(5) == 0;
        let items = (0..=dice.roll(3)).map(|_| {
            let near = facts.get(key).filter(|_| dice.roll(4) > 0);
            item(key, max, near, &mut dice)
        });
        let items = items.collect();
        asks.push(Ask { key, not, items });
    }
    asks
}

/// As a description writes it.
fn written(asks: &[Ask]) -> String {
    let entries: Vec<String> =
        asks.iter().map(|ask| format!("{}: {}", ask.key, value(ask))).collect();
    format!("({})", entries.join(", "))
}

fn value(ask: &Ask) -> String {
    let items: Vec<String> = ask.items.iter().map(|item| shown(ask.key, item)).collect();
    let list = match items.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", items.join(", ")),
    };
    if ask.not { format!("Not({list})") } else { list }
}

fn shown(key: &str, item: &Item) -> String {
    match (key, item) {
        (_, Item::Absent) => "Untagged".to_owned(),
        (_, Item::V6(low, high)) => {
            format!("\"{}/{}\"", Ipv6Addr::from(*low), (low ^ high).leading_zeros())
        }
        (_, Item::Flags(mask, value)) => {
            let sign = |bit: u64| match (mask >> bit & 1, value >> bit & 1) {
                (0, _) => "",
                (_, 0) => "-",
                _ => "+",
            };
            let letter = |bit: u64| &"FSRPAUEC"[bit as usize..][..1];
            let one = |bit| {
                if sign(bit).is_empty() {
                    String::new()
                } else {
                    sign(bit).to_owned() + letter(bit)
                }
            };
            let set = |bit| if sign(bit) == "+" { letter(bit).to_owned() } else { String::new() };
            let all = (0..8).map(|bit| if *mask == 255 { set(bit) } else { one(bit) });
            format!("\"{}\"", all.collect::<String>())
        }
        ("src" | "dst" | "tunnel_src" | "tunnel_dst", Item::Range(low, high)) => {
            let bits = ((low ^ high) as u32).leading_zeros();
            format!("\"{}/{bits}\"", Ipv4Addr::from(*low as u32))
        }
        ("eth_src" | "eth_dst", Item::Range(low, high)) => {
            let bytes = low.to_be_bytes().map(|byte| format!("{byte:02x}"));
            format!("\"{}/{}\"", bytes[2..].join(":"), (low ^ high).leading_zeros() - 16)
        }
        ("port", Item::Range(port, _)) => format!("\"p{port}\""),
        (_, Item::Range(low, high)) if low == high => low.to_string(),
        (_, Item::Range(low, high)) => format!("{low}..={high}"),
    }
}

/// Frames of every shape, fragments and broken ones among them.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let fragment = (any::<(u16, bool, bool, bool)>(), any::<[u8; 16]>()).prop_map(
        |((offset, more, v6, udp), bytes)| {
            let offset = if offset % 3 == 0 { 0 } else { offset & 0xfff8 };
            let builder = FrameBuilder::new();
            let builder = match v6 {
                true => builder.ipv6(Ipv6 {
                    extensions: vec![corelane_wire::testing::Extension::Fragment {
                        offset,
                        more,
                        id: 7,
                    }],
                    ..Ipv6::default()
                }),
                false => builder.ipv4(Ipv4 {
                    fragment_offset: offset,
                    more_fragments: more,
                    ..Ipv4::default()
                }),
            };
            let builder = match (udp, offset) {
                (true, 0) => builder.udp(Udp::vxlan()).vxlan(Vxlan::default()),
                _ => builder,
            };
            builder.payload(&bytes).build()
        },
    );
    let arp = Just(FrameBuilder::new().arp(Arp::default()).build());
    let arp_inside = (0..1_u32 << 24).prop_map(|vni| {
        let inside = FrameBuilder::new().arp(Arp::default()).build();
        let outer = FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::vxlan());
        outer.vxlan(Vxlan { vni, ..Vxlan::default() }).payload(&inside).build()
    });
    prop_oneof![
        6 => strategies::frame().prop_map(|frame| frame.build()),
        3 => strategies::tunnelled().prop_map(|frame| frame.build()),
        4 => strategies::hostile(),
        2 => fragment,
        1 => arp,
        1 => arp_inside,
    ]
}

fn check(frames: &[(Vec<u8>, u16, u16)], seeds: &[(usize, u64)]) -> Result<(), TestCaseError> {
    let facts: Vec<Facts> =
        frames.iter().map(|(frame, mark, port)| facts::of(frame, *mark, *port)).collect();
    let rules: Vec<Vec<Ask>> =
        seeds.iter().map(|&(of, seed)| rule(&facts[of % facts.len()], seed)).collect();
    let texts: Vec<String> = rules.iter().map(|asks| written(asks)).collect();
    let classifier = classifier(&texts, &Place::default());
    let mut harness = Harness::new(crate::count::Count {}, &INFO);
    for ((frame, mark, port), facts) in frames.iter().zip(&facts) {
        let packet = packet(&mut harness, frame, *mark, *port);
        let found = classifier.find(&Headers::of(&packet));
        let right = rules.iter().position(|asks| asks.iter().all(|ask| ask.holds(facts)));
        prop_assert_eq!(
            found,
            right,
            "{:02x?}\n{:?}\nfound {:?}\nright {:?}",
            frame,
            facts,
            found.map(|rule| &texts[rule]),
            right.map(|rule| &texts[rule])
        );
        harness.buffers.release(packet);
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_first_rule_that_matches_is_found(
        frames in prop::collection::vec((any_frame(), 0..4_u16, 0..4_u16), 1..6),
        seeds in prop::collection::vec((0..6_usize, any::<u64>()), 0..80),
    ) {
        check(&frames, &seeds)?;
    }

    #[test]
    fn every_field_is_what_the_bytes_say(frame in any_frame(), mark in any::<u16>()) {
        let facts = facts::of(&frame, mark, 2);
        let mut harness = Harness::new(crate::count::Count {}, &INFO);
        let packet = packet(&mut harness, &frame, mark, 2);
        let headers = Headers::of(&packet);
        for key in &crate::classify::field::KEYS {
            use crate::classify::headers::Value;
            let value = match headers.value(key.field) {
                Value::Absent => None,
                Value::Narrow(value) => Some(Fact::Number(value)),
                Value::Wide(value) => Some(Fact::V6(value)),
            };
            prop_assert_eq!(value, facts.get(key.name).copied(), "{}: {:02x?}", key.name, frame);
        }
        harness.buffers.release(packet);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn so_it_is_with_more_rules_than_are_looked_up_at_once(
        frames in prop::collection::vec((any_frame(), 0..4_u16, 0..4_u16), 1..8),
        seeds in prop::collection::vec((0..8_usize, any::<u64>()), 1000..2600),
    ) {
        check(&frames, &seeds)?;
    }
}
