//! What we ask of the kernel, and what it makes of it: a bridge takes frames from a tap to an interface that can do
//! nothing, so the kernel finishes and cuts everything itself, and a socket behind it sees each frame.

use crate::frames::{FROM, Shape};
use crate::queue::{Driver, End, drops, open};
use crate::space::{python, space};
use corelane_device::tap;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Burst, Csum};
use corelane_runtime::testing::namespace::Namespace;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};

/// Prints frames from the address of a test, in hex, one a line.
const WATCH: &str = r"
import socket,sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); s.bind(('v1', 0)); s.settimeout(20)
print('ready', flush=True)
while True:
    d = s.recv(1 << 17)
    if d[6:12].hex() == sys.argv[1]: print(d.hex(), flush=True)
";

/// A tap on a bridge with an interface that has no offloads, and who watches behind it.
struct Bridge {
    end: End,
    driver: Driver,
    watch: Child,
    lines: BufReader<ChildStdout>,
    _space: Namespace,
}

impl Bridge {
    fn new(test: &str) -> Option<Bridge> {
        let space = space(test, &["ethtool", "python3"])?;
        space.run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
        let end = End::of(open(&space, "tap0", |config| config.mtu = Some(9000)));
        space.run("ip link add v0 mtu 9000 type veth peer name v1 mtu 9000");
        space.run("ethtool -K v0 tx off sg off tso off gso off");
        space.run("ip link add br0 mtu 9000 type bridge");
        for port in ["tap0", "v0"] {
            space.run(&format!("ip link set {port} master br0"));
        }
        for link in ["br0", "v0", "v1"] {
            space.run(&format!("ip link set {link} up"));
        }
        let address: String = FROM.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut watch = python(&space, WATCH, &[&address]);
        let mut lines = BufReader::new(watch.stdout.take().expect("piped"));
        let mut ready = String::new();
        lines.read_line(&mut ready).expect("it says so");
        assert_eq!(ready.trim(), "ready");
        Some(Bridge { end, driver: Driver::new(), watch, lines, _space: space })
    }

    /// Sends a packet of this shape, cut into segments of `size` bytes by the kernel if at all; what came out.
    fn send(&mut self, shape: Shape, size: Option<usize>) -> Vec<Vec<u8>> {
        let mut packet = self.driver.packet(&shape.frame());
        shape.ask(&mut packet, size);
        let mut burst = Burst::new();
        burst.push(packet).expect("room");
        self.driver.send(self.end.tx.as_mut(), &mut burst);
        let count = size.map_or(1, |size| shape.payload.div_ceil(size));
        (0..count).map(|_| self.line()).collect()
    }

    fn line(&mut self) -> Vec<u8> {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        let digits = line.trim().as_bytes();
        assert!(!digits.is_empty(), "no further frame came within 20 s");
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16);
        digits.chunks(2).map(|pair| byte(pair).expect("hex")).collect()
    }

    fn end(mut self) {
        let report = self.end.tx.report();
        assert_eq!((&report.drops[..], &report.error), (&[][..], &None));
        let caps = self.end.tap_caps();
        assert_eq!(caps.demoted(), Caps::empty());
        self.watch.kill().expect("it runs");
        self.watch.wait().expect("it was started");
        self.driver.end();
    }
}

const CUTS: [(Caps, Shape); 11] = {
    let tcp4 = Shape::TCP4;
    let tcp6 = Shape { v6: true, ..tcp4 };
    let udp4 = Shape { udp: true, ..tcp4 };
    [
        (Caps::TSO4, tcp4),
        (Caps::TSO6, tcp6),
        (Caps::TSO_ECN, Shape { cwr: true, ..tcp4 }),
        (Caps::TSO_ECN, Shape { cwr: true, ..tcp6 }),
        (Caps::USO4, udp4),
        (Caps::USO6, Shape { v6: true, ..udp4 }),
        (Caps::TSO_VXLAN, Shape { around: Some((false, false)), ..tcp4 }),
        (Caps::TSO_VXLAN, Shape { around: Some((true, false)), ..tcp6 }),
        (Caps::TSO_VXLAN_CSUM, Shape { around: Some((false, true)), ..tcp6 }),
        (Caps::TSO_VXLAN_CSUM, Shape { around: Some((true, true)), ..tcp4 }),
        (Caps::TSO_VXLAN_CSUM, Shape { around: Some((false, true)), cwr: true, ..tcp4 }),
    ]
};

#[test]
fn the_kernel_cuts_what_is_granted_and_every_segment_is_right() {
    let test = "tap_port::the_kernel_cuts_what_is_granted_and_every_segment_is_right";
    let Some(mut bridge) = Bridge::new(test) else { return };
    let granted = tap::probe().expect("taps can be tried here").granted;
    let mut tried = 0;
    for (_, shape) in CUTS.into_iter().filter(|(caps, _)| granted.contains(*caps)) {
        for (payload, size) in
            [(3000, 1400), (2800, 1400), (60_000, 1400), (1401, 1400), (900, 100)]
        {
            let shape = Shape { payload, ..shape };
            let frames = bridge.send(shape, Some(size));
            shape.check(&frames, size);
            tried += 1;
        }
    }
    assert!(tried >= 20, "{tried} only: {granted:?}");
    bridge.end();
}

#[test]
fn the_kernel_finishes_checksums_and_those_of_both_levels_come_out_right() {
    let test = "tap_port::the_kernel_finishes_checksums_and_those_of_both_levels_come_out_right";
    let Some(mut bridge) = Bridge::new(test) else { return };
    for (_, shape) in CUTS {
        for payload in [0, 1, 1000, 1001] {
            let shape = Shape { payload, cwr: false, ..shape };
            let frames = bridge.send(shape, None);
            shape.check_single(&frames[0]);
        }
    }
    bridge.end();
}

#[test]
fn a_packet_of_many_parts_leaves_whole() {
    let test = "tap_port::a_packet_of_many_parts_leaves_whole";
    let Some(mut bridge) = Bridge::new(test) else { return };
    let shape = Shape { payload: 8000, ..Shape::TCP4 };
    let frame = shape.frame();
    for parts in [2, 4, 5, 64, 65, 400] {
        let mut packet = bridge.driver.chain(&frame, parts);
        assert!(usize::from(packet.part_count()) >= parts);
        shape.ask(&mut packet, None);
        let mut burst = Burst::new();
        burst.push(packet).expect("room");
        bridge.driver.send(bridge.end.tx.as_mut(), &mut burst);
        let seen = bridge.line();
        shape.check_single(&seen);
    }
    bridge.end();
}

#[test]
fn what_the_kernel_refuses_of_a_packet_takes_no_capability_away() {
    let test = "tap_port::what_the_kernel_refuses_of_a_packet_takes_no_capability_away";
    let Some(space) = space(test, &[]) else { return };
    let mut end = End::of(open(&space, "tap0", |_| {}));
    let mut driver = Driver::new();
    let mut burst = Burst::new();
    // Shorter than an Ethernet header, which no tap takes.
    burst.push(driver.packet(&[0; 10])).expect("room");
    // A checksum that begins in the IP header.
    let mut odd = driver.packet(&Shape::TCP4.frame());
    Shape::TCP4.ask(&mut odd, None);
    odd.meta_mut().partial[0].start = 2;
    odd.meta_mut().partial[0].field = 4;
    burst.push(odd).expect("room");
    // A good one behind them.
    burst.push(driver.packet(&[0xff; 60])).expect("room");
    driver.send(end.tx.as_mut(), &mut burst);
    let report = end.tx.report();
    assert_eq!((report.packets, report.wire_packets), (3, 1));
    assert_eq!(drops(&report, "refused"), 2, "{report:?}");
    assert_eq!((end.tap_caps().demoted(), report.error), (Caps::empty(), None));
    driver.end();
}

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[test]
fn whatever_a_packet_asks_for_it_is_sent_or_counted_and_nothing_is_lost_for_others() {
    let test =
        "tap_port::whatever_a_packet_asks_for_it_is_sent_or_counted_and_nothing_is_lost_for_others";
    let Some(space) = space(test, &["ip"]) else { return };
    let mut end = End::of(open(&space, "tap0", |_| {}));
    let (mut driver, mut burst, mut dice) = (Driver::new(), Burst::new(), Dice(1));
    const PACKETS: u64 = 5000;
    for _ in 0..PACKETS {
        let (_, shape) = CUTS[dice.below(11) as usize];
        let shape = Shape { payload: dice.below(5000) as usize, ..shape };
        let mut frame = shape.frame();
        for _ in 0..dice.below(4) {
            let at = dice.below(130) as usize;
            frame.get_mut(at).into_iter().for_each(|byte| *byte = dice.below(256) as u8);
        }
        let less = dice.below(4) * dice.below(60);
        frame.truncate(frame.len().saturating_sub(less as usize));
        let mut packet = driver.packet(&frame);
        let size = (dice.below(3) > 0).then(|| 1 + dice.below(1500) as usize);
        shape.ask(&mut packet, size);
        let changes = dice.below(3);
        for _ in 0..changes {
            let value = dice.below(200) as u16;
            let meta = packet.meta_mut();
            match dice.below(6) {
                0 => meta.partial[0].start = value,
                1 => meta.partial[1].field = value,
                2 => meta.layers.levels[0].l4 = value,
                3 => meta.layers.levels[1].l3 = value,
                4 => meta.l4[usize::from(value % 2)] = Csum::Partial,
                _ => meta.l4[usize::from(value % 2)] = Csum::Unknown,
            }
        }
        burst.push(packet).expect("room");
        driver.send(end.tx.as_mut(), &mut burst);
    }
    let report = end.tx.report();
    let lost: u64 = report.drops.iter().map(|(_, count)| count).sum();
    assert_eq!(report.packets, PACKETS);
    assert!(lost > 100 && lost < PACKETS - 100, "{report:?}");
    let known = ["refused", "unsupported_request"];
    assert!(report.drops.iter().all(|(name, _)| known.contains(name)), "{report:?}");
    assert_eq!((end.tap_caps().demoted(), report.error), (Caps::empty(), None));
    driver.end();
}
