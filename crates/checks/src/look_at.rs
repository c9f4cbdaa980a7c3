//! Checks one text that need not be on disk, e.g. an editor's buffer.

use switchboard_protocol::finding::Finding;

use crate::accepted::allow_by_comment;
use crate::file_check::{FileCheck, Look};
use crate::limits::Limits;
use crate::placeholder::PlaceholderScan;
use crate::secretscan::Secretscan;
use crate::syntax_check::SyntaxCheck;
use crate::todo::TodoExtract;
use switchboard_syntax::Parsers;
use switchboard_syntax::{Base, Source};

/// Runs every check that needs no command on a text; `before` is the text before the change.
///
/// The path determines the language and the kind of file; it is not opened. The text may hold any bytes.
#[must_use]
pub fn look_at(path: &str, text: &[u8], before: Option<&[u8]>) -> Vec<Finding> {
    let base =
        before.map_or(Base::Nothing, |before| if before == text { Base::Same } else { Base::Other(before.to_vec()) });
    let source = Source::new(path.to_owned(), text.to_vec(), base);
    let mut parsers = Parsers::new(Limits::default().parse_time);
    let checks: [&dyn FileCheck; 4] =
        [&SyntaxCheck, &Secretscan::new(""), &PlaceholderScan { all_is_change: true, deny: Vec::new() }, &TodoExtract];
    let looks = checks.map(|check| allow_by_comment(check.look(&source, &mut parsers), &source));
    let findings = looks.into_iter().map(|look| match look {
        Look::Looked(findings) => findings,
        Look::Skipped(_) | Look::Unread(_) => Vec::new(),
    });
    findings.flatten().collect()
}
