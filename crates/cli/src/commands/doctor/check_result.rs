//! Result of one of the doctor's checks.

use serde::Serialize;
use switchboard_protocol::error::Failure;

/// State of a checked thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// In order.
    Ok,
    /// Worth a note.
    Note,
    /// Was a problem, and is fixed.
    Fixed,
    /// A problem.
    Bad,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct CheckResult {
    /// Subject of the check.
    pub(super) about: &'static str,
    /// State of the subject.
    pub(super) state: State,
    /// Finding, in a sentence.
    pub(super) what: String,
    /// What to do, preferably a command.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) hint: String,
}

// === impl CheckResult ===

impl CheckResult {
    pub(super) fn new(about: &'static str, state: State, what: impl Into<String>) -> Self {
        Self { about, state, what: what.into(), hint: String::new() }
    }

    pub(super) fn ok(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Ok, what)
    }

    pub(super) fn note(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Note, what)
    }

    pub(super) fn bad(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Bad, what)
    }

    /// Builds a result from a failure, with its place and first cause; without a hint it names the page of the failure's code.
    pub(super) fn failure(about: &'static str, failure: &Failure) -> Self {
        let mut what = failure.to_string();
        for more in std::iter::once(&failure.place).chain(failure.cause.first()).filter(|more| !more.is_empty()) {
            what.push_str(&format!(": {more}"));
        }
        let page = || format!("switchboard explain {}", failure.code);
        let hint = if failure.hint.is_empty() { page() } else { failure.hint.clone() };
        Self::bad(about, what).hint(&hint)
    }

    pub(super) fn hint(mut self, hint: &str) -> Self {
        hint.clone_into(&mut self.hint);
        self
    }

    /// Fixes the problem if `fix` is set; otherwise adds the hint how to fix it.
    pub(super) fn fix<E: std::fmt::Display>(self, fix: bool, mend: impl FnOnce() -> Result<(), E>) -> Self {
        if !fix {
            return self.hint("switchboard doctor --fix");
        }
        match mend() {
            Ok(()) => Self { state: State::Fixed, ..self },
            Err(error) => self.hint(&format!("it can't be fixed: {error}")),
        }
    }
}
