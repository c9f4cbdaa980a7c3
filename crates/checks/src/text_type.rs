//! Which files are code or text by their names: not to be able to read one is not the same as not to read a picture.

use switchboard_grammars::Language;

/// Returns whether a path names a file of a code or text type, whatever the file holds.
pub(crate) fn is_text_type(path: &str) -> bool {
    Language::of(path, b"").is_some() || switchboard_secrets::is_text_type(path)
}
