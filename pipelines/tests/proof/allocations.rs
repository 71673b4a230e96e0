//! A warmed-up pipeline allocates nothing: probes in both actors read their thread's count of allocations.

use crate::own::{self, Own};
use crate::support::Lane;
use corelane_device::emulated::Frame;
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

#[test]
fn nothing_is_allocated_once_warm() {
    let counts = Counts::default();
    let once = crate::sums::recorded();
    // The same traffic again and again: flows resume, so that every path is warm.
    let frames: Vec<Frame> = (0..24).flat_map(|_| once.clone()).collect();
    let told = Arc::clone(&counts);
    let probes = Own { info: &PROBE, make: move || probe(&told) };
    let stages = "ChecksumValidate, Gro, Probe, Ring(name: \"cut\"), Gso, ChecksumFill, Probe";
    let lane = Lane {
        stages: stages.to_owned(),
        registry: corelane::standard().with(probes),
        tx: corelane_runtime::offload::Caps::MULTI_PART,
        ..Lane::new(frames)
    };
    let ran = lane.discard();
    assert!(ran.report.balanced, "{:?}", ran.report.unbalanced);
    let counts = counts.lock().expect("not poisoned");
    assert_eq!(counts.len(), 2, "one probe in each actor");
    for &(seen, made) in counts.iter() {
        assert!(seen > 3 * WARM, "{seen} segments seen");
        assert_eq!(made, 0, "allocations after {WARM} of {seen} segments");
    }
}

/// The allocator counts at all: without this the test above could not fail.
#[test]
fn the_counter_counts() {
    let before = allocations();
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert!(allocations() > before);
}
