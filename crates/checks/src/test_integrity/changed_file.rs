//! A file of a change, with its text before and after.

use super::paths;

/// A file of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    pub(crate) path: String,
    /// Text in the base; `None` for a new file.
    pub(crate) before: Option<Vec<u8>>,
    /// Text after the change; `None` for a deleted file.
    pub(crate) after: Option<Vec<u8>>,
    /// True if the change made the file a symbolic link.
    pub(crate) is_link: bool,
    /// Id of the git object with the text after the change, if git has one.
    pub(crate) blob: Option<String>,
}

// === impl ChangedFile ===

impl ChangedFile {
    pub(crate) fn name(&self) -> &str {
        paths::name(&self.path)
    }

    /// Returns the text before and after. A missing side is empty; bytes that are not UTF-8 are replaced.
    pub(crate) fn texts(&self) -> (String, String) {
        let text =
            |side: &Option<Vec<u8>>| side.as_deref().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        (text(&self.before), text(&self.after))
    }

    pub(crate) const fn is_new(&self) -> bool {
        self.before.is_none()
    }

    pub(crate) const fn is_deleted(&self) -> bool {
        self.after.is_none()
    }
}
