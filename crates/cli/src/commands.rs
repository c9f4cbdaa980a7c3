//! The commands, one file each: arguments, requests to the daemon, and how the answer is shown.

pub(crate) mod adopt;
pub(crate) mod agents;
pub(crate) mod agents_of_job;
pub(crate) mod backup;
pub(crate) mod budget;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod dispatch;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod example;
pub(crate) mod explain;
pub(crate) mod lead;
pub(crate) mod leases;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod messages;
pub(crate) mod needs;
pub(crate) mod pause;
pub(crate) mod rebase;
pub(crate) mod restart;
pub(crate) mod restore;
pub(crate) mod roles;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod script_agent;
pub(crate) mod session;
pub(crate) mod shim;
pub(crate) mod show;
pub(crate) mod sign;
mod signal;
pub(crate) mod stand_in;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod tell;
pub(crate) mod timeline;
pub(crate) mod token;
pub(crate) mod trust;
pub(crate) mod up;
pub(crate) mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::environment::Environment;

/// Runs the commands that agents and daemons start by the hundred, before the argument parser is built.
pub(crate) fn hot_path(argv: &[OsString], environment: &Environment) -> Option<ExitCode> {
    let words: Vec<_> = argv.iter().skip(1).map(|word| word.to_str()).collect();
    match words.as_slice() {
        [Some("mcp")] => Some(mcp::serve(environment)),
        [Some("shim"), Some(file)] => Some(shim::serve(file)),
        [Some("script-agent"), Some(file)] => Some(script_agent::serve(file)),
        [Some("stand-in")] => Some(stand_in::serve()),
        _ => None,
    }
}
