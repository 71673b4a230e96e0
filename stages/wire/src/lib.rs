//! Packet formats: what a header looks like, what a frame is made of, what a pseudo header sums to.
//!
//! A tour in data-flow order:
//!
//! 1. [`layers()`] walks the headers of a frame once and gives offsets and facts ([`Layers`],
//!    [`Level`]); everything later works from those and parses nothing again.
//! 2. One module a format ([`ethernet`], [`vlan`], [`llc`], [`arp`], [`ipv4`], [`ipv6`], [`icmp`],
//!    [`tcp`], [`udp`], [`vxlan`], [`geneve`], [`gre`]) has its header as a struct of network-order fields. [`view`] and [`view_mut`] lay
//!    that struct over the bytes of a packet without copying; the same struct is the value to write
//!    a new header from ([`IntoBytes::as_bytes`]).
//! 3. [`pseudo`] gives the pseudo-header sum of a level, [`Level::coverage`] the bytes its checksum
//!    covers.
//! 4. `testing` (feature of that name) builds frames and checks them, with a checksum of its own.
//!
//! # The no-panic contract
//!
//! No function here panics, loops without bound or reads outside its slice, whatever the bytes are:
//! frames come from outside. A view exists or is `None`; a field accessor gives what the bits say,
//! plausible or not; a function that takes offsets found by [`layers()`] checks them against the
//! slice it is given. Plausibility is the walk's job, and it says what it found
//! ([`Level::malformed`], [`Level::overrun`], [`Level::incomplete`]) instead of refusing. Only
//! `testing` panics, as assertions do.
//!
//! What this crate does not do: it owns no packet, computes no checksum over a payload, follows no
//! flow, and knows neither ports nor offloads.
#![forbid(unsafe_code)]

pub mod arp;
pub mod ethernet;
pub mod geneve;
pub mod gre;
pub mod icmp;
pub mod ipv4;
pub mod ipv6;
pub mod layers;
pub mod llc;
pub mod protocol;
pub mod pseudo;
pub mod tcp;
#[cfg(feature = "testing")]
pub mod testing;
pub mod udp;
pub mod vlan;
pub mod vxlan;

pub use layers::{Coverage, Fragment, L3, L4, Layers, Level, Tunnel, layers};
pub use zerocopy::network_endian::{U16, U32};
pub use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The header `T` that starts at byte `at` of `bytes`, or `None` if it does not lie wholly inside.
#[inline]
pub fn view<T>(bytes: &[u8], at: usize) -> Option<&T>
where
    T: FromBytes + KnownLayout + Immutable + Unaligned,
{
    let (header, _) = T::ref_from_prefix(bytes.get(at..)?).ok()?;
    Some(header)
}

/// [`view`] for writing in place.
#[inline]
pub fn view_mut<T>(bytes: &mut [u8], at: usize) -> Option<&mut T>
where
    T: FromBytes + IntoBytes + KnownLayout + Unaligned,
{
    let (header, _) = T::mut_from_prefix(bytes.get_mut(at..)?).ok()?;
    Some(header)
}
