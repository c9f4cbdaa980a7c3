//! A test as its source has it.

use std::ops::Range;

use super::assertion::{Assertion, Strength};

/// A test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    /// With the names of what it stands in.
    pub(super) name: String,
    /// Where its name stands.
    pub(super) range: Range<usize>,
    /// All of it, marks included.
    pub(super) body: Range<usize>,
    pub(super) skip: Skip,
    /// Whether it keeps other tests from running.
    pub(super) is_focused: bool,
    /// Whether its assertions stand in a `try` that may swallow their failure.
    pub(super) swallows: bool,
    pub(super) assertions: Vec<Assertion>,
}

/// Whether a test is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Skip {
    No,
    /// Under a condition.
    Sometimes,
    Always,
}

// === impl Test ===

impl Test {
    /// Whether it runs anywhere.
    pub(super) fn runs(&self) -> bool {
        self.skip != Skip::Always
    }

    /// The assertions that demand something.
    pub(super) fn demands(&self) -> impl Iterator<Item = &Assertion> {
        self.assertions.iter().filter(|assertion| assertion.strength != Strength::Vacuous)
    }
}
