//! `switchboard backup`

use std::path::PathBuf;

use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::backup::{BackupStore, BackupStoreRequest};

use crate::context::Context;
use crate::presence::Presence;
use crate::report::Outcome;

/// Time limit for copying a large store.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// Copy the record into one file, also while the daemon works, and verify the copy
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: backup_store")]
pub(crate) struct Args {
    /// A file that does not exist yet, or an earlier backup of this record, which is replaced. It holds every message that is still kept; the signing key is not in it
    file: PathBuf,
    /// Don't ask a daemon; refused while one runs
    #[arg(long)]
    no_daemon: bool,
}

/// Has the running daemon make the copy, or makes it here.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let file = context.resolve(&args.file);
    let none = || Failure::new("daemon.not-running", "no daemon is asked");
    let daemon = if args.no_daemon { Err(none()) } else { context.running_daemon() };
    let reply = match daemon {
        Ok(mut client) => {
            let path = file.display().to_string();
            client.call_within::<BackupStore>(&BackupStoreRequest { path }, LIMIT)?
        }
        Err(failure) if failure.code == "daemon.not-running" => {
            context.require(Presence::PersonOrProgram, "copy the record")?;
            switchboard_daemon::backup_store(&context.place()?, &file)?
        }
        Err(failure) => return Err(failure.into()),
    };
    if context.json {
        context.out.json(&reply);
    } else {
        context.out.line(format!("{} events, {} bytes, verified: {}", reply.events, reply.bytes, reply.path));
        context.out.line("put it back with: switchboard restore FILE");
    }
    Ok(())
}
