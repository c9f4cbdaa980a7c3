//! An assertion of a test, in the same form for all languages.

use std::ops::Range;

use super::node::{is_literal, literals, split, squash};

/// How much an assertion demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Strength {
    /// It holds whatever the code does: `assert True`, `1 == 1`.
    Vacuous,
    /// Something is there or true.
    Truth,
    /// Any other condition: an order, a type, an error.
    Condition,
    /// A value is expected.
    Equal,
}

/// An assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assertion {
    pub(super) strength: Strength,
    /// What is looked at.
    pub(super) subject: String,
    /// What is expected of it; empty where nothing is.
    pub(super) expected: String,
    pub(super) range: Range<usize>,
    /// Whether it is a row of a table that the test goes through.
    pub(super) is_row: bool,
}

// === impl Assertion ===

impl Assertion {
    /// A value is compared with another; the literal one of them is what is expected.
    pub(super) fn equal(left: &str, right: &str, range: Range<usize>) -> Self {
        let (left, right) = (squash(left), squash(right));
        let is_vacuous = left == right || (is_literal(&left) && is_literal(&right));
        let swapped = is_literal(&left) && !is_literal(&right);
        let (subject, expected) = if swapped { (right, left) } else { (left, right) };
        let strength = if is_vacuous { Strength::Vacuous } else { Strength::Equal };
        Self { strength, subject, expected, range, is_row: false }
    }

    /// Something is to be true.
    pub(super) fn truth(of: &str, range: Range<usize>) -> Self {
        let of = squash(of);
        let is_vacuous = is_literal(&of) || [" or True", " || true", "||true"].iter().any(|end| of.ends_with(end));
        let strength = if is_vacuous { Strength::Vacuous } else { Strength::Truth };
        Self { strength, subject: of, expected: String::new(), range, is_row: false }
    }

    /// Some other demand.
    pub(super) fn condition(of: &str, expected: &str, range: Range<usize>) -> Self {
        let (subject, expected) = (squash(of), squash(expected));
        Self { strength: Strength::Condition, subject, expected, range, is_row: false }
    }

    /// A row of a table: its last column counts as what is expected.
    pub(super) fn row(text: &str, range: Range<usize>) -> Option<Self> {
        let inner = text.trim().strip_prefix(['(', '[', '{'])?.strip_suffix([')', ']', '}'])?;
        let columns = split(inner);
        let (expected, subject) = columns.split_last().filter(|(_, rest)| !rest.is_empty())?;
        let (subject, expected) = (squash(&subject.join(", ")), squash(expected));
        Some(Self { strength: Strength::Equal, subject, expected, range, is_row: true })
    }

    /// Returns whether two demand the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.strength, &self.subject, &self.expected) == (other.strength, &other.subject, &other.expected)
    }

    /// The literals that it is made of.
    pub(super) fn literals(&self) -> Vec<String> {
        let mut all = literals(&self.subject);
        all.extend(literals(&self.expected));
        all
    }
}
