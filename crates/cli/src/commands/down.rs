//! `switchboard down`

use protocol::error::Failure;
use protocol::verb::system::{Shutdown, ShutdownReply, ShutdownRequest};

use crate::context::Context;
use crate::report::Outcome;

/// End the daemon and its workers
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: shutdown")]
pub(crate) struct Args {}

/// Ends it; where none runs there is nothing to do.
pub(crate) fn run(_: &Args, context: &mut Context) -> Outcome {
    let ended = end(context, false)?;
    if context.json {
        context.out.json(&ended);
        return Ok(());
    }
    match ended {
        Some(reply) => context.out.line(format!("the daemon (process {}) has ended", reply.pid)),
        None => context.out.line("no daemon runs for this repository"),
    }
    Ok(())
}

/// Ends the daemon and waits until it is gone; nothing when none runs.
///
/// # Errors
/// `daemon.unreachable` when it does not answer or does not go.
pub(crate) fn end(context: &Context, keep_workers: bool) -> Result<Option<ShutdownReply>, Failure> {
    let mut client = match context.running_daemon() {
        Ok(client) => client,
        Err(failure) if failure.code == "daemon.not-running" => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let reply = client.call::<Shutdown>(&ShutdownRequest { keep_workers })?;
    client.wait_for_end()?;
    Ok(Some(reply))
}
