//! Removes the secrets from a text.

use crate::file_kind::FileKind;
use crate::scan::Scanner;

/// Replaces every secret in a text before it is shown, e.g. in the output of a command.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut shown = Vec::with_capacity(text.len());
    let mut at = 0;
    for hit in Scanner::shared().scan(text.as_bytes(), FileKind::LOG) {
        if hit.range.start >= at {
            shown.extend_from_slice(&text.as_bytes()[at..hit.range.start]);
            shown.extend_from_slice(format!("[{} left out]", hit.rule()).as_bytes());
        }
        at = at.max(hit.range.end);
    }
    shown.extend_from_slice(&text.as_bytes()[at..]);
    String::from_utf8_lossy(&shown).into_owned()
}
