//! Superpackets and unfinished checksums inside tunnels: what `Gso`, `ChecksumFill` and `Tx` make of them for any port,
//! against frames built one by one by hand, and against those of others.

mod again;
mod build;
mod cut;
mod device;
mod property;
mod table;
mod vectors;
