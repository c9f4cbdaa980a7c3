//! One position where a text does not fit its grammar.

use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use crate::brackets::{self, Stray};

/// A position that does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    /// Byte range.
    pub(crate) range: Range<usize>,
    /// Line range, from 0.
    pub(crate) lines: Range<usize>,
}

/// Kind of problem. Never holds text of the file beyond punctuation and keywords: it might be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The parser had to insert this token.
    Missing(String),
    /// This token may not stand here.
    Unexpected(String),
    /// A bracket that is never closed.
    Unclosed(String),
    /// A closing bracket without a partner.
    ClosesNothing(String),
    /// A line whose indentation fits no block.
    Indentation,
    /// A positional argument behind a named one.
    ArgumentOrder,
    /// Bytes and text in one literal.
    MixedStrings,
    /// Message of the format's own parser, or ours in its place.
    Stated(String),
    /// Any other problem.
    Unreadable,
}

// === impl Problem ===

impl Problem {
    /// Makes a problem at a byte position.
    pub(crate) fn at(text: &[u8], at: usize, kind: Kind) -> Self {
        let at = at.min(text.len());
        let line = memchr::memchr_iter(b'\n', &text[..at]).count();
        Self { kind, range: at..at, lines: line..line + 1 }
    }

    /// Returns the problem as one sentence; `title` names the language.
    pub(crate) fn message(&self, title: &str) -> String {
        match &self.kind {
            Kind::Missing(what) => format!("{} expected here", quoted(what)),
            Kind::Unexpected(what) => format!("unexpected {}", quoted(what)),
            Kind::Unclosed(what) => format!("`{what}` is opened here and never closed"),
            Kind::ClosesNothing(what) => format!("`{what}` closes nothing"),
            Kind::Indentation => "the indentation fits no block".into(),
            Kind::ArgumentOrder => "a positional argument follows a keyword argument".into(),
            Kind::MixedStrings => "bytes and text cannot be joined in one literal".into(),
            Kind::Stated(what) => what.clone(),
            Kind::Unreadable => format!("this is not valid {title}"),
        }
    }
}

fn quoted(what: &str) -> String {
    if what.starts_with("an ") || what.starts_with("a ") { what.to_owned() } else { format!("`{what}`") }
}

/// Lists the problems of a tree, by position.
pub(crate) fn all(tree: &Tree, text: &[u8]) -> Vec<Problem> {
    let root = tree.root_node();
    if !root.has_error() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let mut cursor = tree.walk();
    collect(&mut cursor, text, &mut problems);
    // A bracket without a partner is a better explanation than the positions where the parser failed.
    if let Some(stray) = brackets::stray(tree) {
        let problem = of_stray(&stray);
        problems.retain(|other| !other.lines.contains(&problem.lines.start));
        problems.insert(0, problem);
    }
    if problems.is_empty() {
        problems.push(of_node(root, text));
    }
    problems
}

/// Visits the nodes that contain an error, without recursion: a tree may be as deep as the file is long.
fn collect(cursor: &mut TreeCursor<'_>, text: &[u8], problems: &mut Vec<Problem>) {
    loop {
        let node = cursor.node();
        let is_leafmost = node.is_missing() || (node.is_error() && !holds_inner_error(node));
        if is_leafmost {
            problems.push(of_node(node, text));
        }
        let deeper = !is_leafmost && node.has_error() && cursor.goto_first_child();
        if deeper {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn holds_inner_error(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| child.has_error())
}

fn of_node(node: Node<'_>, text: &[u8]) -> Problem {
    let kind = if node.is_missing() {
        Kind::Missing(words(node))
    } else {
        match first_leaf(node) {
            Some(leaf) if !leaf.is_named() && is_harmless(leaf.kind()) => Kind::Unexpected(leaf.kind().to_owned()),
            None if is_punctuation(&text[node.byte_range()]) => {
                Kind::Unexpected(String::from_utf8_lossy(&text[node.byte_range()]).into_owned())
            }
            Some(_) | None => Kind::Unreadable,
        }
    };
    let start = node.start_position().row;
    let shown = text[node.byte_range()].iter().position(|byte| *byte == b'\n').unwrap_or(node.byte_range().len());
    let range = node.start_byte()..node.start_byte() + shown;
    Problem { kind, range, lines: start..node.end_position().row + 1 }
}

fn of_stray(stray: &Stray) -> Problem {
    let kind =
        if stray.is_opening { Kind::Unclosed(stray.token.clone()) } else { Kind::ClosesNothing(stray.token.clone()) };
    Problem { kind, range: stray.range.clone(), lines: stray.line..stray.line + 1 }
}

fn words(node: Node<'_>) -> String {
    let kind = node.kind().replace('_', " ");
    match (node.is_named(), kind.starts_with(['a', 'e', 'i', 'o', 'u'])) {
        (false, _) => node.kind().to_owned(),
        (true, true) => format!("an {kind}"),
        (true, false) => format!("a {kind}"),
    }
}

fn first_leaf(node: Node<'_>) -> Option<Node<'_>> {
    let mut leaf = node.child(0)?;
    while let Some(child) = leaf.child(0) {
        leaf = child;
    }
    Some(leaf)
}

/// Returns whether a token is fixed by the grammar rather than taken from the file.
fn is_harmless(kind: &str) -> bool {
    kind.len() <= 16 && !kind.contains(['\n', '\r'])
}

fn is_punctuation(text: &[u8]) -> bool {
    !text.is_empty() && text.len() <= 3 && text.iter().all(u8::is_ascii_punctuation)
}
