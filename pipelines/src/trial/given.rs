//! A description again, made ready for a test: other values of parameters, emulated ports, one copy of each actor.

use super::cases::Case;
use super::spec::Test;
use crate::error::Failure;
use crate::load::{self, Loaded};
use crate::place::Plan;
use crate::spec::{Cores, Description, Entry, Word};
use crate::{Machine, Overrides, Pipeline, Registry};

/// What a description was read from.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    file: String,
    text: String,
    overrides: Overrides,
}

impl Given {
    pub(crate) fn new(file: &str, text: &str, overrides: &Overrides) -> Given {
        Given { file: file.to_owned(), text: text.to_owned(), overrides: overrides.clone() }
    }

    /// Values of parameters that were given beside it.
    pub(crate) fn sets(&self) -> &[(String, String)] {
        &self.overrides.sets
    }

    /// The description with the values that a test gives parameters; those go before values from outside.
    pub(crate) fn with(&self, sets: &[(String, String)]) -> Loaded {
        let mut overrides = self.overrides.clone();
        overrides.sets.retain(|(name, _)| !sets.iter().any(|(set, _)| set == name));
        overrides.sets.extend(sets.iter().cloned());
        load::load(&self.file, &self.text, &overrides)
    }
}

impl Pipeline {
    /// The plan for a test under some capabilities, all ports emulated. What `--caps` says of a port holds in
    /// every case. `whole`: with everything that tests say looked at, as for a first plan.
    pub(super) fn plan_for(
        &self,
        test: Option<&Test>,
        case: Option<&Case>,
        registry: &Registry,
    ) -> Result<Plan, Failure> {
        let sets = test.map_or(&[][..], |test| &test.sets);
        let mut loaded = match sets {
            [] => self.loaded.clone(),
            sets => self.given.with(sets),
        };
        if let Some(description) = &mut loaded.description {
            let fixed: Vec<&str> =
                self.given.overrides.caps.iter().map(|(port, _)| port.as_str()).collect();
            emulate(description, case, &fixed);
            if case.is_some() {
                description.tests.clear(); // looked at when the whole was planned
            }
        }
        let given = self.given.clone();
        Pipeline { loaded, given }
            .plan(registry, &Machine::from_ron(ONE_CORE).unwrap_or_else(|_| Machine::here()))
    }
}

/// One copy of each actor, so that frames leave a port in one order.
const ONE_CORE: &str = "Machine(cores: 1)";

/// Puts emulated ports in the place of all ports, with the capabilities of the case.
fn emulate(description: &mut Description, case: Option<&Case>, fixed: &[&str]) {
    (description.cores, description.cores_at) = (Cores::Auto, None);
    description.pinned.clear();
    for (number, port) in description.ports.iter_mut().enumerate() {
        let span = port.entry.kind.span;
        let kind = Word { text: "Emulated".to_owned(), span };
        port.entry =
            Entry { kind, span, values: Vec::new(), fields: Vec::new(), had_common: false };
        port.common.verify = false;
        // A device in the real port's place would have an address of its own.
        let [high, low] = (number as u16 + 1).to_be_bytes();
        port.common.mac.get_or_insert([2, 0, 0, 0, high, low]);
        let caps = case.into_iter().flat_map(|case| &case.ports);
        let mut caps =
            caps.filter(|(name, _)| *name == port.name.text && !fixed.contains(&name.as_str()));
        if let Some((_, caps)) = caps.next_back() {
            port.common.caps = Some(Word { text: caps.clone(), span: port.name.span });
        }
    }
}
