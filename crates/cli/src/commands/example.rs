//! `switchboard run --example`: runs a complete example in a scratch folder, with the same commands that a user types.

/// Embeds the files of an example, each with its path.
macro_rules! files {
    ($of:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../examples/", $of, "/", $path)))),*]
    };
}

/// Embeds the scripts of an example, each with the agent that it plays.
macro_rules! scripts {
    ($of:literal: $($agent:literal),* $(,)?) => {
        &[$(($agent, include_str!(concat!("../../../../../examples/", $of, "/agents/", $agent, ".json")))),*]
    };
}

mod catalog;
mod damage;
mod hello;
mod scratch;
mod stage;
mod team;

use switchboard_protocol::error::{Exit, Failure};

use crate::context::Context;
use crate::output::Tone;
use crate::report::{Ending, Outcome};

pub(crate) use catalog::DEFAULT;

use catalog::{Begins, Example};
use scratch::Scratch;
use stage::Stage;

/// Runs an example's plan, with scripts as its agents or with a real agent for all of them, then shows that its record
/// verifies and that a damaged one does not.
pub(crate) fn run(name: &str, agent: Option<&str>, context: &mut Context) -> Outcome {
    let example = catalog::find(name)?;
    let scratch = Scratch::make(&example, agent, context)?;
    introduce(&example, &scratch, agent, context);
    let outcome = {
        let mut stage = Stage::new(&scratch, context)?;
        perform(&example, &scratch, &mut stage)
        // The stage ends the daemon, whatever the outcome.
    };
    farewell(&example, &scratch, context);
    outcome
}

fn perform(example: &Example, scratch: &Scratch, stage: &mut Stage<'_>) -> Outcome {
    let ran = match example.begins {
        Begins::Plan => {
            if scratch.has_test {
                stage.show(&["trust", "plan.json", "--yes"])?;
            }
            stage.quiet(&["up", "--detach"])?;
            stage.show(&["run", "plan.json", "--yes"])?
        }
        Begins::Request { text, coders, person } => {
            stage.quiet(&["up", "--detach"])?;
            let (first, others) = coders.split_first().unwrap_or((&"", &[]));
            let others = others.iter().flat_map(|coder| ["--coder", coder]);
            let args: Vec<_> = ["run", text, "--team", "--yes", "--agent", first].into_iter().chain(others).collect();
            stage.show_answered(&args, person)?
        }
    };
    if ran != 0 {
        return Err(ending(ran));
    }
    let record = scratch.folder.join("record.jsonl");
    let record = record.display().to_string();
    stage.quiet(&["call", "export_log", &format!("path={record}")])?;
    if stage.show(&["verify", &record])? != 0 {
        return Err(Failure::new("store.corrupt", "the example's record does not verify").into());
    }
    let damage = damage::damage(&scratch.folder)?;
    stage.say(&damage.description());
    let (code, said) = stage.show_and_keep(&["verify", &damage.path.display().to_string()])?;
    if code == 0 || !said.contains(&format!("event {}", damage.lsn)) {
        let what = format!("a changed byte in event {} was not found", damage.lsn);
        return Err(Failure::new("internal.bug", what).into());
    }
    stage.say("That is what it is for: nobody changes the record unseen.");
    Ok(())
}

/// Converts a command's exit code to the ending of this command.
fn ending(code: i32) -> Ending {
    match code {
        2 => Ending::Said(Exit::Usage),
        3 => Ending::Said(Exit::Gate),
        4 => Ending::Said(Exit::Person),
        5 => Ending::Said(Exit::Agent),
        130 => Ending::Signal(130),
        _ => Ending::Said(Exit::Failed),
    }
}

fn introduce(example: &Example, scratch: &Scratch, agent: Option<&str>, context: &mut Context) {
    if context.json {
        context.out.json(&serde_json::json!({ "scratch": scratch.folder, "scripted": agent.is_none() }));
        return;
    }
    let out = &mut context.out;
    out.line(out.paint(Tone::Strong, "Switchboard: an example"));
    out.line(format!("Everything happens in {}; nothing else is touched.", scratch.folder.display()));
    let names = names(example);
    match agent {
        None => {
            let who = format!("{names} are SCRIPTS that play agents: no model, no network, no cost.");
            out.line(out.paint(Tone::Notice, &who));
            out.line("All the rest is real: git, work trees, messages, gates, merges and the record.");
        }
        Some(name) => {
            let who = format!("{name} plays {names}. It has your rights, and its runs may cost money.");
            out.line(out.paint(Tone::Notice, &who));
        }
    }
    if !scratch.has_test {
        let tool = example.tests_with.program;
        out.line(format!("{tool} can't be used here, so the last task's test gate is left out."));
    }
}

/// Lists the agents of an example: `ada, ben and cleo`.
fn names(example: &Example) -> String {
    let names: Vec<_> = example.scripts.iter().map(|(name, _)| *name).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        Some(_) | None => names.concat(),
    }
}

fn farewell(example: &Example, scratch: &Scratch, context: &mut Context) {
    if context.json {
        return;
    }
    let out = &mut context.out;
    out.line("");
    out.line("Look further:");
    out.line(format!("  cd {} && . ../env", scratch.repo.display()));
    let ends = [
        ("git log --graph --oneline --all", "the run's own branch; main is as it was"),
        ("switchboard merge", "take the work over into main"),
        ("switchboard down", "end the daemon that these commands start"),
    ];
    for (command, what) in example.look.iter().chain(&ends) {
        out.line(format!("  {command:33} # {what}"));
    }
    out.line(format!("  rm -rf {:26} # remove every trace", scratch.folder.display()));
}
