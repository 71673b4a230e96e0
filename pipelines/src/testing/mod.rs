//! For tests of one's own stages: whether they keep the rules that every stage must keep.
//!
//! ```
//! use corelane::prelude::*;
//! use corelane::testing::check_stage;
//!
//! stage! {
//!     /// Sends packets by turns to the next stage and to another chain.
//!     pub struct Turns { to: Output }
//!     state { turn: bool = false }
//! }
//!
//! impl Stage for Turns {
//!     fn process(&mut self, burst: &mut Burst, out: &mut Outputs, _: &mut StageContext) {
//!         for packet in burst.drain() {
//!             self.turn = !self.turn;
//!             if self.turn { out.next(packet) } else { out.send(self.to, packet) }
//!         }
//!     }
//! }
//!
//! check_stage::<Turns>("Turns(to: \"other\")");
//! ```
//!
//! Tried are, on some hundred packets of every kind and on bytes that are none: the books in packets, wire
//! frames and payload bytes; bursts of 1 to 256, which must make no difference; outputs with little room; a pool
//! without buffers; draining; copies and restarts. What a stage is for is not judged. Nothing here belongs in a
//! product: feature `testing`, for `[dev-dependencies]`.

mod packets;
#[cfg(test)]
mod tests;

use crate::spec::Entry;
use crate::text::tree::{self, Kind};
use crate::text::{Mapped, Span};
use corelane_runtime::packet::Packet;
use corelane_runtime::stage::{Args, Declared, Nowhere, StageConfig, StageSpec};
use corelane_runtime::testing::{Harness, Trial, check, frames};

/// Tries a stage with these arguments, written as in a description: `Name`, `Name(value)` or
/// `Name(key: value, ..)`.
///
/// # Panics
/// Where the arguments are wrong, or the stage breaks a rule; the message says which, and on which packets.
pub fn check_stage<S: Declared>(written: &str) {
    check_spec(&*S::spec(), written);
}

/// As [`check_stage`], for a kind that is a value, such as one out of a registry.
///
/// # Panics
/// As [`check_stage`].
pub fn check_spec(spec: &dyn StageSpec, written: &str) {
    let config = configure(spec, written);
    let traits = config.traits();
    let packets = |harness: &mut Harness| packets::round(harness, &traits);
    let by_flow = |packets: Vec<Packet>, harness: &mut Harness| packets::as_sent(packets, harness);
    check(&mut Trial {
        info: spec.info(),
        config: &*config,
        place: &mut Nowhere,
        packets: &packets,
        // What is joined depends on what comes together, what leaves in the end does not.
        compare: if traits.coalesces { &by_flow } else { &frames },
    });
}

/// Reads the arguments.
fn configure(spec: &dyn StageSpec, written: &str) -> Box<dyn StageConfig> {
    let info = spec.info();
    let args = arguments(spec, written);
    spec.configure(Args { text: &args }).unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.into_iter().map(|error| error.message).collect();
        panic!("`{}` cannot be `{written}`: {}", info.name, errors.join("; "))
    })
}

/// The arguments with keys, whichever way they are written.
fn arguments(spec: &dyn StageSpec, written: &str) -> String {
    let info = spec.info();
    let parsed = tree::parse(written);
    let mistakes: Vec<&str> =
        parsed.mistakes.iter().map(|mistake| mistake.message.as_str()).collect();
    let (Kind::Call(call), []) = (&parsed.root.kind, mistakes.as_slice()) else {
        panic!("`{written}` is no stage: {}", mistakes.join("; "))
    };
    let mut text = Mapped::default();
    text.copy(written, Span::new(0, written.len()));
    let (entry, _) = Entry::new(&text, call, parsed.root.span, &[]);
    let kind = entry.kind.text.as_str();
    assert!(kind.is_empty() || kind == info.name, "`{written}` is no `{}`", info.name);
    match entry.arguments(&text, info.subject) {
        Ok(args) => args.text().to_owned(),
        Err(misuse) => panic!("`{written}`: {misuse:?}"),
    }
}
