//! Queues, starving, repeating, and what reports say.

use crate::support::*;
use corelane_device::emulated::{Collector, Emulated, EmulatedConfig, Frame, Sink, Traffic};
use corelane_runtime::packet::Burst;
use corelane_runtime::port::Port;
use corelane_runtime::stage::Progress;
use std::collections::HashSet;

fn flows(count: u16) -> Vec<Frame> {
    let recipes =
        (0..count).map(|n| Recipe { ports: (1000 + n % 50, 80), ..Recipe::udp(n.to_be_bytes()) });
    recipes.enumerate().map(|(time, recipe)| Frame::new(time as u64, recipe.frame())).collect()
}

fn list(frames: &[Frame], repeat: bool) -> EmulatedConfig {
    let rx = Traffic::Frames { frames: frames.to_vec(), repeat };
    EmulatedConfig { rx, ..EmulatedConfig::new("list") }
}

#[test]
fn queues_share_flows_whole_and_lose_none() {
    let frames = flows(400);
    // Only three of the five queues are opened: they share everything.
    let mut port = Emulated::open(EmulatedConfig { queues: 5, ..list(&frames, false) }).unwrap();
    let mut queues: Vec<_> = (0..3).map(|_| port.open_rx().unwrap()).collect();
    let mut bench = Bench::new();
    let mut seen = 0;
    let mut owners = HashSet::new();
    for (number, rx) in queues.iter_mut().enumerate() {
        let packets = bench.receive_all(&mut **rx);
        assert!(packets.windows(2).all(|pair| pair[0].time() < pair[1].time()));
        seen += packets.len();
        owners.extend(packets.iter().map(|packet| (bytes_of(packet)[34..36].to_vec(), number)));
        bench.release(packets);
    }
    assert_eq!((seen, owners.len()), (400, 50), "each of the 50 flows is one queue's");
    let used: HashSet<usize> = owners.iter().map(|(_, number)| *number).collect();
    assert_eq!(used.len(), 3);
}

#[test]
fn a_queue_too_many_is_refused() {
    let mut port =
        Emulated::open(EmulatedConfig { queues: 1, ..EmulatedConfig::new("nic") }).unwrap();
    assert!(port.open_rx().is_ok() && port.open_tx().is_ok());
    assert!(port.open_rx().is_err_and(|error| error.user));
    assert!(port.open_tx().is_err_and(|error| error.user));
    assert!(Emulated::open(EmulatedConfig { queues: 0, ..EmulatedConfig::new("nic") }).is_err());
}

#[test]
fn sent_frames_are_kept_queue_by_queue() {
    let collector = Collector::new();
    let tx = Sink::Collect(collector.clone());
    let mut port =
        Emulated::open(EmulatedConfig { queues: 2, tx, ..EmulatedConfig::new("nic") }).unwrap();
    let mut queues = [port.open_tx().unwrap(), port.open_tx().unwrap()];
    let mut bench = Bench::new();
    for number in [1, 0, 1] {
        let packet = bench.packet(&[number as u8; 60]);
        bench.send_all(&mut *queues[number], vec![packet]);
    }
    let by_queue: Vec<usize> = collector.queues().iter().map(Vec::len).collect();
    assert_eq!((by_queue, collector.len()), (vec![1, 2], 3));
    assert_eq!(collector.take().len(), 3);
    assert!(collector.is_empty());
}

#[test]
fn a_starved_queue_loses_nothing() {
    let frames = flows(10);
    let mut port = Emulated::open(list(&frames, false)).unwrap();
    let mut rx = port.open_rx().unwrap();
    let mut bench = Bench::with(0, 3, 0);
    let mut burst = Burst::new();
    let mut got = Vec::new();
    loop {
        match bench.poll(&mut *rx, &mut burst, 32) {
            Progress::Worked(n) => assert!(n <= 3),
            Progress::Starved => {
                let packets: Vec<_> = burst.drain().collect();
                assert!(!packets.is_empty());
                got.extend(packets.iter().map(bytes_of));
                bench.release(packets);
                bench.buffers.clear_starved();
            }
            Progress::Done => break,
            other => panic!("{other:?}"),
        }
    }
    got.extend(burst.iter().map(bytes_of));
    assert_eq!(got, data_of(&frames));
}

#[test]
fn a_frame_no_pool_can_hold_is_counted_and_passed() {
    let frames = [Frame::new(0, vec![1; 5000]), Frame::new(1, vec![2; 60])];
    let mut port = Emulated::open(list(&frames, false)).unwrap();
    let mut rx = port.open_rx().unwrap();
    let mut bench = Bench::with(0, 4, 0);
    let packets = bench.receive_all(&mut *rx);
    assert_eq!((packets.len(), rx.report().packets), (1, 1));
    assert_eq!(rx.report().drops, [("too_large_for_pool", 1)]);
    assert_eq!(rx.report().wire_packets, 2);
    bench.release(packets);
    // A pool without small buffers holds no small frame.
    let mut rx = Emulated::open(list(&frames, false)).unwrap().open_rx().unwrap();
    let mut bench = Bench::with(0, 0, 1);
    let packets = bench.receive_all(&mut *rx);
    assert_eq!((packets[0].len(), rx.report().drops), (5000, vec![("too_large_for_pool", 1)]));
    bench.release(packets);
}

#[test]
fn a_repeated_list_has_growing_times() {
    let frames = flows(7);
    let mut port = Emulated::open(list(&frames, true)).unwrap();
    let mut rx = port.open_rx().unwrap();
    let mut bench = Bench::new();
    let mut burst = Burst::new();
    assert_eq!(bench.poll(&mut *rx, &mut burst, 32), Progress::Worked(32));
    let times: Vec<u64> = burst.iter().map(|packet| packet.time()).collect();
    assert_eq!(times, (0..32).collect::<Vec<u64>>());
    let third = burst.iter().nth(16).map(bytes_of);
    assert_eq!(third.as_ref(), Some(&frames[2].data));
}

#[test]
fn an_empty_list_repeated_is_at_its_end() {
    let mut port = Emulated::open(list(&[], true)).unwrap();
    let mut rx = port.open_rx().unwrap();
    assert!(Bench::new().receive_all(&mut *rx).is_empty());
}

#[test]
fn a_discarding_port_checks_requests_all_the_same() {
    let mut port = Emulated::open(EmulatedConfig::new("nic")).unwrap();
    let mut tx = port.open_tx().unwrap();
    let mut bench = Bench::new();
    let recipe = Recipe::tcp(b"x".to_vec());
    let mut asking = bench.packet(&recipe.partial());
    recipe.mark_partial(&mut asking);
    let plain = bench.packet(&recipe.frame());
    bench.send_all(&mut *tx, vec![asking, plain]);
    let report = tx.report();
    assert_eq!((report.packets, report.wire_packets), (2, 1));
    assert_eq!(port.refusals().total(), 1);
    bench.assert_nothing_out();
}
