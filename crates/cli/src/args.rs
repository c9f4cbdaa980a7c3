//! The command line. Doc comments are the help text; each command's help names its verb.

#[cfg(test)]
mod documents;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::{
    adopt, agents, agents_of_job, backup, budget, call, check, clean, completions, diff, dispatch, doctor, down,
    explain, lead, leases, log, man, mcp, merge, messages, needs, pause, rebase, restart, restore, roles, run, schema,
    script_agent, session, shim, show, sign, status, stop, tell, timeline, token, trust, up, verify,
};
use crate::context::{Context, Shared};
use crate::report::Outcome;

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

/// A subcommand of `switchboard`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<run::Args>),
    Dispatch(dispatch::Args),
    Status(status::Args),
    Show(show::Args),
    Diff(diff::Args),
    Log(log::Args),
    Timeline(timeline::Args),
    Pause(pause::PauseArgs),
    Resume(pause::ResumeArgs),
    Rebase(rebase::Args),
    Budget(budget::Args),
    Lead(lead::Args),
    Stop(stop::StopArgs),
    Retry(stop::RetryArgs),
    Merge(merge::Args),
    Clean(clean::Args),
    Needs(needs::Args),
    Approve(needs::ApproveArgs),
    Deny(needs::DenyArgs),
    Answer(needs::AnswerArgs),
    Agents(agents::Args),
    Roles(roles::Args),
    Leases(leases::Args),
    Messages(messages::Args),
    Tell(tell::Args),
    Check(check::Args),
    #[command(flatten)]
    Named(check::named::Named),
    Verify(verify::Args),
    Sign(sign::Args),
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
    Session(session::Args),
    Adopt(adopt::Args),
    Completions(completions::Args),
    Man(man::Args),
    Schema(schema::Args),
    #[command(hide = true)]
    AgentsOfJob(agents_of_job::Args),
    #[command(hide = true)]
    Shim(shim::Args),
    #[command(hide = true)]
    ScriptAgent(script_agent::Args),
}

// === impl Command ===

impl Command {
    /// Runs the command.
    pub(crate) fn run(self, context: &mut Context) -> Outcome {
        match self {
            Command::Run(args) => run::run(*args, context),
            Command::Dispatch(args) => dispatch::run(&args, context),
            Command::Status(args) => status::run(&args, context),
            Command::Show(args) => show::run(&args, context),
            Command::Diff(args) => diff::run(&args, context),
            Command::Log(args) => log::run(&args, context),
            Command::Timeline(args) => timeline::run(args, context),
            Command::Pause(args) => pause::run_pause(args, context),
            Command::Resume(args) => pause::run_resume(&args, context),
            Command::Rebase(args) => rebase::run(args, context),
            Command::Budget(args) => budget::run(&args, context),
            Command::Lead(args) => lead::run(&args, context),
            Command::Stop(args) => stop::run_stop(&args, context),
            Command::Retry(args) => stop::run_retry(args, context),
            Command::Merge(args) => merge::run(args, context),
            Command::Clean(args) => clean::run(&args, context),
            Command::Needs(args) => needs::run(args, context),
            Command::Approve(args) => needs::run_approve(args, context),
            Command::Deny(args) => needs::run_deny(args, context),
            Command::Answer(args) => needs::run_answer(args, context),
            Command::Agents(args) => agents::run(&args, context),
            Command::Roles(args) => roles::run(&args, context),
            Command::Leases(args) => leases::run(args, context),
            Command::Messages(args) => messages::run(args, context),
            Command::Tell(args) => tell::run(&args, context),
            Command::Check(args) => check::run(args, context),
            Command::Named(check) => check::named::run(check, context),
            Command::Verify(args) => verify::run(&args, context),
            Command::Sign(args) => sign::run(&args, context),
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
            Command::Session(args) => session::run(&args, context),
            Command::Adopt(args) => adopt::run(&args, context),
            Command::Completions(args) => completions::run(&args, Args::command(), context),
            Command::Man(args) => man::run(&args, Args::command(), context),
            Command::Schema(args) => schema::run(&args, context),
            Command::AgentsOfJob(args) => agents_of_job::run(&args, context),
            Command::Shim(args) => shim::run(&args),
            Command::ScriptAgent(args) => script_agent::run(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn as_many_workers_as_a_run_may_have_can_be_asked_for_and_no_more() {
        let parsed =
            |workers: &str| Args::try_parse_from(["switchboard", "run", "plan.json", "--max-workers", workers]);

        assert!(parsed("1").is_ok() && parsed("256").is_ok());
        assert!(parsed("0").is_err() && parsed("257").is_err());
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
        let verbs: Vec<_> = switchboard_protocol::verb::table().into_iter().map(|row| row.name).collect();
        for command in Args::command().get_subcommands() {
            let Some(help) = command.get_after_help().map(ToString::to_string) else { continue };
            for name in help
                .strip_prefix("Verb: ")
                .and_then(|rest| rest.lines().next())
                .into_iter()
                .flat_map(|line| line.split(", "))
            {
                assert!(verbs.iter().any(|verb| verb == name), "{}: {name}", command.get_name());
            }
        }
    }
}
