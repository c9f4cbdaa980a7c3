//! `switchboard sign`

use std::path::PathBuf;

use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::system::{SignHead, SignHeadRequest};

use crate::context::Context;
use crate::presence::Presence;
use crate::report::Outcome;

/// Time limit for hashing a long record.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// Sign the record's head: its length, last hash and Merkle root. No daemon is needed
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Verb: sign_head\n\nTo check an export against it: switchboard verify EXPORT --head FILE --key FILE.pub"
)]
pub(crate) struct Args {
    /// Where to write the signed head, with its public key beside it as FILE.pub; printed when left out
    file: Option<PathBuf>,
    /// Don't ask a daemon; refused while one runs
    #[arg(long)]
    no_daemon: bool,
}

/// Has the running daemon sign the head, or signs it here.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let none = || Failure::new("daemon.not-running", "no daemon is asked");
    let daemon = if args.no_daemon { Err(none()) } else { context.running_daemon() };
    let reply = match daemon {
        Ok(mut client) => client.call_within::<SignHead>(&SignHeadRequest {}, LIMIT)?,
        Err(failure) if failure.code == "daemon.not-running" => {
            context.require(Presence::PersonOrProgram, "sign the record")?;
            let by = context.environment.variable("USER").unwrap_or("user").to_owned();
            switchboard_daemon::sign_store(&context.place()?, &by)?
        }
        Err(failure) => return Err(failure.into()),
    };
    let Some(file) = &args.file else {
        context.out.json(&reply);
        return Ok(());
    };
    let file = context.resolve(file);
    let mut key = file.clone().into_os_string();
    key.push(".pub");
    let head = serde_json::to_string(&reply).map_err(|error| Failure::new("internal.bug", error.to_string()))? + "\n";
    for (path, text) in [(file.clone(), head), (PathBuf::from(key), format!("{}\n", reply.public_key))] {
        let refused = |error: &std::io::Error| {
            Failure::new("io.denied", "the file can't be made").at(path.display().to_string()).because(error)
        };
        let is_new = switchboard_process::file::create(&path, text.as_bytes()).map_err(|error| refused(&error))?;
        if !is_new {
            let failure = Failure::new("io.denied", "there is such a file already").at(path.display().to_string());
            return Err(failure.hint("name one that is not there yet").into());
        }
    }
    if context.json {
        context.out.json(&reply);
    } else {
        context.out.line(format!("signed: {} and {0}.pub", file.display()));
    }
    Ok(())
}
