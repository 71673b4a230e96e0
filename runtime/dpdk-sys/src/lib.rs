//! The C boundary to DPDK: a shim (`shim.c`) for what DPDK offers inline, and a safe face over it.
//!
//! A tour in the order in which a program uses it:
//!
//! 1. `Eal::init` starts DPDK once a process, without devices; what it gives is the proof that others ask for.
//! 2. `Pool` holds buffers, `Packets` are some of them, owned: what is dropped goes back.
//! 3. `gro`, `gso`, `sums` and `ring` call the libraries that corelane is measured against.
//! 4. `clock` reads the time-stamp counter around such a call.
//!
//! It promises that libdpdk is never needed: without the feature `dpdk`, or where pkg-config finds no libdpdk when this
//! is built, the crate has [`AVAILABLE`] and nothing else. It wraps what corelane calls, not DPDK; it has no devices yet.
//! All `unsafe` of corelane's use of DPDK is here.

/// Whether libdpdk was asked for and found when this was built.
pub const AVAILABLE: bool = cfg!(dpdk_found);

/// What to install where [`AVAILABLE`] is false.
pub const PACKAGE: &str = "libdpdk-dev";

/// The first items where [`AVAILABLE`] is true, those behind `else` where it is false: for crates that must build either
/// way.
///
/// ```
/// dpdk_sys::if_available! {{
///     fn what() -> String { dpdk_sys::version() }
/// } else {
///     fn what() -> String { format!("apt-get install {}", dpdk_sys::PACKAGE) }
/// }}
/// assert!(!what().is_empty());
/// ```
#[cfg(dpdk_found)]
#[macro_export]
macro_rules! if_available {
    ({ $($yes:item)* } else { $($no:item)* }) => { $($yes)* };
}

/// The first items where [`AVAILABLE`] is true, those behind `else` where it is false: for crates that must build either
/// way.
#[cfg(not(dpdk_found))]
#[macro_export]
macro_rules! if_available {
    ({ $($yes:item)* } else { $($no:item)* }) => { $($no)* };
}

#[cfg(dpdk_found)]
pub mod clock;
#[cfg(dpdk_found)]
mod eal;
#[cfg(dpdk_found)]
mod ffi;
#[cfg(dpdk_found)]
pub mod gro;
#[cfg(dpdk_found)]
pub mod gso;
#[cfg(dpdk_found)]
mod packets;
#[cfg(dpdk_found)]
pub mod ring;
#[cfg(dpdk_found)]
pub mod sums;

#[cfg(dpdk_found)]
pub use eal::{Eal, Error, Registered, version};
#[cfg(dpdk_found)]
pub use packets::{Kind, Lengths, Packets, Pool};

/// How the shim was compiled: compiler and flags.
#[cfg(dpdk_found)]
pub const SHIM_FLAGS: &str = if cfg!(feature = "native") {
    concat!(env!("DPDK_SYS_COMPILER"), " -O3 -march=native")
} else {
    concat!(env!("DPDK_SYS_COMPILER"), " -O2 -march=corei7")
};

#[cfg(all(test, dpdk_found))]
mod tests;
