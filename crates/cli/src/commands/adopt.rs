//! `switchboard adopt`

use switchboard_daemon::{Adoption, Owner, RootPaths};
use switchboard_protocol::error::Failure;

use crate::ask;
use crate::commands::down;
use crate::context::Context;
use crate::report::Outcome;

/// Error code of everything that needs the record, until a person says whether the repository was moved or copied.
pub(crate) const MOVED_REPOSITORY_CODE: &str = "config.moved-repository";

/// Answers that a person can choose, each with its meaning.
const ANSWERS: [(&str, Adoption); 2] = [
    ("it was moved: its record comes along", Adoption::Moved),
    ("it is a copy: begin with an empty record", Adoption::Fresh),
];

/// Say whether a repository whose former folder is gone was moved or copied
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// It is a copy: begin with an empty record. Without this flag it was moved and keeps its record
    #[arg(long)]
    fresh: bool,
}

/// Ties the repository to its record, or gives it a new one.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    context.require_person("say what became of a repository")?;
    let adoption = if args.fresh { Adoption::Fresh } else { Adoption::Moved };
    let (place, is_asked) = match RootPaths::discover(context.folder()).map_err(Failure::from) {
        Ok(place) => (place, false),
        Err(failure) if failure.code == MOVED_REPOSITORY_CODE => (adopt(context, adoption)?, true),
        Err(failure) => return Err(failure.into()),
    };
    let state = place.state.display().to_string();
    if !is_asked && args.fresh && place.store().exists() {
        let what = "this repository was not moved: the record is its own";
        return Err(Failure::new("request.bad-args", what)
            .at(state)
            .hint("to begin with an empty record: switchboard down, then move that folder away")
            .into());
    }
    let root = place.root.display();
    if context.json {
        context.out.json(&serde_json::json!({ "root": place.root, "state": state, "asked": is_asked }));
    } else if is_asked {
        context.out.line(format!("the record of {root} is in {state}"));
    } else {
        context.out.line(format!("nothing to do: {root} has its own record, in {state}"));
    }
    Ok(())
}

/// Asks the person at the terminal whether the repository was moved or copied, and acts on the answer. Returns the refusal if none comes.
///
/// # Errors
/// `config.moved-repository`, and the failures of tying the repository to a record.
pub(crate) fn ask(context: &Context, refused: Failure) -> Result<RootPaths, Failure> {
    if !context.can_ask() || context.require_person("say what became of a repository").is_err() {
        return Err(refused);
    }
    let question = format!("{} ({}). What became of it?", refused.what, refused.place);
    let chosen = ask::choose(&crate::output::plain(&question), &ANSWERS.map(|(words, _)| words))?;
    match ANSWERS.iter().find(|(words, _)| Some(*words) == chosen) {
        Some((_, adoption)) => adopt(context, *adoption),
        None => Err(refused),
    }
}

/// Carries out a person's answer. A daemon that still runs for the former place is ended, because it does not have the new paths.
fn adopt(context: &Context, adoption: Adoption) -> Result<RootPaths, Failure> {
    let place = RootPaths::adopt(context.folder(), adoption)?;
    if Owner::of(&place)?.is_some() {
        down::end(context, false)?;
    }
    Ok(place)
}
