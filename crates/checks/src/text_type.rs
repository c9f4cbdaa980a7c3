//! Decides by name which files are code or text: such a file that can't be read matters, an unreadable picture does
//! not.

use switchboard_grammars::Language;

/// Returns whether a path names a file of a code or text type, whatever the file holds.
pub(crate) fn is_text_type(path: &str) -> bool {
    Language::of(path, b"").is_some() || switchboard_secrets::is_text_type(path)
}
