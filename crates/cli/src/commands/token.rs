//! `switchboard token`

use std::io::Read as _;
use std::path::Path;

use switchboard_protocol::error::Failure;

use crate::context::Context;
use crate::report::Outcome;

/// Change the repository's bearer token and signing key, sign message files
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a new token; the old one stops working at once
    Rotate,
    /// Make a new key for signing message files; the old one stays valid for what was signed before
    RotateKey {
        /// Make the old keys invalid, also for messages that wait
        #[arg(long)]
        revoke: bool,
    },
    /// Sign a message file and print it
    Sign {
        /// The file; `-` reads standard input
        file: std::path::PathBuf,
    },
}

/// Maximum size of a message file in bytes.
const MAX_MESSAGE: u64 = 1 << 20;

/// Runs the subcommand.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    match &args.command {
        Command::Rotate => rotate(context),
        Command::RotateKey { revoke } => rotate_key(context, *revoke),
        Command::Sign { file } => sign(context, file),
    }
}

fn rotate_key(context: &mut Context, revoke: bool) -> Outcome {
    context.require_person("change the signing key")?;
    let key = switchboard_daemon::rotate_key(&context.place()?, revoke).map_err(Failure::from)?;
    if context.json {
        context.out.json(&serde_json::json!({ "key": key }));
    } else {
        let old =
            if revoke { "the old ones count for nothing" } else { "the old one counts for what was signed before" };
        context.out.line(format!("{key} signs message files from now on; {old}"));
    }
    Ok(())
}

fn sign(context: &mut Context, file: &Path) -> Outcome {
    context.require_person("sign a message")?;
    let text = read(file).map_err(|error| {
        Failure::new("io.denied", "the message can't be read").at(file.display().to_string()).because(&error)
    })?;
    let signed = switchboard_daemon::sign_message(&context.place()?, &text).map_err(Failure::from)?;
    context.out.line(signed.trim_end());
    Ok(())
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if file.as_os_str() == "-" {
        std::io::stdin().take(MAX_MESSAGE).read_to_end(&mut text)?;
    } else {
        std::fs::File::open(file)?.take(MAX_MESSAGE).read_to_end(&mut text)?;
    }
    Ok(text)
}

fn rotate(context: &mut Context) -> Outcome {
    context.require_person("change the token")?;
    let place = context.place()?;
    switchboard_daemon::rotate_token(&place).map_err(Failure::from)?;
    let file = place.project.join("auth_token");
    if context.json {
        context.out.json(&serde_json::json!({ "file": file }));
    } else {
        context.out.line(format!("the new token is in {}; the old one is no longer valid", file.display()));
    }
    Ok(())
}
