//! What the kernel lets this process do with interfaces: taps, packet sockets, XDP sockets.
//!
//! Rights are read from the effective capabilities; a filter of system calls or a security module may still
//! say no, and a container may lack the device.

use super::{Finding, Roots, State};
use std::fs::OpenOptions;

/// Numbers of capabilities, from `linux/capability.h`.
const NET_ADMIN: (u32, &str) = (12, "cap_net_admin");
const NET_RAW: (u32, &str) = (13, "cap_net_raw");
const SYS_ADMIN: (u32, &str) = (21, "cap_sys_admin");
const BPF: (u32, &str) = (39, "cap_bpf");

pub(super) fn findings(roots: &Roots) -> Vec<Finding> {
    let rights = Rights::of(roots);
    let why_packet = "AfPacket ports: the interfaces of the kernel, no driver of their own";
    let why_xdp = "AfXdp ports: the queues of a card without the kernel's stack";
    vec![
        user(roots),
        tun(roots),
        sockets(roots, &rights, "af_packet", ("PACKET", "af_packet"), &[NET_RAW], why_packet),
        sockets(roots, &rights, "af_xdp", ("XDP", "xsk_diag"), &[NET_RAW, NET_ADMIN, BPF], why_xdp),
    ]
}

/// The effective capabilities, a bit each.
struct Rights(u64);

impl Rights {
    fn of(roots: &Roots) -> Rights {
        let text = roots.field("self/status", "CapEff").unwrap_or_default();
        Rights(u64::from_str_radix(&text, 16).unwrap_or(0))
    }

    fn has(&self, right: (u32, &str)) -> bool {
        let has = |bit: u32| self.0 >> bit & 1 == 1;
        // What CAP_BPF allows was part of CAP_SYS_ADMIN before, and still is.
        has(right.0) || right == BPF && has(SYS_ADMIN.0)
    }
}

fn user(roots: &Roots) -> Finding {
    let why = "interfaces need rights, which root has; capture files and emulated ports need none";
    let uid = roots.field("self/status", "Uid").unwrap_or_default();
    let found = match uid.split_whitespace().nth(1) {
        Some("0") => "root".to_owned(),
        Some(uid) => format!("user {uid}"),
        None => "unknown".to_owned(),
    };
    Finding::ok("user", found, why)
}

fn tun(roots: &Roots) -> Finding {
    let why = "Tap ports: interfaces in software";
    let path = roots.dev.join("net/tun");
    if !path.exists() {
        // The driver is there, only its file is not, as in many containers.
        let driver = roots.sys.join("class/misc/tun").exists();
        let cure = match driver {
            true => "mkdir -p /dev/net && mknod /dev/net/tun c 10 200",
            false => "modprobe tun",
        };
        return Finding::ok("tun", "no /dev/net/tun", why)
            .but(State::Missing, Some(cure.to_owned()));
    }
    match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(_) => Finding::ok("tun", "/dev/net/tun can be opened", why),
        Err(error) => {
            let found = format!("/dev/net/tun cannot be opened: {error}");
            Finding::ok("tun", found, why)
                .but(State::Warning, Some("chmod 666 /dev/net/tun".to_owned()))
        }
    }
}

/// Sockets of a family: whether the kernel has them, and whether this process may open one.
fn sockets(
    roots: &Roots,
    rights: &Rights,
    what: &'static str,
    (protocol, module): (&str, &str),
    needs: &[(u32, &str)],
    why: &'static str,
) -> Finding {
    let protocols = roots.proc("net/protocols").unwrap_or_default();
    let known = protocols.lines().any(|line| line.split_whitespace().next() == Some(protocol));
    if !known {
        let found = "the kernel has no such sockets";
        let cure = Some(format!("modprobe {module}"));
        return Finding::ok(what, found, why).but(State::Missing, cure);
    }
    let lacking: Vec<&str> =
        needs.iter().filter(|right| !rights.has(**right)).map(|right| right.1).collect();
    if lacking.is_empty() {
        return Finding::ok(what, "may be used", why);
    }
    let program = roots.program.display();
    let all: Vec<&str> = needs.iter().map(|right| right.1).collect();
    let cure = format!("setcap {}+ep {program}", all.join(","));
    let found = format!("not allowed: {} missing", lacking.join(", "));
    Finding::ok(what, found, why).but(State::Warning, Some(cure))
}
