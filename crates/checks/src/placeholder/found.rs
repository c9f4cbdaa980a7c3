//! A place that only stands for code to come.

use std::borrow::Cow;
use std::ops::Range;

/// How much a placeholder weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// It blocks where it is new.
    Blocks,
    /// Too often right to refuse it: in a change a person is asked; in code that is compared with nothing it is listed.
    Asks,
    /// Listed only: finished code has it, too.
    Note,
}

/// A place that only stands for code to come.
pub(super) struct Placeholder {
    pub(super) weight: Weight,
    pub(super) rule: Cow<'static, str>,
    pub(super) what: &'static str,
    pub(super) range: Range<usize>,
}

// === impl Placeholder ===

impl Placeholder {
    /// Makes it no heavier than this.
    pub(super) fn at_most(mut self, weight: Weight) -> Self {
        self.weight = self.weight.max(weight);
        self
    }
}
