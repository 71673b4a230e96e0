//! Preset `vxlan_gateway` against the kernel's own VXLAN device, over IPv4 and IPv6, with outer checksums and without.
//!
//! Namespace `a` is the underlay: the tap `wan0` and on it the kernel's `vx0`. Namespace `b` is the network that the
//! gateway puts into the tunnel, behind the tap `lan0` with an MTU of 9000.

use crate::lane::{A4, B4, Lane, Way};
use crate::running::{Ended, Running, corelane};
use crate::traffic::{http, ping, tcp};
use rustix::process::Signal;
use std::time::Duration;

/// The addresses of the tunnel's ends: ours and the kernel's.
struct Underlay {
    ours: &'static str,
    theirs: &'static str,
    bits: u8,
    /// The largest inner IP packet in an underlay of 1500 bytes.
    inner_mtu: usize,
    /// Flags of the kernel's device.
    kernel: &'static str,
    /// `udp_checksum` of ours.
    checksum: &'static str,
}

const V4: Underlay = Underlay {
    ours: "192.0.2.1",
    theirs: "192.0.2.7",
    bits: 24,
    inner_mtu: 1450,
    kernel: "noudpcsum",
    checksum: "Auto",
};
const V6: Underlay = Underlay {
    ours: "2001:db8:7::1",
    theirs: "2001:db8:7::7",
    bits: 64,
    inner_mtu: 1430,
    kernel: "",
    checksum: "Auto",
};

const TENANT_A4: &str = "10.8.0.1";
const TENANT_B4: &str = "10.8.0.2";
const TENANT_A6: &str = "fd08::1";
const TENANT_B6: &str = "fd08::2";

/// The preset with two keys more: what it leaves to their defaults is said here.
fn description(lane: &Lane, checksum: &str) -> tempfile::NamedTempFile {
    let output = corelane(&lane.middle, &["new", "vxlan_gateway"]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let key = "next_hop: \"$peer_mac\"";
    assert_eq!(text.matches(key).count(), 1, "{text}");
    let text = text.replace(key, &format!("{key}, udp_checksum: {checksum}"));
    let text = if checksum == "Off" { taking_zero(&text) } else { text };
    let file = tempfile::Builder::new().suffix(".ron").tempfile().expect("a file");
    std::fs::write(file.path(), text).expect("a description");
    file
}

/// A description that takes tunnelled packets over IPv6 without a checksum, which it must say twice.
fn taking_zero(text: &str) -> String {
    let changes = [
        ("Decap(Vxlan(vni: \"$vni\"))", "Decap(Vxlan(vni: \"$vni\", udp6_zero_checksum: Accept))"),
        ("ChecksumValidate(on_bad: Drop)", "ChecksumValidate(on_bad: Drop, zero6_ports: [4789])"),
    ];
    changes.iter().fold(text.to_owned(), |text, (old, new)| {
        assert_eq!(text.matches(old).count(), 1, "{text}");
        text.replace(old, new)
    })
}

/// Gateway and kernel, with addresses on everything.
fn start(lane: &Lane, underlay: &Underlay) -> Running {
    let Underlay { ours, theirs, bits, kernel, .. } = underlay;
    let (a, b) = (lane.a.name(), lane.b.name());
    let file = description(lane, underlay.checksum);
    let wan =
        format!("wan=Tap(name: \"wan0\", namespace: \"{a}\", addresses: [\"{ours}/{bits}\"])");
    let lan = format!("lan=Tap(name: \"lan0\", namespace: \"{b}\")");
    let mac = "02:00:00:00:77:07";
    let sets = [format!("local={ours}"), format!("peer={theirs}"), format!("peer_mac={mac}")];
    let mut args = vec![file.path().to_str().expect("text"), "--port", &wan, "--port", &lan];
    args.extend(sets.iter().flat_map(|set| ["--set", set.as_str()]));
    let running = Running::start(&lane.middle, &args);
    lane.a.ip(&format!("link set wan0 address {mac}"));
    let nodad = if *bits == 64 { "nodad" } else { "" };
    lane.a.ip(&format!("address add {theirs}/{bits} dev wan0 {nodad}"));
    lane.a.ip(&format!(
        "link add vx0 type vxlan id 42 local {theirs} remote {ours} dstport 4789 dev wan0 {kernel}"
    ));
    lane.a.ip("link set vx0 up");
    for (namespace, name, v4, v6) in
        [(&lane.a, "vx0", TENANT_A4, TENANT_A6), (&lane.b, "lan0", TENANT_B4, TENANT_B6)]
    {
        namespace.ip(&format!("address add {v4}/24 dev {name}"));
        namespace.ip(&format!("address add {v6}/64 dev {name} nodad"));
    }
    running
}

#[track_caller]
fn across(test: &str, underlay: &Underlay) -> Option<Ended> {
    let lane = Lane::new(test)?;
    let running = start(&lane, underlay);
    // The kernel took the MTU that fits; so does what the gateway sends.
    let mtu = lane.a.run("cat /sys/class/net/vx0/mtu");
    assert_eq!(mtu.trim(), underlay.inner_mtu.to_string(), "the kernel's own arithmetic");
    assert_eq!(lane.b.run("cat /sys/class/net/lan0/mtu").trim(), "9000");
    for bytes in [56, underlay.inner_mtu - 28, 4000] {
        ping(&lane.b, TENANT_A4, bytes);
        ping(&lane.a, TENANT_B4, bytes);
    }
    for bytes in [56, 4000] {
        ping(&lane.b, TENANT_A6, bytes);
        ping(&lane.a, TENANT_B6, bytes);
    }
    http(&lane.a, &lane.b, TENANT_B4, 20_000_000);
    http(&lane.b, &lane.a, TENANT_A4, 20_000_000);
    http(&lane.b, &lane.a, TENANT_A6, 5_000_000);
    tcp(&lane.a, (&lane.b, TENANT_B4), 4, "-n 20M");
    let ended = running.stop();
    ended.assert_clean();
    // Superpackets on both sides of the gateway.
    assert!(ended.mean_received("wan") > 2000, "from the kernel's tunnel: {ended:?}");
    assert!(ended.mean_sent("lan") > 2000, "to the tenant: {ended:?}");
    Some(ended)
}

#[test]
fn over_ipv4_without_checksums() {
    across("tap_over_ipv4_without_checksums", &V4);
}

#[test]
fn over_ipv4_with_checksums() {
    let underlay = Underlay { kernel: "udpcsum", checksum: "On", ..V4 };
    across("tap_over_ipv4_with_checksums", &underlay);
}

#[test]
fn over_ipv6_with_checksums() {
    across("tap_over_ipv6_with_checksums", &V6);
}

#[test]
fn over_ipv6_without_checksums() {
    let underlay = Underlay { kernel: "udp6zerocsumtx udp6zerocsumrx", checksum: "Off", ..V6 };
    across("tap_over_ipv6_without_checksums", &underlay);
}

/// A tunnel between two kernels, with corelane on the way.
#[track_caller]
fn begin(lane: &Lane, preset: &str, port: u16, flags: &str) -> Running {
    let running = lane.start(Way::Opened, &[preset], ["", ""]);
    for (namespace, dev, local, remote, v4) in
        [(&lane.a, "a0", A4, B4, TENANT_A4), (&lane.b, "b0", B4, A4, TENANT_B4)]
    {
        let tunnel = format!("vxlan id 7 local {local} remote {remote} dstport {port} dev {dev}");
        namespace.ip(&format!("link add vx0 type {tunnel} {flags}"));
        namespace.ip("link set vx0 up");
        namespace.ip(&format!("address add {v4}/24 dev vx0"));
    }
    ping(&lane.a, TENANT_B4, 1400);
    running
}

/// Superpackets in such a tunnel arrive whole.
#[track_caller]
fn through(test: &str, preset: &str, port: u16, flags: &str) -> Option<Ended> {
    let lane = Lane::new(test)?;
    let running = begin(&lane, preset, port, flags);
    http(&lane.a, &lane.b, TENANT_B4, 20_000_000);
    http(&lane.b, &lane.a, TENANT_A4, 20_000_000);
    let ended = running.stop();
    ended.assert_balanced();
    Some(ended)
}

#[test]
fn a_tunnel_of_others_passes_whole() {
    for (preset, flags) in [("preset:forward", "udpcsum"), ("preset:bump", "noudpcsum")] {
        let test = "tap_a_tunnel_of_others_passes_whole";
        let Some(ended) = through(test, preset, 4789, flags) else { return };
        ended.assert_clean();
        assert!(ended.mean_received("a") > 2000 && ended.mean_sent("b") > 2000, "{ended:?}");
    }
}

#[test]
fn a_tunnel_behind_a_port_that_nobody_knows_is_cut_by_the_kernel() {
    let test = "tap_a_tunnel_behind_a_port_that_nobody_knows_is_cut_by_the_kernel";
    let Some(ended) = through(test, "preset:forward", 5555, "udpcsum") else { return };
    // The first superpackets cannot be read by any stage; TCP sends them again, and the kernel cuts the rest.
    let lost = ended.dropped("a", "unknown_tunnel") + ended.dropped("b", "unknown_tunnel");
    assert!(lost > 0 && lost < 1000, "{ended:?}");
    assert!(ended.stderr.contains("the host cuts inside tunnels from now on"), "{ended:?}");
}

#[test]
fn superpackets_that_wait_while_the_host_is_told_to_cut_them_end_nothing() {
    let test = "tap_superpackets_that_wait_while_the_host_is_told_to_cut_them_end_nothing";
    let Some(lane) = Lane::new(test) else { return };
    let running = begin(&lane, "preset:forward", 4789, "udpcsum");
    std::thread::scope(|scope| {
        let transfer = scope.spawn(|| http(&lane.a, &lane.b, TENANT_B4, 100_000_000));
        for _ in 0..5 {
            // What the host sends now is not read before it has been switched off.
            running.signal(Signal::STOP);
            std::thread::sleep(Duration::from_millis(20));
            for state in ["off", "on"] {
                let both =
                    format!("tx-udp_tnl-segmentation {state} tx-udp_tnl-csum-segmentation {state}");
                lane.b.run(&format!("ethtool -K b0 {both}"));
                running.signal(Signal::CONT);
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        transfer.join().expect("all of it arrived");
    });
    let ended = running.stop();
    ended.assert_balanced();
    assert!(!ended.stderr.contains("cannot be read"), "{ended:?}");
    assert!(ended.dropped("b", "unknown_tunnel") > 0, "nothing waited: {ended:?}");
}
