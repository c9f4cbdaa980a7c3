//! One file of a run: read once, parsed at most once, shared by all checks.

use std::cell::OnceCell;

use switchboard_grammars::Language;

use crate::lines::{Lines, Touched};

/// A file with its content and what the base had.
pub struct Source {
    /// Relative to the root, with `/`.
    pub path: String,
    /// UTF-8, mostly.
    pub text: Vec<u8>,
    /// What the base had.
    pub base: Base,
    /// Whether the run compares with a commit at all: only then does a new file belong to a change.
    pub has_base: bool,
    /// Its language, by its name or first line.
    pub language: Option<Language>,
    lines: OnceCell<Lines>,
    touched: OnceCell<Touched>,
}

/// The base's version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// It had none: everything is new.
    Nothing,
    /// The same: nothing is new.
    Same,
    /// Another text: what differs is new.
    Other(Vec<u8>),
}

// === impl Source ===

impl Source {
    /// Makes a file out of its path and its two texts.
    #[must_use]
    pub fn new(path: String, text: Vec<u8>, base: Base) -> Self {
        let language = Language::of(&path, &text[..text.len().min(256)]);
        Self { path, text, base, has_base: false, language, lines: OnceCell::new(), touched: OnceCell::new() }
    }

    /// Returns where its lines begin.
    pub fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::new(&self.text))
    }

    /// Returns which of its lines differ from the base.
    pub fn touched(&self) -> &Touched {
        self.touched.get_or_init(|| match &self.base {
            Base::Nothing => Touched::All,
            Base::Same => Touched::None,
            Base::Other(before) => Touched::between(before, &self.text),
        })
    }
}
