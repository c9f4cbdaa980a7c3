//! Nodes of a tree, and the problems reported at them.

use tree_sitter::Node;

use crate::problem::{Kind, Problem};

/// Maximum number of ancestors searched: hand-written code does not nest deeper, and longer searches take too much
/// time.
const FARTHEST: usize = 500;

/// Makes a problem at the beginning of a node.
pub(crate) fn problem(node: Node<'_>, kind: Kind) -> Problem {
    let line = node.start_position().row;
    Problem { kind, range: node.start_byte()..node.start_byte(), lines: line..line + 1 }
}

/// Makes a problem about a word or mark that may not stand here. For words of the language only, never for text of the
/// file.
pub(crate) fn unexpected(node: Node<'_>, word: &str) -> Problem {
    problem(node, Kind::Unexpected(word.to_owned()))
}

/// Makes a problem about something missing at the beginning of a node, e.g. `a value`.
pub(crate) fn missing(node: Node<'_>, what: &str) -> Problem {
    problem(node, Kind::Missing(what.to_owned()))
}

/// Returns the children of a node without comments.
pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).filter(|child| !child.is_extra()).collect()
}

/// Finds a word of the language that is used as a name.
pub(crate) fn reserved(node: Node<'_>, text: &[u8], words: &[&'static str]) -> Option<Problem> {
    let name = &text[node.byte_range()];
    words.iter().find(|word| word.as_bytes() == name).map(|word| unexpected(node, word))
}

/// Finds a comma in a list that no item precedes.
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

/// Finds the nearest ancestor of one of these kinds, and returns it with its own ancestors.
pub(crate) fn nearest<'s, 'a>(above: &'s [Node<'a>], kinds: &[&str]) -> Option<(Node<'a>, &'s [Node<'a>])> {
    let reach = above.len().saturating_sub(FARTHEST);
    let at = reach + above[reach..].iter().rposition(|outer| kinds.contains(&outer.kind()))?;
    Some((above[at], &above[..at]))
}
