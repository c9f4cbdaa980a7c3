//! One file of a run: read once, parsed at most once, shared by all checks.

use std::cell::OnceCell;

use switchboard_grammars::Language;

use crate::lines::{Lines, Touched};

/// A file with its content and its base.
pub struct Source {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// Content, usually UTF-8.
    pub text: Vec<u8>,
    /// Version in the base.
    pub base: Base,
    /// True if the run compares with a commit: only then does a new file belong to a change.
    pub has_base: bool,
    /// Language of the file, by its name or first line.
    pub language: Option<Language>,
    lines: OnceCell<Lines>,
    touched: OnceCell<Touched>,
}

/// Version of a file in the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// The base has no such file: everything is new.
    Nothing,
    /// The file is unchanged: nothing is new.
    Same,
    /// The base has another text: the differences are new.
    Other(Vec<u8>),
}

// === impl Source ===

impl Source {
    /// Makes a source from a path, its text and its base.
    #[must_use]
    pub fn new(path: String, text: Vec<u8>, base: Base) -> Self {
        let language = Language::of(&path, &text[..text.len().min(256)]);
        Self { path, text, base, has_base: false, language, lines: OnceCell::new(), touched: OnceCell::new() }
    }

    /// Returns the positions of its lines.
    pub fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::new(&self.text))
    }

    /// Returns the lines that differ from the base.
    pub fn touched(&self) -> &Touched {
        self.touched.get_or_init(|| match &self.base {
            Base::Nothing => Touched::All,
            Base::Same => Touched::None,
            Base::Other(before) => Touched::between(before, &self.text),
        })
    }
}
