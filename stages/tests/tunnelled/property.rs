//! Any superpacket in any tunnel, for every set of what a port can do: the frames are the same.

use crate::build::{Stream, payload};
use crate::cut::{limits, through};
use corelane_runtime::offload::{Caps, Limits};
use corelane_runtime::packet::{SegFlags, Tunnel};
use proptest::prelude::*;
use proptest::sample::select;

/// What decides about tunnels, in every combination.
pub(crate) const BITS: [Caps; 14] = [
    Caps::TSO4,
    Caps::TSO6,
    Caps::TSO_FIXED_ID,
    Caps::TSO_ECN,
    Caps::TSO_CWR_ALL,
    Caps::TSO_VXLAN,
    Caps::TSO_VXLAN_CSUM,
    Caps::TSO_GENEVE,
    Caps::TSO_GENEVE_CSUM,
    Caps::TSO_GRE,
    Caps::TSO_IPIP,
    Caps::GSO_PARTIAL,
    Caps::TX_OUTER_UDP,
    Caps::TX_OUTER_IP,
];

pub(crate) fn caps() -> impl Strategy<Value = Caps> {
    let bits = any::<u16>().prop_map(|some| {
        let chosen = BITS.iter().enumerate().filter(|(bit, _)| some & 1 << bit != 0);
        chosen.fold(Caps::MULTI_PART, |caps, (_, &bit)| caps | bit)
    });
    let sums = select(vec![Caps::empty(), Caps::TX_CHECKSUMS, Caps::TX_GENERIC.with_implied()]);
    (bits, sums, any::<bool>()).prop_map(|(bits, sums, whole)| {
        let caps = bits | sums;
        if whole { caps.with_implied() } else { caps.without_orphans() }
    })
}

pub(crate) fn stream() -> impl Strategy<Value = Stream> {
    let tunnel = select(vec![Tunnel::Vxlan, Tunnel::Geneve, Tunnel::Gre, Tunnel::Ip]);
    let around = (tunnel, select(vec![4789, 6081, 8472]), any::<[bool; 6]>(), 0_usize..5);
    let inside = (any::<[bool; 3]>(), any::<u32>(), any::<u8>(), 0_usize..6, any::<[u16; 2]>());
    let lengths = (1_usize..60, 2_usize..20, 0_usize..60);
    (around, inside, lengths, 0_u8..8).prop_map(
        |(
            (tunnel, port, around, options),
            (inside, seq, tcp, tcp_options, ids),
            lengths,
            flags,
        )| {
            let [outer_v6, sum, outer_df, ethernet, has_options, odd] = around;
            let [inner_v6, udp, _] = inside;
            let (gso_size, count, less) = lengths;
            let gso_size = gso_size * 2 + usize::from(odd);
            let len = gso_size * count - less.min(gso_size - 1);
            let mut rules = SegFlags::empty();
            rules.set(SegFlags::FIXED_ID, flags & 1 != 0);
            rules.set(SegFlags::OUTER_FIXED_ID, flags & 2 != 0);
            rules.set(SegFlags::CWR_ALL, flags & 4 != 0 && !udp);
            let tcp_flags = tcp | if rules.contains(SegFlags::CWR_ALL) { 0x80 } else { 0 };
            Stream {
                tunnel,
                port,
                outer_v6,
                sum: sum && tunnel != Tunnel::Ip,
                outer_id: ids[0],
                outer_df,
                options: if has_options { options * 4 } else { 0 },
                ethernet,
                inner_v6,
                udp,
                inner_id: ids[1],
                seq,
                tcp_flags,
                tcp_options: tcp_options * 4,
                gso_size,
                payload: payload(len),
                flags: rules,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_port_can_do_the_frames_are_the_same(
        stream in stream(),
        joined in any::<bool>(),
        caps in caps(),
        (bytes, segments) in (select(vec![400_u32, 1000, 65_536]), select(vec![2_u16, 5, u16::MAX])),
    ) {
        let limits = Limits { tso_bytes: bytes, tso_segments: segments, ..limits() };
        let finished = through(|harness| stream.packet(harness, joined), caps, limits);
        prop_assert_eq!(finished.frames, stream.frames());
        prop_assert!(!joined || finished.read == 0, "{} bytes read", finished.read);
    }
}
