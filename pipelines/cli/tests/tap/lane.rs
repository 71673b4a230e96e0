//! Two namespaces with an interface each, and corelane between them in a third.
//!
//! An interface comes into its namespace in one of the two ways there are: corelane opens it there, or opens it
//! beside itself and it is moved, which a tap takes without notice.

use crate::running::{Running, wait_for};
use corelane_runtime::testing::namespace::{Namespace, missing};
use corelane_runtime::testing::skip;
use std::time::Duration;

/// How the interfaces come to where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `Tap(name: "a0", namespace: "..")`.
    Opened,
    /// `Tap("a0")`, then `ip link set a0 netns ..`.
    Moved,
}

/// Namespace `a` with interface `a0`, `b` with `b0`, and `middle`, where corelane runs.
pub(crate) struct Lane {
    pub(crate) a: Namespace,
    pub(crate) b: Namespace,
    pub(crate) middle: Namespace,
}

/// Addresses of the two sides.
pub(crate) const A4: &str = "10.9.0.1";
pub(crate) const B4: &str = "10.9.0.2";
pub(crate) const A6: &str = "fd09::1";
pub(crate) const B6: &str = "fd09::2";

/// Skips by name, and is false, without taps or one of these programs.
pub(crate) fn able(test: &str, programs: &[&str]) -> bool {
    let device = std::path::Path::new("/dev/net/tun");
    let lacking = missing(programs)
        .or_else(|| (!device.exists()).then(|| "there is no /dev/net/tun".to_owned()));
    if let Some(reason) = &lacking {
        skip(test, reason);
    }
    lacking.is_none()
}

impl Lane {
    /// Namespaces without interfaces; `None`, and a skip by name, where that cannot be.
    pub(crate) fn new(test: &str) -> Option<Lane> {
        if !able(test, &["ip", "ping", "iperf3", "ethtool", "sysctl"]) {
            return None;
        }
        let (a, b) = (Namespace::new(test)?, Namespace::new(test)?);
        let middle = Namespace::new(test)?;
        for namespace in [&a, &b, &middle] {
            // Addresses are usable at once, and nobody speaks before a test does.
            namespace.run("sysctl -q -w net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.router_solicitations=0");
        }
        Some(Lane { a, b, middle })
    }

    /// Runs `what`, whose ports are `a` and `b`, between the two, with `keys` of each port (`, caps: None`).
    #[track_caller]
    pub(crate) fn start(&self, way: Way, what: &[&str], keys: [&str; 2]) -> Running {
        let port = |name: &str, at: &Namespace, keys: &str| match way {
            Way::Opened => {
                let namespace = at.name();
                format!("{name}=Tap(name: \"{name}0\", namespace: \"{namespace}\"{keys})")
            }
            Way::Moved => format!("{name}=Tap(name: \"{name}0\"{keys})"),
        };
        let (a, b) = (port("a", &self.a, keys[0]), port("b", &self.b, keys[1]));
        let args = [what, &["--port", &a, "--port", &b]].concat();
        let running = Running::start(&self.middle, &args);
        for (name, namespace) in [("a0", &self.a), ("b0", &self.b)] {
            if way == Way::Moved {
                self.middle.ip(&format!("link set {name} netns {}", namespace.name()));
                namespace.ip(&format!("link set {name} up"));
            }
        }
        self.addresses();
        running
    }

    /// Gives both sides their addresses.
    #[track_caller]
    pub(crate) fn addresses(&self) {
        for (name, namespace, v4, v6) in [("a0", &self.a, A4, A6), ("b0", &self.b, B4, B6)] {
            namespace.ip(&format!("address replace {v4}/24 dev {name}"));
            namespace.ip(&format!("address replace {v6}/64 dev {name} nodad"));
        }
    }

    /// Whether one side reaches the other at last.
    pub(crate) fn reaches(&self) -> bool {
        wait_for(Duration::from_secs(10), || {
            let ping = self.a.attempt(&format!("ping -n -c 1 -W 1 {B4}"));
            ping.status.success()
        })
    }
}
