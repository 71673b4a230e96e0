//! Tunnels: what goes in comes out, and what lies between is what other implementations make and take.

mod decapsulate;
mod encapsulate;
mod oversize;
mod property;
mod rig;
mod rules;
mod tables;
mod trains;
mod vectors;
