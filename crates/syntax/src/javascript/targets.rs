//! Checks the targets of assignments, and of `break` and `continue`.

use tree_sitter::Node;

use super::FUNCTIONS;
use crate::node::{children, nearest, problem, unexpected};
use crate::problem::{Kind, Problem};

const LOOPS: &[&str] = &["for_statement", "for_in_statement", "while_statement", "do_statement"];

/// Reports `(a, b) = c` and `a?.b = c`, whose left side can't be assigned to.
pub(super) fn assigned(assignment: Node<'_>) -> Option<Problem> {
    let left = assignment.child_by_field_name("left")?;
    (!is_place(left)).then(|| problem(left, Kind::Unreadable))
}

/// Reports `1++`.
pub(super) fn stepped(step: Node<'_>) -> Option<Problem> {
    let argument = step.child_by_field_name("argument")?;
    let is_pattern = matches!(argument.kind(), "array" | "object");
    (is_pattern || !is_place(argument)).then(|| problem(argument, Kind::Unreadable))
}

fn is_place(node: Node<'_>) -> bool {
    match node.kind() {
        "parenthesized_expression" => children(node).get(1).is_some_and(|inner| {
            !matches!(inner.kind(), "object" | "array" | "object_pattern" | "array_pattern") && is_place(*inner)
        }),
        "member_expression" | "subscript_expression" => {
            children(node).iter().all(|child| !matches!(child.kind(), "optional_chain" | "?."))
        }
        kind => !matches!(
            kind,
            "sequence_expression"
                | "number"
                | "string"
                | "this"
                | "null"
                | "true"
                | "false"
                | "binary_expression"
                | "unary_expression"
                | "update_expression"
                | "arrow_function"
                | "new_expression"
                | "ternary_expression"
        ),
    }
}

/// Reports `break` outside of a loop or `switch`, `continue` outside of a loop, and a label that no enclosing statement
/// has.
pub(super) fn outside(statement: Node<'_>, above: &[Node<'_>], text: &[u8]) -> Option<Problem> {
    let word = statement.child(0)?.kind();
    let is_break = word == "break";
    let (_, beyond) = nearest(above, FUNCTIONS)?;
    let inside = &above[beyond.len()..];
    let is_inside = match statement.child_by_field_name("label") {
        Some(label) => inside.iter().any(|outer| {
            let own = (outer.kind() == "labeled_statement").then(|| outer.child_by_field_name("label")).flatten();
            own.is_some_and(|own| text[own.byte_range()] == text[label.byte_range()])
        }),
        None => {
            inside.iter().any(|outer| LOOPS.contains(&outer.kind()) || (is_break && outer.kind() == "switch_statement"))
        }
    };
    (!is_inside).then(|| unexpected(statement, word))
}
