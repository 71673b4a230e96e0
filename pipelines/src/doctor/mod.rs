//! What a machine has for corelane: CPUs, memory, devices, rights, libraries and tools, each with the command
//! that adds it where it is missing.
//!
//! [`examine`] only reads, and only below the [`Roots`] it is given, so that it can be tried on a machine that
//! is made up. It changes nothing, starts no program, and does not try what it says.

mod machine;
mod memory;
mod rights;
mod roots;
mod tools;

#[cfg(test)]
mod tests;

pub use roots::Roots;

use serde::Serialize;

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// There is nothing to do.
    Ok,
    /// It works, but not as well as it could.
    Warning,
    /// It is not there.
    Missing,
}

/// One thing that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name, short and stable.
    pub what: &'static str,
    /// How it stands.
    pub state: State,
    /// Whether every run needs it, whatever its ports are.
    pub needed: bool,
    /// What is there, in words.
    pub found: String,
    /// What it is good for.
    pub why_it_matters: &'static str,
    /// The command that adds or mends it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

impl Finding {
    /// Something that is as it should be.
    fn ok(what: &'static str, found: impl Into<String>, why: &'static str) -> Finding {
        let found = found.into();
        Finding { what, state: State::Ok, needed: false, found, why_it_matters: why, cure: None }
    }

    /// The same thing in another state, with what mends it.
    fn but(mut self, state: State, cure: Option<String>) -> Finding {
        self.state = state;
        self.cure = cure;
        self
    }

    /// The same thing, which every run needs.
    fn needed(mut self) -> Finding {
        self.needed = true;
        self
    }
}

/// Everything that is looked for, in an order to read it in.
pub fn examine(roots: &Roots) -> Vec<Finding> {
    let mut findings = machine::findings(roots);
    findings.extend(memory::findings(roots));
    findings.extend(rights::findings(roots));
    findings.extend(tools::findings(roots));
    findings
}

/// Whether a run is possible at all: nothing that every run needs is missing.
pub fn is_ready(findings: &[Finding]) -> bool {
    !findings.iter().any(|finding| finding.needed && finding.state == State::Missing)
}
