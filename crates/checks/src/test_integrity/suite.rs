//! Reads the tests of a file from its syntax tree.

use std::ops::Range;

use switchboard_grammars::Language;
use switchboard_syntax::Parsers;
use tree_sitter::Tree;

use super::aliases::Aliases;
use super::change::Change;
use super::language::TestLanguage;
use super::test::Test;
use super::{javascript, paths, python, rust};
use crate::error::Error;
use crate::git::{Blob, Blobs, Git};
use crate::reader::shown;

/// A file of the change whose tests are parsed, before and after.
pub(super) struct Pair {
    pub(super) path: String,
    pub(super) kind: TestLanguage,
    /// True for a test file; another file may still hold tests beside other code.
    pub(super) is_test: bool,
    pub(super) before: Suite,
    pub(super) after: Suite,
    /// True if either version could not be parsed in time.
    pub(super) is_unparsed: bool,
}

/// A file with its tests.
#[derive(Default)]
pub(super) struct Suite {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) tree: Option<Tree>,
    pub(super) tests: Vec<Test>,
    pub(super) aliases: Aliases,
}

/// Parses every file of the change whose language is supported.
pub(super) fn of_change(change: &Change, parsers: &mut Parsers) -> Vec<Pair> {
    let read = change.files.iter().filter_map(|file| {
        let (kind, language) = TestLanguage::of(&file.path)?;
        let (before, after) = file.texts();
        let is_test = paths::is_test(&file.path);
        let mut suite = |text: String| Suite::read(&file.path, text, (kind, language), is_test, parsers);
        let (before, after) = (suite(before), suite(after));
        let is_unparsed = before.is_none() || after.is_none();
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        Some(Pair { path: file.path.clone(), kind, is_test, before, after, is_unparsed })
    });
    read.collect()
}

/// Returns whether the base has running tests in files that the change leaves alone. Ignores files without a test, such
/// as an empty `tests/__init__.py`.
pub(super) fn has_others(
    change: &Change,
    git: &Git,
    blobs: &Blobs,
    base: &str,
    parsers: &mut Parsers,
) -> Result<bool, Error> {
    let others = git.tree(base)?.into_iter().filter_map(|(path, side)| Some((shown(&path), side.blob?)));
    for (path, id) in others.filter(|(path, _)| change.file(path).is_none()) {
        let (is_test, language) = (paths::is_test(&path), TestLanguage::of(&path));
        if !is_test && language.is_none_or(|(kind, _)| kind != TestLanguage::Rust) {
            continue;
        }
        let Blob::Content(text) = blobs.read(&id)? else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        let has_some = match language {
            None => !text.trim().is_empty(),
            Some((TestLanguage::Rust, _)) if !text.contains("test") => false,
            Some(language) => Suite::read(&path, text, language, is_test, parsers)
                .is_some_and(|suite| suite.tests.iter().any(Test::runs)),
        };
        if has_some {
            return Ok(true);
        }
    }
    Ok(false)
}

// === impl Suite ===

impl Suite {
    /// Parses a file; returns `None` if parsing took too long.
    pub(super) fn read(
        path: &str,
        text: String,
        (kind, language): (TestLanguage, Language),
        is_test: bool,
        parsers: &mut Parsers,
    ) -> Option<Self> {
        if text.is_empty() {
            return Some(Self { path: path.to_owned(), ..Self::default() });
        }
        parsers.next_file();
        let tree = parsers.parse(language, text.as_bytes())?;
        let tests = match kind {
            TestLanguage::Python if is_test => python::tests(&tree, &text),
            TestLanguage::JavaScript if is_test => javascript::tests(&tree, &text),
            TestLanguage::Rust => rust::tests(&tree, &text),
            TestLanguage::Python | TestLanguage::JavaScript => Vec::new(),
        };
        let aliases = Aliases::of(&tree, &text, kind);
        Some(Self { path: path.to_owned(), text, tree: Some(tree), tests, aliases })
    }

    pub(super) fn text_of(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or("")
    }
}
