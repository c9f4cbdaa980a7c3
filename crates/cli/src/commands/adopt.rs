//! `switchboard adopt`

use switchboard_daemon::{Adoption, Owner, RootPaths};
use switchboard_protocol::error::Failure;

use crate::ask;
use crate::commands::down;
use crate::context::Context;
use crate::report::Outcome;

/// Refusal of everything that needs the record until a person has answered.
pub(crate) const MOVED: &str = "config.moved-repository";

/// What a person can say of it.
const ANSWERS: [(&str, Adoption); 2] = [
    ("it was moved: its record comes along", Adoption::Moved),
    ("it is a copy: begin with an empty record", Adoption::Fresh),
];

/// Say what became of a repository whose former place is gone
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// It is a copy: begin with an empty record. Without this it was moved, and its record comes along
    #[arg(long)]
    fresh: bool,
}

/// Ties the repository to its record, or gives it a new one.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    context.require_person("say what became of a repository")?;
    let adoption = if args.fresh { Adoption::Fresh } else { Adoption::Moved };
    let (place, is_asked) = match RootPaths::discover(context.folder()).map_err(Failure::from) {
        Ok(place) => (place, false),
        Err(failure) if failure.code == MOVED => (adopt(context, adoption)?, true),
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
        context.out.line(format!("the record of {root} lies in {state}"));
    } else {
        context.out.line(format!("nothing to do: {root} has its own record, in {state}"));
    }
    Ok(())
}

/// Asks the person at the terminal what became of the repository, and does it. Returns the refusal where no person answers.
///
/// # Errors
/// `config.moved-repository`, and what tying the repository to a record fails with.
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

/// Does what a person said. A daemon that still runs for the former place knows none of the new paths: it is ended.
fn adopt(context: &Context, adoption: Adoption) -> Result<RootPaths, Failure> {
    let place = RootPaths::adopt(context.folder(), adoption)?;
    if Owner::of(&place)?.is_some() {
        down::end(context, false)?;
    }
    Ok(place)
}
