//! `switchboard verify`

use std::fs::File;
use std::path::{Path, PathBuf};

use switchboard_ledger::{Envelope, HeadCheck, PublicKey};
use switchboard_protocol::error::{Exit, Failure};
use switchboard_protocol::id::Digest;
use switchboard_protocol::verb::system::{VerifyLog, VerifyLogReply, VerifyLogRequest};

use crate::context::Context;
use crate::output::plain;
use crate::report::{Ending, Outcome};

/// Time limit for checking a long record.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// Verify the record, or an export of it without a daemon
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: verify_log")]
pub(crate) struct Args {
    /// An export, as `switchboard call export_log path=/abs/FILE` writes it; the record itself when left out
    file: Option<PathBuf>,
    /// A signed head that must cover the export, as `switchboard call sign_head` prints it
    #[arg(long, value_name = "FILE", requires_all = ["file", "key"])]
    head: Option<PathBuf>,
    /// Check the record as it lies on the disk, without a daemon; refused while one runs
    #[arg(long, conflicts_with = "file")]
    no_daemon: bool,
    /// The public key of the signature: its file, or the key itself in hex
    #[arg(long, value_name = "FILE|HEX", requires = "head")]
    key: Option<String>,
    /// Accept the record as complete: losses up to now are no longer reported. No daemon may run
    #[arg(long, conflicts_with_all = ["file", "no_daemon"])]
    accept_loss: bool,
}

/// Verifies the record and prints the result; exits with 1 if the record is damaged.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    if args.accept_loss {
        context.require_person("say that what is lost is not missed")?;
        switchboard_daemon::accept_loss(&context.place()?)?;
    }
    let reply = match &args.file {
        None if args.accept_loss => of_files(context)?,
        None if args.no_daemon => of_files(context)?,
        None => match context.daemon() {
            Ok(mut daemon) => daemon.call_within::<VerifyLog>(&VerifyLogRequest {}, LIMIT)?,
            // No daemon opens a damaged record, so the damage is read from its files.
            Err(failure) if failure.code == "store.corrupt" => of_files(context)?,
            Err(failure) => return Err(failure.into()),
        },
        Some(file) => of_export(file, args, context)?,
    };
    show(&reply, context);
    if reply.is_intact { Ok(()) } else { Err(Ending::Said(Exit::Failed)) }
}

fn show(reply: &VerifyLogReply, context: &mut Context) {
    if context.json {
        context.out.json(reply);
        return;
    }
    // Where nothing could be read there is no head.
    if reply.events > 0 || reply.is_intact {
        context.out.line(format!("{} events, head {}", reply.events, reply.head));
    }
    context.out.line(plain(&reply.summary));
    // The first fault is the summary.
    for fault in reply.faults.iter().skip(1) {
        context.out.line(format!("  {}", plain(fault)));
    }
}

fn of_files(context: &Context) -> Result<VerifyLogReply, Failure> {
    let place = context.place()?;
    let none = || Failure::new("request.bad-args", "there is no record yet").at(place.store().display().to_string());
    switchboard_daemon::verify_store(&place)?.ok_or_else(none)
}

fn of_export(file: &Path, args: &Args, context: &Context) -> Result<VerifyLogReply, Failure> {
    let unreadable = |error: &std::io::Error| {
        Failure::new("io.denied", "the export can't be read").at(file.display().to_string()).because(error)
    };
    let mut export = File::open(context.resolve(file)).map_err(|error| unreadable(&error))?;
    let mut head = match (&args.head, &args.key) {
        (Some(head), Some(key)) => Some(signed_head(&context.resolve(head), &key_text(key, context)?)?),
        _ => None,
    };
    let mut visit = |hash: &_| {
        if let Some(head) = &mut head {
            head.push(hash);
        }
    };
    let checked = switchboard_daemon::verify_export(&mut export, &mut visit)?;
    let mut reply = checked.reply;
    if let (Some(head), true) = (head, reply.is_intact) {
        match head.finish(&checked.chain_id) {
            Ok(verdict) => reply.summary = verdict.to_string(),
            Err(error) => {
                reply.is_intact = false;
                reply.summary = error.to_string();
            }
        }
    }
    Ok(reply)
}

/// Reads a signed head: an envelope, or the whole reply of `sign_head`, of which only the envelope counts.
fn signed_head(file: &Path, key: &str) -> Result<HeadCheck, Failure> {
    let bad = |what: String| Failure::new("request.bad-args", what).at(file.display().to_string());
    let text = std::fs::read(file).map_err(|error| bad(format!("the signed head can't be read: {error}")))?;
    let mut value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| bad(format!("the signed head does not parse: {error}")))?;
    if let Some(inner) = value.get_mut("envelope") {
        value = inner.take();
    }
    let envelope: Envelope =
        serde_json::from_value(value).map_err(|error| bad(format!("that is not an envelope: {error}")))?;
    let key = public_key(key).map_err(|error| {
        let what = "--key is neither a file that is there nor a public key";
        Failure::new("request.bad-args", what)
            .because(&error)
            .hint("the file that `switchboard sign FILE` made: FILE.pub")
    })?;
    HeadCheck::new(&envelope, &key).map_err(|error| error.failure())
}

/// Returns the text of a key, which is given as a file or directly.
fn key_text(key: &str, context: &Context) -> Result<String, Failure> {
    let file = context.resolve(Path::new(key));
    if Digest::parse(key).is_some() || !file.is_file() {
        return Ok(key.to_owned());
    }
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Failure::new("io.denied", "the key can't be read").at(file.display().to_string()).because(&error)
    })?;
    Ok(text.trim().to_owned())
}

/// Parses a key in hex, or in the form of its file.
fn public_key(text: &str) -> Result<PublicKey, switchboard_ledger::Error> {
    match Digest::parse(text) {
        Some(bytes) => PublicKey::from_bytes(&bytes.0),
        None => PublicKey::parse(text),
    }
}
