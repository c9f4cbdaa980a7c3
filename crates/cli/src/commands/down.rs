//! `switchboard down`

use std::time::Duration;

use switchboard_process::clock::Deadline;
use switchboard_process::fingerprint::Fingerprint;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::system::{Shutdown, ShutdownReply, ShutdownRequest};

use crate::client::Client;
use crate::context::Context;
use crate::report::Outcome;

/// How long a daemon may take to end after its sockets are closed.
const EXIT_LIMIT: Duration = Duration::from_secs(10);

/// Interval between two checks whether the daemon has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// End the daemon and its workers
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: shutdown")]
pub(crate) struct Args {}

/// Ends the daemon; does nothing where none runs.
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

/// Ends the daemon and waits until it is gone; does nothing if none runs. Waits for a daemon that is still starting.
///
/// # Errors
/// `daemon.unreachable` when it does not answer or does not end.
pub(crate) fn end(context: &Context, keep_workers: bool) -> Result<Option<ShutdownReply>, Failure> {
    let limit = Deadline::after(EXIT_LIMIT);
    loop {
        match try_end(context, keep_workers) {
            // It was killed a moment ago and its socket still took the connection. Another daemon may be starting.
            Err(failure) if is_gone(&failure) && !limit.has_passed() => std::thread::sleep(POLL_INTERVAL),
            ended => return ended,
        }
    }
}

fn is_gone(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "daemon.not-running" | "daemon.unreachable")
}

fn try_end(context: &Context, keep_workers: bool) -> Result<Option<ShutdownReply>, Failure> {
    let mut client = match running(context) {
        Ok(client) => client,
        Err(failure) if failure.code == "daemon.not-running" => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let reply = client.call::<Shutdown>(&ShutdownRequest { keep_workers })?;
    let process = Fingerprint::of(reply.pid);
    client.wait_for_end()?;
    if let Some(process) = process {
        wait_for_exit(&process)?;
    }
    Ok(Some(reply))
}

fn running(context: &Context) -> Result<Client, Failure> {
    match context.running_daemon() {
        Err(failure) if failure.code == "daemon.not-running" => {
            let Ok(place) = context.place() else { return Err(failure) };
            switchboard_daemon::wait_for_start(&place)?;
            context.running_daemon()
        }
        client => client,
    }
}

/// Waits until the process has ended and released the record: the daemon closes its sockets a moment earlier, and the next command may
/// start another.
fn wait_for_exit(process: &Fingerprint) -> Result<(), Failure> {
    let limit = Deadline::after(EXIT_LIMIT);
    while process.is_alive() {
        if limit.has_passed() {
            let what = format!("the daemon (process {}) ends, but is still there", process.pid);
            return Err(Failure::new("daemon.unreachable", what).hint("try again in a moment"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
