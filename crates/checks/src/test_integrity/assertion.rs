//! An assertion of a test in a form common to all languages.

use std::ops::Range;

use super::node::{is_literal, literals, split, squash};
use super::operators::operators;

/// Strength of an assertion, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Strength {
    /// True whatever the code does: `assert True`, `1 == 1`.
    Vacuous,
    /// Requires that something is present or true.
    Truth,
    /// Requires any other condition: an order, a type, an error.
    Condition,
    /// Requires a value approximately, or as a part of a larger one.
    Similar,
    /// Requires a value.
    Equal,
}

/// An assertion of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assertion {
    pub(super) strength: Strength,
    /// Operators of the assertion, or the name of the asserting function. Empty if it requires only that something is
    /// true.
    pub(super) operator: String,
    /// Code whose result is judged.
    pub(super) subject: String,
    /// Expected value; empty if there is none.
    pub(super) expected: String,
    pub(super) range: Range<usize>,
    /// True if the assertion is a row of a table that the test iterates over.
    pub(super) is_row: bool,
}

/// Operator of an assertion that something is present.
const THERE: &str = "is not None";
/// Operator of an assertion that something is absent.
const ABSENT: &str = "is None";

// === impl Assertion ===

impl Assertion {
    /// Makes an assertion that two values are equal. If one is a literal, it becomes the expected value.
    pub(super) fn equal(left: &str, right: &str, range: Range<usize>) -> Self {
        let compared = Self::compared("==", left, right, range);
        let strength = if compared.is_vacuous() { Strength::Vacuous } else { Strength::Equal };
        // A subject that is compared with `true` or `false` is itself a condition.
        let is_truth = matches!(compared.expected.as_str(), "true" | "false" | "True" | "False");
        let of_subject = if is_truth { operators(&compared.subject) } else { String::new() };
        Self { strength, operator: format!("=={of_subject}"), ..compared }
    }

    /// Makes an assertion that two values are similar: rounded, in any order, or with further content.
    pub(super) fn similar(left: &str, right: &str, range: Range<usize>) -> Self {
        let compared = Self::compared("about", left, right, range);
        let strength = if compared.is_vacuous() { Strength::Vacuous } else { Strength::Similar };
        Self { strength, ..compared }
    }

    /// Makes an assertion that two values differ.
    pub(super) fn unequal(left: &str, right: &str, range: Range<usize>) -> Self {
        let compared = Self::compared("!=", left, right, range);
        let is_vacuous = is_literal(&compared.subject) && is_literal(&compared.expected);
        let strength = if is_vacuous { Strength::Vacuous } else { Strength::Condition };
        Self { strength, ..compared }
    }

    /// Makes an assertion that something is true.
    pub(super) fn truth(of: &str, range: Range<usize>) -> Self {
        let of = squash(of);
        let is_vacuous = is_literal(&of) || [" or True", " || true", "||true"].iter().any(|end| of.ends_with(end));
        let strength = if is_vacuous { Strength::Vacuous } else { Strength::Truth };
        Self { strength, operator: operators(&of), subject: of, expected: String::new(), range, is_row: false }
    }

    /// Makes an assertion that something is false.
    pub(super) fn negation(of: &str, range: Range<usize>) -> Self {
        let strength = if is_literal(of) { Strength::Vacuous } else { Strength::Condition };
        Self { strength, ..Self::condition(&format!("not {of}"), range) }
    }

    /// Makes an assertion that something is present, or absent.
    pub(super) fn presence(of: &str, is_there: bool, range: Range<usize>) -> Self {
        let operator = if is_there { THERE } else { ABSENT }.to_owned();
        Self { operator, ..Self::truth(of, range) }
    }

    /// Makes an assertion of a condition that is written as code.
    pub(super) fn condition(code: &str, range: Range<usize>) -> Self {
        Self { strength: Strength::Condition, ..Self::truth(code, range) }
    }

    /// Makes an assertion of a condition that a function or macro names.
    pub(super) fn named(name: &str, arguments: &str, range: Range<usize>) -> Self {
        Self::matched(name, name, arguments, range)
    }

    /// Makes an assertion about a subject whose condition a matcher names.
    pub(super) fn matched(subject: &str, matcher: &str, expected: &str, range: Range<usize>) -> Self {
        let (subject, expected) = (squash(subject), squash(expected));
        Self { strength: Strength::Condition, operator: squash(matcher), subject, expected, range, is_row: false }
    }

    /// Makes an assertion of a table row: its last column is the expected value.
    pub(super) fn row(text: &str, range: Range<usize>) -> Option<Self> {
        let inner = text.trim().strip_prefix(['(', '[', '{'])?.strip_suffix([')', ']', '}'])?;
        let columns = split(inner);
        let (expected, subject) = columns.split_last().filter(|(_, rest)| !rest.is_empty())?;
        let (subject, expected) = (squash(&subject.join(", ")), squash(expected));
        Some(Self { strength: Strength::Equal, operator: "==".to_owned(), subject, expected, range, is_row: true })
    }

    /// Makes an assertion from two values; a reference is treated as the value it refers to.
    fn compared(operator: &str, left: &str, right: &str, range: Range<usize>) -> Self {
        let side = |code: &str| squash(code.trim_start_matches(['&', ' ']));
        let (left, right) = (side(left), side(right));
        let swapped = is_literal(&left) && !is_literal(&right);
        let (subject, expected) = if swapped { (right, left) } else { (left, right) };
        Self { strength: Strength::Equal, operator: operator.to_owned(), subject, expected, range, is_row: false }
    }

    /// Returns whether the two compared values can't differ, or neither is computed.
    fn is_vacuous(&self) -> bool {
        self.subject == self.expected || (is_literal(&self.subject) && is_literal(&self.expected))
    }

    /// Returns whether two assertions require the same of the same subject.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.strength == other.strength && self.judges_alike(other) && self.subject == other.subject
    }

    /// Returns whether two assertions judge their subjects in the same way.
    pub(super) fn judges_alike(&self, other: &Self) -> bool {
        self.operator == other.operator && self.expected == other.expected
    }

    /// Returns whether another assertion about the same subject is at least as strict as this one.
    pub(super) fn is_met_by(&self, other: &Self) -> bool {
        let is_falsy = ["", "0", "\"\"", "[]", "{}", "()", "false", "False", "None", "null", "undefined"];
        let is_value = other.strength >= Strength::Similar && !is_falsy.contains(&other.expected.as_str());
        match self.strength {
            Strength::Vacuous => true,
            Strength::Truth if self.operator.is_empty() || self.operator == THERE => {
                self.judges_alike(other) || is_value || (self.operator == THERE && other.operator.is_empty())
            }
            Strength::Similar => {
                self.judges_alike(other) || (other.strength == Strength::Equal && self.expected == other.expected)
            }
            Strength::Truth | Strength::Condition | Strength::Equal => self.judges_alike(other),
        }
    }

    /// Returns the literals in the assertion.
    pub(super) fn literals(&self) -> Vec<String> {
        let mut all = literals(&self.subject);
        all.extend(literals(&self.expected));
        all
    }
}
