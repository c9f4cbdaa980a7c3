//! The commands, a file each: what it takes, what it asks the daemon, how it shows the answer.

pub(crate) mod agents;
pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod example;
pub(crate) mod explain;
pub(crate) mod leases;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod messages;
pub(crate) mod needs;
pub(crate) mod restart;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod script_agent;
pub(crate) mod shim;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod token;
pub(crate) mod trust;
pub(crate) mod up;
pub(crate) mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::Command;
use crate::context::Context;
use crate::report::Outcome;
use crate::surroundings::Surroundings;

/// Commands that agents and daemons start by the hundred: they run before the argument parser is built.
pub(crate) fn hot_path(argv: &[OsString], surroundings: &Surroundings) -> Option<ExitCode> {
    let words: Vec<_> = argv.iter().skip(1).map(|word| word.to_str()).collect();
    match words.as_slice() {
        [Some("mcp")] => Some(mcp::serve(surroundings)),
        [Some("shim"), Some(file)] => Some(shim::serve(file)),
        [Some("script-agent"), Some(file)] => Some(script_agent::serve(file)),
        _ => None,
    }
}

/// Runs a command.
pub(crate) fn run(command: Command, context: &mut Context) -> Outcome {
    match command {
        Command::Run(args) => run::run(args, context),
        Command::Status(args) => status::run(&args, context),
        Command::Show(args) => show::run(&args, context),
        Command::Diff(args) => show::run_diff(&args, context),
        Command::Log(args) => log::run(&args, context),
        Command::Stop(args) => stop::run_stop(args, context),
        Command::Retry(args) => stop::run_retry(args, context),
        Command::Merge(args) => merge::run(args, context),
        Command::Needs(args) => needs::run(&args, context),
        Command::Approve(args) => needs::run_approve(args, context),
        Command::Deny(args) => needs::run_deny(args, context),
        Command::Answer(args) => needs::run_answer(args, context),
        Command::Agents(args) => agents::run(&args, context),
        Command::Leases(args) => leases::run(args, context),
        Command::Messages(args) => messages::run(args, context),
        Command::Check(args) => check::run(args, context),
        Command::Named(check) => check::named::run(check, context),
        Command::Verify(args) => verify::run(&args, context),
        Command::Backup(args) => backup::run(&args, context),
        Command::Restore(args) => restore::run(&args, context),
        Command::Trust(args) => trust::run(&args, context),
        Command::Mcp(args) => mcp::run(args, context),
        Command::Up(args) => up::run(&args, context),
        Command::Down(args) => down::run(&args, context),
        Command::Restart(args) => restart::run(&args, context),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Explain(args) => explain::run(&args, context),
        Command::Call(args) => call::run(args, context),
        Command::Token(args) => token::run(&args, context),
        Command::Completions(args) => completions::run(&args, context),
        Command::Shim(args) => shim::run(&args),
        Command::ScriptAgent(args) => script_agent::run(&args),
    }
}
