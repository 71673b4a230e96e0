//! `Classify`: the first rule that a packet matches says where it goes.
#![doc = include_str!("README.md")]

mod budget;
mod compile;
mod config;
mod field;
mod headers;
mod never;
mod rule;
mod set;
mod table;
#[cfg(test)]
mod tests;
mod upper;
mod value;

pub use config::{ClassifyConfig, ClassifySpec, INFO};

use config::UNMATCHED;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::{CounterId, OutputId, Outputs, Stage, StageContext};
use headers::Headers;
use std::sync::Arc;
use table::Classifier;

/// What becomes of a packet that matches a rule.
#[derive(Clone, Copy, Debug)]
struct Action {
    output: OutputId,
    mark: Option<u16>,
    counter: CounterId,
}

/// Rules as all copies of a stage share them.
#[derive(Debug)]
struct Rules {
    classifier: Classifier,
    /// Rule by rule.
    actions: Vec<Action>,
    otherwise: OutputId,
}

/// Sends packets where rules say.
#[derive(Debug)]
pub struct Classify {
    rules: Arc<Rules>,
}

impl Classify {
    fn new(rules: Arc<Rules>) -> Classify {
        Classify { rules }
    }
}

impl Stage for Classify {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let rules = &*self.rules;
        for mut packet in burst.drain() {
            let rule = rules.classifier.find(&Headers::of(&packet));
            match rule.and_then(|rule| rules.actions.get(rule)) {
                Some(action) => {
                    ctx.count(action.counter, 1);
                    if let Some(mark) = action.mark {
                        packet.set_mark(mark);
                    }
                    out.send(action.output, packet);
                }
                None => {
                    ctx.count(UNMATCHED, 1);
                    out.send(rules.otherwise, packet);
                }
            }
        }
    }
}
