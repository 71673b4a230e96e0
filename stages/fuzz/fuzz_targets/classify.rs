//! Any text as rules of `Classify`: mistakes that can be printed, or a stage that sends every frame somewhere.
//!
//! The text ends at the first zero byte; the rest are frames.
#![no_main]

use corelane_runtime::packet::Packet;
use corelane_runtime::stage::{Args, Nowhere, StageSpec};
use corelane_runtime::testing::Harness;
use corelane_stages::classify::{ClassifySpec, INFO};
use corelane_stages::rx::describe;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    let Ok(rules) = std::str::from_utf8(&data[..end]) else { return };
    let text = format!("(rules: [{rules}])");
    let config = match ClassifySpec.configure(Args { text: &text }) {
        Ok(config) => config,
        Err(errors) => {
            assert!(errors.iter().all(|error| !error.message.is_empty()), "{errors:?}");
            return;
        }
    };
    let outputs = 1 + config.traits().outputs.len();
    let built = match config.build(&mut Nowhere) {
        Ok(built) => built,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut stage = Harness::built(built, &INFO).outputs(outputs);
    let frames: Vec<&[u8]> = data[end..].chunks(120).take(40).collect();
    let packets: Vec<Packet> = frames.iter().map(|frame| described(&mut stage, frame)).collect();
    stage.feed(packets, &[7, 32]);
    stage.assert_balanced();
    let sent: Vec<Packet> = (0..outputs).flat_map(|output| stage.take_from(output)).collect();
    assert_eq!(sent.len(), frames.len());
    stage.release(sent);
    stage.finish();
});

fn described(stage: &mut Harness, frame: &[u8]) -> Packet {
    let mut packet = stage.packet(frame);
    describe(&mut packet, 0, &mut stage.buffers).expect("a buffer");
    packet
}
