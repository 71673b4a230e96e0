//! Why an interface cannot be had: rights, names, the device, queues. A message that says what to do, and no run.

use crate::lane::{Lane, Way, able};
use crate::running::{Ended, Running, corelane};
use corelane_runtime::testing::namespace::Namespace;
use corelane_runtime::testing::skip;

/// A tap to nowhere; `b` takes and gives nothing.
fn args(port: &str) -> [String; 6] {
    let words = ["run", "preset:forward", "--port", port, "--port", "b=Emulated()"];
    words.map(str::to_owned)
}

/// A run that does not come to be.
#[track_caller]
fn refused(inside: &Namespace, port: &str) -> Ended {
    let args = args(port);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ended = Running::spawn(corelane(inside, &args)).end();
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    ended
}

/// The same by another program that runs the command.
#[track_caller]
fn refused_by(inside: &Namespace, program: &str, words: &[&str], port: &str) -> Ended {
    let mut command = inside.command(program);
    command.args(words).arg(env!("CARGO_BIN_EXE_corelane")).args(args(port));
    Running::spawn(command).end()
}

#[track_caller]
fn assert_said(ended: &Ended, code: i32, texts: &[&str]) {
    for text in texts {
        assert!(ended.stderr.contains(text), "no {text:?} in {ended:?}");
    }
    assert_eq!(ended.code, Some(code), "{ended:?}");
}

#[test]
fn without_the_right_to_make_interfaces() {
    let test = "tap_without_the_right_to_make_interfaces";
    if !able(test, &["ip", "setpriv"]) {
        return;
    }
    let Some(inside) = Namespace::new(test) else { return };
    let drop = ["--bounding-set", "-net_admin", "--inh-caps", "-net_admin"];
    let ended = refused_by(&inside, "setpriv", &drop, "a=Tap(\"a0\")");
    assert_said(&ended, 1, &["port a", "CAP_NET_ADMIN", "setcap cap_net_admin+ep"]);
}

#[test]
fn without_the_device() {
    let test = "tap_without_the_device";
    if !able(test, &["ip", "unshare", "mount"]) {
        return;
    }
    let Some(inside) = Namespace::new(test) else { return };
    let script = "mount -t tmpfs none /dev/net && exec \"$0\" \"$@\"";
    let ended = refused_by(&inside, "unshare", &["--mount", "sh", "-c", script], "a=Tap(\"a0\")");
    if ended.stderr.contains("mount:") {
        skip(test, "this root may not mount");
        return;
    }
    assert_said(&ended, 1, &["port a: /dev/net/tun", "modprobe tun"]);
}

#[test]
fn a_name_that_somebody_has() {
    let test = "tap_a_name_that_somebody_has";
    let Some(lane) = Lane::new(test) else { return };
    lane.middle.ip("link add veth0 type veth peer name veth1");
    let ended = refused(&lane.middle, "a=Tap(\"veth0\")");
    assert_said(&ended, 2, &["port a", "`veth0` is there and is no tap"]);
    // Made for one queue, it has room for one file.
    lane.middle.ip("tuntap add dev one0 mode tap vnet_hdr");
    let first = Running::start(
        &lane.middle,
        &[
            "preset:forward",
            "--port",
            "a=Tap(name: \"one0\", queues: 1)",
            "--port",
            "b=Tap(\"b0\")",
        ],
    );
    let ended = refused(&lane.middle, "a=Tap(name: \"one0\", queues: 1)");
    assert_said(&ended, 2, &["port a", "`one0` is in use by process"]);
    first.stop().assert_clean();
    // It was there before and is there still.
    lane.middle.ip("link show one0");
    let ended = refused(&lane.middle, "a=Tap(name: \"nothing0\", must_exist: true)");
    assert_said(&ended, 2, &["there is no interface `nothing0`", "must_exist"]);
}

#[test]
fn more_queues_than_an_interface_was_made_for() {
    let test = "tap_more_queues_than_an_interface_was_made_for";
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        skip(test, "a plan for one core asks for one queue, and this machine has not two cores");
        return;
    }
    let Some(lane) = Lane::new(test) else { return };
    lane.middle.ip("tuntap add dev one0 mode tap vnet_hdr");
    let args = ["run", "preset:forward", "--port", "a=Tap(\"one0\")", "--port", "b=Tap(\"b0\")"];
    let ended = Running::spawn(corelane(&lane.middle, &args)).end();
    assert_said(&ended, 2, &["`one0` was made for one queue and 2 are asked for"]);
}

#[test]
fn a_name_that_cannot_be() {
    let test = "tap_a_name_that_cannot_be";
    let Some(inside) = Namespace::new(test) else { return };
    let odd = [("", "names no interface"), ("a/b", "no blanks"), ("a2345678901234567", "17 bytes")];
    for (name, text) in odd {
        let ended = refused(&inside, &format!("a=Tap(\"{name}\")"));
        assert_said(&ended, 2, &["--port a", text]);
    }
    let ended = refused(&inside, "a=Tap(name: \"a0\", queues: 300)");
    assert_said(&ended, 2, &["256"]);
    let ended = refused(&inside, "a=Tap(name: \"a0\", namespace: \"corelane-nowhere\")");
    assert_said(&ended, 2, &["network namespace `corelane-nowhere`", "ip netns add"]);
    let ended = refused(&inside, "a=Tap(name: \"a0\", mtu: 65530)");
    assert_said(&ended, 2, &["MTU of 65530 is refused; a tap takes 68 to 65521"]);
}

#[test]
fn an_interface_that_stays_is_taken_again() {
    let Some(lane) = Lane::new("tap_an_interface_that_stays_is_taken_again") else { return };
    let keys = [", persist: true", ", persist: true"];
    lane.start(Way::Opened, &["preset:bump"], keys).stop().assert_clean();
    lane.a.ip("link show a0");
    let keys = [", must_exist: true", ", must_exist: true"];
    let running = lane.start(Way::Opened, &["preset:forward"], keys);
    assert!(lane.reaches());
    running.stop().assert_clean();
    lane.b.ip("link show b0");
}
