//! The list of stage kinds a program knows: explicit, built by hand, the same for everyone's stages.

use super::spec::StageSpec;

/// A stage that knows its own kind: what the macro `stage!` makes, and what anyone may write.
pub trait Declared {
    /// The kind of stage it is.
    fn spec() -> Box<dyn StageSpec>;
}

/// Kinds of stages by name.
#[derive(Default)]
pub struct Registry {
    specs: Vec<Box<dyn StageSpec>>,
}

impl Registry {
    /// Knows nothing yet.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds the kind of a stage, as in `registry.with::<Scramble>()`; a later one replaces an earlier one of
    /// the same name.
    #[must_use]
    pub fn with<S: Declared>(self) -> Registry {
        self.add(S::spec())
    }

    /// Adds a kind that is a value of its own; a later one replaces an earlier one of the same name.
    #[must_use]
    pub fn with_spec(self, spec: impl StageSpec + 'static) -> Registry {
        self.add(Box::new(spec))
    }

    fn add(mut self, spec: Box<dyn StageSpec>) -> Registry {
        self.specs.retain(|known| known.info().name != spec.info().name);
        self.specs.push(spec);
        self
    }

    /// The kind of that name.
    pub fn get(&self, name: &str) -> Option<&dyn StageSpec> {
        self.iter().find(|spec| spec.info().name == name)
    }

    /// Every kind, in the order added.
    pub fn iter(&self) -> impl Iterator<Item = &dyn StageSpec> {
        self.specs.iter().map(AsRef::as_ref)
    }
}
