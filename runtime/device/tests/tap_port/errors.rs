//! What is said where an interface cannot be had: what is wrong, where, and what to do.

use crate::queue::{End, open};
use crate::space::space;
use corelane_device::{Tap, TapConfig};
use corelane_runtime::Error;
use corelane_runtime::port::Port;
use corelane_runtime::testing::namespace::{Namespace, missing};
use corelane_runtime::testing::skip;

fn refused(space: &Namespace, name: &str, change: impl FnOnce(&mut TapConfig)) -> Error {
    let mut config = TapConfig::new("a", name);
    config.namespace = Some(space.name().to_owned());
    change(&mut config);
    Tap::open(config).expect_err("it is refused")
}

#[test]
fn names_and_numbers_that_cannot_be_are_said_without_a_device() {
    let message = |change: fn(&mut TapConfig)| {
        let mut config = TapConfig::new("a", "tap0");
        change(&mut config);
        let error = Tap::open(config).expect_err("it is refused");
        assert!(error.user);
        error.to_string()
    };
    let long = message(|config| config.interface = "a_name_too_long_".into());
    assert_eq!(
        long,
        "port a: the interface name `a_name_too_long_` is too long: 15 characters at most"
    );
    for odd in ["", "a b", "a/b", "..", "a:b"] {
        let mut config = TapConfig::new("a", odd);
        config.queues = 1;
        let error = Tap::open(config).expect_err("it is refused").to_string();
        assert!(error.contains("is no name for an interface"), "{error}");
    }
    for queues in [0, 257] {
        let config = TapConfig { queues, ..TapConfig::new("a", "tap0") };
        let error = Tap::open(config).expect_err("it is refused").to_string();
        assert_eq!(error, format!("port a: has {queues} queues; give it 1 to 256"));
    }
    let nowhere = message(|config| config.namespace = Some("corelane-none".into()));
    assert!(
        nowhere.contains("network namespace `corelane-none`: /run/netns/corelane-none"),
        "{nowhere}"
    );
    assert!(nowhere.contains("make it with `ip netns add`"), "{nowhere}");
}

#[test]
fn an_interface_in_use_names_who_has_it() {
    let test = "tap_port::an_interface_in_use_names_who_has_it";
    let Some(space) = space(test, &["ip"]) else { return };
    space.ip("tuntap add dev tap0 mode tap vnet_hdr");
    let first = open(&space, "tap0", |_| {});
    let error = refused(&space, "tap0", |_| {});
    let by = format!("`tap0` is in use by process {} (", std::process::id());
    assert!(error.user && error.message.contains(&by), "{error}");
    drop(first);
    drop(open(&space, "tap0", |_| {}));
    space.ip("link show tap0");
}

#[test]
fn an_interface_for_one_queue_says_so_where_more_are_asked_for() {
    let test = "tap_port::an_interface_for_one_queue_says_so_where_more_are_asked_for";
    let Some(space) = space(test, &["ip"]) else { return };
    space.ip("tuntap add dev tap0 mode tap");
    let error = refused(&space, "tap0", |config| config.queues = 2);
    assert!(
        error.user && error.message.contains("was made for one queue and 2 are asked for"),
        "{error}"
    );
    let mut one = open(&space, "tap0", |_| {});
    one.open_rx().expect("one queue");
    assert!(one.open_rx().is_err());
}

#[test]
fn a_name_that_another_kind_of_interface_has_is_refused() {
    let test = "tap_port::a_name_that_another_kind_of_interface_has_is_refused";
    let Some(space) = space(test, &["ip"]) else { return };
    space.ip("link add other type veth peer name peer");
    let error = refused(&space, "other", |_| {});
    assert!(error.user && error.message.contains("`other` is there and is no tap"), "{error}");
    let error = refused(&space, "absent", |config| config.must_exist = true);
    assert!(error.user && error.message.contains("there is no interface `absent`"), "{error}");
}

#[test]
fn an_mtu_that_cannot_be_is_refused_and_one_that_can_is_read_back() {
    let test = "tap_port::an_mtu_that_cannot_be_is_refused_and_one_that_can_is_read_back";
    let Some(space) = space(test, &["ip"]) else { return };
    let error = refused(&space, "tap0", |config| config.mtu = Some(20));
    assert!(error.user && error.message.contains("an MTU of 20 is refused"), "{error}");
    let tap = open(&space, "tap0", |config| {
        config.mtu = Some(1400);
        config.mac = Some([2, 0, 0, 0, 0, 9]);
    });
    assert_eq!(tap.caps().facts.limits.mtu, Some(1400));
    let shown = space.ip("-o link show tap0");
    assert!(shown.contains("mtu 1400") && shown.contains("02:00:00:00:00:09"), "{shown}");
    assert!(shown.contains("LOWER_UP"), "{shown}");
    let numbered = open(&space, "lane%d", |_| {});
    assert_eq!(numbered.interface(), "lane0");
}

#[test]
fn an_interface_goes_with_its_port_unless_it_is_to_stay() {
    let test = "tap_port::an_interface_goes_with_its_port_unless_it_is_to_stay";
    let Some(space) = space(test, &["ip"]) else { return };
    let exists = |name: &str| space.attempt(&format!("ip link show {name}")).status.success();
    let end = End::of(open(&space, "tap0", |_| {}));
    assert!(exists("tap0"));
    drop(end);
    assert!(!exists("tap0"));
    drop(open(&space, "tap1", |config| config.persist = true));
    assert!(exists("tap1"));
    drop(open(&space, "tap1", |config| config.must_exist = true));
    assert!(exists("tap1"), "what was there before stays");
}

/// Not a test of its own: what another one starts as a user without rights.
#[test]
fn without_rights() {
    if std::env::var_os("CORELANE_TAP_WITHOUT_RIGHTS").is_none() {
        return;
    }
    let error = Tap::open(TapConfig::new("a", "tap0")).expect_err("nobody may");
    println!("said: {error}");
}

#[test]
fn without_the_right_the_message_names_it() {
    let test = "tap_port::without_the_right_the_message_names_it";
    if let Some(lacks) = missing(&["setpriv"]) {
        return skip(test, &lacks);
    }
    let Some(space) = space(test, &["ip"]) else { return };
    let program = std::env::current_exe().expect("this test");
    let output = space
        .command("setpriv")
        .args(["--bounding-set", "-all", "--inh-caps", "-all", "--"])
        .arg(program)
        .args(["--exact", "errors::without_rights", "--nocapture"])
        .env("CORELANE_TAP_WITHOUT_RIGHTS", "1")
        .output()
        .expect("setpriv runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("CAP_NET_ADMIN") && said.contains("setcap"), "{output:?}");
}
