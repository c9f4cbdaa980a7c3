//! Violations of the rules for a report.

/// A rule that a report breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The report is too long.
    Length,
    /// A section is missing.
    Section,
    /// A section is empty.
    EmptySection,
    /// A word is a judgement or an instruction.
    Word,
    /// A compatibility signal is not one of the three.
    Signal,
    /// A change of an impact analysis is not classified.
    Class,
    /// A call chain is too deep.
    Chain,
}

/// A violation in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Line number, from 1; `None` for the whole report.
    pub line: Option<usize>,
    /// The rule that is broken.
    pub rule: Rule,
    /// What was found, as text.
    pub found: String,
    /// What to write instead.
    pub instead: String,
}
