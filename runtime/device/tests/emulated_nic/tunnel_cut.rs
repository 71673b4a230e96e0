//! What the device makes of superpackets inside tunnels, against segments that were each made on their own.

use crate::support::*;
use crate::tunnel::{Carrier, Sum, Wrap, wraps};
use corelane_device::emulated::{EmulatedConfig, Faults, Frame, Lies, Traffic};
use corelane_runtime::offload::{Caps, Limits, UdpPorts};
use corelane_runtime::packet::{Csum, Packet, SegFlags};
use proptest::prelude::*;

/// Limits of a device that knows VXLAN and Geneve by the registered ports, and VXLAN by that of Linux too.
pub(crate) fn knowing() -> Limits {
    Limits {
        vxlan_ports: UdpPorts::of(&[4789, 8472]).unwrap(),
        geneve_ports: UdpPorts::one(6081),
        ..Limits::default()
    }
}

/// A NIC of these limits that receives these frames.
pub(crate) fn tunnel_nic(caps: Caps, frames: &[Frame]) -> Nic {
    let rx = Traffic::Frames { frames: frames.to_vec(), repeat: false };
    nic_of(EmulatedConfig { caps, limits: knowing(), rx, ..EmulatedConfig::new("nic") })
}

pub(crate) fn superpacket(
    bench: &mut Bench,
    wrap: &Wrap,
    inner: &Recipe,
    gso: u16,
    flags: SegFlags,
) -> Packet {
    let mut packet = bench.packet(&wrap.superpacket(inner));
    wrap.mark_super(inner, &mut packet, gso, flags);
    packet
}

/// The frames that a superpacket becomes on a device of these capabilities.
fn cut(caps: Caps, wrap: &Wrap, inner: &Recipe, gso: u16, flags: SegFlags) -> Vec<Vec<u8>> {
    let mut bench = Bench::new();
    let packet = superpacket(&mut bench, wrap, inner, gso, flags);
    let mut nic = tunnel_nic(caps, &[]);
    bench.send_all(&mut *nic.tx, vec![packet]);
    assert_eq!(nic.refusals.total(), 0, "{wrap:?} {inner:?}: {}", nic.refusals);
    bench.assert_nothing_out();
    data_of(&nic.wire.frames())
}

fn has_checksum(wrap: &Wrap) -> bool {
    wrap.carrier != Carrier::Ip
}

/// The bit for the cut, with or without the outer checksum.
pub(crate) fn bit(wrap: &Wrap) -> Caps {
    match (wrap.carrier, wrap.sum != Sum::Absent) {
        (Carrier::Vxlan, false) => Caps::TSO_VXLAN,
        (Carrier::Vxlan, true) => Caps::TSO_VXLAN_CSUM,
        (Carrier::Geneve { .. }, false) => Caps::TSO_GENEVE,
        (Carrier::Geneve { .. }, true) => Caps::TSO_GENEVE_CSUM,
        (Carrier::Gre { .. }, false) => Caps::TSO_GRE,
        (Carrier::Gre { .. }, true) => Caps::TSO_GRE_CSUM,
        (Carrier::Ip, _) => Caps::TSO_IPIP,
    }
}

#[test]
fn each_tunnel_is_cut_by_its_bit_alone() {
    for wrap in wraps() {
        for sum in [Sum::Absent, Sum::Seed] {
            if sum == Sum::Seed && !has_checksum(&wrap) {
                continue;
            }
            for v6 in [false, true] {
                let wrap = Wrap { sum, ..wrap.clone() };
                let inner = Recipe { v6, flags: 0x19, id: 65_535, ..Recipe::tcp(vec![7; 1101]) };
                let family = if v6 { Caps::TSO6 } else { Caps::TSO4 };
                let caps = (bit(&wrap) | family).with_implied();
                let frames = cut(caps, &wrap, &inner, 500, SegFlags::empty());
                assert_eq!(frames, wrap.segments(&inner, 500, SegFlags::empty()), "{wrap:?}");
            }
        }
    }
}

#[test]
fn ids_of_each_level_follow_their_own_rule() {
    let wrap = Wrap { id: 65_534, ..Wrap::vxlan() };
    let inner = Recipe { id: 7, ..Recipe::tcp(vec![3; 2000]) };
    for (flags, outer, inside) in [
        (SegFlags::empty(), [65_534, 65_535, 0, 1], [7, 8, 9, 10]),
        (SegFlags::FIXED_ID, [65_534, 65_535, 0, 1], [7; 4]),
        (SegFlags::OUTER_FIXED_ID, [65_534; 4], [7, 8, 9, 10]),
        (SegFlags::FIXED_ID | SegFlags::OUTER_FIXED_ID, [65_534; 4], [7; 4]),
    ] {
        let frames = cut(Caps::all(), &wrap, &inner, 500, flags);
        let id = |at: usize| frames.iter().map(move |f| u16::from_be_bytes([f[at], f[at + 1]]));
        assert!(id(18).eq(outer) && id(68).eq(inside), "{flags:?}");
    }
}

#[test]
fn limits_of_the_wire_are_those_of_the_whole_frame() {
    let (wrap, inner) = (Wrap::vxlan(), Recipe::tcp(vec![1; 1001]));
    // 20 + 8 + 8 + 14 + 20 + 20 of headers behind the outer Ethernet header.
    for (mtu, header_len, leaves) in [(590, 104, true), (589, 104, false), (590, 103, false)] {
        let limits = Limits { mtu: Some(mtu), header_len, ..knowing() };
        let config = EmulatedConfig { caps: Caps::all(), limits, ..EmulatedConfig::new("nic") };
        let mut bench = Bench::new();
        let packet = superpacket(&mut bench, &wrap, &inner, 500, SegFlags::empty());
        let mut nic = nic_of(config);
        bench.send_all(&mut *nic.tx, vec![packet]);
        assert_eq!(
            (nic.refusals.total(), nic.wire.len()),
            (u64::from(!leaves), if leaves { 3 } else { 0 })
        );
    }
}

#[test]
fn each_lie_about_a_tunnel_shows() {
    let wrap = Wrap { sum: Sum::Seed, ..Wrap::vxlan() };
    let inner = Recipe::tcp(vec![5; 250]);
    let honest = wrap.segments(&inner, 100, SegFlags::empty());
    for (lie, differing) in [
        (Lies::OUTER_LENGTH, vec![0, 1, 2]),
        (Lies::SKIP_OUTER_CHECKSUM, vec![0, 1, 2]),
        (Lies::SAME_OUTER_IP_ID, vec![1, 2]),
        (Lies::SAME_IP_ID, vec![1, 2]),
        (Lies::SKIP_CHECKSUM, vec![0, 1, 2]),
        (Lies::SKIP_IP_CHECKSUM, vec![]),
    ] {
        let faults = Faults { lies: lie, ..Faults::default() };
        let caps = Caps::all();
        let config = EmulatedConfig { caps, limits: knowing(), faults, ..EmulatedConfig::new("x") };
        let mut nic = nic_of(config);
        let mut bench = Bench::new();
        let packet = superpacket(&mut bench, &wrap, &inner, 100, SegFlags::empty());
        bench.send_all(&mut *nic.tx, vec![packet]);
        let lied = data_of(&nic.wire.frames());
        let differs = (0..3).filter(|&number| lied[number] != honest[number]);
        assert_eq!(differs.collect::<Vec<_>>(), differing, "{lie:?}");
    }
}

/// The headers of one segment in front of all the payload, as a driver prepares them for a device that repeats.
pub(crate) fn repeated(bench: &mut Bench, wrap: &Wrap, inner: &Recipe, gso: u16) -> Packet {
    let first = Recipe { payload: inner.payload[..usize::from(gso)].to_vec(), ..inner.clone() };
    let sum = if wrap.sum == Sum::Seed { Sum::Right } else { wrap.sum };
    let done = Wrap { sum, ..wrap.clone() };
    let one = done.around(&first, &first.frame());
    let header = inner.header_len() + wrap.shift(inner);
    let mut bytes = [&one[..header], &inner.payload[..]].concat();
    // The seed is that of the whole, as in any superpacket.
    let at = inner.field() + wrap.shift(inner);
    bytes[at..at + 2].copy_from_slice(&inner.partial()[inner.field()..inner.field() + 2]);
    let mut packet = bench.packet(&bytes);
    wrap.mark_super(inner, &mut packet, gso, SegFlags::PARTIAL | SegFlags::FIXED_ID);
    packet.meta_mut().l4[0] = Csum::Good;
    packet
}

#[test]
fn headers_are_repeated_in_any_tunnel() {
    let inside = |payload| Recipe { flags: 0x18, ..Recipe::tcp(payload) };
    for wrap in wraps() {
        for (v6, sum) in [(false, Sum::Absent), (true, Sum::Absent), (false, Sum::Seed)] {
            if sum == Sum::Seed && !has_checksum(&wrap) {
                continue;
            }
            // On a port that nobody knows.
            let wrap = Wrap { sum, port: 9999, ..wrap.clone() };
            let inner = Recipe { v6, ..inside((0..1500).map(|n| n as u8).collect::<Vec<u8>>()) };
            let mut bench = Bench::new();
            let packet = repeated(&mut bench, &wrap, &inner, 500);
            let mut nic = nic((Caps::GSO_PARTIAL | Caps::TSO6).with_implied(), &[]);
            bench.send_all(&mut *nic.tx, vec![packet]);
            assert_eq!(nic.refusals.total(), 0, "{wrap:?}: {}", nic.refusals);
            // The outer checksum is the same in all, whatever the payload: the inner one takes that out again.
            let expected = wrap.segments(&inner, 500, SegFlags::FIXED_ID);
            assert_eq!(data_of(&nic.wire.frames()), expected, "{wrap:?}");
        }
    }
}

prop_compose! {
    fn any_wrap()(
        wrap in prop::sample::select(wraps()), v6: bool, tags in 0..3_usize, id: u16, checksum: bool,
        port in prop::sample::select(vec![4789_u16, 8472]),
    ) -> Wrap {
        let sum = if checksum && wrap.carrier != Carrier::Ip { Sum::Seed } else { Sum::Absent };
        let port = if wrap.carrier == Carrier::Vxlan { port } else { wrap.port };
        Wrap { v6, tags, id, sum, port, ..wrap }
    }
}

proptest! {
    #[test]
    fn segments_are_those_made_one_by_one(
        wrap in any_wrap(), v6: bool, tags in 0..2_usize, id: u16, seq: u32, cwr: bool, fixed: bool,
        outer_fixed: bool, options in 0..10_usize, gso in 1..1500_u16,
        payload in prop::collection::vec(any::<u8>(), 2..4000),
    ) {
        prop_assume!(usize::from(gso) < payload.len());
        let inner = Recipe {
            v6, tags, id, seq, options: vec![1; 4 * options], payload,
            flags: if cwr { 0x99 } else { 0x18 },
            ..Recipe::tcp([])
        };
        let mut flags = SegFlags::empty();
        flags.set(SegFlags::FIXED_ID, fixed);
        flags.set(SegFlags::OUTER_FIXED_ID, outer_fixed);
        let frames = cut(Caps::all(), &wrap, &inner, gso, flags);
        prop_assert_eq!(frames, wrap.segments(&inner, usize::from(gso), flags));
    }
}
