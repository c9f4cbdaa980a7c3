//! Traverses a tree without recursion: a tree may be as deep as the file is long.

use std::ops::Range;

use tree_sitter::{Node, Tree};

/// Lists the comments of a tree.
#[must_use]
pub fn comments(tree: &Tree) -> Vec<Range<usize>> {
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

/// Visits the nodes of a tree, without recursion; `visit` returns whether to go deeper.
pub fn each_node<'a>(tree: &'a Tree, mut visit: impl FnMut(Node<'a>) -> bool) {
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

/// Visits the nodes of a tree with their ancestors, outermost first. A node has no link to its parent, and to search
/// for it takes time in proportion to the depth and width of the tree.
pub fn each_node_below<'a>(tree: &'a Tree, mut visit: impl FnMut(Node<'a>, &[Node<'a>])) {
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
