//! What Ruby refuses and the grammar forgives: a word of the language where a statement stands, such as an `end` too many.

use tree_sitter::Tree;

use crate::node::reserved;
use crate::problem::Problem;
use crate::tree::each_node_below;

/// Words that no statement consists of. Behind a dot and in front of a colon they are names.
const WORDS: [&str; 9] = ["end", "else", "elsif", "ensure", "when", "then", "do", "rescue", "in"];
/// Nodes that hold statements.
const BODIES: [&str; 13] = [
    "program",
    "body_statement",
    "then",
    "else",
    "do",
    "block_body",
    "begin",
    "begin_block",
    "ensure",
    "rescue",
    "class",
    "module",
    "method",
];

/// Lists these mistakes in a tree without errors.
pub(crate) fn mistakes(tree: &Tree, text: &[u8]) -> Vec<Problem> {
    let mut found = Vec::new();
    each_node_below(tree, |node, above| {
        let is_statement = node.kind() == "identifier"
            && above.last().is_some_and(|parent| {
                BODIES.contains(&parent.kind()) && parent.child_by_field_name("name") != Some(node)
            });
        if is_statement {
            found.extend(reserved(node, text, &WORDS));
        }
    });
    found
}
