//! Decisions only: plans, task states, gates, scheduling. No clock, no disk, no network, no threads.
//!
//! Start with [`plan_json`] and [`plan_md`] (reading and writing a plan), [`prepare`](mod@prepare) (what a run would do) and
//! [`run`] (the state machine of a run: [`run::RunState::step`] folds what happened, [`run::RunState::decide`] says what to
//! do next). [`lease`] says who may hold what, [`shared`] what all runs of a record have in common: money, workers, and the rate limits of accounts.
//! [`roles`] reads role files and says what a role may do, [`modes`] leads a team from a request to the end of its last phase.
//! [`timeline`] shows what happened in a run and why, [`auto`] chooses the next unit of a plan.

pub mod actions;
pub mod auto;
mod circle;
pub mod dataflow;
pub mod delivery;
pub mod dispatch_terms;
pub mod effectless;
pub mod evidence;
pub mod gate;
pub mod lease;
pub mod mode;
pub mod modes;
pub mod paths;
pub mod plan_hash;
pub mod plan_json;
pub mod plan_md;
pub mod prepare;
pub mod roles;
pub mod run;
pub mod scope;
pub mod settings;
pub mod setup;
pub mod shared;
pub mod subagent;
pub mod subtasks;
pub mod team;
pub mod timeline;
pub mod way;
