//! `switchboard session`

use switchboard_protocol::verb::system::{CreateSessionCode, CreateSessionCodeRequest};

use crate::context::Context;
use crate::output::when;
use crate::report::Outcome;

/// Print a one-time code that opens a session over HTTP in your name
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: create_session_code")]
pub(crate) struct Args {}

/// Requests a code and prints how to use it.
pub(crate) fn run(_: &Args, context: &mut Context) -> Outcome {
    let reply = context.daemon()?.call::<CreateSessionCode>(&CreateSessionCodeRequest {})?;
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    context.out.line(format!("{}   (once, until {})", reply.code, when(reply.expires_at)));
    context.out.line(format!("POST {{\"code\": \"{}\"}} to {}", reply.code, reply.url));
    Ok(())
}
