//! A check that looks at one file at a time.

use switchboard_grammars::Language;
use switchboard_protocol::finding::{CheckName, Finding};
use switchboard_syntax::{Parsers, Source};

use crate::reader::Large;

/// A check of single files.
pub(crate) trait FileCheck: Sync {
    fn name(&self) -> CheckName;

    /// Looks at a file. Findings say themselves whether they are new and block.
    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look;

    /// Looks at a file that is too large to be parsed.
    fn look_at_large(&self, large: &mut Large) -> Look {
        match Language::of(&large.path, b"") {
            Some(_) => Look::Unread(large.why.clone()),
            None => Look::Skipped(large.why.clone()),
        }
    }

    /// Returns whether it looks at what only the index holds, beside the work tree.
    fn looks_at_index(&self) -> bool {
        false
    }

    /// Returns whether a NUL among the characters of a text is nothing to it; to a parser it is the end.
    fn reads_nul(&self) -> bool {
        false
    }
}

/// What a check says about a file.
pub(crate) enum Look {
    Looked(Vec<Finding>),
    /// Not a file for this check, and why.
    Skipped(String),
    /// A file that it should have looked at and could not, and why: the check is incomplete if the change holds the file.
    Unread(String),
}
