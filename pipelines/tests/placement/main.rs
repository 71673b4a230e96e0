//! Where a plan puts what: on machines that nobody here has, held against a checker that knows the rules and not
//! the planner; and that the packets which leave do not depend on it.

mod checker;
mod equivalence;
mod machines;
mod outputs;
mod own;
mod refusals;
mod snapshots;

/// What tunnels carry, shared with it.
#[path = "../../../stages/tests/reversible/inside.rs"]
#[allow(dead_code, reason = "flows are told apart more finely here")]
mod inside;
/// Random traffic, shared with the reversibility test of the stages.
#[path = "../../../stages/tests/reversible/stream.rs"]
#[allow(dead_code, reason = "flows are told apart more finely here")]
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
