//! What the device reports of frames in tunnels: which level, and of which it says nothing.

use crate::support::*;
use crate::tunnel::{Carrier, Sum, Wrap, wraps};
use crate::tunnel_cut::{bit, tunnel_nic};
use corelane_device::emulated::Frame;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Csum, Meta};
use proptest::prelude::*;

const PLAIN: Caps = Caps::RX_IP.union(Caps::RX_TCP).union(Caps::RX_UDP);
const OUTER: Caps = Caps::RX_OUTER_IP.union(Caps::RX_OUTER_UDP);
const NONE: Csum = Csum::Unknown;
const GOOD: Csum = Csum::Good;
const BAD: Csum = Csum::Bad;

fn meta_of(caps: Caps, frame: &[u8]) -> Meta {
    let mut bench = Bench::new();
    let mut nic = tunnel_nic(caps, &[Frame::new(0, frame.to_vec())]);
    let packets = bench.receive_all(&mut *nic.rx);
    let meta = *packets[0].meta();
    bench.release(packets);
    meta
}

/// IPv4 header and transport of the outer level, then of the inner one.
fn states(caps: Caps, frame: &[u8]) -> [Csum; 4] {
    let meta = meta_of(caps, frame);
    [meta.l3[0], meta.l4[0], meta.l3[1], meta.l4[1]]
}

/// What a device that cuts inside this tunnel, and so finds it, reports.
fn found(caps: Caps, wrap: &Wrap, frame: &[u8]) -> [Csum; 4] {
    states(caps | bit(wrap).with_implied(), frame)
}

#[test]
fn each_bit_reports_its_level_and_nothing_else() {
    let wrap = Wrap { sum: Sum::Right, ..Wrap::vxlan() };
    for (inner, [ip, tcp, udp]) in [
        (Recipe::tcp(b"t".to_vec()), [GOOD, GOOD, NONE]),
        (Recipe::udp(b"u".to_vec()), [GOOD, NONE, GOOD]),
    ] {
        let frame = wrap.around(&inner, &inner.frame());
        assert_eq!(states(Caps::empty(), &frame), [NONE; 4]);
        assert_eq!(states(Caps::RX_IP, &frame), [NONE, NONE, ip, NONE]);
        assert_eq!(states(Caps::RX_TCP, &frame), [NONE, NONE, NONE, tcp]);
        assert_eq!(states(Caps::RX_UDP, &frame), [NONE, NONE, NONE, udp]);
        assert_eq!(states(Caps::RX_OUTER_IP, &frame), [GOOD, NONE, NONE, NONE]);
        assert_eq!(states(Caps::RX_OUTER_UDP, &frame), [NONE, GOOD, NONE, NONE]);
        assert_eq!(states(PLAIN | OUTER, &frame), [GOOD; 4]);
    }
}

#[test]
fn of_a_tunnel_it_does_not_find_it_reports_the_outer_level_as_plain_ip() {
    let inner = Recipe::tcp(b"data".to_vec());
    for port in [4788, 4790, 6081] {
        let wrap = Wrap { port, sum: Sum::Right, ..Wrap::vxlan() };
        let frame = wrap.around(&inner, &inner.frame());
        assert_eq!(states(PLAIN, &frame), [GOOD, GOOD, NONE, NONE], "{port}");
        assert_eq!(states(OUTER, &frame), [NONE; 4], "{port}");
    }
    let mut corrupt =
        Wrap { port: 1, sum: Sum::Right, ..Wrap::vxlan() }.around(&inner, &inner.frame());
    *corrupt.last_mut().unwrap() ^= 1;
    assert_eq!(states(PLAIN | OUTER, &corrupt), [GOOD, BAD, NONE, NONE]);
    // GRE and IP in IP are found by who cuts inside them.
    let gre = Wrap::of(Carrier::Gre { key: true, sequence: true, ethernet: false });
    let frame = gre.around(&inner, &inner.frame());
    assert_eq!(states(PLAIN | OUTER, &frame), [GOOD, NONE, NONE, NONE]);
    let ip = Wrap::of(Carrier::Ip);
    assert_eq!(states(PLAIN | OUTER, &ip.around(&inner, &inner.frame())), [GOOD, NONE, NONE, NONE]);
}

#[test]
fn errors_of_one_level_are_not_those_of_the_other() {
    for wrap in wraps() {
        let is_udp = matches!(wrap.carrier, Carrier::Vxlan | Carrier::Geneve { .. });
        let sum = if is_udp { Sum::Right } else { Sum::Absent };
        let wrap = Wrap { sum, ..wrap };
        let outer_ip = if wrap.v6 { NONE } else { GOOD };
        let outer_udp = if is_udp { GOOD } else { NONE };
        for v6 in [false, true] {
            let inner = Recipe { v6, ..Recipe::tcp(b"payload".to_vec()) };
            let inner_ip = if v6 { NONE } else { GOOD };
            let good = inner.frame();
            let all = |frame: &[u8]| found(PLAIN | OUTER, &wrap, frame);
            let expected = [outer_ip, outer_udp, inner_ip, GOOD];
            assert_eq!(all(&wrap.around(&inner, &good)), expected, "{wrap:?}");
            // Wrong inside, and right over what is wrong.
            let mut bad = good.clone();
            *bad.last_mut().unwrap() ^= 1;
            let expected = [outer_ip, outer_udp, inner_ip, BAD];
            assert_eq!(all(&wrap.around(&inner, &bad)), expected, "{wrap:?}");
            if !wrap.v6 {
                let mut frame = wrap.around(&inner, &good);
                frame[wrap.l3() + 8] ^= 1;
                assert_eq!(all(&frame), [BAD, outer_udp, inner_ip, GOOD], "{wrap:?}");
            }
            if is_udp {
                let mut frame = wrap.around(&inner, &good);
                frame[wrap.field()] ^= 1;
                assert_eq!(all(&frame), [outer_ip, BAD, inner_ip, GOOD], "{wrap:?}");
                frame[wrap.field()..wrap.field() + 2].fill(0);
                assert_eq!(all(&frame), [outer_ip, NONE, inner_ip, GOOD], "{wrap:?}: no checksum");
            }
        }
    }
}

#[test]
fn what_is_no_tunnel_is_plain_whatever_the_port() {
    let inner = Recipe::tcp(b"data".to_vec());
    let plain = [GOOD, GOOD, NONE, NONE];
    let spoiled = |wrap: &Wrap, at: usize, to: u8| {
        let mut frame = wrap.around(&inner, &inner.frame());
        frame[at] = to;
        // A right outer checksum over what was changed.
        let (l4, field) = (wrap.l4(), wrap.field());
        frame[field..field + 2].fill(0);
        let len = (frame.len() - l4) as u64;
        let sum = word_sum(&frame[l4..]) + word_sum(&frame[l4 - 8..l4]) + 17 + len;
        frame[field..field + 2].copy_from_slice(&((65_535 - sum % 65_535) as u16).to_be_bytes());
        found(PLAIN | OUTER, wrap, &frame)
    };
    let vxlan = Wrap { sum: Sum::Right, ..Wrap::vxlan() };
    let at = vxlan.l4() + 8;
    assert_eq!(spoiled(&vxlan, at, 0), plain, "no VNI");
    assert_eq!(spoiled(&vxlan, at, 0x0c), plain, "another protocol may follow");
    assert_eq!(spoiled(&vxlan, at, 0x88), [GOOD; 4], "bits of extensions that change nothing");
    assert_eq!(spoiled(&vxlan, at + 8 + 12, 9), plain, "not IP inside");
    let geneve = Wrap::of(Carrier::Geneve { options: 1, ethernet: true });
    let geneve = Wrap { sum: Sum::Right, ..geneve };
    assert_eq!(spoiled(&geneve, at, 0x41), plain, "another version");
    assert_eq!(spoiled(&geneve, at, 63), plain, "options over the end");
    assert_eq!(spoiled(&geneve, at + 1, 0x80), plain, "a control packet");
    assert_eq!(spoiled(&geneve, at + 1, 0x40), [GOOD; 4], "critical options are options");
}

#[test]
fn gre_with_reserved_bits_or_another_version_is_not_looked_into() {
    let inner = Recipe::tcp(b"data".to_vec());
    let wrap = Wrap::of(Carrier::Gre { key: true, sequence: true, ethernet: true });
    let frame = wrap.around(&inner, &inner.frame());
    assert_eq!(found(PLAIN | OUTER, &wrap, &frame), [GOOD, NONE, GOOD, GOOD]);
    for (at, bit) in [(0, 0x40), (0, 0x08), (1, 0x01), (1, 0x80)] {
        let mut frame = frame.clone();
        frame[wrap.l4() + at] |= bit;
        assert_eq!(found(PLAIN | OUTER, &wrap, &frame), [GOOD, NONE, NONE, NONE], "{at} {bit:#x}");
    }
}

#[test]
fn an_inner_datagram_that_goes_beyond_the_outer_one_is_not_judged() {
    let inner = Recipe::udp(b"data".to_vec());
    let wrap = Wrap::vxlan();
    let mut frame = wrap.around(&inner, &inner.frame());
    let l3 = inner.l3() + wrap.shift(&inner);
    frame[l3 + 3] += 4;
    // The bytes are there, behind the outer datagram.
    frame.extend([0; 4]);
    let [_, _, ip, udp] = states(PLAIN, &frame);
    assert_eq!((ip, udp), (BAD, NONE));
}

#[test]
fn a_frame_of_which_the_capture_lacks_bytes_is_never_reported_on() {
    let (wrap, inner) = (Wrap::vxlan(), Recipe::tcp(vec![1; 300]));
    let whole = wrap.around(&inner, &inner.frame());
    let mut bench = Bench::new();
    let frame = Frame::cut(0, whole.clone(), whole.len() as u32 + 1);
    let mut nic = tunnel_nic(Caps::all() - Caps::RX_HASH, &[frame]);
    let packets = bench.receive_all(&mut *nic.rx);
    let meta = packets[0].meta();
    assert_eq!((meta.l3, meta.l4, meta.flags), Default::default());
    bench.release(packets);
}

#[test]
fn complete_sum_and_hash_are_those_of_the_outermost_datagram() {
    let inner = Recipe::tcp(b"data".to_vec());
    let wrap = Wrap { sum: Sum::Right, ..Wrap::vxlan() };
    let frame = wrap.around(&inner, &inner.frame());
    let meta = meta_of(Caps::RX_COMPLETE | Caps::RX_HASH | PLAIN | OUTER, &frame);
    let known = meta.known().unwrap();
    assert_eq!(usize::from(known.from), wrap.l3());
    assert_eq!(u64::from(known.sum) % 65_535, word_sum(&frame[wrap.l3()..]) % 65_535);
    let other = Recipe { ports: (9, 10), ..inner };
    let same = meta_of(Caps::RX_HASH, &wrap.around(&other, &other.frame())).hash;
    assert_eq!(meta.hash, same, "ports inside do not spread flows");
}

proptest! {
    #[test]
    fn no_bytes_in_a_tunnel_make_it_panic(
        wrap in prop::sample::select(wraps()), cut in any::<prop::sample::Index>(),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let inner = Recipe::tcp(vec![5; 40]);
        let mut frame = wrap.around(&inner, &inner.frame());
        for (at, byte) in noise {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        frame.truncate(cut.index(frame.len()) + 1);
        found(Caps::all(), &wrap, &frame);
    }
}
