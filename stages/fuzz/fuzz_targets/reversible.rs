//! `gso(gro(x)) == x`: the property of `stages/tests/reversible`, for streams that the fuzzer picks and then
//! spoils, and for frames that are nothing but its bytes.
#![no_main]

#[path = "../../tests/reversible/inside.rs"]
mod inside;
#[path = "../../tests/reversible/oracle.rs"]
mod oracle;
#[path = "../../tests/reversible/property.rs"]
#[allow(dead_code, unused_imports, reason = "what its proptest cases alone need")]
mod property;
#[path = "../../tests/reversible/rig.rs"]
#[allow(dead_code, reason = "the tests of this rig ask more of it")]
mod rig;
#[path = "../../tests/reversible/stream.rs"]
mod stream;

use libfuzzer_sys::fuzz_target;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rig::Frame;

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else { return };
    if kind & 1 == 0 {
        spoiled_stream(data);
    } else {
        let frames: Vec<Frame> =
            data.chunks(90).take(40).map(|bytes| Frame::new(bytes.to_vec())).collect();
        property::harmless(&frames, &property::whole());
    }
});

/// The first four bytes pick a stream and how it is run; each further four flip bits of one byte of a frame.
fn spoiled_stream(data: &[u8]) {
    let Some((pick, edits)) = data.split_at_checked(4) else { return };
    let mut seed = [0; 32];
    seed[..4].copy_from_slice(pick);
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let Ok(tree) = (stream::stream(60), property::run()).new_tree(&mut runner) else { return };
    let (stream, run) = tree.current();
    let mut frames = stream.frames();
    if edits.len() < 4 || frames.is_empty() {
        property::reversible(&frames, &run);
        return;
    }
    for edit in edits.chunks_exact(4) {
        let at = usize::from(edit[0]) % frames.len();
        let bytes = &mut frames[at].bytes;
        let byte = usize::from(u16::from_be_bytes([edit[1] & 1, edit[2]])) % bytes.len();
        bytes[byte] ^= edit[3];
    }
    // A spoiled header may say anything of its flow, so order cannot be judged.
    property::harmless(&frames, &run);
}
