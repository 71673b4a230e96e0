//! What a whole pipeline promises, shown on whole pipelines: the same bytes under every capability set, a payload
//! byte summed at most once, balanced books under every fault, nothing lost to back-pressure, nothing allocated
//! once warm, and the captures of the corpus.

mod allocations;
mod backpressure;
mod corpus;
mod demotion;
mod equivalence;
mod meta;
mod negotiation;
mod own;
mod simulation;
mod sums;
mod support;

/// What tunnels carry, shared with it.
#[path = "../../../stages/tests/reversible/inside.rs"]
mod inside;
/// Random traffic, shared with the reversibility test of the stages.
#[path = "../../../stages/tests/reversible/stream.rs"]
mod stream;

/// What the traffic is made of.
mod rig {
    /// A frame as received, or as sent.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Frame {
        pub(crate) bytes: Vec<u8>,
        pub(crate) time: u64,
        pub(crate) orig_len: u32,
    }

    impl Frame {
        pub(crate) fn new(bytes: Vec<u8>) -> Frame {
            let orig_len = bytes.len() as u32;
            Frame { bytes, time: 0, orig_len }
        }
    }
}

#[global_allocator]
static ALLOCATOR: corelane_runtime::testing::CountingAllocator =
    corelane_runtime::testing::CountingAllocator;
