//! The vocabulary of offload: what a port can do ([`Caps`]), with limits ([`Limits`]), and what of it is in
//! force now ([`PortCaps`]).
//!
//! A capability only goes down at run time: hardware to software, never back. The sets here say what work a
//! port may be given; the stages' `hardware` halves say which packet needs what.

mod caps;

pub use caps::{Caps, Limits, PortCaps};
