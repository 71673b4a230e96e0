//! Attempts to break the runtime from its safe API and by its schedules. Each test is one thing that once
//! went wrong, or that looks as if it must; what it takes for right is a model or the books, never the code
//! under test.

mod burst;
mod cut;
mod panics;
mod parts;
mod seeds;
mod sleep;
mod toys;
