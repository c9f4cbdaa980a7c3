//! A unit walks a way: how a unit of work gets from ready to merged, step by step.
//!
//! [`compile`](fn@compile) makes the ways of a plan: the one place where plan, defaults and registry become steps. A [`Unit`] walks its way: [`Unit::open`]
//! names the steps that may begin, and one method per event moves it. One rule carries all of it: **a verdict belongs to the
//! digest of what it judged, and a retry is a new input.** A step is done while [`Unit::is_current`]; a failure raises the salt of the
//! step that mends it, so that this step is open again and what depends on it follows.

mod compile;
mod graph;
mod parts;
mod unit;
mod walk;

pub(crate) use compile::recorded_before_ways;
pub use compile::{Compiled, UnitPlan, WayRefusal, WayRefusalCode, compile, failure, usual_attempts};
pub use graph::{BadWay, Graph};
pub use parts::{part_count, parts};
pub use unit::{Assignee, Hold, Slot, Spent, Unit};
pub use walk::{Judgement, Moved, NotNow};

#[cfg(test)]
mod tests;
