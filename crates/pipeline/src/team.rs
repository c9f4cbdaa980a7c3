//! Rules of a team: write rights of roles, sizing, tiers and retries of tasks, and when a role that makes no progress
//! is stopped.
//!
//! Every rule is a pure function. A refusal names what was found and what to do instead. A [`repeat::Finding`] also has
//! whether to warn or to stop the worker.

pub mod advisory;
pub mod design;
pub mod explorer;
pub mod fallback;
pub mod fit;
pub mod objection;
pub mod preflight;
mod prose;
pub mod rationalise;
pub mod repeat;
pub mod retry;
pub mod size;
pub mod steps;
pub mod swarm_state;
pub mod tier;
pub mod verdict;
