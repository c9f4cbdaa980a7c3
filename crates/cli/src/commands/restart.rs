//! `switchboard restart`

use switchboard_protocol::verb::system::{GetStatus, GetStatusRequest};

use crate::commands::down;
use crate::context::Context;
use crate::report::Outcome;

/// Restart the daemon; workers keep running and are adopted
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: shutdown")]
pub(crate) struct Args {}

/// Ends the daemon without its workers, and starts a new one.
pub(crate) fn run(_: &Args, context: &mut Context) -> Outcome {
    let before = down::end(context, true)?;
    let status = context.daemon()?.call::<GetStatus>(&GetStatusRequest {})?;
    if context.json {
        context.out.json(&serde_json::json!({ "ended": before, "status": status }));
        return Ok(());
    }
    if let Some(before) = before {
        context.out.line(format!("the daemon (process {}) has ended, {} workers go on", before.pid, before.workers));
    }
    context.out.line(format!("a daemon {} runs as process {}", status.version, status.pid));
    Ok(())
}
