//! A test as read from the source.

use std::ops::Range;

use super::assertion::{Assertion, Strength};

/// A test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    /// Name, with the names of the enclosing groups or modules.
    pub(super) name: String,
    /// Byte range of the name.
    pub(super) range: Range<usize>,
    /// Byte range of the whole test, including its marks.
    pub(super) body: Range<usize>,
    pub(super) skip: Skip,
    /// True if the test keeps other tests from running.
    pub(super) is_focused: bool,
    /// True if its assertions are in a `try` that may swallow their failure.
    pub(super) swallows: bool,
    pub(super) assertions: Vec<Assertion>,
}

/// Extent to which a test is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Skip {
    No,
    /// Skipped under a condition.
    Sometimes,
    Always,
}

// === impl Test ===

impl Test {
    /// Returns whether the test runs anywhere.
    pub(super) fn runs(&self) -> bool {
        self.skip != Skip::Always
    }

    /// Returns the assertions that can fail.
    pub(super) fn demands(&self) -> impl Iterator<Item = &Assertion> {
        self.assertions.iter().filter(|assertion| assertion.strength != Strength::Vacuous)
    }
}
