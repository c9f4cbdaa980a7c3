//! `switchboard doctor`

mod files;
mod machine;
mod repository;
mod team;

use serde::Serialize;
use switchboard_protocol::error::Exit;

use crate::context::Context;
use crate::output::{Tone, plain};
use crate::report::{Ending, Outcome};

/// Look at everything that could be in the way, and mend what can be mended
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: get_status")]
pub(crate) struct Args {
    /// Mend what can be mended without a decision of yours
    #[arg(long)]
    fix: bool,
    /// Don't ask the daemon, and check the record as it lies on the disk; refused while one runs
    #[arg(long)]
    no_daemon: bool,
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Was in the way, and is mended.
    Fixed,
    /// Is in the way.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Look {
    /// What was looked at.
    about: &'static str,
    /// How it is.
    state: State,
    /// In a sentence.
    what: String,
    /// What to do, preferably a command.
    #[serde(skip_serializing_if = "String::is_empty")]
    hint: String,
}

// === impl Look ===

impl Look {
    fn new(about: &'static str, state: State, what: impl Into<String>) -> Self {
        Self { about, state, what: what.into(), hint: String::new() }
    }

    fn ok(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Ok, what)
    }

    fn note(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Note, what)
    }

    fn bad(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Bad, what)
    }

    fn failure(about: &'static str, failure: &switchboard_protocol::error::Failure) -> Self {
        Self::bad(about, failure.to_string()).hint(&failure.hint)
    }

    fn hint(mut self, hint: &str) -> Self {
        hint.clone_into(&mut self.hint);
        self
    }

    /// Mends it if that is wanted; else says how to have it mended.
    fn mend<E: std::fmt::Display>(self, fix: bool, mend: impl FnOnce() -> Result<(), E>) -> Self {
        if !fix {
            return self.hint("switchboard doctor --fix");
        }
        match mend() {
            Ok(()) => Self { state: State::Fixed, ..self },
            Err(error) => self.hint(&format!("it can't be mended: {error}")),
        }
    }
}

/// Looks, mends if asked to, and shows.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let mut looks = machine::looks(context);
    looks.extend(repository::looks(args.fix, args.no_daemon, context));
    looks.extend(team::looks(context));
    if context.json {
        context.out.json(&serde_json::json!({ "looks": looks }));
    } else {
        looks.iter().for_each(|look| show(look, context));
    }
    let is_bad = looks.iter().any(|look| look.state == State::Bad);
    if is_bad { Err(Ending::Said(Exit::Failed)) } else { Ok(()) }
}

fn show(look: &Look, context: &mut Context) {
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
