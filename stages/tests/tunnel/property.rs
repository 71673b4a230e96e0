//! Whatever goes into a tunnel comes out of it, and meta always is what a look at the bytes gives.

use crate::rig::{KEY, bytes_of, decap, encap, leave, received, through};
use corelane_runtime::packet::{Csum, Layers, MetaFlags, Packet};
use corelane_runtime::testing::Harness;
use corelane_stages::rx::describe;
use corelane_wire::testing::{problems, strategies};
use proptest::prelude::*;

/// What a look at the bytes gives of a packet.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    layers: Layers,
    facts: MetaFlags,
    payload: u32,
    trailer: u16,
    cut: bool,
}

fn look(packet: &Packet) -> Look {
    let meta = packet.meta();
    let facts =
        MetaFlags::FRAGMENT | MetaFlags::ODD_PSEUDO | MetaFlags::OVERRUN | MetaFlags::DEEPER;
    let mut layers = meta.layers;
    for level in &mut layers.levels[usize::from(layers.count)..] {
        *level = Default::default();
    }
    Look {
        layers,
        facts: meta.flags & facts,
        payload: packet.payload_len(),
        trailer: meta.trailer,
        cut: packet.is_cut(),
    }
}

/// The look at a packet is that at its bytes, received anew.
fn assert_looks_right(packet: &Packet, what: &str) {
    let mut fresh = Harness::new(
        corelane_stages::checksum_fill::ChecksumFill::new(None),
        &corelane_stages::checksum_fill::INFO,
    );
    let mut again = fresh.packet(&bytes_of(packet));
    again.meta_mut().orig_len = packet.meta().orig_len;
    describe(&mut again, KEY, &mut fresh.buffers).expect("a buffer");
    let (mut found, mut right) = (look(packet), look(&again));
    if right.facts.contains(MetaFlags::DEEPER) {
        // Behind which of three levels bytes follow is another question for each.
        (found.trailer, right.trailer) = (0, 0);
    }
    if right.layers.count < 2 {
        // A tunnel in which no other level is found has no name.
        (found.layers.tunnel, right.layers.tunnel) = Default::default();
        if right.facts.contains(MetaFlags::DEEPER) {
            // The look stops to track the outermost level for a frame without IP, of which nothing is tracked.
            (found.layers, found.facts, found.payload) = (right.layers, right.facts, right.payload);
        }
    }
    assert_eq!(found, right, "{what}: {:02x?}", bytes_of(packet));
    assert_eq!(packet.meta().hash, again.meta().hash, "{what}: the flow");
    fresh.release([again]);
    fresh.finish();
}

/// A frame that may be sound, broken, no IP, padded, or cut by the capture.
fn frame() -> impl Strategy<Value = (Vec<u8>, u32)> {
    let sound = prop_oneof![
        6 => strategies::frame().prop_map(|builder| builder.build()),
        2 => strategies::hostile(),
        1 => proptest::collection::vec(any::<u8>(), 14..80),
    ];
    let whole = (sound, 0usize..8).prop_map(|(mut frame, padding)| {
        frame.extend(vec![0xee; padding]);
        frame.resize(frame.len().max(14), 0);
        frame
    });
    (whole, any::<prop::sample::Index>(), prop::bool::weighted(0.2)).prop_map(|(frame, at, cut)| {
        let whole = frame.len() as u32;
        let kept = if cut { 14 + at.index(frame.len() - 13) } else { frame.len() };
        (frame[..kept].to_vec(), whole)
    })
}

fn state() -> impl Strategy<Value = Csum> {
    prop_oneof![Just(Csum::Unknown), Just(Csum::Good), Just(Csum::Bad)]
}

/// What `udp_checksum` may be.
pub(crate) const CHECKSUMS: [&str; 3] = ["On", "Off", "Auto"];
/// The port by which a tunnel is found.
pub(crate) const PORTS: &str = "port: 4789";

fn args(v6: bool, checksum: &str, port: &str) -> String {
    let (local, remote) =
        if v6 { ("2001:db8::1", "2001:db8::2") } else { ("192.0.2.1", "192.0.2.2") };
    format!(
        "(tunnel: Vxlan(vni: 77, local: \"{local}\", remote: \"{remote}\", {port}, udp_checksum: {checksum}))"
    )
}

/// A frame, the tunnel it goes through, and how it gets from one end to the other.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) frame: Vec<u8>,
    /// Its length before it was cut by a capture.
    pub(crate) orig_len: u32,
    pub(crate) v6: bool,
    /// `udp_checksum`.
    pub(crate) checksum: &'static str,
    /// What is known of its TCP or UDP checksum.
    pub(crate) l4: Csum,
    pub(crate) port: &'static str,
    /// Over the wire, or straight into the next stage with all that is put off.
    pub(crate) wire: bool,
}

/// What goes in comes out, and its meta is what a look at the bytes gives.
pub(crate) fn there_and_back(way: &Way) {
    let Way { frame, orig_len, v6, checksum, l4, port, wire } = way;
    let mut inwards = encap(&args(*v6, checksum, port));
    let mut packet = inwards.packet(frame);
    packet.meta_mut().orig_len = *orig_len;
    describe(&mut packet, KEY, &mut inwards.buffers).expect("a buffer");
    // Nobody says good of what is not; that would be believed.
    let unfounded = *l4 == Csum::Good && !problems(frame).is_empty();
    let l4 = if unfounded { Csum::Unknown } else { *l4 };
    if packet.meta().layers.count == 1 {
        packet.meta_mut().l4[0] = l4;
    }
    let packets = through(&mut inwards, vec![packet]);
    assert_eq!(packets.len(), 1);
    if *port == PORTS {
        assert_looks_right(&packets[0], "in the tunnel");
    }
    let mut outwards = decap(&format!("(tunnel: Vxlan(vni: 77, {port}))"));
    let (packets, from) = if *wire {
        let frames = leave(inwards, packets);
        (vec![received(&mut outwards, &frames[0])], None)
    } else {
        (packets, Some(inwards))
    };
    let packets = through(&mut outwards, packets);
    assert_eq!(outwards.counter("unverified"), 0);
    assert_eq!(packets.len(), 1, "{:?}", outwards.tally());
    assert_eq!(&bytes_of(&packets[0]), frame);
    assert_eq!(packets[0].meta().taken.tunnel_id(), Some(77));
    if !wire && packets[0].meta().layers.count == 1 {
        assert_eq!(packets[0].meta().l4[0], l4, "what was known stays known");
    }
    assert_looks_right(&packets[0], "out of the tunnel");
    outwards.release(packets);
    outwards.finish();
    from.into_iter().for_each(Harness::finish);
}

/// Any bytes come out of a tunnel or are dropped for a reason.
pub(crate) fn taken_or_refused(frames: &[Vec<u8>]) {
    let mut harness = decap("(tunnel: Vxlan())");
    let packets: Vec<Packet> = frames.iter().map(|frame| received(&mut harness, frame)).collect();
    let packets = through(&mut harness, packets);
    let ended = packets.len() as u64 + harness.tally().dropped().packets;
    assert_eq!(ended, frames.len() as u64);
    for packet in &packets {
        assert_looks_right(packet, "out of the tunnel");
    }
    harness.release(packets);
    harness.finish();
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn what_goes_in_comes_out(
        (frame, orig_len) in frame(), v6 in any::<bool>(), checksum in prop::sample::select(CHECKSUMS.to_vec()),
        l4 in state(), port in prop::sample::select(vec![PORTS, "port: 1111"]), wire in any::<bool>(),
    ) {
        there_and_back(&Way { frame, orig_len, v6, checksum, l4, port, wire });
    }

    #[test]
    fn any_bytes_are_taken_or_refused_for_a_reason(frames in proptest::collection::vec(strategies::hostile(), 1..20)) {
        taken_or_refused(&frames);
    }

    #[test]
    fn nesting_three_deep_comes_apart_again(
        (frame, _) in frame(), kinds in any::<[bool; 3]>(), checksums in any::<[bool; 3]>(),
    ) {
        let stages = |i: usize| args(kinds[i], if checksums[i] { "On" } else { "Off" }, PORTS);
        let mut inwards: Vec<Harness> = (0..3).map(|i| encap(&stages(i))).collect();
        let mut packets = vec![received(&mut inwards[0], &frame)];
        for (i, stage) in inwards.iter_mut().enumerate() {
            packets = through(stage, packets);
            prop_assert_eq!(packets.len(), 1);
            assert_looks_right(&packets[0], &format!("level {i}"));
        }
        for i in 0..3 {
            let mut outwards = decap("(tunnel: Vxlan(vni: 77))");
            packets = through(&mut outwards, packets);
            prop_assert_eq!(packets.len(), 1, "{} {:?}", i, outwards.tally());
            assert_looks_right(&packets[0], &format!("out of level {i}"));
            outwards.finish();
        }
        prop_assert_eq!(bytes_of(&packets[0]), frame);
        inwards[0].release(packets);
        inwards.into_iter().for_each(Harness::finish);
    }
}
