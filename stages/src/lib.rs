//! What happens to packets: one folder a stage.
//!
//! A tour in the order a packet travels:
//!
//! 1. [`rx`] brings packets in from a port and looks at their headers once.
//! 2. [`neighbour`] answers who asks for a port's addresses; before [`tx`] it finds out whom to send to.
//! 3. [`checksum_validate`] checks every checksum and remembers the payload's sum.
//! 4. [`classify`] sends each packet where the first rule that it matches says.
//! 5. [`vlan`] takes tags off, and [`tunnel`] tunnels (`Decap`); what was taken off last chooses rows and rules behind
//!    it.
//! 6. [`gro`] joins segments of a flow into superpackets, in tunnels too, so that what follows handles one for many.
//! 7. [`rewrite`], [`ttl`] and [`reflect`] change headers, each checksum staying what it was.
//! 8. [`mirror`] sends copies elsewhere, [`sample`] passes some, [`capture`] writes what comes by to a file,
//!    [`count`] counts it, [`mod@drop`] ends it.
//! 9. [`spread`] stands behind an actor whose packets are for several copies of the next one.
//! 10. [`vlan`] puts tags on, and [`tunnel`] tunnels (`Encap`), with whatever packets still ask for.
//! 11. [`gso`] cuts the superpackets that the exit port cannot.
//! 12. [`checksum_fill`] finishes the checksums that the exit port cannot.
//! 13. [`tx`] hands packets to a port.
//!
//! A stage that hardware can take over has two halves, `hardware` and `software`, that give the same packets.
//! [`config`] reads the arguments of all of them; `payload` keeps a packet's payload from being read twice;
//! [`declare`] makes a stage of one declaration, [`stage!`].
//!
//! This crate knows no pipeline and no device. Nothing here allocates, locks, logs or makes a system call per
//! packet, but for [`capture`], whose business it is. [`standard`] is the list of what there is; a stage of another
//! crate is registered the same way.
#![forbid(unsafe_code)]

pub mod capture;
pub mod checksum_fill;
pub mod checksum_validate;
pub mod classify;
pub mod config;
pub mod count;
pub mod declare;
pub mod drop;
#[cfg(test)]
mod fixture;
pub mod gro;
pub mod gso;
pub mod mirror;
pub mod neighbour;
mod payload;
pub mod reflect;
pub mod rewrite;
pub mod rx;
pub mod sample;
pub mod spread;
pub mod ttl;
pub mod tunnel;
pub mod tx;
pub mod vlan;

pub use payload::EditPayload;

use corelane_runtime::stage::Registry;

/// Every stage of this crate that a description can name, in the order of the tour.
pub fn standard() -> Registry {
    Registry::new()
        .with_spec(rx::RxSpec)
        .with_spec(neighbour::NeighbourSpec)
        .with::<checksum_validate::ChecksumValidate>()
        .with_spec(classify::ClassifySpec)
        .with::<vlan::VlanPop>()
        .with_spec(tunnel::DecapSpec)
        .with_spec(gro::GroSpec)
        .with::<rewrite::Rewrite>()
        .with::<ttl::Ttl>()
        .with::<reflect::Reflect>()
        .with::<mirror::Mirror>()
        .with::<sample::Sample>()
        .with_spec(capture::CaptureSpec)
        .with::<count::Count>()
        .with::<drop::Drop>()
        .with_spec(vlan::VlanPushSpec)
        .with_spec(tunnel::EncapSpec)
        .with_spec(gso::GsoSpec)
        .with_spec(checksum_fill::ChecksumFillSpec)
        .with_spec(tx::TxSpec)
}
