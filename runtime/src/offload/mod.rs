//! The vocabulary of offload: what a port can do ([`Caps`]), what is known of one port and how much it takes
//! ([`Facts`], [`Limits`]), what is in force now ([`PortCaps`]), what packets may look like ([`Looks`]), what stages
//! want done ([`Need`]), and what is done with each class of packets ([`Actions`]).
//!
//! A capability only goes down at run time: hardware to software, never back. The sets here say what work a
//! port may be given; the stages' `hardware` halves say which packet needs what.

mod caps;
mod class;
mod facts;
mod looks;
mod need;
mod ports;

pub use caps::Caps;
pub use class::{Actions, ClassNeed, Fit, fit, needed};
pub use facts::{Answer, Facts, Limits, PortCaps, Reason};
pub use looks::Looks;
pub use need::{Need, Offload, Side};
pub use ports::UdpPorts;
