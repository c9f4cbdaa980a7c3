//! `switchboard trust`

use std::path::{Path, PathBuf};

use switchboard_daemon::trust::{Commands, Pins, commands, lock_files};
use switchboard_protocol::error::Failure;
use switchboard_protocol::text::quoted;

use crate::ask;
use crate::available::Available;
use crate::context::Context;
use crate::output::{Tone, counted, one_line, plain};
use crate::plan_file;
use crate::report::Outcome;

/// Show the commands that a plan or this repository brings, and allow exactly them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan; the agents of this repository when left out
    plan: Option<PathBuf>,
    /// List what you trust
    #[arg(long, conflicts_with_all = ["plan", "revoke"])]
    list: bool,
    /// Withdraw trust: a digest of the list, or the beginning of one
    #[arg(long, value_name = "DIGEST", conflicts_with = "plan")]
    revoke: Option<String>,
}

/// Lists or revokes what is trusted, or shows and pins commands.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let pins = pins(context)?;
    if args.list {
        return list(&pins, context);
    }
    if let Some(digest) = &args.revoke {
        return revoke(digest, &pins, context);
    }
    let (name, commands) = match &args.plan {
        Some(path) => {
            let name = path.display().to_string();
            let text = plan_file::read(path, context)?;
            let commands = commands(&text, &name, &lock_files(context.folder())?)?;
            (name, commands)
        }
        None => ("the agents of this repository".to_owned(), Available::read(context)?.of_project().clone()),
    };
    pin(&name, &commands, &pins, context)
}

fn pin(name: &str, commands: &Commands, pins: &Pins, context: &mut Context) -> Outcome {
    let known = pins.has(&commands.digest);
    if !context.json {
        show(name, commands, context);
    }
    if !commands.list.is_empty() && !known {
        let agreed =
            context.environment.says_yes || context.can_ask() && ask::yes("Trust exactly these commands?", false)?;
        if !agreed {
            return Err(untrusted(name, commands).hint("add --yes once you have read them").into());
        }
        context.require_person("trust commands")?;
        pins.pin(name, commands).map_err(Failure::from)?;
    }
    if context.json {
        context.out.json(&as_json(name, commands));
    } else {
        context.out.line(if commands.list.is_empty() { "there is nothing to trust" } else { "they are trusted" });
    }
    Ok(())
}

/// Checks that the commands of a plan are trusted; asks a person if one is present.
///
/// # Errors
/// `config.untrusted` with the commands.
pub(crate) fn require(text: &str, name: &str, path: &Path, context: &mut Context) -> Result<(), Failure> {
    let commands = commands(text, name, &lock_files(context.folder())?)?;
    let pins = pins(context)?;
    if commands.list.is_empty() || pins.has(&commands.digest) {
        return Ok(());
    }
    if context.can_ask() {
        show(name, &commands, context);
        if ask::yes("Trust exactly these commands?", false)? {
            context.require_person("trust commands")?;
            return Ok(pins.pin(name, &commands)?);
        }
    }
    Err(untrusted(name, &commands).hint(format!("look at what it runs, then: switchboard trust {}", path.display())))
}

/// Shows the commands of a plan without starting any. Those that are not trusted yet are marked.
///
/// # Errors
/// When the plan does not parse.
pub(crate) fn preview(text: &str, name: &str, context: &mut Context) -> Result<(), Failure> {
    let commands = commands(text, name, &lock_files(context.folder())?)?;
    if context.json || commands.list.is_empty() || pins(context)?.has(&commands.digest) {
        return Ok(());
    }
    show(name, &commands, context);
    let line = format!("these commands are not trusted yet, and a run asks first: switchboard trust {}", plain(name));
    context.out.line(context.out.paint(Tone::Notice, &line));
    context.out.line("");
    Ok(())
}

fn pins(context: &Context) -> Result<Pins, Failure> {
    let folder = context.environment.config_folder();
    folder.as_deref().map(Pins::at).ok_or_else(|| Failure::new("config.bad-value", "HOME is not set"))
}

fn untrusted(name: &str, commands: &Commands) -> Failure {
    let what = format!("{name} brings {} that you have not trusted", counted(commands.list.len() as u64, "command"));
    let mut failure = Failure::new("config.untrusted", what).at(name);
    failure.cause = commands.list.iter().map(|(what, argv)| format!("{what}: {}", quoted(argv))).collect();
    failure
}

fn show(name: &str, commands: &Commands, context: &mut Context) {
    context.out.line(format!("{name}: {}, {}", counted(commands.list.len() as u64, "command"), commands.digest));
    for (what, argv) in &commands.list {
        context.out.line(format!("  {}: {}", plain(what), quoted(argv)));
    }
}

fn as_json(name: &str, commands: &Commands) -> serde_json::Value {
    serde_json::json!({ "what": name, "digest": commands.digest, "commands": commands.list })
}

fn list(pins: &Pins, context: &mut Context) -> Outcome {
    let all = pins.all().map_err(Failure::from)?;
    if context.json {
        context.out.json(&all);
        return Ok(());
    }
    if all.is_empty() {
        context.out.line("you trust nothing yet");
    }
    for (digest, pin) in &all {
        context.out.line(format!("{digest}  {}", one_line(&pin.what, 100)));
        for command in &pin.commands {
            context.out.line(format!("    {}", one_line(command, 2000)));
        }
    }
    Ok(())
}

fn revoke(digest: &str, pins: &Pins, context: &mut Context) -> Outcome {
    if !pins.revoke(digest).map_err(Failure::from)? {
        let failure =
            Failure::new("request.bad-args", format!("no trusted digest begins with {digest}, or several do"));
        return Err(failure.hint("switchboard trust --list").into());
    }
    if context.json {
        context.out.json(&serde_json::json!({ "revoked": digest }));
    } else {
        context.out.line("it is not trusted any more");
    }
    Ok(())
}
