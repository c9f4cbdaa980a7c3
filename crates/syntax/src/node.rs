//! Nodes of a tree, and the mistakes that are told of them.

use tree_sitter::Node;

use crate::problem::{Kind, Problem};

/// How far up is looked: code that nests deeper was not written, and to climb each time would take forever.
const FARTHEST: usize = 500;

/// A mistake where a node begins.
pub(crate) fn problem(node: Node<'_>, kind: Kind) -> Problem {
    let line = node.start_position().row;
    Problem { kind, range: node.start_byte()..node.start_byte(), lines: line..line + 1 }
}

/// This word or mark cannot stand where the node is. Only for words of the language, never for text of the file.
pub(crate) fn unexpected(node: Node<'_>, word: &str) -> Problem {
    problem(node, Kind::Unexpected(word.to_owned()))
}

/// Something is missing where the node begins, e.g. `a value`.
pub(crate) fn missing(node: Node<'_>, what: &str) -> Problem {
    problem(node, Kind::Missing(what.to_owned()))
}

/// Returns the children of a node, comments left out.
pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).filter(|child| !child.is_extra()).collect()
}

/// Finds a word of the language that stands as a name.
pub(crate) fn reserved(node: Node<'_>, text: &[u8], words: &[&'static str]) -> Option<Problem> {
    let name = &text[node.byte_range()];
    words.iter().find(|word| word.as_bytes() == name).map(|word| unexpected(node, word))
}

/// Finds a comma in a list with nothing before it.
pub(crate) fn empty_item(list: Node<'_>) -> Option<Problem> {
    let mut has_item = false;
    for child in list.children(&mut list.walk()).skip(1) {
        match child.kind() {
            "," if !has_item => return Some(unexpected(child, ",")),
            "," => has_item = false,
            _ if child.is_extra() => {}
            _ => has_item = true,
        }
    }
    None
}

/// Finds the nearest of the nodes above that is of one of these kinds, and those above it.
pub(crate) fn nearest<'s, 'a>(above: &'s [Node<'a>], kinds: &[&str]) -> Option<(Node<'a>, &'s [Node<'a>])> {
    let reach = above.len().saturating_sub(FARTHEST);
    let at = reach + above[reach..].iter().rposition(|outer| kinds.contains(&outer.kind()))?;
    Some((above[at], &above[..at]))
}
