//! Tags on and off: the bytes of a frame that was built so, and meta that still names them.

use super::{VlanPop, VlanPushSpec};
use crate::fixture::{KEY, chained, received};
use crate::rewrite::tests::{stage, through};
use crate::rx::describe;
use corelane_runtime::packet::{Csum, Known, Meta, Packet, Taken};
use corelane_runtime::stage::{Args, Nowhere, Row, StageConfig, StageSpec};
use corelane_runtime::testing::Harness;
use corelane_wire::testing::{FrameBuilder, Ipv4, Udp, Vlan, slow_sum, strategies};
use proptest::prelude::*;

fn config(arguments: &str) -> Box<dyn StageConfig> {
    let config = VlanPushSpec.configure(Args { text: arguments });
    config.unwrap_or_else(|errors| panic!("{arguments}: {errors:?}"))
}

fn push(arguments: &str, rows: &[&str]) -> Harness {
    let mut config = config(arguments);
    let rows: Vec<Row<'_>> = rows.iter().map(|text| Row { text }).collect();
    config.take_rows(&rows).unwrap_or_else(|errors| panic!("{errors:?}"));
    let outputs = 1 + config.traits().outputs.len();
    let built = config.build(&mut Nowhere).expect("it is built");
    Harness::built(built, VlanPushSpec.info()).outputs(outputs).home(64, 64, 4)
}

/// What a look at the bytes says, of what a tag can move.
fn seen(harness: &mut Harness, bytes: &[u8]) -> Meta {
    let mut packet = chained(harness, bytes, &[]);
    describe(&mut packet, KEY, &mut harness.buffers).expect("a buffer");
    let meta = *packet.meta();
    harness.release([packet]);
    meta
}

/// Asserts that meta says what a look would say.
fn assert_true(harness: &mut Harness, packet: &Packet) {
    let bytes: Vec<u8> = packet.parts().flatten().copied().collect();
    let (meta, looked) = (*packet.meta(), seen(harness, &bytes));
    // With a tag fewer a look may come further than the one before.
    if meta.layers.count == looked.layers.count {
        assert_eq!(meta.layers, looked.layers);
        assert_eq!(meta.trailer, looked.trailer);
    }
    assert_eq!(meta.orig_len, packet.len());
}

proptest! {
    #[test]
    fn on_and_off_again_gives_the_same_bytes(
        frame in strategies::hostile(), cuts in prop::collection::vec(0..200_usize, 0..3),
        vid in 0..4095_u16, pcp in 0..8_u8, shared in any::<bool>(),
    ) {
        prop_assume!(frame.len() >= 14);
        let mut on = push(&format!("(vid: {vid}, pcp: {pcp})"), &[]);
        let packet = received(&mut on, &frame, &cuts);
        let other = shared.then(|| packet.share(0, u32::MAX, &mut on.buffers).expect("buffers"));
        on.push(packet);
        on.run();
        let bare = on.dropped("not_ethernet").packets;
        prop_assert_eq!(bare, 0);
        let packet = on.take().pop().expect("it passes");
        let mut expected = frame[..12].to_vec();
        expected.extend([0x81, 0x00, pcp << 5 | (vid >> 8) as u8, vid as u8]);
        expected.extend(&frame[12..]);
        prop_assert_eq!(packet.parts().flatten().copied().collect::<Vec<u8>>(), expected);
        assert_true(&mut on, &packet);
        let mut off = stage::<VlanPop>("()");
        let packet = through(&mut off, packet);
        assert_true(&mut on, &packet);
        prop_assert_eq!(packet.meta().taken, Taken::vlan(u16::from(pcp) << 13 | vid));
        prop_assert_eq!(off.unpack(packet), frame.clone());
        if let Some(other) = other {
            prop_assert_eq!(on.unpack(other), frame);
        }
    }

    #[test]
    fn a_sum_that_a_device_knows_stays_true_or_is_forgotten(
        frame in strategies::plain_frame(), tags in 0..3_usize, from in 0..2_usize,
    ) {
        let frame = frame.build();
        let mut frame = frame;
        for _ in 0..tags {
            frame.splice(12..12, [0x81, 0, 0, 9]);
        }
        for arguments in [Some("(7)"), None] {
            let mut harness = match arguments {
                Some(_) => push("(vid: 7)", &[]),
                None => stage::<VlanPop>("()"),
            };
            let mut packet = received(&mut harness, &frame, &[]);
            let from = [14, packet.meta().layers.levels[0].l3.max(14)][from];
            let end = frame.len() - usize::from(packet.meta().trailer);
            packet.meta_mut().set_known(Known { from, sum: slow_sum(&[&frame[from.into()..end]]) });
            let packet = through(&mut harness, packet);
            let after: Vec<u8> = packet.parts().flatten().copied().collect();
            if let Some(known) = packet.meta().known() {
                let end = after.len() - usize::from(packet.meta().trailer);
                let now = slow_sum(&[&after[known.from.into()..end]]);
                prop_assert_eq!(now % 0xffff, known.sum % 0xffff);
            }
            harness.release([packet]);
            harness.finish();
        }
    }
}

fn frame() -> FrameBuilder {
    FrameBuilder::new().ipv4(Ipv4::default()).udp(Udp::default()).payload(b"tenant")
}

#[test]
fn service_tags_and_stacks() {
    let mut harness = push("(vid: 100, tpid: 0x88a8)", &[]);
    let tagged = FrameBuilder::new()
        .vlan(5)
        .ipv4(Ipv4::default())
        .udp(Udp::default())
        .payload(b"tenant")
        .build();
    let packet = received(&mut harness, &tagged, &[]);
    let packet = through(&mut harness, packet);
    let stacked = FrameBuilder::new()
        .vlan_with(Vlan { tag_type: 0x88a8, tci: 100, ethertype: None })
        .vlan(5)
        .ipv4(Ipv4::default())
        .udp(Udp::default())
        .payload(b"tenant")
        .build();
    assert_true(&mut harness, &packet);
    assert_eq!(harness.unpack(packet), stacked);
    // The outermost comes off, whatever its type.
    let mut off = stage::<VlanPop>("()");
    let packet = received(&mut off, &stacked, &[]);
    let packet = through(&mut off, packet);
    assert_eq!(off.unpack(packet), tagged);
}

#[test]
fn the_tunnel_a_packet_came_out_of_chooses_the_vlan() {
    let rows = [
        "(vlan: 10, vni: 5010, remotes: [\"192.0.2.7\"])",
        "(vni: 7)",
        "(vlan: 20, vni: 5020, remotes: [], static: { \"02:00:00:00:00:08\": \"192.0.2.8\" })",
    ];
    let mut harness = push("(table: \"tenants\", otherwise: \"lost\")", &rows);
    for taken in [
        Taken::tunnel(5020),
        Taken::tunnel(5010),
        Taken::tunnel(7),
        Taken::tunnel(1),
        Taken::vlan(5010),
        Taken::NOTHING,
    ] {
        let mut packet = received(&mut harness, &frame().build(), &[]);
        packet.meta_mut().taken = taken;
        harness.push(packet);
    }
    harness.run();
    let tagged: Vec<Vec<u8>> = harness.take_frames();
    let vids: Vec<u8> = tagged.iter().map(|frame| frame[15]).collect();
    assert_eq!(vids, [20, 10]);
    assert_eq!(harness.take_from(1).len(), 4, "in nobody else's VLAN");
    assert_eq!(harness.counter("pushed"), 2);
}

#[test]
fn without_a_row_or_an_ethernet_header_a_packet_ends() {
    let mut harness = push("(table: \"tenants\")", &[]);
    let packet = received(&mut harness, &frame().build(), &[]);
    harness.push(packet);
    harness.run();
    assert_eq!(harness.dropped("no_row").packets, 1);
    harness.finish();
    let mut harness = push("(vid: 1)", &[]);
    let packet = received(&mut harness, &[7; 13], &[]);
    harness.push(packet);
    harness.run();
    assert_eq!(harness.dropped("not_ethernet").packets, 1);
    harness.finish();
}

#[test]
fn packets_without_a_tag_pass_or_go_elsewhere() {
    for (arguments, output) in [("()", 0), ("(otherwise: \"plain\")", 1)] {
        let mut harness = stage::<VlanPop>(arguments);
        for bytes in [frame().build(), [&[3; 12], &[0x81, 0x00, 1][..]].concat()] {
            let packet = received(&mut harness, &bytes, &[]);
            harness.push(packet);
        }
        harness.run();
        let packets = harness.take_from(output);
        assert_eq!(packets.len(), 2);
        assert!(packets.iter().all(|packet| packet.meta().taken == Taken::NOTHING));
        harness.release(packets);
        assert_eq!(harness.counter("untagged"), 2);
        harness.finish();
    }
}

#[test]
fn checksums_keep_their_states() {
    let mut harness = push("(vid: 9)", &[]);
    let mut packet = received(&mut harness, &frame().build(), &[]);
    packet.meta_mut().l4[0] = Csum::Good;
    packet.meta_mut().l3[0] = Csum::Bad;
    packet.set_payload_sum(0x1234);
    let packet = through(&mut harness, packet);
    assert_eq!((packet.meta().l3[0], packet.meta().l4[0]), (Csum::Bad, Csum::Good));
    assert_eq!(packet.payload_sum(), Some(0x1234));
    harness.release([packet]);
}

#[test]
fn every_mistake_is_told() {
    for (text, key) in [
        ("()", "vid"),
        ("(vid: 4095)", "vid"),
        ("(vid: 1, table: \"t\")", "vid"),
        ("(vid: 1, pcp: 8)", "pcp"),
        ("(vid: 1, tpid: 0x0800)", "tpid"),
    ] {
        let errors = VlanPushSpec.configure(Args { text }).err().expect("a mistake");
        assert_eq!(errors[0].key.as_deref(), Some(key), "{text}: {errors:?}");
    }
    let mut config = config("(table: \"t\")");
    let rows = [
        "(vlan: 1)",
        "(vni: 1, vlan: 5000)",
        "(vni: 2, vlan: 3)",
        "(vni: 2, vlan: 4)",
        "(vni: 2, vlan: 3)",
    ];
    let errors = config.take_rows(&rows.map(|text| Row { text })).expect_err("mistakes");
    let found: Vec<_> =
        errors.iter().map(|wrong| (wrong.row, wrong.error.key.as_deref())).collect();
    assert_eq!(found, [(0, Some("vni")), (1, Some("vlan")), (3, Some("vlan"))]);
}
