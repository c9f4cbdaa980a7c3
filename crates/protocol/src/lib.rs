//! The vocabulary of Switchboard: the data that agents, crates and faces exchange.
//!
//! Start with [`verb`] (requests), then [`event`] (what happened), [`plan`] and [`run`] (work),
//! [`agent`], [`team`], [`message`] and [`lease`] (the team and its mail), [`role`] and [`answer`] (rights and answers of workers),
//! [`frame`] (reports of a worker's shim) and [`error`] (every code that a user can see).

pub mod action;
pub mod agent;
pub mod answer;
pub mod caller;
pub mod coordination;
pub mod definition;
pub mod error;
pub mod event;
pub mod evidence;
pub mod file;
pub mod finding;
pub mod frame;
pub mod frontmatter;
pub mod id;
pub mod isolation;
pub mod job;
pub mod lease;
pub mod message;
pub mod modes;
pub mod need;
pub mod permission;
pub mod plan;
pub mod record;
pub mod role;
pub mod run;
pub mod schema;
pub mod secret;
pub mod signal;
pub mod spool;
pub mod strict_json;
pub mod team;
pub mod text;
pub mod time;
pub mod verb;
pub mod wire;
pub mod worker;
