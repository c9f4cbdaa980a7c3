//! Pure decisions about plans, task states, gates and scheduling, without clock, disk, network or threads.
//!
//! Start with [`plan_json`] and [`plan_md`] (reading and writing a plan), [`prepare`](mod@prepare) (what a run would
//! do) and [`run`] (the state machine of a run: [`run::RunState::step`] folds events, [`run::RunState::decide`] returns
//! what to do next). [`lease`] decides on leases. [`shared`] holds what all runs of a record share: money, workers, and
//! the rate limits of accounts. [`roles`] reads role files and the rights of roles. [`modes`] leads a team from a
//! request to the end of its last phase. [`timeline`] shows the events of a run and their causes. [`auto`] chooses the
//! next unit of a plan.

pub mod actions;
pub mod author;
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
