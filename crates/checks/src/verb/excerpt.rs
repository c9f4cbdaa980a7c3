//! Excerpts of the line around a finding, for the result keys that show one. The file is read again; its content is
//! never shown before secrets are removed.

use std::collections::HashMap;
use std::path::Path;

use crate::reader::Reader;
use switchboard_secrets::redact;

/// Maximum length of an excerpt, in characters.
const CHARS: usize = 100;

/// Cache of files that were read for excerpts.
pub(super) struct Excerpts<'a> {
    reader: Reader<'a>,
    texts: HashMap<String, Vec<u8>>,
}

// === impl Excerpts ===

impl<'a> Excerpts<'a> {
    pub(super) fn new(root: &'a Path, most: u64) -> Self {
        Self { reader: Reader::new(root, None, most), texts: HashMap::new() }
    }

    /// Returns the plain words of a line before a column. Leaves out words that could be part of a secret.
    pub(super) fn words_before(&mut self, path: &str, line: u32, column: u32) -> String {
        let text = self.raw(path, line);
        let before: String = text.chars().take((column as usize).saturating_sub(1)).collect();
        let is_plain = |word: &&str| {
            word.chars().count() <= 40 && word.chars().filter(char::is_ascii_digit).count() < 3 && !word.contains('@')
        };
        let words: Vec<&str> = before.split_whitespace().filter(is_plain).collect();
        cut(&redact(&words.join(" ")))
    }

    fn raw(&mut self, path: &str, line: u32) -> String {
        let text =
            self.texts.entry(path.to_owned()).or_insert_with(|| self.reader.read(Path::new(path)).unwrap_or_default());
        let line = text.split(|byte| *byte == b'\n').nth((line as usize).saturating_sub(1)).unwrap_or_default();
        String::from_utf8_lossy(&line[..line.len().min(2_000)]).into_owned()
    }
}

fn cut(text: &str) -> String {
    text.chars().take(CHARS).collect()
}
