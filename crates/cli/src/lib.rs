//! The `switchboard` command: terminal, colours and exit codes.
//!
//! Start with [`run`]. [`args`] is the command line, [`commands`] holds a file per command, [`client`] talks to the
//! daemon, [`session`] finds or starts it, [`output`] and [`report`] do all printing.

mod args;
mod ask;
mod available;
mod bridge;
mod choices;
mod client;
mod commands;
mod context;
mod definitions;
mod edit;
mod environment;
mod output;
mod plan_file;
mod presence;
mod report;
mod role_files;
mod run_report;
mod session;
mod settings;
mod verdict;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};
use switchboard_protocol::error::near_matches;

use crate::args::Args;
use crate::context::Context;
use crate::environment::Environment;

/// Runs the command line and returns the process's exit code.
#[must_use]
pub fn run() -> ExitCode {
    let environment = Environment::read();
    let argv: Vec<_> = std::env::args_os().collect();
    if let Some(code) = commands::hot_path(&argv, &environment) {
        return code;
    }
    match Args::try_parse_from(&argv) {
        Ok(args) => run_command(args, environment),
        Err(error) => refuse_arguments(&with_near_commands(error)),
    }
}

fn run_command(args: Args, environment: Environment) -> ExitCode {
    let mut context = Context::new(&args.shared, environment);
    let outcome = args.command.run(&mut context).and_then(|()| Ok(context.out.require_complete()?));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(ending) => report::end(&ending, &context),
    }
}

/// Adds the similar commands to the refusal of an unknown one where clap finds none, such as `run` for `rnu`.
fn with_near_commands(mut error: clap::Error) -> clap::Error {
    let (Some(ContextValue::String(word)), None) =
        (error.get(ContextKind::InvalidSubcommand), error.get(ContextKind::SuggestedSubcommand))
    else {
        return error;
    };
    let command = Args::command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    let near: Vec<_> = near_matches(word, shown.map(clap::Command::get_name)).iter().map(ToString::to_string).collect();
    if !near.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
    error
}

/// Prints clap's message; help and version exit with success, everything else is a usage error.
fn refuse_arguments(error: &clap::Error) -> ExitCode {
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // A closed pipe does not change the outcome: nobody reads the message.
    let _ = error.print();
    if is_answer { ExitCode::SUCCESS } else { ExitCode::from(switchboard_protocol::error::Exit::Usage as u8) }
}
