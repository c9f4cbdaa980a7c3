//! What Python refuses and the grammar forgives: indentation that fits nothing, empty blocks, a missing right side,
//! arguments in the wrong order, bytes beside text.

use tree_sitter::{Node, Tree};

use super::problem::{Kind, Problem};
use crate::notes::each_node;

/// Lists these mistakes in a tree without errors.
pub(crate) fn mistakes(tree: &Tree, text: &[u8]) -> Vec<Problem> {
    let mut found = Vec::new();
    each_node(tree, |node| {
        let mistake = match node.kind() {
            "module" => indentation(node, text, Some(b"")),
            "block" => empty_block(node).or_else(|| indentation(node, text, None)),
            "assignment" | "augmented_assignment" => missing_right_side(node, text),
            "argument_list" => argument_order(node),
            "concatenated_string" => mixed_strings(node, text),
            _ => None,
        };
        found.extend(mistake);
        true
    });
    found
}

fn problem(node: Node<'_>, kind: Kind) -> Problem {
    let line = node.start_position().row;
    Problem { kind, range: node.start_byte()..node.start_byte(), lines: line..line + 1 }
}

fn statements<'a>(block: Node<'a>) -> Vec<Node<'a>> {
    block
        .named_children(&mut block.walk())
        .filter(|child| !["comment", "line_continuation"].contains(&child.kind()))
        .collect()
}

fn empty_block(block: Node<'_>) -> Option<Problem> {
    statements(block).is_empty().then(|| problem(block, Kind::Missing("an indented block".into())))
}

/// The statements of a block that begin a line must all begin at the same place.
fn indentation(block: Node<'_>, text: &[u8], expected: Option<&[u8]>) -> Option<Problem> {
    let mut expected = expected.map(<[u8]>::to_vec);
    for statement in statements(block) {
        let Some(indent) = indent_of(statement, text) else {
            continue;
        };
        match &expected {
            None => expected = Some(indent),
            Some(expected) if *expected == indent => {}
            Some(_) => return Some(problem(statement, Kind::Indentation)),
        }
    }
    None
}

/// Gives the blanks before a statement; `None` where something else stands before it or its line goes on from above.
fn indent_of(statement: Node<'_>, text: &[u8]) -> Option<Vec<u8>> {
    let before = &text[..statement.start_byte()];
    let line_at = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let goes_on = before[..line_at].trim_ascii_end().ends_with(b"\\");
    let indent: Vec<u8> = before[line_at..].iter().copied().filter(|byte| *byte != b'\x0c').collect();
    let indent = indent.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&indent).to_vec();
    (!goes_on && indent.iter().all(|byte| matches!(byte, b' ' | b'\t'))).then_some(indent)
}

/// `x =` with the value on the next line is two statements, the first of which is broken.
fn missing_right_side(assignment: Node<'_>, text: &[u8]) -> Option<Problem> {
    let right = assignment.child_by_field_name("right")?;
    let operator = right.prev_sibling()?;
    let between = &text[operator.end_byte()..right.start_byte()];
    let breaks = between.split(|byte| *byte == b'\n').rev().skip(1).any(|line| !line.trim_ascii_end().ends_with(b"\\"));
    breaks.then(|| problem(operator, Kind::Missing("a value".into())))
}

fn argument_order(list: Node<'_>) -> Option<Problem> {
    let mut has_keyword = false;
    for argument in list.named_children(&mut list.walk()) {
        match argument.kind() {
            "keyword_argument" | "dictionary_splat" => has_keyword = true,
            "comment" | "line_continuation" | "list_splat" => {}
            _ if has_keyword => return Some(problem(argument, Kind::ArgumentOrder)),
            _ => {}
        }
    }
    None
}

fn mixed_strings(strings: Node<'_>, text: &[u8]) -> Option<Problem> {
    let is_bytes = |node: &Node<'_>| {
        let prefix = text[node.byte_range()].iter().take_while(|byte| byte.is_ascii_alphabetic());
        prefix.clone().any(|byte| byte.eq_ignore_ascii_case(&b'b'))
    };
    let parts: Vec<Node<'_>> =
        strings.named_children(&mut strings.walk()).filter(|part| part.kind() == "string").collect();
    let first = parts.first().map(is_bytes)?;
    parts.iter().find(|part| is_bytes(part) != first).map(|part| problem(*part, Kind::MixedStrings))
}
