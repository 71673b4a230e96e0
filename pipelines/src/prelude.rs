//! Everything that a program with stages of its own uses, for `use corelane::prelude::*`.
//!
//! It promises to hold what the stages of corelane itself are written with, and nothing that works behind
//! the scenes. What it holds is documented where it is defined.
//!
//! ```
//! use corelane::prelude::*;
//!
//! stage! {
//!     /// Passes everything on.
//!     pub struct Nothing {}
//! }
//!
//! impl Stage for Nothing {
//!     fn process(&mut self, burst: &mut Burst, out: &mut Outputs, _: &mut StageContext) {
//!         burst.drain().for_each(|packet| out.next(packet));
//!     }
//! }
//!
//! let registry = Registry::standard().with::<Nothing>();
//! assert!(registry.get("Nothing").is_some());
//! ```

pub use corelane_runtime::Error;
pub use corelane_runtime::Time;
pub use corelane_runtime::packet::{Burst, Packet, Units};
pub use corelane_runtime::shared::SharedMap;
pub use corelane_runtime::stage::spec::Traits;
pub use corelane_runtime::stage::{
    BuildContext, ConfigError, Declared, OutputId, Outputs, Progress, Registry, Sharing, Stage,
    StageContext,
};
pub use corelane_stages::config::{Bytes, Mac, Nanoseconds, OneIn};
pub use corelane_stages::declare::{Hex, Key, Output};
pub use corelane_stages::{EditPayload, choice, stage};
pub use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
pub use std::ops::RangeInclusive;
pub use std::process::ExitCode;

/// The stages of corelane itself, to which a program adds its own.
pub trait StandardRegistry {
    /// A registry of all of them: `Registry::standard().with::<Mine>()`.
    fn standard() -> Registry;
}

impl StandardRegistry for Registry {
    fn standard() -> Registry {
        corelane_stages::standard()
    }
}
