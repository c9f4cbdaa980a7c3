//! Where a report breaks a rule.

/// A rule that a report breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// It is too long.
    Length,
    /// A section is not there.
    Section,
    /// A section is there and empty.
    EmptySection,
    /// A word judges or directs.
    Word,
    /// A signal of compatibility is not one of the three.
    Signal,
    /// A change of an impact analysis is not classified.
    Class,
    /// A call chain is too deep.
    Chain,
}

/// A place where a report breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The line, from 1; `None` for the report as a whole.
    pub line: Option<usize>,
    /// The rule.
    pub rule: Rule,
    /// What was found.
    pub found: String,
    /// What to write instead.
    pub instead: String,
}
