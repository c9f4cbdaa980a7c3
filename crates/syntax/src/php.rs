//! Mistakes that PHP refuses and the grammar accepts: `declare(strict_types=1)` that governs a statement instead of the
//! file.

use tree_sitter::{Node, Tree};

use crate::node::{children, missing};
use crate::problem::Problem;
use crate::tree::each_node;

/// Lists these mistakes in a tree without errors.
pub(crate) fn mistakes(tree: &Tree, text: &[u8]) -> Vec<Problem> {
    let mut found = Vec::new();
    each_node(tree, |node| {
        if node.kind() == "declare_statement" {
            found.extend(open_declaration(node, text));
        }
        true
    });
    found
}

/// Reports a declaration of strict types without a semicolon behind it: it must hold for the whole file.
fn open_declaration(node: Node<'_>, text: &[u8]) -> Option<Problem> {
    let parts = children(node);
    let close = parts.iter().position(|part| part.kind() == ")")?;
    let head = &text[node.start_byte()..parts[close].end_byte()];
    let next = parts.get(close + 1)?;
    let is_strict = memchr::memmem::find(head, b"strict_types").is_some();
    (is_strict && next.kind() != ";").then(|| missing(*next, ";"))
}
