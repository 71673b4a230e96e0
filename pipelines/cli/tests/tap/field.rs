//! Reports from the field that take real stacks: what broke for users of others, tried on ours.

use crate::lane::{A4, A6, B4, B6, Lane, Way};
use crate::traffic::{http, ping, tcp};
use corelane_runtime::testing::namespace::Namespace;

fn tx_off(namespace: &Namespace, name: &str) {
    namespace.run(&format!("ethtool -K {name} tx off tso off gso off"));
}

/// Through a switch in user space, ping works and TCP never connects: senders leave the checksum to a device, and
/// nobody told the next one. Here the port that comes next takes nothing, so that it is finished on the way.
#[test]
fn a1_tcp_connects_through_a_port_that_finishes_nothing() {
    let Some(lane) = Lane::new("tap_a1_tcp_connects_through_a_port_that_finishes_nothing") else {
        return;
    };
    let running = lane.start(Way::Opened, &["preset:forward"], ["", ", caps: None"]);
    ping(&lane.a, B4, 56);
    http(&lane.a, &lane.b, B4, 2_000_000);
    http(&lane.b, &lane.a, A6, 2_000_000);
    let ended = running.stop();
    ended.assert_clean();
    assert!(
        ended.of_stages("ChecksumFill", "payload_bytes_summed") > 0,
        "finished by nobody: {ended:?}"
    );
    assert_eq!(ended.dropped("b", "refused"), 0, "{ended:?}");
}

/// With checksums done by the senders themselves, there is nothing to finish on the same way.
#[test]
fn a1_nothing_is_summed_where_senders_have_done_it() {
    let Some(lane) = Lane::new("tap_a1_nothing_is_summed_where_senders_have_done_it") else {
        return;
    };
    let running = lane.start(Way::Opened, &["preset:forward"], ["", ", caps: None"]);
    tx_off(&lane.a, "a0");
    tx_off(&lane.b, "b0");
    http(&lane.a, &lane.b, B4, 2_000_000);
    http(&lane.b, &lane.a, A6, 2_000_000);
    let ended = running.stop();
    ended.assert_clean();
    assert_eq!(ended.of_stages("ChecksumFill", "payload_bytes_summed"), 0, "{ended:?}");
}

/// Between devices that carry no word about checksums, redirected TCP stalls until somebody switches the sender's
/// offload off by hand. A port that says that it carries none has the host finish them, and nothing is bad.
#[test]
fn a3_tcp_does_not_stall_where_no_word_of_checksums_is_carried() {
    let Some(lane) = Lane::new("tap_a3_tcp_does_not_stall_where_no_word_of_checksums_is_carried")
    else {
        return;
    };
    let running = lane.start(Way::Opened, &["preset:bump"], [", caps: None", ", caps: None"]);
    tcp(&lane.a, (&lane.b, B4), 1, "-n 10M");
    tcp(&lane.a, (&lane.b, B6), 1, "-n 10M --reverse");
    http(&lane.b, &lane.a, A4, 2_000_000);
    let ended = running.stop();
    ended.assert_clean();
    for stage in ended.report["stages"].as_array().expect("stages") {
        for (counter, count) in stage["counters"].as_object().into_iter().flatten() {
            let bad = ["corrupt", "partial", "overrun"].iter().any(|word| counter.ends_with(word));
            assert!(!bad || *count == 0, "{}: {counter} {count}", stage["id"]);
        }
    }
}
