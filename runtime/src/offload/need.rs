//! What a stage wants done, and where: the vocabulary between stages, ports and the plan.
//!
//! A [`Need`] is one kind of work that a port might take over. Stages list theirs; the plan holds them against
//! what ports grant, and says of each where it is done and why. The same capability sets decide on the data
//! path, so the two cannot differ.

use super::{Caps, Looks};
use crate::packet::Tunnel;

/// Where the port stands that could do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The port that packets came from.
    Entry,
    /// The port that packets leave by.
    Exit,
}

/// One kind of work that a port might take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The work, in words: `tcp over ipv4`.
    pub work: &'static str,
    /// Which port is asked.
    pub side: Side,
    /// Packets that bring the work: where none of them can come there is nothing to do. Empty: any packet.
    pub about: Looks,
    /// Everything the port must be able to do; `None`: no port is asked, for the reason in `software`.
    pub caps: Option<Caps>,
    /// What else the port may be able to do that is as good.
    pub or: Option<Caps>,
    /// It is done inside this kind of tunnel only, which the port must find: for the UDP ports it looks behind.
    pub inside: Option<Tunnel>,
    /// What the port must be able to do besides, to do it for the outer headers of tunnels that it finds: those of all
    /// other packets `caps` is about.
    pub around: Option<Caps>,
    /// It is about headers inside tunnels, so the port must find them: for those that it does.
    pub within: bool,
    /// What spares most of the work where the port cannot do it all, and how.
    pub instead: Option<(Caps, &'static str)>,
    /// Where no port does it, nobody does: it is welcome, not needed.
    pub optional: bool,
    /// What is done here where no port does it, and what it costs; or why no port is asked.
    pub software: &'static str,
}

impl Need {
    /// Work that the port packets came from might have done.
    pub const fn entry(
        work: &'static str,
        about: Looks,
        caps: Option<Caps>,
        software: &'static str,
    ) -> Need {
        Need::new(work, Side::Entry, about, caps, software)
    }

    /// Work that the port packets leave by might do.
    pub const fn exit(
        work: &'static str,
        about: Looks,
        caps: Option<Caps>,
        software: &'static str,
    ) -> Need {
        Need::new(work, Side::Exit, about, caps, software)
    }

    const fn new(
        work: &'static str,
        side: Side,
        about: Looks,
        caps: Option<Caps>,
        software: &'static str,
    ) -> Need {
        let (or, inside, around, within, instead, optional) =
            (None, None, None, false, None, false);
        Need { work, side, about, caps, or, inside, around, within, instead, optional, software }
    }

    /// With something that spares most of the work.
    #[must_use]
    pub const fn or(self, caps: Caps, how: &'static str) -> Need {
        Need { instead: Some((caps, how)), ..self }
    }

    /// With something else that is as good.
    #[must_use]
    pub const fn or_else(self, caps: Caps) -> Need {
        Need { or: Some(caps), ..self }
    }

    /// Inside a kind of tunnel that the port must find.
    #[must_use]
    pub const fn inside(self, tunnel: Tunnel) -> Need {
        Need { inside: Some(tunnel), ..self }
    }

    /// Of tunnels that the port finds, the outer headers take this.
    #[must_use]
    pub const fn around(self, caps: Caps) -> Need {
        Need { around: Some(caps), ..self }
    }

    /// About the headers inside tunnels that the port finds.
    #[must_use]
    pub const fn within(self) -> Need {
        Need { within: true, ..self }
    }

    /// Whether a port with these capabilities does it all.
    pub fn met_by(&self, caps: Caps) -> bool {
        let does = |needed: Option<Caps>| needed.is_some_and(|needed| caps.contains(needed));
        does(self.caps) || does(self.or)
    }

    /// Whether one with these capabilities spares most of it.
    pub fn spared_by(&self, caps: Caps) -> bool {
        self.instead.is_some_and(|(instead, _)| caps.contains(instead))
    }

    /// Welcome, not needed.
    #[must_use]
    pub const fn welcome(self) -> Need {
        Need { optional: true, ..self }
    }
}

/// What a description allows for one stage (key `offload`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offload {
    /// Hardware where it can, software else.
    #[default]
    Auto,
    /// No port is asked for the stage's work, and what a port said of checksums is not used. Superpackets that a
    /// port joined stay joined.
    SoftwareOnly,
    /// Refused where a port that is asked cannot do it all, and failed where it no longer can.
    Require,
}
