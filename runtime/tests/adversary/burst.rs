//! Bursts: taking out of the middle, stopping half-way, panicking half-way.

use crate::toys::{home, hush};
use corelane_runtime::packet::{BURST_MAX, Buffers, Burst, Packet};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn filled(buffers: &mut Buffers, n: usize) -> Burst {
    let mut burst = Burst::new();
    for number in 0..n {
        let packet = buffers.receive(&[number as u8]).expect("room");
        burst.push(packet).expect("room");
    }
    burst
}

fn numbers(burst: &Burst) -> Vec<u8> {
    burst.iter().map(|packet| packet.data()[0]).collect()
}

fn empty(buffers: &mut Buffers, mut burst: Burst) {
    burst.drain().for_each(|packet| buffers.release(packet));
    assert_eq!(buffers.outstanding(), [0; 3]);
}

proptest! {
    #[test]
    fn extract_is_partition(
        gone in 0_usize..20,
        n in 0_usize..BURST_MAX,
        shown in 0_usize..300,
        picks in prop::collection::vec(any::<bool>(), BURST_MAX),
    ) {
        let mut buffers = home(0, 512, 0);
        let mut burst = filled(&mut buffers, n);
        burst.drain().take(gone).for_each(|packet| buffers.release(packet));
        let all = numbers(&burst);
        let pick = |number: u8| picks[usize::from(number)];
        let mut taken = Vec::new();
        burst.with_front(shown, |front| {
            front.extract(|packet| pick(packet.data()[0]), |packet| {
                taken.push(packet.data()[0]);
                buffers.release(packet);
            });
        });
        let (front, back) = all.split_at(shown.min(all.len()));
        let (yes, no): (Vec<u8>, Vec<u8>) = front.iter().partition(|&&number| pick(number));
        prop_assert_eq!(taken, yes);
        prop_assert_eq!(numbers(&burst), [&no[..], back].concat());
        empty(&mut buffers, burst);
    }

    #[test]
    fn an_extract_that_panics_loses_only_what_it_had_handed_out(
        n in 1_usize..40,
        at in 0_usize..40,
        in_pick in any::<bool>(),
    ) {
        hush();
        let mut buffers = home(0, 64, 0);
        let mut burst = filled(&mut buffers, n);
        let (mut asked, mut taken) = (0, Vec::new());
        let result = catch_unwind(AssertUnwindSafe(|| burst.extract(
            |packet| {
                asked += 1;
                assert!(!in_pick || asked <= at, "on purpose");
                packet.data()[0] % 2 == 0
            },
            |packet| {
                taken.push(packet.data()[0]);
                assert!(in_pick || usize::from(packet.data()[0]) < at, "on purpose");
            },
        )));
        let left = numbers(&burst);
        prop_assert!(result.is_ok() || at < n);
        let mut all = [&left[..], &taken].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..n as u8).collect::<Vec<_>>());
        prop_assert!(left.is_sorted());
        burst.drain().for_each(|packet| buffers.release(packet));
        prop_assert_eq!(buffers.outstanding(), [0; 3]);
    }
}

#[test]
fn a_drain_dropped_midway_leaves_the_rest() {
    let mut buffers = home(0, 64, 0);
    let mut burst = filled(&mut buffers, 10);
    let first: Vec<Packet> = burst.drain().take(3).collect();
    let fourth = burst.drain().next().expect("there are ten");
    assert_eq!(numbers(&burst), [4, 5, 6, 7, 8, 9]);
    first.into_iter().chain([fourth]).for_each(|packet| buffers.release(packet));
    empty(&mut buffers, burst);
}

#[test]
fn a_full_burst_gives_the_packet_back_and_room_at_the_front_is_found() {
    let mut buffers = home(0, 300, 0);
    let mut burst = filled(&mut buffers, BURST_MAX);
    let extra = buffers.receive(&[7]).expect("room");
    let extra = burst.push(extra).expect_err("full");
    burst.drain().take(5).for_each(|packet| buffers.release(packet));
    burst.push(extra).expect("five slots at the front");
    assert_eq!(numbers(&burst).last(), Some(&7));
    assert_eq!(numbers(&burst).len(), BURST_MAX - 4);
    empty(&mut buffers, burst);
}
