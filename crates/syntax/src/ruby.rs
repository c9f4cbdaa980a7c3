//! Mistakes that Ruby refuses and the grammar accepts: a reserved word in place of a statement, such as an extra `end`.

use tree_sitter::Tree;

use crate::node::reserved;
use crate::problem::Problem;
use crate::tree::each_node_below;

/// Words that are no statement by themselves. Behind a dot and before a colon they are names.
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
