//! Words like TODO and FIXME, in comments only.

use std::ops::Range;

use tree_sitter::{Node, Tree};

/// A word of the family, with the text behind it.
pub(crate) struct Note {
    pub(crate) tag: &'static str,
    /// The tag in the file.
    pub(crate) range: Range<usize>,
    /// From the tag to the end of its line or comment.
    pub(crate) text: String,
}

/// The words, more specific ones first.
const TAGS: [&str; 8] = ["TODO", "FIXME", "HACK", "XXX", "TBD", "WIP", "WARN", "NOTE"];
/// The longest text that is kept, in characters.
const TEXT: usize = 200;

/// Lists the notes of a file's comments, by place.
pub(crate) fn notes(tree: &Tree, text: &[u8]) -> Vec<Note> {
    in_comments(text, &comments(tree))
}

/// Lists the notes of these comments.
pub(crate) fn in_comments(text: &[u8], comments: &[Range<usize>]) -> Vec<Note> {
    comments.iter().flat_map(|comment| in_comment(text, comment)).collect()
}

/// Lists the comments of a tree.
pub(crate) fn comments(tree: &Tree) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    each_node(tree, |node| {
        if node.kind().contains("comment") && node.is_named() {
            found.push(node.byte_range());
            return false;
        }
        true
    });
    found
}

/// Visits the nodes of a tree, without recursion; `visit` says whether to go deeper.
pub(crate) fn each_node<'a>(tree: &'a Tree, mut visit: impl FnMut(Node<'a>) -> bool) {
    let mut cursor = tree.walk();
    loop {
        if visit(cursor.node()) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// Visits the nodes of a tree with those above them, outermost first. A node does not know its parent: to look for it takes
/// as long as the tree is deep and wide.
pub(crate) fn each_node_below<'a>(tree: &'a Tree, mut visit: impl FnMut(Node<'a>, &[Node<'a>])) {
    let mut cursor = tree.walk();
    let mut above: Vec<Node<'a>> = Vec::new();
    loop {
        visit(cursor.node(), &above);
        let node = cursor.node();
        if cursor.goto_first_child() {
            above.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            above.pop();
        }
    }
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

/// Tells whether a tag stands here as a mark, not as a word of a sentence or part of a name.
fn stands_at(text: &[u8], at: usize, end: usize, tag: &str) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let behind = text[..end].get(at + tag.len());
    text[at..end].starts_with(tag.as_bytes())
        && !is_word(at.checked_sub(1).and_then(|before| text.get(before)))
        && !is_word(behind)
        && !matches!(behind, Some(b'-' | b'=' | b'.' | b'\'' | b'"' | b'`'))
}
