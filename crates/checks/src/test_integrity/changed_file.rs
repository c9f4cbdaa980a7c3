//! A file of a change, with its text before and after.

use super::paths;

/// A file of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    pub(crate) path: String,
    /// The text that the base has; `None` of a new file.
    pub(crate) before: Option<Vec<u8>>,
    /// The text that the change has; `None` of a deleted file.
    pub(crate) after: Option<Vec<u8>>,
    /// Whether the change made it a symbolic link.
    pub(crate) is_link: bool,
    /// The object that holds the text that the change has, where git knows it.
    pub(crate) blob: Option<String>,
}

// === impl ChangedFile ===

impl ChangedFile {
    pub(crate) fn name(&self) -> &str {
        paths::name(&self.path)
    }

    /// The text before and after, as far as they are UTF-8.
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
