//! A warmed-up tap allocates nothing, whatever comes and goes.

use corelane_device::{Tap, TapConfig};
use corelane_runtime::packet::{Buffers, Burst, HomeConfig};
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Progress, StageContext, Tally};
use corelane_runtime::testing::namespace::{Namespace, missing};
use corelane_runtime::testing::{CountingAllocator, allocations, skip};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const SEND: &str = r"
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(200): s.sendto(b'x' * (100 + n), ('10.9.0.2', 9))
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)
for n in range(50): s.sendto(b'x' * 20000, ('10.9.0.2', 9))
";

#[test]
fn a_warm_tap_allocates_nothing() {
    let test = "tap_alloc::a_warm_tap_allocates_nothing";
    if let Some(lacks) = missing(&["ip", "python3"]) {
        return skip(test, &lacks);
    }
    let Some(space) = Namespace::new(test) else { return };
    let config = TapConfig { namespace: Some(space.name().into()), ..TapConfig::new("a", "tap0") };
    let mut tap = Tap::open(config).expect("the tap opens");
    let (mut rx, mut tx) = (tap.open_rx().expect("a queue"), tap.open_tx().expect("a queue"));
    space.ip("addr add 10.9.0.1/24 dev tap0");
    space.ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev tap0");
    let status = space.command("python3").args(["-c", SEND]).status().expect("python3 runs");
    assert!(status.success());
    let home = HomeConfig { name: "tap".into(), shells: 0, small: 64, large: 64, node: None };
    let mut buffers = Buffers::new(&home).expect("memory");
    let (mut tally, mut burst) = (Tally::new(0, 0), Burst::new());
    let (mut before, mut packets, mut supers) = (None, 0, 0);
    loop {
        let mut ctx = StageContext::new(1, &mut buffers, &mut tally);
        let Progress::Worked(count) = rx.rx(&mut burst, 16, &mut ctx) else { break };
        packets += count;
        supers += burst.iter().filter(|packet| packet.is_super()).count();
        tx.tx(&mut burst, &mut ctx);
        assert!(burst.is_empty());
        before.get_or_insert_with(allocations);
    }
    assert_eq!(Some(allocations()), before, "after {packets} packets");
    assert!(packets >= 250 && supers == 50, "{packets} packets, {supers} of them superpackets");
    assert_eq!(buffers.outstanding(), [0; 3]);
}
