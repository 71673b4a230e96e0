//! Presets `forward` and `bump` between two stacks, whatever either side's kernel or ours leaves to the other.

use crate::lane::{A4, A6, B4, B6, Lane, Way};
use crate::running::Ended;
use crate::traffic::{http, ping, tcp, udp};
use corelane_runtime::testing::namespace::Namespace;

/// What is done on one of the two sides without any help.
const OFF: &str = "tso off gso off gro off tx off rx off";
/// Fewer bytes a frame than this, and no superpackets came; the MTU is 1500.
const MTU_FRAME: u64 = 1514;

/// Who leaves work to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offloads {
    a: bool,
    b: bool,
    /// Our own ports.
    ours: bool,
}

const ALL: Offloads = Offloads { a: true, b: true, ours: true };

/// Everything a user would try: a second of each.
#[track_caller]
fn everything(lane: &Lane) {
    reach(lane);
    for flows in [1, 4] {
        tcp(&lane.a, (&lane.b, B4), flows, "-t 1");
        tcp(&lane.a, (&lane.b, B6), flows, "-t 1");
        udp(&lane.a, (&lane.b, B4), flows, "-t 1");
        udp(&lane.a, (&lane.b, B6), flows, "-t 1");
    }
    http(&lane.a, &lane.b, B4, 50_000_000);
}

/// The same in short, both ways.
#[track_caller]
fn in_short(lane: &Lane) {
    reach(lane);
    tcp(&lane.a, (&lane.b, B4), 4, "-n 40M");
    tcp(&lane.a, (&lane.b, B6), 1, "-n 20M --reverse");
    udp(&lane.a, (&lane.b, B4), 4, "-n 200K");
    http(&lane.b, &lane.a, A6, 10_000_000);
    http(&lane.a, &lane.b, B4, 10_000_000);
}

/// Echoes of all sizes, which takes ARP and neighbour discovery, and fragments of what is too long.
#[track_caller]
fn reach(lane: &Lane) {
    for bytes in [0, 56, 1472, 8000] {
        ping(&lane.a, B4, bytes);
        ping(&lane.b, A6, bytes.min(1452));
    }
    ping(&lane.b, A4, 56);
    ping(&lane.a, B6, 8000);
}

fn switch_off(namespace: &Namespace, name: &str) {
    namespace.run(&format!("ethtool -K {name} {OFF}"));
}

/// Runs a preset over taps that came there in this way, under this traffic, and gives its report.
#[track_caller]
fn joined(
    test: &str,
    preset: &str,
    way: Way,
    offloads: Offloads,
    traffic: fn(&Lane),
) -> Option<Ended> {
    let lane = Lane::new(test)?;
    let keys = if offloads.ours { "" } else { ", caps: None" };
    let running = lane.start(way, &[preset], [keys, keys]);
    if !offloads.a {
        switch_off(&lane.a, "a0");
    }
    if !offloads.b {
        switch_off(&lane.b, "b0");
    }
    traffic(&lane);
    let ended = running.stop();
    match way {
        Way::Opened => ended.assert_clean(),
        Way::Moved => ended.assert_clean_but("link_down"),
    };
    assert_sizes(preset, offloads, &ended);
    Some(ended)
}

/// Superpackets crossed, or were made or cut, where the offloads say so.
#[track_caller]
fn assert_sizes(preset: &str, offloads: Offloads, ended: &Ended) {
    let (came, went) = (ended.mean_received("a"), ended.mean_sent("b"));
    let sizes = format!("{preset}, {offloads:?}: {came} B came, {went} B went");
    match (offloads.a, offloads.ours) {
        (true, true) => assert!(came > 3000, "{sizes}: no superpackets came"),
        _ => assert!(came <= MTU_FRAME, "{sizes}: superpackets came"),
    }
    // A kernel that cannot cut again what it receives takes superpackets all the same.
    let joins = preset == "preset:bump" || offloads.a;
    match (joins, offloads.ours) {
        (true, true) => assert!(went > 2000, "{sizes}: no superpackets went"),
        _ => assert!(went <= MTU_FRAME, "{sizes}: superpackets went"),
    }
    let cut = ended.number("ports.b.wire_packets")
        > ended.number("ports.b.tx_packets") + ended.number("ports.b.rx_packets");
    assert_eq!(cut, offloads.ours && (joins || offloads.b), "{sizes}");
}

macro_rules! combinations {
    ($($name:ident: $preset:literal, $way:ident, $offloads:expr, $traffic:ident;)+) => {$(
        #[test]
        fn $name() {
            joined(concat!("tap_", stringify!($name)), $preset, Way::$way, $offloads, $traffic);
        }
    )+};
}

combinations! {
    forward_carries_everything: "preset:forward", Opened, ALL, everything;
    bump_carries_everything: "preset:bump", Moved, ALL, everything;
    forward_with_the_sender_doing_its_own: "preset:forward", Moved, Offloads { a: false, ..ALL }, in_short;
    forward_with_the_receiver_doing_its_own: "preset:forward", Opened, Offloads { b: false, ..ALL }, in_short;
    forward_with_both_doing_their_own: "preset:forward", Moved, Offloads { a: false, b: false, ours: true }, in_short;
    forward_with_none_of_ours: "preset:forward", Opened, Offloads { ours: false, ..ALL }, in_short;
    bump_with_the_sender_doing_its_own: "preset:bump", Opened, Offloads { a: false, ..ALL }, in_short;
    bump_with_the_receiver_doing_its_own: "preset:bump", Moved, Offloads { b: false, ..ALL }, in_short;
    bump_with_both_doing_their_own: "preset:bump", Opened, Offloads { a: false, b: false, ours: true }, in_short;
    bump_with_none_of_ours: "preset:bump", Moved, Offloads { ours: false, ..ALL }, in_short;
}
