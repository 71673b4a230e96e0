//! The parts against their plain definitions. The stage as a whole is tried from outside, in `tests/neighbour`.

use super::config::NeighbourSpec;
use super::me::{Hop, Me, solicited_node};
use super::table::{Heard, Known, Table};
use super::waiting::{Waiting, Wanted};
use corelane_runtime::packet::{Buffers, HomeConfig, Units};
use corelane_runtime::stage::{Args, PortInfo, StageSpec};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn port(addresses: Vec<(IpAddr, u8)>) -> PortInfo {
    PortInfo { name: "p".into(), mac: Some([2; 6]), addresses, ..PortInfo::default() }
}

fn v4_frame(to: u32) -> Vec<u8> {
    let mut frame = vec![0; 34];
    frame[12] = 8;
    frame[30..34].copy_from_slice(&to.to_be_bytes());
    frame
}

fn v6_frame(to: u128) -> Vec<u8> {
    let mut frame = vec![0; 54];
    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    frame[38..54].copy_from_slice(&to.to_be_bytes());
    frame
}

proptest! {
    /// Bit by bit, which is how a network is defined.
    #[test]
    fn a_host_is_on_the_link_where_the_first_bits_agree(
        own: u32, other: u32, prefix in 0..=32u8, same in 0..=32u32,
    ) {
        let other = if same == 32 { own } else { own ^ (other >> same) };
        let me = Me::new(&port(vec![(IpAddr::V4(own.into()), prefix)])).unwrap();
        let to = Ipv4Addr::from(other);
        let agree = (0..u32::from(prefix)).all(|bit| (own ^ other) << bit >> 31 == 0);
        let last = (u32::from(prefix)..32).all(|bit| other << bit >> 31 == 1);
        let expected = if to.is_multicast() {
            let low = (other & 0x7f_ffff).to_be_bytes();
            Hop::Direct([1, 0, 0x5e, low[1], low[2], low[3]])
        } else if other == u32::MAX || agree && last && prefix < 31 {
            Hop::Direct([0xff; 6])
        } else if agree && other != 0 {
            Hop::Host(to.into())
        } else {
            Hop::Nobody
        };
        prop_assert_eq!(me.hop_of(&v4_frame(other)), expected);
    }

    #[test]
    fn the_same_holds_for_ipv6(own: u128, other: u128, prefix in 0..=128u8, same in 0..128u32) {
        let other = own ^ (other >> same);
        let me = Me::new(&port(vec![(IpAddr::V6(own.into()), prefix)])).unwrap();
        let to = Ipv6Addr::from(other);
        let agree = (0..u32::from(prefix)).all(|bit| (own ^ other) << bit >> 127 == 0);
        let local = other >> 118 == 0xfe80 >> 6;
        let expected = if other >> 120 == 0xff {
            let low = (other as u32).to_be_bytes();
            Hop::Direct([0x33, 0x33, low[0], low[1], low[2], low[3]])
        } else if (agree || local) && other != 0 {
            Hop::Host(to.into())
        } else {
            Hop::Nobody
        };
        prop_assert_eq!(me.hop_of(&v6_frame(other)), expected);
    }
}

#[test]
fn a_solicited_node_group_ends_as_the_address_does() {
    // The example of RFC 4291, section 2.7.1.
    let group = solicited_node("4037::01:800:200e:8c6c".parse().unwrap());
    assert_eq!(group, "ff02::1:ff0e:8c6c".parse::<Ipv6Addr>().unwrap());
}

#[test]
fn a_port_without_what_it_takes_is_refused() {
    let nobody = PortInfo { mac: None, ..port(vec![("192.0.2.1".parse().unwrap(), 24)]) };
    assert!(Me::new(&nobody).unwrap_err().contains("give it a `mac`"));
    assert!(Me::new(&port(Vec::new())).unwrap_err().contains("give it `addresses`"));
}

#[test]
fn who_asks_fills_no_more_than_three_quarters_of_the_table() {
    let table = Table::alone();
    let ip = |n: u32| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n));
    let full = (0..10_000).find(|&n| table.asker(ip(n), &[2; 6], 0) == Heard::Full);
    assert_eq!(full, Some(6144));
    assert!(table.ask(ip(20_000), 0));
    assert_eq!(table.look(ip(20_000)), Known::Asked);
    assert_eq!(table.answered(ip(20_000), &[4; 6], true, 1), Heard::Learned);
    assert_eq!(table.look(ip(20_000)), Known::At([4; 6], 1));
    assert!(table.ask(ip(20_000), 5), "who is known stays");
    assert_eq!(table.look(ip(20_000)), Known::At([4; 6], 1));
    assert_eq!(table.answered(ip(30_000), &[4; 6], true, 1), Heard::Unasked);
    let mut cursor = 0;
    (0..100).for_each(|_| table.sweep(&mut cursor, 1));
    assert_eq!(table.look(ip(1)), Known::Nobody);
    assert_eq!(table.look(ip(20_000)), Known::At([4; 6], 1));
}

/// Packets of a next hop, a step at a time.
#[derive(Clone, Debug)]
enum Step {
    Push(u8),
    Take(u8, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..5u8).prop_map(Step::Push),
        1 => (0..5u8, 0..4usize).prop_map(|(hop, most)| Step::Take(hop, most)),
    ]
}

proptest! {
    /// Against a list in which everything is looked for from the front.
    #[test]
    fn those_who_wait_leave_in_order_and_the_oldest_makes_room(
        steps in prop::collection::vec(step(), 0..80),
    ) {
        const MOST: usize = 8;
        const EACH: usize = 3;
        let home = HomeConfig { name: "t".into(), shells: 0, small: 128, large: 0, node: None };
        let mut buffers = Buffers::new(&home).expect("a home");
        let mut waiting = Waiting::new(MOST, EACH);
        let mut plain: Vec<(u8, u8)> = Vec::new();
        let ip = |hop: u8| IpAddr::V4(Ipv4Addr::new(192, 0, 2, hop));
        for (number, step) in (0u8..).zip(steps) {
            match step {
                Step::Push(hop) => {
                    let packet = buffers.receive(&[number; 40]).expect("a buffer");
                    let index = waiting.position(ip(hop)).unwrap_or_else(|| {
                        let wanted = Wanted { hop: ip(hop), packets: 0, tries: 3, ask_at: 0, since: 0 };
                        waiting.want(wanted, |_| panic!("there are fewer than may be"))
                    });
                    let own = plain.iter().filter(|(other, _)| *other == hop).count();
                    let oldest = match (own >= EACH, plain.len() >= MOST) {
                        (true, _) => plain.iter().position(|(other, _)| *other == hop),
                        (false, true) => Some(0),
                        (false, false) => None,
                    };
                    let expected = oldest.map(|at| plain.remove(at).1);
                    plain.push((hop, number));
                    let evicted = waiting.push(index, packet);
                    prop_assert_eq!(evicted.as_ref().map(|packet| packet.data()[0]), expected);
                    evicted.into_iter().for_each(|packet| buffers.release(packet));
                }
                Step::Take(hop, most) => {
                    let mut taken = Vec::new();
                    waiting.take(ip(hop), most, |packet| {
                        taken.push(packet.data()[0]);
                        buffers.release(packet);
                    });
                    let mine = plain.iter().filter(|(other, _)| *other == hop).take(most);
                    let expected: Vec<u8> = mine.map(|(_, number)| *number).collect();
                    plain.retain(|(_, number)| !expected.contains(number));
                    prop_assert_eq!(taken, expected);
                }
            }
            prop_assert_eq!(waiting.units().packets, plain.len() as u64);
            prop_assert_eq!(waiting.is_empty(), plain.is_empty());
            for wanted in waiting.wanted() {
                let IpAddr::V4(hop) = wanted.hop else { panic!("all are of IPv4") };
                let own = plain.iter().filter(|(other, _)| *other == hop.octets()[3]).count();
                prop_assert_eq!(wanted.packets, own);
            }
        }
        for hop in 0..5 {
            waiting.take_all(ip(hop), |packet| buffers.release(packet));
        }
        prop_assert_eq!(waiting.units(), Units::default());
        prop_assert_eq!(buffers.outstanding(), [0; 3]);
    }
}

#[test]
fn every_mistake_is_told_at_its_key() {
    let text = "(port: \"p\", hold: 0, tries: 0, static: { \"192.0.2\": \"02:00:00:00:00:01\", \
                \"192.0.2.7\": \"01:00:00:00:00:01\" })";
    let errors = NeighbourSpec.configure(Args { text }).err().expect("mistakes");
    let keys: Vec<_> = errors.iter().filter_map(|error| error.key.as_deref()).collect();
    assert_eq!(keys, ["static", "static", "hold", "tries"]);
    let each = NeighbourSpec.configure(Args { text: "(port: \"p\", hold: 5, hold_each: 6)" });
    assert_eq!(each.err().expect("a mistake")[0].key.as_deref(), Some("hold_each"));
    assert!(NeighbourSpec.configure(Args { text: "()" }).is_err(), "the port must be given");
}
