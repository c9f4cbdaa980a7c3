//! A check that looks at one file at a time.

use switchboard_protocol::finding::{CheckName, Finding};
use switchboard_syntax::{Parsers, Source};

/// A check of single files.
pub(crate) trait FileCheck: Sync {
    fn name(&self) -> CheckName;

    /// Looks at a file. Findings say themselves whether they are new and block.
    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look;
}

/// What a check says about a file.
pub(crate) enum Look {
    Looked(Vec<Finding>),
    Skipped(String),
}
