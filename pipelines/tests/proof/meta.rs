//! Meta stays true: between any two stages the layers a packet carries are those that its bytes have.

use crate::own::{self, Own};
use crate::stream::stream;
use crate::support::{Lane, received};
use corelane::SimConfig;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{Buffers, Burst, HomeConfig, MetaFlags, Packet};
use corelane_runtime::stage::{Built, CounterId, Outputs, Stage, StageContext, StageInfo};
use corelane_stages::rx::describe;
use proptest::prelude::*;

/// Describes every packet once more and compares. The copies have a home of their own.
struct Compare {
    home: Buffers,
}

impl Compare {
    fn new() -> Compare {
        let config =
            HomeConfig { name: "copies".to_owned(), shells: 0, small: 8, large: 16, node: None };
        Compare { home: Buffers::new(&config).expect("a home") }
    }
}

static COMPARE: StageInfo = own::info("Compare", &["compared"]);

impl Stage for Compare {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        for packet in burst.drain() {
            compare(&packet, &mut self.home);
            ctx.count(CounterId(0), 1);
            out.next(packet);
        }
    }
}

/// Describes a copy of the bytes as if they had just come in.
fn compare(packet: &Packet, buffers: &mut Buffers) {
    let bytes: Vec<u8> = packet.parts().flatten().copied().collect();
    assert_eq!(bytes.len(), packet.len() as usize);
    let mut fresh = buffers.receive(&bytes).expect("a buffer for the copy");
    fresh.meta_mut().orig_len = packet.meta().orig_len;
    fresh.set_segmentation(packet.segmentation());
    describe(&mut fresh, 1, buffers).expect("a buffer for the headers");
    let (kept, found) = (packet.meta(), fresh.meta());
    assert_eq!(kept.layers, found.layers);
    assert_eq!(packet.payload_len(), fresh.payload_len());
    assert_eq!(kept.trailer, found.trailer);
    let facts = MetaFlags::PARSED
        | MetaFlags::FRAGMENT
        | MetaFlags::ODD_PSEUDO
        | MetaFlags::OVERRUN
        | MetaFlags::DEEPER;
    assert_eq!(kept.flags & facts, found.flags & facts);
    let pieces: u32 = packet.pieces().map(|piece| piece.len).sum();
    assert!(!packet.is_super() || pieces == 0 || pieces == packet.payload_len());
    buffers.release(fresh);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn layers_in_meta_are_those_of_the_bytes(stream in stream(200), hardware in any::<bool>()) {
        let stages = "Compare, ChecksumValidate, Compare, Gro, Compare, Ring(name: \"cut\"), Compare, Gso, Compare, \
                      ChecksumFill, Compare";
        let caps = if hardware { Caps::all() } else { Caps::MULTI_PART };
        let frames = received(stream.frames());
        let make = || Built::restartable(Compare::new);
        let compare = Own { info: &COMPARE, make };
        let lane = Lane {
            stages: stages.to_owned(),
            registry: corelane::standard().with_spec(compare),
            rx: caps,
            tx: caps,
            ..Lane::new(frames)
        };
        let ran = lane.simulate(&SimConfig::new(1));
        ran.assert_clean("compared");
        prop_assert_eq!(ran.report.totals.panics, 0);
        prop_assert!(ran.counter("Compare", "compared") > 0 || lane.frames.is_empty());
    }
}
