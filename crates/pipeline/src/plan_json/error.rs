//! Errors in a plan, with their position.

use std::fmt;

use switchboard_protocol::error::Failure;

/// The first error in a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PlanError {
    /// A code of the error table: `plan.…`.
    pub code: &'static str,
    /// Position in the file if the plan came from a text.
    pub place: Option<Position>,
    /// JSON pointer to the field; empty for the plan itself.
    pub pointer: Box<str>,
    /// Expected content.
    pub expected: String,
    /// Content found.
    pub found: String,
    /// How to fix it; may be empty.
    pub hint: String,
}

/// A position in a file (a plan has at most 4 MB).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

impl PlanError {
    pub(super) fn new(
        code: &'static str,
        pointer: impl Into<Box<str>>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self {
            code,
            place: None,
            pointer: pointer.into(),
            expected: expected.into(),
            found: found.into(),
            hint: String::new(),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(crate) fn syntax(place: Option<Position>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { place, ..Self::new("plan.syntax", "", expected, found) }
    }

    /// Returns the failure that users see, for a plan that was read from `file`.
    #[must_use]
    pub fn failure(&self, file: &str) -> Failure {
        let place = match self.place {
            Some(Position { line, column }) => format!("{file}:{line}:{column}"),
            None => file.to_owned(),
        };
        Failure::new(self.code, self.to_string()).at(place).hint(self.hint.clone())
    }
}
