//! What the plan says is what the packets find: a device is never asked for what it did not grant, or the plan was
//! refused and says why; the verdicts agree with the counters, and with a model that knows nothing of the code.

mod bench;
mod model;
mod property;
mod reality;
