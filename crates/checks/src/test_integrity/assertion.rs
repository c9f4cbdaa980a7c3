//! An assertion of a test, in the same form for all languages.

use std::ops::Range;

use super::node::{is_literal, literals, split, squash};
use super::operators::operators;

/// How much an assertion demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Strength {
    /// It holds whatever the code does: `assert True`, `1 == 1`.
    Vacuous,
    /// Something is there or true.
    Truth,
    /// Any other condition: an order, a type, an error.
    Condition,
    /// A value is expected, rounded or as a part of more.
    Similar,
    /// A value is expected.
    Equal,
}

/// An assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assertion {
    pub(super) strength: Strength,
    /// How it judges: its operators, or the name of what asserts. Empty where something is to be true.
    pub(super) operator: String,
    /// What is looked at.
    pub(super) subject: String,
    /// What is expected of it; empty where nothing is.
    pub(super) expected: String,
    pub(super) range: Range<usize>,
    /// Whether it is a row of a table that the test goes through.
    pub(super) is_row: bool,
}

/// Operator of an assertion that something is there.
const THERE: &str = "is not None";
/// Operator of an assertion that nothing is there.
const ABSENT: &str = "is None";

// === impl Assertion ===

impl Assertion {
    /// A value is compared with another; the literal one of them is what is expected.
    pub(super) fn equal(left: &str, right: &str, range: Range<usize>) -> Self {
        let compared = Self::compared("==", left, right, range);
        let strength = if compared.is_vacuous() { Strength::Vacuous } else { Strength::Equal };
        // What is to be `true` is itself a condition.
        let is_truth = matches!(compared.expected.as_str(), "true" | "false" | "True" | "False");
        let of_subject = if is_truth { operators(&compared.subject) } else { String::new() };
        Self { strength, operator: format!("=={of_subject}"), ..compared }
    }

    /// A value is to be about another: rounded, in any order, or with more beside it.
    pub(super) fn similar(left: &str, right: &str, range: Range<usize>) -> Self {
        let compared = Self::compared("about", left, right, range);
        let strength = if compared.is_vacuous() { Strength::Vacuous } else { Strength::Similar };
        Self { strength, ..compared }
    }

    /// A value is to be another one.
    pub(super) fn unequal(left: &str, right: &str, range: Range<usize>) -> Self {
        let compared = Self::compared("!=", left, right, range);
        let is_vacuous = is_literal(&compared.subject) && is_literal(&compared.expected);
        let strength = if is_vacuous { Strength::Vacuous } else { Strength::Condition };
        Self { strength, ..compared }
    }

    /// Something is to be true.
    pub(super) fn truth(of: &str, range: Range<usize>) -> Self {
        let of = squash(of);
        let is_vacuous = is_literal(&of) || [" or True", " || true", "||true"].iter().any(|end| of.ends_with(end));
        let strength = if is_vacuous { Strength::Vacuous } else { Strength::Truth };
        Self { strength, operator: operators(&of), subject: of, expected: String::new(), range, is_row: false }
    }

    /// Something is to be false.
    pub(super) fn negation(of: &str, range: Range<usize>) -> Self {
        let strength = if is_literal(of) { Strength::Vacuous } else { Strength::Condition };
        Self { strength, ..Self::condition(&format!("not {of}"), range) }
    }

    /// Something is to be there, or not to be there.
    pub(super) fn presence(of: &str, is_there: bool, range: Range<usize>) -> Self {
        let operator = if is_there { THERE } else { ABSENT }.to_owned();
        Self { operator, ..Self::truth(of, range) }
    }

    /// A condition that is written as code.
    pub(super) fn condition(code: &str, range: Range<usize>) -> Self {
        Self { strength: Strength::Condition, ..Self::truth(code, range) }
    }

    /// A demand that a function or a macro has a name for.
    pub(super) fn named(name: &str, arguments: &str, range: Range<usize>) -> Self {
        Self::matched(name, name, arguments, range)
    }

    /// A demand on a subject that a matcher has a name for.
    pub(super) fn matched(subject: &str, matcher: &str, expected: &str, range: Range<usize>) -> Self {
        let (subject, expected) = (squash(subject), squash(expected));
        Self { strength: Strength::Condition, operator: squash(matcher), subject, expected, range, is_row: false }
    }

    /// A row of a table: its last column counts as what is expected.
    pub(super) fn row(text: &str, range: Range<usize>) -> Option<Self> {
        let inner = text.trim().strip_prefix(['(', '[', '{'])?.strip_suffix([')', ']', '}'])?;
        let columns = split(inner);
        let (expected, subject) = columns.split_last().filter(|(_, rest)| !rest.is_empty())?;
        let (subject, expected) = (squash(&subject.join(", ")), squash(expected));
        Some(Self { strength: Strength::Equal, operator: "==".to_owned(), subject, expected, range, is_row: true })
    }

    /// Two values side by side; a reference to a value is compared as the value is.
    fn compared(operator: &str, left: &str, right: &str, range: Range<usize>) -> Self {
        let side = |code: &str| squash(code.trim_start_matches(['&', ' ']));
        let (left, right) = (side(left), side(right));
        let swapped = is_literal(&left) && !is_literal(&right);
        let (subject, expected) = if swapped { (right, left) } else { (left, right) };
        Self { strength: Strength::Equal, operator: operator.to_owned(), subject, expected, range, is_row: false }
    }

    /// Returns whether the two that are compared can't differ, or nothing of them is computed.
    fn is_vacuous(&self) -> bool {
        self.subject == self.expected || (is_literal(&self.subject) && is_literal(&self.expected))
    }

    /// Returns whether two demand the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.strength == other.strength && self.judges_alike(other) && self.subject == other.subject
    }

    /// Returns whether two judge what they are about in the same way.
    pub(super) fn judges_alike(&self, other: &Self) -> bool {
        self.operator == other.operator && self.expected == other.expected
    }

    /// Returns whether another, about the same subject, leaves nothing through that this one does not.
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

    /// The literals that it is made of.
    pub(super) fn literals(&self) -> Vec<String> {
        let mut all = literals(&self.subject);
        all.extend(literals(&self.expected));
        all
    }
}
