//! `Drop`: ends every packet, counted.
#![doc = include_str!("README.md")]

use crate::stage;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::spec::Traits;
use corelane_runtime::stage::{Outputs, Stage, StageContext};

stage! {
    /// Ends every packet, counted.
    ///
    /// The drop reason in reports is the label, and `dropped` where there is none.
    pub struct Drop {
        /// what reports call the drop reason
        label: Option<String> = None,
    }
    subject { label }
    role { Sink }
    drops { DROPPED }
}

impl Drop {
    fn traits(&self, traits: &mut Traits) {
        traits.label = self.label.clone();
    }
}

impl Stage for Drop {
    fn process(&mut self, burst: &mut Burst, _: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        burst.drain().for_each(|packet| ctx.drop(packet, Self::DROPPED));
    }
}
