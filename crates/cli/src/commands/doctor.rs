//! `switchboard doctor`

mod check_result;
mod files;
mod handshakes;
mod machine;
mod repository;
mod team;
mod version;

use switchboard_protocol::error::Exit;

use check_result::{CheckResult, State};

use crate::context::Context;
use crate::output::{Tone, plain};
use crate::report::{Ending, Outcome};

/// Check everything that could prevent a run, and fix what can be fixed
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: get_status")]
pub(crate) struct Args {
    /// Fix what needs no decision of yours
    #[arg(long)]
    fix: bool,
    /// Don't ask the daemon, and check the record as it lies on the disk; refused while one runs
    #[arg(long)]
    no_daemon: bool,
    /// Start each agent and check whether it opens a session; no prompt is sent, so it costs nothing
    #[arg(long)]
    agents: bool,
}

/// Runs the checks, applies fixes if asked to, and prints the results.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let mut looks = machine::run_checks(context);
    looks.extend(repository::run_checks(args.fix, args.no_daemon, context));
    looks.extend(team::run_checks(context));
    // The handshake with an agent also returns its version.
    looks.extend(if args.agents { handshakes::run_checks(context) } else { version::run_checks(context) });
    if context.json {
        context.out.json(&serde_json::json!({ "looks": looks }));
    } else {
        looks.iter().for_each(|look| show(look, context));
    }
    let is_bad = looks.iter().any(|look| look.state == State::Bad);
    if is_bad { Err(Ending::Said(Exit::Failed)) } else { Ok(()) }
}

fn show(look: &CheckResult, context: &mut Context) {
    let (tone, word) = match look.state {
        State::Ok => (Tone::Good, "ok"),
        State::Note => (Tone::Faint, "note"),
        State::Fixed => (Tone::Notice, "fixed"),
        State::Bad => (Tone::Bad, "BAD"),
    };
    let word = context.out.paint(tone, &format!("{word:5}"));
    context.out.line(format!("{word}  {:13} {}", look.about, plain(&look.what)));
    if !look.hint.is_empty() && look.state != State::Ok {
        context.out.line(format!("       {:13} -> {}", "", plain(&look.hint)));
    }
}
