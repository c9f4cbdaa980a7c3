//! Tests of shim, drivers and the scripted agent as real processes: this binary plays all of them, and the daemon too.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its fixtures too")]

#[path = "agents/bench.rs"]
mod bench;
#[path = "agents/drivers.rs"]
mod drivers;
#[path = "agents/limits.rs"]
mod limits;
#[path = "agents/roles.rs"]
mod roles;
#[path = "agents/scripted.rs"]
mod scripted;
#[path = "agents/turns.rs"]
mod turns;
