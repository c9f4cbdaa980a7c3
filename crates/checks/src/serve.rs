//! Answers one request a line until the caller closes its end.

use std::io::{BufRead, Write};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use switchboard_process::lines::{Line, Lines};
use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{CheckReply, CheckRequest, CheckVerdict};
use switchboard_protocol::verb::check::{CheckAnswer, CheckCall};

use crate::cache::Cache;
use crate::engine::Engine;
use crate::error::Error;
use crate::limits::Limits;

/// Maximum length of a line, in bytes.
const LINE_BYTES: usize = 8 * 1024 * 1024;

/// Field that distinguishes a call of a verb from a request.
#[derive(Deserialize)]
struct Peek {
    verb: Option<IgnoredAny>,
}

/// Reply to a request, or answer to a call.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Reply(CheckReply),
    Call(CheckAnswer),
}

/// Reads one `CheckRequest` or `CheckCall` a line and writes one `CheckReply` or `CheckAnswer` a line, in the same order.
///
/// A line that is not a valid request, or longer than 8 MB, is answered with an error, and the next one is read. Tables
/// and patterns are made once and kept.
///
/// # Errors
///
/// Only when reading or writing itself breaks.
pub fn serve(mut reader: impl BufRead, mut writer: impl Write, limits: &Limits) -> Result<(), Error> {
    let engine = Engine::new(limits.clone()).with_cache(Cache::in_memory());
    let mut lines = Lines::new(LINE_BYTES);
    loop {
        let reply = match lines.read(&mut reader)? {
            Line::End(rest) if rest.is_empty() => return Ok(()),
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) | Line::End(line) => answer(&line, &engine),
            Line::TooLong => Answer::Reply(refusal("it is longer than 8 MB".into())),
        };
        serde_json::to_writer(&mut writer, &reply).map_err(std::io::Error::from)?;
        writer.write_all(b"\n")?;
        writer.flush()?;
    }
}

fn answer(line: &[u8], engine: &Engine) -> Answer {
    if serde_json::from_slice::<Peek>(line).is_ok_and(|peek| peek.verb.is_some()) {
        return Answer::Call(match serde_json::from_slice::<CheckCall>(line) {
            Ok(call) => engine.call(&call),
            Err(error) => {
                let failure =
                    Failure::new("request.bad-args", format!("the line is no call of a check: {}", kind(&error)));
                CheckAnswer { id: None, result: None, failure: Some(failure) }
            }
        });
    }
    Answer::Reply(match serde_json::from_slice::<CheckRequest>(line) {
        Ok(request) => engine.run(&request),
        Err(error) => refusal(format!("{} at column {}", kind(&error), error.column())),
    })
}

/// Returns the kind of error without repeating the input.
fn kind(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Syntax => "broken JSON",
        serde_json::error::Category::Eof => "the JSON ends early",
        serde_json::error::Category::Data => "a field is missing or of the wrong type",
        serde_json::error::Category::Io => "unreadable",
    }
}

fn refusal(why: String) -> CheckReply {
    CheckReply {
        id: None,
        verdict: CheckVerdict::Error,
        base: "unknown".into(),
        reports: Vec::new(),
        failures: vec![Error::BadRequest { why }.to_failure()],
        duration_ms: 0,
    }
}
