//! Reports a command's failure: the message on standard error, and the exit code.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use switchboard_protocol::error::{Exit, Failure};

use crate::context::Context;
use crate::output::plain;

/// Maximum width of a failure's text in columns, unless the terminal is narrower.
const WIDTH: usize = 100;

/// Why a command did not exit with 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    /// It failed, and the failure is not printed yet.
    Failed(Box<Failure>),
    /// It has printed everything; this is the exit code.
    Said(Exit),
    /// A signal ended it; the exit code is 130 or 143.
    Signal(u8),
}

impl From<Failure> for Ending {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// What a command returns.
pub(crate) type Outcome = Result<(), Ending>;

/// Prints why the command ended, unless that was printed already, and returns its exit code.
pub(crate) fn end(ending: &Ending, context: &Context) -> ExitCode {
    match ending {
        Ending::Failed(failure) => {
            let fancy = context.color && context.environment.stderr_is_terminal;
            let width = context.environment.error_columns().unwrap_or(WIDTH).min(WIDTH);
            print(failure, context.json, fancy, width);
            ExitCode::from(failure.exit() as u8)
        }
        Ending::Said(exit) => ExitCode::from(*exit as u8),
        Ending::Signal(code) => ExitCode::from(*code),
    }
}

/// Prints a failure on standard error, as one JSON object or as text.
fn print(failure: &Failure, json: bool, fancy: bool, width: usize) {
    let text = if json { as_json(failure) } else { as_text(failure, fancy, width) };
    // If standard error is closed, the exit code still reports the failure.
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}

/// Returns a failure as one JSON object, with all fields present.
pub(crate) fn as_json(failure: &Failure) -> String {
    serde_json::json!({
        "code": failure.code,
        "what": failure.what,
        "where": failure.place,
        "hint": failure.hint,
        "cause": failure.cause,
    })
    .to_string()
}

/// Returns a failure as text for people, in lines of at most `width` columns where its words allow that.
fn as_text(failure: &Failure, fancy: bool, width: usize) -> String {
    let theme = if fancy { GraphicalTheme::unicode() } else { GraphicalTheme::none() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(width);
    let mut text = String::new();
    match handler.render_report(&mut text, &Shown::of(failure)) {
        Ok(()) => text,
        Err(fmt::Error) => failure.to_string(),
    }
}

/// A failure in the form that `miette` prints.
#[derive(Debug)]
struct Shown {
    code: String,
    message: String,
    help: String,
    cause: Option<Cause>,
}

impl Shown {
    fn of(failure: &Failure) -> Self {
        let message = match failure.place.as_str() {
            "" => plain(&failure.what),
            place => format!("{} (at {})", plain(&failure.what), plain(place)),
        };
        let explain = format!("more: switchboard explain {}", failure.code);
        let help = match failure.hint.as_str() {
            "" => explain,
            hint => format!("{}\n{explain}", plain(hint)),
        };
        Self { code: failure.code.clone(), message, help, cause: Cause::of(&failure.cause) }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

impl Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }
}

/// One link of the chain of causes.
#[derive(Debug)]
struct Cause {
    text: String,
    next: Option<Box<Cause>>,
}

impl Cause {
    fn of(texts: &[String]) -> Option<Self> {
        let (first, rest) = texts.split_first()?;
        Some(Self { text: plain(first), next: Self::of(rest).map(Box::new) })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.next.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Failure {
        let mut failure = Failure::new("plan.cycle", "1.1 and 1.2 wait for each other")
            .at("plan.json")
            .hint("take one of the two `depends` out");
        failure.cause = vec!["1.1 depends on 1.2".to_owned(), "1.2 depends on 1.1".to_owned()];
        failure
    }

    #[test]
    fn text_names_code_place_causes_and_what_to_do() {
        let text = as_text(&failure(), false, WIDTH);

        insta::assert_snapshot!(text);
    }

    #[test]
    fn json_is_one_object_with_every_field() {
        let value: serde_json::Value = serde_json::from_str(&as_json(&failure())).unwrap();

        let keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["code", "what", "where", "hint", "cause"]);
    }

    #[test]
    fn untrusted_words_in_a_failure_can_not_steer_the_terminal() {
        let text = as_text(&Failure::new("git.failed", "said \x1b]0;title\x07"), false, WIDTH);

        assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text:?}");
    }
}
