//! Ways: the path of a unit from ready to merged, step by step.
//!
//! [`compile`](fn@compile) creates the ways of a plan; it is the only place where plan, defaults and registry become
//! steps. A [`Unit`] walks its way: [`Unit::open`] returns the steps that may begin, and one method per event moves it.
//! One rule underlies all of it: **a verdict belongs to the digest of what it judged, and a retry is a new input.** A
//! step is done while [`Unit::is_current`]. A failure raises the salt of the step that fixes it, so that this step and
//! those that depend on it are open again.

mod compile;
mod graph;
mod parts;
mod recorded;
mod unit;
mod walk;

pub(crate) use compile::recorded_before_ways;
pub use compile::{Compiled, UnitPlan, WayRefusal, WayRefusalCode, compile, failure, usual_attempts};
pub use graph::{BadWay, Graph};
pub use parts::parts;
pub(crate) use recorded::recorded;
pub use unit::{Assignee, Hold, Slot, Spent, Unit};
pub use walk::{Judgement, Moved, NotNow};

#[cfg(test)]
mod tests;
