//! The trait of checks that examine one file at a time.

use switchboard_grammars::Language;
use switchboard_protocol::finding::{CheckName, Finding};
use switchboard_syntax::{Parsers, Source};

use crate::reader::Large;

/// A check of single files.
pub(crate) trait FileCheck: Sync {
    fn name(&self) -> CheckName;

    /// Checks a file. Each finding says whether it is new and whether it blocks.
    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look;

    /// Checks a file that is too large to be parsed.
    fn look_at_large(&self, large: &mut Large) -> Look {
        match Language::of(&large.path, b"") {
            Some(_) => Look::Unread(large.why.clone()),
            None => Look::Skipped(large.why.clone()),
        }
    }

    /// Returns whether the check examines content that only the index holds, besides the work tree.
    fn looks_at_index(&self) -> bool {
        false
    }

    /// Returns whether the check accepts text with NUL characters; a parser would stop at one.
    fn reads_nul(&self) -> bool {
        false
    }
}

/// Result of one check on one file.
pub(crate) enum Look {
    Looked(Vec<Finding>),
    /// The file is not one for this check; holds the reason.
    Skipped(String),
    /// The check needed the file and could not examine it; holds the reason. The check is incomplete if the change has
    /// the file.
    Unread(String),
}
