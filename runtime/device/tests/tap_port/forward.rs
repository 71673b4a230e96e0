//! Two namespaces joined by nothing but a loop from tap to tap.

use crate::queue::{Driver, End, drops, open};
use crate::space::{pair, python, serving};
use corelane_device::TapConfig;
use corelane_runtime::packet::{Burst, SegKind};
use corelane_runtime::port::QueueReport;
use corelane_runtime::testing::namespace::{Namespace, finish};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What went one way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) packets: u64,
    pub(crate) kinds: Vec<SegKind>,
    pub(crate) tunnelled: u64,
    pub(crate) longest: u32,
}

impl Seen {
    fn note(&mut self, burst: &Burst) {
        for packet in burst.iter() {
            self.packets += 1;
            self.longest = self.longest.max(packet.len());
            let kind = packet.segmentation().kind;
            if kind != SegKind::None && !self.kinds.contains(&kind) {
                self.kinds.push(kind);
            }
            self.tunnelled += u64::from(packet.is_super() && packet.meta().layers.count == 2);
        }
    }
}

/// A loop between two taps on a thread of its own.
pub(crate) struct Forwarder {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<([Seen; 2], Vec<QueueReport>)>>,
}

impl Forwarder {
    pub(crate) fn between(spaces: [&Namespace; 2], change: fn(&mut TapConfig)) -> Forwarder {
        let ends = spaces.map(|space| End::of(open(space, "tap0", change)));
        for (number, space) in spaces.iter().enumerate() {
            let host = number + 1;
            space.run(&format!("ip addr add 10.9.0.{host}/24 dev tap0"));
            space.run(&format!("ip addr add fd09::{host}/64 dev tap0 nodad"));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = Some(std::thread::spawn(move || forward(ends, &seen)));
        Forwarder { stop, thread }
    }

    pub(crate) fn end(mut self) -> ([Seen; 2], Vec<QueueReport>) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("ended once").join().expect("the loop does not panic")
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn forward(ends: [End; 2], stop: &AtomicBool) -> ([Seen; 2], Vec<QueueReport>) {
    let mut driver = Driver::new();
    let mut seen = [Seen::default(), Seen::default()];
    let [mut a, mut b] = ends;
    let mut burst = Burst::new();
    while !stop.load(Ordering::Relaxed) {
        let ways = [(&mut a.rx, &mut b.tx), (&mut b.rx, &mut a.tx)];
        for ((from, to), seen) in ways.into_iter().zip(&mut seen) {
            driver.poll(from.as_mut(), &mut burst);
            seen.note(&burst);
            driver.send(to.as_mut(), &mut burst);
        }
    }
    let reports = vec![a.rx.report(), b.tx.report(), b.rx.report(), a.tx.report()];
    driver.end();
    (seen, reports)
}

const SERVER: &str = r"
import socket,sys,hashlib
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_STREAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], 7000)); s.listen(1); s.settimeout(30); print('ready', flush=True)
c, _ = s.accept(); c.settimeout(30)
h = hashlib.sha256(); n = 0
while True:
    d = c.recv(1 << 18)
    if not d: break
    h.update(d); n += len(d)
print(n, h.hexdigest())
";

const CLIENT: &str = r"
import socket,sys,hashlib,random
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
data = random.Random(1).randbytes(1 << 20)
s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(30); s.connect((sys.argv[1], 7000))
h = hashlib.sha256()
for _ in range(int(sys.argv[2])):
    s.sendall(data); h.update(data)
s.close()
print(int(sys.argv[2]) << 20, h.hexdigest())
";

/// Three echo requests, one after another, each answered with what it held.
const PING: &str = r"
import socket,sys,struct,time
v6 = ':' in sys.argv[1]; data = bytes(range(256)) * (int(sys.argv[2]) // 256 + 1)
data = data[:int(sys.argv[2])]
def total(b):
    b += b'\0' * (len(b) % 2); s = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    while s >> 16: s = (s & 65535) + (s >> 16)
    return s ^ 65535
kind, proto = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if v6 else (socket.AF_INET, socket.IPPROTO_ICMP)
s = socket.socket(kind, socket.SOCK_RAW, proto); s.settimeout(5); n = 0
for seq in range(3):
    head = lambda c: struct.pack('>BBHHH', 128 if v6 else 8, 0, c, 77, seq)
    s.sendto(head(0 if v6 else total(head(0) + data)) + data, (sys.argv[1], 0))
    while True:
        d = s.recv(65535); d = d if v6 else d[20:]
        if d[0] == (129 if v6 else 0) and d[4:8] == struct.pack('>HH', 77, seq):
            assert d[8:] == data; n += 1; break
print(n, 'came back')
";

/// What a program printed, when it has ended well.
fn output(child: Child) -> String {
    let output = finish(child, Duration::from_secs(60)).expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.trim().to_owned()
}

/// Sends so many MiB over TCP from the first namespace to the second; the bytes that arrive must be those sent.
fn stream(from: &Namespace, to: &Namespace, address: &str, mebibytes: u32) {
    let server = serving(to, SERVER, &[address]);
    let client = python(from, CLIENT, &[address, &mebibytes.to_string()]);
    assert_eq!(output(client), output(server), "{address}");
}

#[test]
fn ping_and_streams_cross_with_all_offloads_as_superpackets() {
    let test = "tap_port::ping_and_streams_cross_with_all_offloads_as_superpackets";
    let Some((a, b)) = pair(test, &["python3"]) else { return };
    let forwarder = Forwarder::between([&a, &b], |_| {});
    for (from, address, bytes) in [
        (&a, "10.9.0.2", "56"),
        (&b, "fd09::1", "56"),
        (&a, "10.9.0.2", "5000"),
        (&b, "fd09::1", "5000"),
    ] {
        assert_eq!(output(python(from, PING, &[address, bytes])), "3 came back", "{address}");
    }
    stream(&a, &b, "10.9.0.2", 20);
    stream(&b, &a, "fd09::1", 20);
    let ([to_b, to_a], reports) = forwarder.end();
    assert!(to_b.kinds.contains(&SegKind::Tcp4) && to_a.kinds.contains(&SegKind::Tcp6));
    assert!(to_b.longest > 20_000 && to_a.longest > 20_000, "{to_b:?} {to_a:?}");
    for report in reports {
        assert_eq!((&report.error, &report.drops[..]), (&None, &[][..]), "{report:?}");
    }
}

#[test]
fn without_offloads_nothing_is_longer_than_the_mtu() {
    let test = "tap_port::without_offloads_nothing_is_longer_than_the_mtu";
    let Some((a, b)) = pair(test, &["python3"]) else { return };
    let forwarder = Forwarder::between([&a, &b], |config| {
        config.offloads = false;
        config.mtu = Some(1400);
    });
    stream(&a, &b, "10.9.0.2", 4);
    stream(&b, &a, "fd09::1", 4);
    let (seen, reports) = forwarder.end();
    for seen in seen {
        assert!(seen.kinds.is_empty() && seen.longest <= 1414 && seen.packets > 1000, "{seen:?}");
    }
    assert!(reports.iter().all(|report| report.drops.is_empty() && report.error.is_none()));
}

/// Sends 30 times 20,000 bytes as datagrams of 1,000, the kernel asked to cut them late.
const TRAIN: &str = r"
import socket,sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM); s.setsockopt(socket.IPPROTO_UDP, 103, 1000)
for n in range(30): s.sendto(bytes([n]) * 20000, (sys.argv[1], 7000))
";

const COUNT: &str = r"
import socket,sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
s.bind((sys.argv[1], 7000)); s.settimeout(20); print('ready', flush=True)
for n in range(600):
    d = s.recv(65535); assert d == bytes([n // 20]) * 1000, (n, len(d))
print('all')
";

#[test]
fn trains_of_datagrams_cross_whole_and_come_apart_at_the_socket() {
    let test = "tap_port::trains_of_datagrams_cross_whole_and_come_apart_at_the_socket";
    let Some((a, b)) = pair(test, &["ip", "python3"]) else { return };
    let forwarder = Forwarder::between([&a, &b], |_| {});
    for (from, to, address) in [(&a, &b, "10.9.0.2"), (&b, &a, "fd09::1")] {
        // What waits for an address to be resolved is dropped where it is much.
        output(python(from, PING, &[address, "1"]));
        let server = serving(to, COUNT, &[address]);
        output(python(from, TRAIN, &[address]));
        assert_eq!(output(server), "all", "{address}");
    }
    let ([to_b, to_a], reports) = forwarder.end();
    assert!(to_b.kinds.contains(&SegKind::Udp4) && to_a.kinds.contains(&SegKind::Udp6));
    assert!(reports.iter().all(|report| report.drops.is_empty() && report.error.is_none()));
}

#[test]
fn streams_in_the_kernels_own_vxlan_cross_as_superpackets_in_tunnels() {
    let test = "tap_port::streams_in_the_kernels_own_vxlan_cross_as_superpackets_in_tunnels";
    let Some((a, b)) = pair(test, &["ip", "python3"]) else { return };
    let forwarder = Forwarder::between([&a, &b], |_| {});
    let underlays = [
        ("10.9.0.", "dstport 4789 noudpcsum"),
        ("10.9.0.", "dstport 8472 udpcsum"),
        ("fd09::", "dstport 4789 udp6zerocsumtx udp6zerocsumrx"),
        ("fd09::", "dstport 8472 noudp6zerocsumtx"),
    ];
    for (number, (under, options)) in underlays.into_iter().enumerate() {
        for (own, other, space) in [(1, 2, &a), (2, 1, &b)] {
            space.ip(&format!(
                "link add vx{number} type vxlan id {number} local {under}{own} remote {under}{other} {options}"
            ));
            space.ip(&format!("addr add 10.{number}.9.{own}/24 dev vx{number}"));
            space.ip(&format!("link set vx{number} up"));
        }
        stream(&a, &b, &format!("10.{number}.9.2"), 8);
        stream(&b, &a, &format!("10.{number}.9.1"), 2);
    }
    let ([to_b, to_a], reports) = forwarder.end();
    let tunnels = corelane_runtime::offload::Caps::TSO_VXLAN_CSUM;
    if corelane_device::tap::probe().expect("taps can be tried here").granted.contains(tunnels) {
        assert!(to_b.tunnelled > 100 && to_a.tunnelled > 20, "{to_b:?} {to_a:?}");
    }
    for report in reports {
        assert_eq!((&report.error, &report.drops[..]), (&None, &[][..]), "{report:?}");
    }
}

#[test]
fn a_tunnel_behind_an_odd_port_costs_a_packet_and_then_the_host_cuts_itself() {
    let test = "tap_port::a_tunnel_behind_an_odd_port_costs_a_packet_and_then_the_host_cuts_itself";
    let Some((a, b)) = pair(test, &["ip", "python3"]) else { return };
    let forwarder = Forwarder::between([&a, &b], |_| {});
    for (own, other, space) in [(1, 2, &a), (2, 1, &b)] {
        let ends = format!("local 10.9.0.{own} remote 10.9.0.{other}");
        space.ip(&format!("link add vx type vxlan id 1 {ends} dstport 9999 udpcsum"));
        space.ip(&format!("addr add 10.8.0.{own}/24 dev vx"));
        space.ip("link set vx up");
    }
    stream(&a, &b, "10.8.0.2", 4);
    let ([to_b, _], reports) = forwarder.end();
    assert_eq!(to_b.tunnelled, 0);
    let lost: u64 = reports.iter().map(|report| drops(report, "unknown_tunnel")).sum();
    let all: u64 = reports.iter().flat_map(|report| &report.drops).map(|(_, count)| count).sum();
    let leaves = corelane_device::tap::probe().expect("taps can be tried here").granted;
    let leaves = leaves.contains(corelane_runtime::offload::Caps::TSO_VXLAN);
    assert!((lost > 0) == leaves && lost < 100 && all == lost, "{reports:?}");
}
