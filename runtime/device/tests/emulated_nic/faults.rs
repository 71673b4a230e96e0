//! Stalls: what waits, waits in the burst.

use crate::support::*;
use corelane_device::emulated::{EmulatedConfig, Faults, Stall};
use corelane_runtime::packet::Burst;

#[test]
fn a_stalled_queue_takes_nothing_and_says_until_when() {
    let faults = Faults { stall: Stall::Windows(vec![100..150, 150..200]), ..Faults::default() };
    let mut nic = nic_of(EmulatedConfig { faults, ..EmulatedConfig::new("nic") });
    let mut bench = Bench::new();
    let mut burst = Burst::new();
    for number in 0..3 {
        let packet = bench.packet(&[number; 60]);
        burst.push(packet).unwrap();
    }
    bench.now = 150;
    bench.transmit(&mut *nic.tx, &mut burst);
    assert_eq!((burst.len(), nic.tx.retry_at(), nic.wire.len()), (3, Some(200), 0));
    bench.now = 200;
    bench.transmit(&mut *nic.tx, &mut burst);
    assert_eq!((burst.len(), nic.tx.retry_at()), (0, None));
    let sent: Vec<u8> = nic.wire.frames().iter().map(|frame| frame.data[0]).collect();
    assert_eq!(sent, [0, 1, 2]);
}

#[test]
fn few_packets_at_a_time() {
    for (limit, taken) in [(0, 1), (1, 1), (2, 2)] {
        let faults = Faults { packets_per_call: Some(limit), ..Faults::default() };
        let mut nic = nic_of(EmulatedConfig { faults, ..EmulatedConfig::new("nic") });
        let mut bench = Bench::new();
        let mut burst = Burst::new();
        for number in 0..5 {
            let packet = bench.packet(&[number; 60]);
            burst.push(packet).unwrap();
        }
        bench.transmit(&mut *nic.tx, &mut burst);
        assert_eq!((nic.wire.len(), burst.len()), (taken, 5 - taken));
        while !burst.is_empty() {
            bench.transmit(&mut *nic.tx, &mut burst);
        }
        let sent: Vec<u8> = nic.wire.frames().iter().map(|frame| frame.data[0]).collect();
        assert_eq!(sent, [0, 1, 2, 3, 4]);
    }
}
