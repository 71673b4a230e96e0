//! What goes wrong with a tap while it runs: the interface deleted, down, with another MTU, flooded.
//!
//! Each has one outcome that is written in docs/taps.md: it goes on and counts, or it ends with a message and an exit
//! code. Nothing may panic, hang, or lose a packet without a name.

use crate::lane::{A4, B4, Lane, Way};
use crate::running::{PATIENCE, wait_for};
use crate::traffic::{http, iperf3, ping};

#[test]
fn an_interface_that_is_deleted_ends_its_queue_with_an_error() {
    for preset in ["preset:forward", "preset:bump"] {
        let Some(lane) = Lane::new("tap_an_interface_that_is_deleted_ends_its_queue") else {
            return;
        };
        let running = lane.start(Way::Opened, &[preset], ["", ""]);
        ping(&lane.a, B4, 56);
        lane.a.ip("link del a0");
        // What is sent towards it from now on is lost, by name.
        let _ = lane.b.attempt(&format!("ping -n -c 3 -i 0.05 -W 1 {A4}"));
        let ended = running.stop();
        ended.assert_balanced();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let gone = "interface `a0` is gone: it was deleted during the run";
        assert!(ended.stderr.contains(gone), "{ended:?}");
        assert_eq!(ended.stderr.matches(gone).count(), 1, "said once: {ended:?}");
    }
}

#[test]
fn both_interfaces_deleted_end_the_run() {
    let Some(lane) = Lane::new("tap_both_interfaces_deleted_end_the_run") else { return };
    let running = lane.start(Way::Moved, &["preset:bump"], ["", ""]);
    ping(&lane.a, B4, 56);
    lane.a.ip("link del a0");
    lane.b.ip("link del b0");
    // All its inputs have ended, and nobody has to stop it.
    let ended = running.end();
    ended.assert_balanced();
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

#[test]
fn a_link_that_is_down_loses_by_name_and_recovers() {
    let Some(lane) = Lane::new("tap_a_link_that_is_down_loses_by_name_and_recovers") else {
        return;
    };
    let running = lane.start(Way::Opened, &["preset:bump"], ["", ""]);
    for _ in 0..2 {
        ping(&lane.a, B4, 56);
        lane.b.ip("link set b0 down");
        let lost = lane.a.attempt(&format!("ping -n -c 3 -i 0.05 -W 1 {B4}"));
        assert!(!lost.status.success(), "nobody can have answered");
        running.until("is down: packets are dropped until it is up");
        lane.b.ip("link set b0 up");
        lane.addresses();
        assert!(lane.reaches(), "it does not recover: {}", running.said());
    }
    let ended = running.stop();
    ended.assert_balanced();
    let lost = ended.dropped("b", "link_down");
    assert!(lost > 0 && lost < 100, "{ended:?}");
    assert!(ended.stderr.contains("is up again"), "{ended:?}");
    // Packets were lost, which is no clean end.
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("packets lost: link_down"), "{ended:?}");
}

#[test]
fn a_smaller_mtu_while_it_runs() {
    let Some(lane) = Lane::new("tap_a_smaller_mtu_while_it_runs") else { return };
    let running = lane.start(Way::Opened, &["preset:bump"], [", mtu: 9000", ", mtu: 9000"]);
    for mtu in [9000, 1500, 1280, 9000] {
        lane.a.ip(&format!("link set a0 mtu {mtu}"));
        lane.b.ip(&format!("link set b0 mtu {mtu}"));
        ping(&lane.a, B4, mtu - 28);
        http(&lane.a, &lane.b, B4, 2_000_000);
        http(&lane.b, &lane.a, A4, 2_000_000);
    }
    running.stop().assert_clean();
}

#[test]
fn a_larger_mtu_than_at_the_start_is_kept_to_by_name() {
    let test = "tap_a_larger_mtu_than_at_the_start_is_kept_to_by_name";
    let Some(lane) = Lane::new(test) else { return };
    let running = lane.start(Way::Opened, &["preset:forward"], ["", ""]);
    lane.a.ip("link set a0 mtu 9000");
    lane.b.ip("link set b0 mtu 9000");
    let lost = lane.a.attempt(&format!("ping -n -c 3 -i 0.05 -W 1 -s 8000 {B4}"));
    assert!(!lost.status.success(), "longer than the port was opened for");
    // What fits goes on as before, and all does with the old MTU.
    ping(&lane.a, B4, 1472);
    lane.a.ip("link set a0 mtu 1500");
    lane.b.ip("link set b0 mtu 1500");
    ping(&lane.a, B4, 8000);
    http(&lane.a, &lane.b, B4, 2_000_000);
    let ended = running.stop();
    ended.assert_balanced();
    let stages = ended.report["stages"].as_array().expect("stages");
    let too_big = |stage: &serde_json::Value| stage["drops"]["too_big"] == 3;
    assert_eq!(stages.iter().filter(|stage| too_big(stage)).count(), 1, "{ended:?} {stages:?}");
}

#[test]
fn an_mtu_smaller_on_one_side_alone() {
    let Some(lane) = Lane::new("tap_an_mtu_smaller_on_one_side_alone") else { return };
    let running = lane.start(Way::Opened, &["preset:forward"], ["", ""]);
    // An interface sends no more than its MTU and receives what comes: nothing is lost on the way.
    lane.b.ip("link set b0 mtu 1000");
    ping(&lane.a, B4, 56);
    http(&lane.a, &lane.b, B4, 2_000_000);
    http(&lane.b, &lane.a, A4, 2_000_000);
    running.stop().assert_clean();
}

#[test]
fn a_flood_into_a_short_queue_is_counted_and_passes() {
    let Some(lane) = Lane::new("tap_a_flood_into_a_short_queue_is_counted_and_passes") else {
        return;
    };
    let running = lane.start(Way::Opened, &["preset:forward"], ["", ""]);
    lane.a.ip("link set a0 txqueuelen 2");
    iperf3(&lane.a, (&lane.b, B4), 4, "-u -b 0 -l 100 -t 1");
    // The queue is a limit of the kernel's; TCP finds its way through it.
    ping(&lane.a, B4, 56);
    http(&lane.a, &lane.b, B4, 2_000_000);
    let dropped = || -> u64 {
        let text = lane.a.run("cat /sys/class/net/a0/statistics/tx_dropped");
        text.trim().parse().expect("a number")
    };
    let kernel = dropped();
    let ended = running.stop();
    ended.assert_balanced();
    let unread = ended.dropped("a", "not_read_in_time");
    assert!(unread <= kernel, "{unread} of {kernel}: {ended:?}");
    assert_eq!(unread > 0, kernel > 0, "{unread} of {kernel}: {ended:?}");
    // They never came in: the run itself is clean.
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn the_interfaces_go_with_the_run() {
    let Some(lane) = Lane::new("tap_the_interfaces_go_with_the_run") else { return };
    let running = lane.start(Way::Opened, &["preset:bump"], ["", ""]);
    ping(&lane.a, B4, 56);
    let ended = running.stop();
    ended.assert_clean();
    // What it opened went with it.
    assert!(wait_for(PATIENCE, || !lane.a.attempt("ip link show a0").status.success()));
}
