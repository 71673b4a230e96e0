//! Transmitting to files that refuse, where no tap refuses when it is wanted: one that is full, and one that finds
//! everything wrong.

use super::tx::TapTx;
use corelane_runtime::offload::{Caps, Limits, PortCaps};
use corelane_runtime::packet::{
    Buffers, Burst, HomeConfig, L3, L4, Layers, Level, Packet, Partial, SegFlags, SegKind,
    Segmentation, Tunnel,
};
use corelane_runtime::port::TxQueue;
use corelane_runtime::stage::{StageContext, Tally};
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};

const CAPS: Caps = Caps::TX_CHECKSUMS.union(Caps::MULTI_PART).union(Caps::TSO4).union(Caps::TSO6);

fn queue(file: File, proven: Caps) -> (TapTx, Arc<PortCaps>) {
    let caps = Arc::new(PortCaps::new("port", CAPS, Limits::default()));
    let files = Arc::new(Mutex::new(vec![Arc::new(file)]));
    (TapTx::new(&caps, "tap0", files, 3, proven), caps)
}

fn buffers() -> Buffers {
    let config = HomeConfig { name: "test".into(), shells: 0, small: 400, large: 4, node: None };
    Buffers::new(&config).expect("memory")
}

/// TCP over IPv4 whose checksum is to be finished; cut if `cut`.
fn tcp4(buffers: &mut Buffers, cut: bool) -> Packet {
    let mut frame = vec![0; 54 + 1000];
    (frame[12], frame[14], frame[46]) = (8, 0x45, 0x50);
    let mut packet = buffers.receive(&frame).expect("a buffer");
    let level = Level { l2: 0, l3: 14, l4: 34, payload: 54, l3_kind: L3::V4, l4_kind: L4::Tcp };
    let levels = [level, Level::default()];
    packet.set_layers(Layers { levels, count: 1, tunnel: Tunnel::None }, 1000);
    packet.meta_mut().request(0, Partial { start: 34, field: 50 });
    if cut {
        let (gso_size, flags) = (300, SegFlags::empty());
        packet.set_segmentation(Segmentation { kind: SegKind::Tcp4, gso_size, count: 4, flags });
    }
    packet
}

fn refusing() -> File {
    // It takes numbers, and says EINVAL to anything else.
    OpenOptions::new().write(true).open("/proc/self/oom_score_adj").expect("every process has it")
}

fn send(tx: &mut TapTx, burst: &mut Burst, buffers: &mut Buffers, now: u64) {
    tx.tx(burst, &mut StageContext::new(now, buffers, &mut Tally::new(0, 0)));
}

#[test]
fn what_was_never_seen_to_work_is_lost_as_a_capability_and_the_packet_stays() {
    let (mut tx, caps) = queue(refusing(), Caps::empty());
    let (mut buffers, mut burst) = (buffers(), Burst::new());
    burst.push(tcp4(&mut buffers, true)).expect("room");
    send(&mut tx, &mut burst, &mut buffers, 0);
    assert_eq!((burst.len(), caps.demoted()), (1, Caps::TSO4));
    assert_eq!(caps.cause(Caps::TSO4), Some("the kernel refused tso4"));
    assert_eq!(tx.retry_at(), None, "there is room, for what is asked otherwise");
    buffers.release(burst.pop().expect("it stays"));
    burst.push(tcp4(&mut buffers, false)).expect("room");
    send(&mut tx, &mut burst, &mut buffers, 0);
    assert!((burst.len(), caps.effective().contains(Caps::TX_TCP4)) == (1, false));
    buffers.release(burst.pop().expect("it stays"));
    // A packet that asks for nothing has nothing to lose but itself.
    burst.push(buffers.receive(&[0xff; 60]).expect("a buffer")).expect("room");
    send(&mut tx, &mut burst, &mut buffers, 0);
    assert!(burst.is_empty());
    let report = tx.report();
    assert_eq!(
        (&report.drops[..], report.packets, report.wire_packets),
        (&[("refused", 1)][..], 1, 0)
    );
    assert_eq!(buffers.outstanding(), [0; 3]);
}

#[test]
fn what_was_seen_to_work_stays_and_the_packet_is_lost() {
    let (mut tx, caps) = queue(refusing(), CAPS);
    let (mut buffers, mut burst) = (buffers(), Burst::new());
    for cut in [true, false] {
        burst.push(tcp4(&mut buffers, cut)).expect("room");
    }
    send(&mut tx, &mut burst, &mut buffers, 0);
    assert_eq!((burst.len(), caps.demoted()), (0, Caps::empty()));
    assert_eq!(tx.report().drops, [("refused", 2)]);
    assert_eq!(buffers.outstanding(), [0; 3]);
}

#[test]
fn what_there_is_no_memory_for_waits_longer_and_longer_and_leaves_in_order() {
    let (ours, theirs) = UnixDatagram::pair().expect("sockets");
    ours.set_nonblocking(true).expect("a flag");
    theirs.set_nonblocking(true).expect("a flag");
    let (mut tx, caps) = queue(File::from(OwnedFd::from(ours)), Caps::empty());
    let (mut buffers, mut burst) = (buffers(), Burst::new());
    let mut now = 0;
    let (mut sent, mut seen) = (0_u8, 0_u8);
    let mut waits = Vec::new();
    while seen < 250 {
        while sent < 250 && burst.len() < 32 {
            burst.push(buffers.receive(&[sent; 60]).expect("a buffer")).expect("room");
            sent += 1;
        }
        send(&mut tx, &mut burst, &mut buffers, now);
        let Some(retry) = tx.retry_at() else {
            assert!(burst.is_empty());
            waits.clear();
            let mut bytes = [0; 100];
            while let Ok(len) = theirs.recv(&mut bytes) {
                assert_eq!((len, bytes[24]), (84, seen));
                seen += 1;
            }
            continue;
        };
        assert!(!burst.is_empty());
        waits.push(retry - now);
        now = retry;
        if waits.len() == 10 {
            let expected: Vec<u64> =
                (0..10).map(|turn| (20_000_u64 << turn).min(1_000_000)).collect();
            assert_eq!(waits, expected);
            let mut bytes = [0; 100];
            while let Ok(len) = theirs.recv(&mut bytes) {
                assert_eq!((len, bytes[24]), (84, seen));
                seen += 1;
            }
            waits.clear();
        }
    }
    let report = tx.report();
    assert_eq!((report.packets, &report.drops[..], report.error), (250, &[][..], None));
    assert_eq!((caps.demoted(), buffers.outstanding()), (Caps::empty(), [0; 3]));
}

#[test]
fn a_failure_that_has_no_name_is_an_error_and_counted() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("there is one");
    let (mut tx, _) = queue(full, CAPS);
    let (mut buffers, mut burst) = (buffers(), Burst::new());
    burst.push(buffers.receive(&[0xff; 60]).expect("a buffer")).expect("room");
    send(&mut tx, &mut burst, &mut buffers, 0);
    let report = tx.report();
    assert_eq!(report.drops, [("write_error", 1)]);
    assert!(report.error.is_some_and(|error| error.message.contains("`tap0` cannot be written")));
}
