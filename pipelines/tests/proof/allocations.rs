//! A warmed-up pipeline allocates nothing: probes in both actors read their thread's count of allocations.

use crate::own::{self, Own};
use crate::support::{Lane, Ran};
use corelane_device::emulated::{Failing, Faults, Frame, Onset};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{Built, Outputs, Progress, Stage, StageContext, StageInfo};
use corelane_runtime::testing::allocations;
use std::sync::{Arc, Mutex};

/// Packets after which a pipeline is warm.
const WARM: u64 = 4000;

type Counts = Arc<Mutex<Vec<(u64, u64)>>>;

/// Passes packets on; notes how many it saw after warming up, and how many allocations its thread made
/// meanwhile.
struct Probe {
    counts: Counts,
    seen: u64,
    at_start: u64,
}

static PROBE: StageInfo = own::info("Probe", &[]);

fn probe(counts: &Counts) -> Built {
    let probe = Probe { counts: Arc::clone(counts), seen: 0, at_start: 0 };
    Built::Stage(Box::new(probe), None)
}

impl Stage for Probe {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, _: &mut StageContext<'_>) {
        for packet in burst.drain() {
            self.seen += u64::from(packet.segments());
            out.next(packet);
        }
        if self.at_start == 0 && self.seen >= WARM {
            self.at_start = allocations();
        }
    }

    fn drain(&mut self, _: &mut Outputs<'_>, _: &mut StageContext<'_>) -> Progress {
        let made = allocations() - self.at_start;
        self.counts.lock().expect("not poisoned").push((self.seen, made));
        Progress::Done
    }
}

/// The main job in two actors with a probe in each, over a port that can do `tx` and then loses some of it.
fn assert_no_allocation(tx: Caps, fail: Vec<Failing>) -> Ran {
    let counts = Counts::default();
    let once = crate::sums::recorded();
    // The same traffic again and again: flows resume, so that every path is warm.
    let frames: Vec<Frame> = (0..24).flat_map(|_| once.clone()).collect();
    let told = Arc::clone(&counts);
    let probes = Own { info: &PROBE, make: move || probe(&told) };
    let stages = "ChecksumValidate, Gro, Probe, Ring(name: \"cut\"), Gso, ChecksumFill, Probe";
    let lane = Lane {
        stages: stages.to_owned(),
        registry: corelane::standard().with_spec(probes),
        tx,
        faults: Faults { fail, ..Faults::default() },
        ..Lane::new(frames)
    };
    let ran = lane.discard();
    assert!(ran.report.balanced == Some(true), "{:?}", ran.report.unbalanced);
    let counts = counts.lock().expect("not poisoned");
    assert_eq!(counts.len(), 2, "one probe in each actor");
    for &(seen, made) in counts.iter() {
        assert!(seen > 3 * WARM, "{seen} segments seen");
        assert_eq!(made, 0, "allocations after {WARM} of {seen} segments");
    }
    ran
}

#[test]
fn nothing_is_allocated_once_warm() {
    assert_no_allocation(Caps::MULTI_PART, Vec::new());
}

/// Nor where a port loses what it could, one thing after another, and finished packets are finished anew. Each
/// failure comes when more packets have left than the pipeline needs to be warm.
#[test]
fn nothing_is_allocated_when_a_port_fails() {
    let lost = [Caps::TX_UDP4, Caps::TSO4, Caps::TX_TCP4, Caps::MULTI_PART];
    let failing = |(caps, after)| Failing { caps, from: Onset::After(after) };
    let fail = lost.into_iter().zip([WARM, WARM + 50, WARM + 300, WARM + 700]).map(failing);
    let ran = assert_no_allocation(Caps::asked(), fail.collect());
    assert!(ran.counter("Tx", "refinished") > 0, "{:?}", ran.report.ports.get("out"));
    assert!(ran.report.totals.demoted > 0);
}

/// The allocator counts at all: without this the test above could not fail.
#[test]
fn the_counter_counts() {
    let before = allocations();
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert!(allocations() > before);
}
