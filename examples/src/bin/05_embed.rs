//! corelane inside a program of its own: a description as text, a stage of the program's own, books read while packets
//! flow, and an orderly end. The library sets no signal handler and no logger.
use corelane::prelude::*;
use corelane::{Failure, Machine, Pipeline};
use std::time::Duration;

const DESCRIPTION: &str = r#"Pipeline(
    name: "embedded",
    ports: {
        "in": Emulated(traffic: (flows: 8, size: 1518, protocol: TcpBulk, order: Trains(8))),
        "out": Emulated(caps: All),
    },
    chains: { "main": [Rx("in"), ChecksumValidate, Gro, Busiest(name: "meter"), Tx("out")] },
)"#;

stage! {
    /// Remembers how many frames the largest superpacket stood for.
    pub struct Busiest {}
    counters { LARGEST }
    state { largest: u16 = 0 }
}

impl Stage for Busiest {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs, ctx: &mut StageContext) {
        for packet in burst.drain() {
            let more = packet.segments().saturating_sub(self.largest);
            self.largest += more;
            ctx.count(Self::LARGEST, u64::from(more));
            out.next(packet);
        }
    }
}

fn main() -> Result<ExitCode, Failure> {
    let registry = Registry::standard().with::<Busiest>();
    let plan = Pipeline::parse(DESCRIPTION)?.plan(&registry, &Machine::here())?;
    println!("{} on {} core(s), plan {}", plan.name(), plan.cpus(), plan.hash());
    let mut handle = plan.start()?;
    for _ in 0..3 {
        if handle.wait_for(Duration::from_millis(200)) {
            break;
        }
        println!("{} packets so far", handle.snapshot().totals.rx_packets);
    }
    handle.drain(); // nothing new comes in; what is inside goes out
    let report = handle.wait();
    let meter = report.stages.iter().find(|stage| stage.kind == "Busiest");
    let largest = meter.and_then(|stage| stage.counters.get("largest"));
    println!("balanced: {:?}; the largest superpacket had {largest:?} segments", report.balanced);
    Ok(if report.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
