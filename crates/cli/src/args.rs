//! The command line. The doc comments are the help; each names the verb behind the command.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::commands::{
    agents, backup, call, check, completions, doctor, down, explain, leases, log, mcp, merge, messages, needs, restart,
    restore, run, script_agent, shim, show, status, stop, token, trust, up, verify,
};

/// Runs a team of coding agents on one repository and keeps a record that you can verify.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, arg_required_else_help = true, after_help = AFTER)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER: &str = "First time here: switchboard run --example\n\
Single checks, such as secretscan and lint, are commands too: switchboard check --list\n\
Exit codes: 0 ok, 1 the work failed, 2 wrong call, 3 a gate refused, 4 needs a person, 5 an agent is missing, 130 interrupted";

/// Flags that every command takes.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Shared {
    /// Print JSON; an error is one object on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Work as if this were the current folder
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    Status(status::Args),
    Show(show::Args),
    Diff(show::DiffArgs),
    Log(log::Args),
    Stop(stop::StopArgs),
    Retry(stop::RetryArgs),
    Merge(merge::Args),
    Needs(needs::Args),
    Approve(needs::ApproveArgs),
    Deny(needs::DenyArgs),
    Answer(needs::AnswerArgs),
    Agents(agents::Args),
    Leases(leases::Args),
    Messages(messages::Args),
    Check(check::Args),
    #[command(flatten)]
    Named(check::named::Named),
    Verify(verify::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Trust(trust::Args),
    Mcp(mcp::Args),
    Up(up::Args),
    Down(down::Args),
    Restart(restart::Args),
    Doctor(doctor::Args),
    Explain(explain::Args),
    Call(call::Args),
    Token(token::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Shim(shim::Args),
    #[command(hide = true)]
    ScriptAgent(script_agent::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_says_what_it_does_in_one_line() {
        for command in Args::command().get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((15..=100).contains(&about.len()), "{}: {about:?}", command.get_name());
        }
    }

    #[test]
    fn every_verb_that_a_command_names_exists() {
        let verbs: Vec<_> = switchboard_protocol::verb::table().iter().map(|row| row.name).collect();
        for command in Args::command().get_subcommands() {
            let Some(help) = command.get_after_help().map(ToString::to_string) else { continue };
            for name in help.strip_prefix("Verb: ").into_iter().flat_map(|rest| rest.split(", ")) {
                assert!(verbs.contains(&name), "{}: {name}", command.get_name());
            }
        }
    }
}
