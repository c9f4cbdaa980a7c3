//! An import as a grammar reads it, and the result of looking it up.

/// An import of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// Name as written: `./cart`, `.cart`, `requests`.
    pub(super) name: String,
    /// Byte range in the file.
    pub(super) range: std::ops::Range<usize>,
}

/// Result of looking up an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Yes,
    /// The path leads to no file.
    NoFile,
    /// Neither the tree nor a manifest has the name.
    NotNamed,
}
