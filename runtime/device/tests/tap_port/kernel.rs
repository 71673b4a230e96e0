//! What is known of the kernel: that asking it is no surprise to the record, and queues side by side.

use crate::queue::{Driver, drops, open};
use crate::space::space;
use corelane_device::tap::{QUEUES_MAX, Tap, TapConfig, probe};
use corelane_device::vnet::Agreed;
use corelane_runtime::offload::{Answer, Caps};
use corelane_runtime::packet::Burst;
use corelane_runtime::port::Port;
use corelane_runtime::stage::Progress;

/// Version of the running kernel: 6 and 18 of 6.18.
fn version() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[test]
fn what_the_kernel_takes_is_what_its_version_says() {
    let test = "tap_port::what_the_kernel_takes_is_what_its_version_says";
    let Some(space) = space(test, &["ip"]) else { return };
    let facts = probe().expect("taps can be tried here");
    let has = |bits: Caps| facts.granted.contains(bits);
    assert!(has(Caps::TX_CHECKSUMS | Caps::TX_GENERIC | Caps::TSO4 | Caps::TSO6 | Caps::TSO_ECN));
    let uso = Caps::USO4 | Caps::USO6;
    let tunnels = Caps::TSO_VXLAN_CSUM | Caps::TSO_GENEVE_CSUM | Caps::TX_OUTER_UDP;
    assert_eq!((has(uso), has(tunnels)), (version() >= (6, 2), version() >= (6, 17)));
    for bit in Caps::asked() - facts.granted {
        assert!(facts.why(bit).is_some(), "nothing says why there is no {}", bit.names());
        assert_ne!(facts.answer(bit), Answer::Yes);
    }
    let tap = open(&space, "tap0", |_| {});
    assert_eq!(tap.caps().facts.granted, facts.granted);
    assert_eq!(tap.caps().facts.limits.mtu, Some(1500));
    assert_eq!(tap.agreed().contains(Agreed::TUNNEL), version() >= (6, 17));
    let left = open(&space, "tap1", |config| config.offloads = false);
    assert_eq!(
        (left.agreed(), left.caps().facts.granted),
        (Agreed::empty(), facts.granted - Caps::RX_PARTIAL)
    );
    if version() >= (6, 17) {
        let mut recorded = Tap::facts(&TapConfig::new("a", "tap0"));
        recorded.limits.mtu = facts.limits.mtu;
        assert_eq!(recorded.granted, facts.granted);
        assert_eq!(recorded.limits, facts.limits);
    }
}

#[test]
fn flows_are_spread_over_queues_and_none_is_lost() {
    let test = "tap_port::flows_are_spread_over_queues_and_none_is_lost";
    let Some(space) = space(test, &["ip", "python3"]) else { return };
    let mut tap = open(&space, "tap0", |config| config.queues = 4);
    let mut queues: Vec<_> = (0..4).map(|_| tap.open_rx().expect("a queue")).collect();
    assert!(tap.open_rx().is_err());
    let mut writers: Vec<_> = (0..6).map(|_| tap.open_tx().expect("a queue")).collect();
    space.ip("addr add 10.9.0.1/24 dev tap0");
    space.ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev tap0");
    let send = "import socket\nfor p in range(200):\n s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
                s.bind(('', 2000 + p)); s.sendto(b'x' * 100, ('10.9.0.2', 9)); s.close()";
    let status = space.command("python3").args(["-c", send]).status().expect("python3 runs");
    assert!(status.success());
    let (mut driver, mut burst) = (Driver::new(), Burst::new());
    let mut each = Vec::new();
    for queue in &mut queues {
        let mut got = 0;
        while let Progress::Worked(_) = driver.poll(queue.as_mut(), &mut burst) {
            got += burst.iter().filter(|packet| packet.len() == 142).count();
            driver.release(&mut burst);
        }
        each.push(got);
    }
    assert_eq!(each.iter().sum::<usize>(), 200, "{each:?}");
    assert!(each.iter().all(|&got| got > 0), "{each:?}");
    for writer in &mut writers {
        burst.push(driver.packet(&[0xff; 60])).expect("room");
        driver.send(writer.as_mut(), &mut burst);
        assert_eq!(writer.report().wire_packets, 1);
    }
    assert!(queues.iter().all(|queue| drops(&queue.report(), "not_read_in_time") == 0));
    assert_eq!(QUEUES_MAX, 256);
    driver.end();
}
