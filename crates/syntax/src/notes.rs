//! Finds notes such as TODO and FIXME, in comments only.

use std::ops::Range;

use tree_sitter::Tree;

use crate::tree::comments;

/// A tag with the text behind it.
pub struct Note {
    /// Tag in capitals: `TODO`, `FIXME` or another of `TAGS`.
    pub tag: &'static str,
    /// Byte range of the tag.
    pub range: Range<usize>,
    /// Text from the tag to the end of its line or comment.
    pub text: String,
}

/// Tags, more specific ones first.
const TAGS: [&str; 8] = ["TODO", "FIXME", "HACK", "XXX", "TBD", "WIP", "WARN", "NOTE"];
/// Maximum length of a note's text, in characters.
const TEXT: usize = 200;

/// Lists the notes in a file's comments, by position.
#[must_use]
pub fn notes(tree: &Tree, text: &[u8]) -> Vec<Note> {
    in_comments(text, &comments(tree))
}

/// Lists the notes in these comments.
#[must_use]
pub fn in_comments(text: &[u8], comments: &[Range<usize>]) -> Vec<Note> {
    comments.iter().flat_map(|comment| in_comment(text, comment)).collect()
}

fn in_comment(text: &[u8], comment: &Range<usize>) -> Vec<Note> {
    let mut found = Vec::new();
    let mut at = comment.start;
    while at < comment.end {
        let tag = TAGS.iter().find(|tag| stands_at(text, at, comment.end, tag));
        let Some(tag) = tag else {
            at += 1;
            continue;
        };
        let rest = &text[at..comment.end];
        let line = rest.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or(rest);
        let shown = String::from_utf8_lossy(line)
            .trim_end_matches(['*', '/', '-', '>', ' ', '\t'])
            .chars()
            .take(TEXT)
            .collect();
        found.push(Note { tag, range: at..at + tag.len(), text: shown });
        at += line.len().max(1);
    }
    found
}

/// Returns whether a tag is used as a mark here, not as a word of a sentence or part of a name.
fn stands_at(text: &[u8], at: usize, end: usize, tag: &str) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let behind = text[..end].get(at + tag.len());
    text[at..end].starts_with(tag.as_bytes())
        && !is_word(at.checked_sub(1).and_then(|before| text.get(before)))
        && !is_word(behind)
        && !matches!(behind, Some(b'-' | b'=' | b'.' | b'\'' | b'"' | b'`'))
}
