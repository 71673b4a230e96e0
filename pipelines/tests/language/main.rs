//! The language as whoever writes it meets it: every mistake told at its place, with what to write instead.
//!
//! Goes through the public API only.

mod behind;
mod beside;
mod everything;
mod many;
mod mistakes;
mod parts;
mod scramble;
mod shape;
mod support;
mod tables;
mod target;
mod trials;
