//! `switchboard restore`

use std::path::PathBuf;

use crate::context::Context;
use crate::report::Outcome;

/// Put a backup in place of the record; what it replaces is kept beside it
#[derive(Debug, clap::Args)]
#[command(after_help = "Needs no daemon, and is refused while one runs: switchboard down")]
pub(crate) struct Args {
    /// A file that `switchboard backup` has written; verified before anything is changed
    file: PathBuf,
    /// Without effect: this command never asks a daemon
    #[arg(long, hide = true)]
    no_daemon: bool,
}

/// Restores the record.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    context.require_person("put a backup in place of the record")?;
    let restored = switchboard_daemon::restore_store(&context.place()?, &context.resolve(&args.file))?;
    if context.json {
        context.out.json(&restored);
        return Ok(());
    }
    context.out.line(format!("{} events are back, verified; head {}", restored.events, restored.head));
    if let Some(replaced) = &restored.replaced {
        context.out.line(format!("what was there before is in {}", replaced.display()));
    }
    Ok(())
}
