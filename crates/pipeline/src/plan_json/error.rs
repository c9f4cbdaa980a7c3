//! What is wrong with a plan, and where.

use std::fmt;

use switchboard_protocol::error::Failure;

/// The first thing in the file that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PlanError {
    /// A code of the error table: `plan.…`.
    pub code: &'static str,
    /// Line and column in the file, from 1, when the plan came from a text.
    pub place: Option<Position>,
    /// JSON pointer to the field; empty for the plan itself.
    pub pointer: Box<str>,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// What to do; may be empty.
    pub hint: String,
}

/// A place in a file, from 1 (a plan has at most 4 MB).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
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

    /// The failure that faces show, for a plan that was read from `file`.
    #[must_use]
    pub fn failure(&self, file: &str) -> Failure {
        let place = match self.place {
            Some(Position { line, column }) => format!("{file}:{line}:{column}"),
            None => file.to_owned(),
        };
        Failure::new(self.code, self.to_string()).at(place).hint(self.hint.clone())
    }
}
