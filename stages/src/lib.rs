//! What happens to packets: one folder a stage.
//!
//! A tour in the order a packet travels:
//!
//! 1. [`rx`] brings packets in from a port and looks at their headers once.
//! 2. [`checksum_validate`] checks every checksum and remembers the payload's sum.
//! 3. [`gro`] joins segments of a flow into superpackets, so that what follows handles one for many.
//! 4. [`count`] and [`mod@drop`] are the small everyday stages.
//! 5. [`gso`] cuts the superpackets that the exit port cannot.
//! 6. [`checksum_fill`] finishes the checksums that the exit port cannot.
//! 7. [`tx`] hands packets to a port.
//!
//! A stage that hardware can take over has two halves, `hardware` and `software`, that give the same packets.
//! [`config`] reads the arguments of all of them; `payload` keeps a packet's payload from being read twice;
//! [`declare`] makes a stage of one declaration, [`stage!`].
//!
//! This crate knows no pipeline and no device. Nothing here allocates, locks, logs or makes a system call per
//! packet. [`standard`] is the list of what there is; a stage of another crate is registered the same way.
#![forbid(unsafe_code)]

pub mod checksum_fill;
pub mod checksum_validate;
pub mod config;
pub mod count;
pub mod declare;
pub mod drop;
#[cfg(test)]
mod fixture;
pub mod gro;
pub mod gso;
mod payload;
pub mod rx;
pub mod spread;
pub mod tx;

pub use payload::EditPayload;

use corelane_runtime::stage::Registry;

/// Every stage of this crate.
pub fn standard() -> Registry {
    Registry::new()
        .with_spec(rx::RxSpec)
        .with::<checksum_validate::ChecksumValidate>()
        .with_spec(gro::GroSpec)
        .with_spec(gso::GsoSpec)
        .with_spec(checksum_fill::ChecksumFillSpec)
        .with_spec(tx::TxSpec)
        .with::<count::Count>()
        .with::<drop::Drop>()
}
