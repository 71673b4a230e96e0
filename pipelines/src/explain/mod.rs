//! What a plan decided and why: every stage, port, core and ring with its reason.
//!
//! [`Plan::explain`] makes an [`Explanation`], plain data with stable keys; [`Explanation::table`] writes it
//! for people, [`Explanation::to_dot`] for Graphviz, [`Explanation::why`] tells one decision in full,
//! [`Explanation::diff`] what another plan does otherwise. Decides nothing itself: each reason was written
//! where the decision was made, and is repeated here word for word.

pub mod caps;
mod diff;
mod dot;
mod make;
mod merge;
mod sections;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod why;

pub use diff::{Change, Diff};
pub use table::Style;
pub use types::{
    Actor, Bytes, Chain, CoresUsed, Explanation, FreeCpus, Missing, Origin, Output, PlanCore,
    PlanPort, Pool, Ring, SCHEMA, Stage,
};
pub use why::{Decision, Nearest, Why};

use crate::Plan;
use corelane_runtime::Error;

impl Plan {
    /// What was decided, and why.
    pub fn explain(&self) -> Explanation {
        make::explanation(self)
    }
}

impl Explanation {
    /// As JSON, one object.
    ///
    /// # Errors
    /// Where a number cannot be written; none of these can be.
    pub fn to_json(&self) -> Result<String, Error> {
        json(self)
    }

    /// For people: stages, bytes, cores and rings with their reasons.
    #[must_use]
    pub fn table(&self, style: Style) -> String {
        table::write(self, style)
    }

    /// For people in a hurry: a line for each stage and each place where its work is done, without reasons.
    #[must_use]
    pub fn brief(&self, style: Style) -> String {
        table::brief(self, style)
    }

    /// As a graph for `dot`: actors as boxes, stages in the colour of their verdict.
    #[must_use]
    pub fn to_dot(&self) -> String {
        dot::write(self)
    }
}

/// Any of the values of this module as JSON.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string_pretty(value).map_err(|error| Error::system("json", error.to_string()))
}
