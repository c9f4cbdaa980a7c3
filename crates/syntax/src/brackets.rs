//! Finds the bracket without a partner: the best explanation of most broken files.

use std::ops::Range;

use tree_sitter::Tree;

/// A bracket without a partner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stray {
    pub(crate) token: String,
    pub(crate) is_opening: bool,
    pub(crate) range: Range<usize>,
    pub(crate) line: usize,
}

struct Open<'a> {
    token: &'a str,
    range: Range<usize>,
    line: usize,
}

/// Finds the first closing bracket without a partner, else the last opening one that is never closed. Ignores brackets
/// in strings and comments, which are no tokens of the tree.
pub(crate) fn stray(tree: &Tree) -> Option<Stray> {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.child_count() == 0 && !node.is_missing() {
            let here = Open { token: node.kind(), range: node.byte_range(), line: node.start_position().row };
            if is_opening(here.token) {
                open.push(here);
            } else if let Some(partner) = partner(here.token) {
                match open.pop() {
                    Some(before) if closes(before.token, here.token) => {}
                    // Either bracket may be wrong; the inner opening one is the safer guess.
                    Some(before) if open.iter().any(|outer| outer.token.ends_with(partner)) => {
                        return Some(before.stray());
                    }
                    Some(_) | None => {
                        return Some(Stray { is_opening: false, ..here.stray() });
                    }
                }
            }
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return open.pop().map(|last| last.stray());
            }
        }
    }
}

// === impl Open ===

impl Open<'_> {
    fn stray(&self) -> Stray {
        Stray { token: self.token.to_owned(), is_opening: true, range: self.range.clone(), line: self.line }
    }
}

fn is_opening(kind: &str) -> bool {
    matches!(kind, "(" | "[" | "{" | "${" | "#{" | "#[" | "$(" | "@(" | "@{" | "?[" | "?.[" | "[[" | "((")
}

fn partner(kind: &str) -> Option<&'static str> {
    match kind {
        ")" | "))" => Some("("),
        "]" | "]]" => Some("["),
        "}" => Some("{"),
        _ => None,
    }
}

fn closes(opening: &str, closing: &str) -> bool {
    partner(closing).is_some_and(|partner| opening.ends_with(partner))
}
