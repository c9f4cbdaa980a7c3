//! The context of a keyword in a text.

use std::ops::Range;

use crate::candidate::Strength;
use crate::file_kind::FileKind;

/// A keyword's position in a text.
pub(crate) struct Context<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) at: usize,
    pub(crate) keyword_end: usize,
    pub(crate) kind: FileKind,
}

/// A credential that a reader found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) range: Range<usize>,
    pub(crate) strength: Strength,
    /// Reason to doubt that the credential is live, in words for people.
    pub(crate) note: Option<&'static str>,
}

// === impl Found ===

impl Found {
    pub(crate) fn new(range: Range<usize>, strength: Strength) -> Self {
        Self { range, strength, note: None }
    }

    pub(crate) fn noted(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }
}

// === impl Context ===

impl Context<'_> {
    /// Returns the text before a position on its line, without indentation.
    pub(crate) fn line_before(&self, at: usize) -> &[u8] {
        let from = at.saturating_sub(200);
        let line = self.text[from..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        line.trim_ascii_start()
    }

    /// Returns whether a token may begin here: not inside a longer word, unless the letter before belongs to an escape
    /// like `\n`.
    pub(crate) fn begins_word(&self) -> bool {
        let first = self.text[self.at];
        let Some(before) = self.at.checked_sub(1).map(|at| self.text[at]) else {
            return true;
        };
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !is_word(first) || !is_word(before) {
            return true;
        }
        matches!(before, b'n' | b'r' | b't') && self.at >= 2 && self.text[self.at - 2] == b'\\'
    }
}
