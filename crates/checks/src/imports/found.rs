//! An import as a grammar reads it, and what becomes of it.

/// An import as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// As it is written: `./cart`, `.cart`, `requests`.
    pub(super) name: String,
    /// Where in the file.
    pub(super) range: std::ops::Range<usize>,
}

/// What becomes of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Yes,
    /// A path that leads nowhere.
    NoFile,
    /// A name that neither the tree nor a manifest has.
    NotNamed,
}
