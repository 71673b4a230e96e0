//! The list of stage kinds a program knows: explicit, built by hand, the same for everyone's stages.

use super::spec::StageSpec;

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

    /// Adds a kind; a later one replaces an earlier one of the same name.
    #[must_use]
    pub fn with(mut self, spec: impl StageSpec + 'static) -> Registry {
        self.specs.retain(|known| known.info().name != spec.info().name);
        self.specs.push(Box::new(spec));
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
