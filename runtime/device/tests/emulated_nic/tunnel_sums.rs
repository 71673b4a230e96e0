//! Checksums of single packets in tunnels: either level alone, both, and IPv4 headers.

use crate::support::*;
use crate::tunnel::{Carrier, Sum, Wrap, wraps};
use crate::tunnel_cut::{bit, knowing, tunnel_nic};
use corelane_device::emulated::{EmulatedConfig, Faults, Lies, Refusal};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, Packet};

/// What leaves, or why nothing does.
fn sent(caps: Caps, make: impl FnOnce(&mut Bench) -> Packet) -> Result<Vec<u8>, Refusal> {
    let mut bench = Bench::new();
    let packet = make(&mut bench);
    let mut nic = tunnel_nic(caps, &[]);
    bench.send_all(&mut *nic.tx, vec![packet]);
    bench.assert_nothing_out();
    match data_of(&nic.wire.frames()).pop() {
        Some(frame) => Ok(frame),
        None => Err(Refusal::ALL.into_iter().find(|&why| nic.refusals.of(why) > 0).unwrap()),
    }
}

fn inners() -> [(Recipe, Caps); 4] {
    [(false, false), (false, true), (true, false), (true, true)].map(|(udp, v6)| {
        // A trailer that no checksum covers but the outer one does.
        let recipe =
            Recipe { udp, v6, trailer: vec![9, 9, 9], ..Recipe::tcp(b"odd number".to_vec()) };
        let bit = match (udp, v6) {
            (false, false) => Caps::TX_TCP4,
            (false, true) => Caps::TX_TCP6,
            (true, false) => Caps::TX_UDP4,
            (true, true) => Caps::TX_UDP6,
        };
        (recipe, bit)
    })
}

/// The outer level over an inner one that is right.
fn right(wrap: &Wrap, inner: &Recipe) -> Vec<u8> {
    let sum = if wrap.sum == Sum::Seed { Sum::Right } else { wrap.sum };
    Wrap { sum, ..wrap.clone() }.around(inner, &inner.frame())
}

#[test]
fn an_inner_checksum_is_finished_by_its_bit_and_that_of_the_tunnel() {
    for wrap in wraps() {
        for (inner, family) in inners() {
            let make = |inner: &Recipe| {
                let (wrap, inner) = (wrap.clone(), inner.clone());
                move |bench: &mut Bench| {
                    let mut packet = bench.packet(&wrap.superpacket(&inner));
                    wrap.mark_partial(&inner, &mut packet);
                    packet
                }
            };
            let caps = (family | bit(&wrap)).with_implied();
            assert_eq!(sent(caps, make(&inner)), Ok(right(&wrap, &inner)), "{wrap:?}");
            // Without TSO4, which stands on TCP, GRE and IP in IP are not found either.
            let without = sent(caps - family, make(&inner));
            assert!(matches!(without, Err(Refusal::Checksum | Refusal::Tunnel)), "{without:?}");
            // Whoever is told where to sum needs to know no tunnel, and sums to the end of the outer datagram.
            let bare = Recipe { trailer: Vec::new(), ..inner };
            let generic = Caps::TX_GENERIC.with_implied();
            assert_eq!(sent(generic, make(&bare)), Ok(right(&wrap, &bare)), "{wrap:?}");
        }
    }
}

#[test]
fn without_the_bit_or_the_port_of_its_tunnel_an_inner_checksum_is_refused() {
    let (inner, family) = inners()[0].clone();
    let make = |port: u16| {
        let wrap = Wrap { port, ..Wrap::vxlan() };
        let inner = inner.clone();
        move |bench: &mut Bench| {
            let mut packet = bench.packet(&wrap.superpacket(&inner));
            wrap.mark_partial(&inner, &mut packet);
            packet
        }
    };
    let knowing = (family | Caps::TSO_VXLAN).with_implied();
    assert!(sent(knowing, make(8472)).is_ok());
    assert_eq!(sent(knowing, make(8473)), Err(Refusal::Tunnel));
    assert_eq!(sent(family, make(4789)), Err(Refusal::Checksum));
    let gre = Wrap::of(Carrier::Gre { key: true, sequence: false, ethernet: true });
    let refused = sent(knowing, |bench| {
        let mut packet = bench.packet(&gre.superpacket(&inner));
        gre.mark_partial(&inner, &mut packet);
        packet
    });
    assert_eq!(refused, Err(Refusal::Tunnel));
}

#[test]
fn an_outer_checksum_alone_is_one_like_any_other() {
    for v6 in [false, true] {
        let wrap = Wrap { v6, sum: Sum::Seed, ..Wrap::vxlan() };
        let inner = Recipe { trailer: vec![1, 2, 3], ..Recipe::udp(b"done".to_vec()) };
        let bit = if v6 { Caps::TX_UDP6 } else { Caps::TX_UDP4 };
        let make = |bench: &mut Bench| {
            let mut packet = bench.packet(&wrap.around(&inner, &inner.frame()));
            wrap.mark_outer(&mut packet);
            packet
        };
        assert_eq!(sent(bit, make), Ok(right(&wrap, &inner)));
        assert_eq!(sent(Caps::all() - bit - Caps::TX_GENERIC, make), Err(Refusal::Checksum));
    }
}

#[test]
fn both_checksums_are_finished_only_where_the_outer_one_is_granted() {
    for v6 in [false, true] {
        for (inner, family) in inners() {
            let wrap = Wrap { v6, sum: Sum::Seed, ..Wrap::vxlan() };
            let make = |wrap: Wrap| {
                let inner = inner.clone();
                move |bench: &mut Bench| {
                    let mut packet = bench.packet(&wrap.superpacket(&inner));
                    wrap.mark_partial(&inner, &mut packet);
                    packet
                }
            };
            let caps = (family | Caps::TSO_VXLAN | Caps::TX_OUTER_UDP).with_implied();
            assert_eq!(sent(caps, make(wrap.clone())), Ok(right(&wrap, &inner)));
            let generic = (Caps::TX_GENERIC | Caps::TX_OUTER_UDP).with_implied();
            assert_eq!(sent(generic, make(wrap.clone())), Ok(right(&wrap, &inner)));
            let without = caps - Caps::TX_OUTER_UDP;
            assert_eq!(sent(without, make(wrap.clone())), Err(Refusal::TwoChecksums));
            assert_eq!(sent(caps - family, make(wrap.clone())), Err(Refusal::Checksum));
            let unknown = Wrap { port: 5000, ..wrap.clone() };
            assert_eq!(sent(caps, make(unknown)), Err(Refusal::TwoChecksums));
        }
    }
}

#[test]
fn header_checksums_are_filled_where_that_is_granted() {
    let (wrap, inner) = (Wrap::vxlan(), Recipe::tcp(b"data".to_vec()));
    let whole = wrap.around(&inner, &inner.frame());
    let (outer_field, inner_field) = (wrap.l3() + 10, inner.l3() + wrap.shift(&inner) + 10);
    let make = |levels: &'static [usize]| {
        let mut frame = whole.clone();
        for &level in levels {
            let at = [outer_field, inner_field][level];
            frame[at..at + 2].fill(0xaa);
        }
        move |bench: &mut Bench| {
            let mut packet = bench.packet(&frame);
            levels.iter().for_each(|&level| packet.meta_mut().l3[level] = Csum::Partial);
            packet
        }
    };
    assert_eq!(sent(Caps::TX_OUTER_IP, make(&[0])), Ok(whole.clone()));
    assert_eq!(sent(Caps::TX_IP, make(&[1])), Ok(whole.clone()));
    assert_eq!(sent(Caps::TX_OUTER_IP | Caps::TX_IP, make(&[0, 1])), Ok(whole.clone()));
    assert_eq!(sent(Caps::TX_IP, make(&[0])), Err(Refusal::HeaderChecksum));
    assert_eq!(sent(Caps::TX_OUTER_IP, make(&[1])), Err(Refusal::HeaderChecksum));
    // Outside a tunnel there is one header, and one bit for it.
    let plain = inner.frame();
    let one = |bench: &mut Bench| {
        let mut frame = plain.clone();
        frame[24..26].fill(0);
        let mut packet = bench.packet(&frame);
        packet.meta_mut().l3[0] = Csum::Partial;
        packet
    };
    assert_eq!(sent(Caps::TX_IP, one), Ok(plain.clone()));
    assert_eq!(sent(Caps::TX_OUTER_IP, one), Err(Refusal::HeaderChecksum));
    let v6 = Recipe { v6: true, ..inner.clone() }.frame();
    let none = sent(Caps::TX_IP, |bench| {
        let mut packet = bench.packet(&v6);
        packet.meta_mut().l3[0] = Csum::Partial;
        packet
    });
    assert_eq!(none, Err(Refusal::HeaderChecksum));
}

#[test]
fn lies_about_one_level_leave_the_other_right() {
    let wrap = Wrap { sum: Sum::Seed, ..Wrap::vxlan() };
    let inner = Recipe::udp(b"payload".to_vec());
    let lied = |lies| {
        let faults = Faults { lies, ..Faults::default() };
        let caps = Caps::all();
        let config = EmulatedConfig { caps, limits: knowing(), faults, ..EmulatedConfig::new("x") };
        let mut nic = nic_of(config);
        let mut bench = Bench::new();
        let mut packet = bench.packet(&wrap.superpacket(&inner));
        wrap.mark_partial(&inner, &mut packet);
        packet.meta_mut().l3[0] = Csum::Partial;
        bench.send_all(&mut *nic.tx, vec![packet]);
        data_of(&nic.wire.frames()).remove(0)
    };
    let honest = right(&wrap, &inner);
    assert_eq!(lied(Lies::empty()), honest);
    let skipped = wrap.around(&inner, &inner.frame());
    assert_eq!(lied(Lies::SKIP_OUTER_CHECKSUM), skipped, "the seed is still there");
    assert_eq!(lied(Lies::SKIP_IP_CHECKSUM), honest, "it was right before");
    assert_eq!(lied(Lies::SKIP_CHECKSUM), wrap.superpacket(&inner));
}
