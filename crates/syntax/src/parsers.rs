//! Parsers of one thread, created once.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use switchboard_grammars::Language;
use tree_sitter::{ParseOptions, Parser, Tree};

use crate::source::Source;
use crate::tidied::tidied;

/// Parsers by language, and the tree of the current file.
pub struct Parsers {
    by_language: HashMap<Language, Parser>,
    time: Duration,
    current: Option<(Language, Option<Tree>)>,
}

// === impl Parsers ===

impl Parsers {
    /// Starts without parsers; each is created on first use. `time` limits the parsing of one text.
    #[must_use]
    pub fn new(time: Duration) -> Self {
        Self { by_language: HashMap::new(), time, current: None }
    }

    /// Drops the tree of the previous file.
    pub fn next_file(&mut self) {
        self.current = None;
    }

    /// Returns the tree of the current file; the first call parses it.
    pub fn tree_of(&mut self, language: Language, text: &[u8]) -> Option<Tree> {
        if let Some((parsed, tree)) = &self.current
            && *parsed == language
        {
            return tree.clone();
        }
        let tree = self.parse(language, text);
        self.current = Some((language, tree.clone()));
        tree
    }

    /// Parses a text; returns `None` if that takes longer than the limit.
    pub fn parse(&mut self, language: Language, text: &[u8]) -> Option<Tree> {
        let text = &*tidied(language, text);
        let deadline = Instant::now() + self.time;
        let parser = self.by_language.entry(language).or_default();
        if parser.language().is_none() {
            parser.set_language(&language.grammar()).ok()?;
        }
        parser.reset();
        let mut watch = |_: &_| {
            if Instant::now() > deadline { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut watch);
        parser.parse_with_options(&mut |at, _| text.get(at..).unwrap_or_default(), None, Some(options))
    }
}

/// Returns the language of the grammar for a file; JavaScript that announces Flow types uses the grammar with types.
pub(crate) fn language_of(source: &Source) -> Option<Language> {
    let head = &source.text[..source.text.len().min(2_000)];
    let is_flow = source.language == Some(Language::JavaScript) && head.windows(5).any(|word| word == b"@flow");
    if is_flow { Some(Language::Tsx) } else { source.language }
}
