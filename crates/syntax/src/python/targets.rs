//! Reports invalid targets of assignments and deletions, and syntax of Python 2.

use tree_sitter::Node;

use super::HOMES;
use crate::node::{children, nearest, problem, unexpected};
use crate::problem::{Kind, Problem};

/// Nodes that can't be assigned to.
const VALUES: &[&str] = &[
    "call",
    "binary_operator",
    "comparison_operator",
    "boolean_operator",
    "unary_operator",
    "not_operator",
    "conditional_expression",
    "integer",
    "float",
    "string",
    "lambda",
    "none",
    "true",
    "false",
    "list_splat",
    "await",
];

/// Reports `*a = b`, `a, *b, *c = d`, `(a, b) += c`, `a, b: int`.
pub(super) fn assigned(assignment: Node<'_>) -> Option<Problem> {
    let left = assignment.child_by_field_name("left")?;
    let has_comma = || children(left).iter().any(|part| part.kind() == ",");
    let is_list = matches!(left.kind(), "pattern_list" | "list_pattern" | "list")
        || (matches!(left.kind(), "tuple_pattern" | "tuple") && has_comma());
    let is_plain = assignment.kind() == "assignment" && assignment.child_by_field_name("type").is_none();
    let stars = children(left).iter().filter(|part| part.kind() == "list_splat_pattern").count();
    let is_wrong = left.kind() == "list_splat_pattern" || (is_list && (!is_plain || stars > 1));
    is_wrong.then(|| problem(left, Kind::Unreadable))
}

/// Reports `del f()` and `with a as 1`.
pub(super) fn value_as_target(statement: Node<'_>) -> Option<Problem> {
    let mut targets: Vec<Node<'_>> = children(statement).into_iter().filter(Node::is_named).collect();
    if let [list] = targets[..]
        && list.kind() == "expression_list"
    {
        targets = children(list);
    }
    targets.into_iter().find(|target| VALUES.contains(&target.kind())).map(|value| problem(value, Kind::Unreadable))
}

/// Reports `print x` and `exec x`. `print >>f, x` is an expression in Python 3.
pub(super) fn older_statement(statement: Node<'_>) -> Option<Problem> {
    let is_shift = statement.named_child(0).is_some_and(|first| first.kind() == "chevron");
    (!is_shift).then(|| problem(statement, Kind::Unreadable))
}

/// Reports `a <> b`.
pub(super) fn older_operator(comparison: Node<'_>) -> Option<Problem> {
    children(comparison).into_iter().find(|part| part.kind() == "<>").map(|operator| unexpected(operator, "<>"))
}

/// Reports `raise A, b`.
pub(super) fn raised_list(statement: Node<'_>) -> Option<Problem> {
    let list = statement.named_child(0).filter(|raised| raised.kind() == "expression_list")?;
    Some(problem(list, Kind::Unreadable))
}

/// Reports `async` and `await` as names: they are reserved since Python 3.7.
pub(super) fn reserved(name: Node<'_>, text: &[u8]) -> Option<Problem> {
    match &text[name.byte_range()] {
        b"async" => Some(unexpected(name, "async")),
        b"await" => Some(unexpected(name, "await")),
        _ => None,
    }
}

/// Reports `a := b` as a statement without brackets.
pub(super) fn bare_walrus(statement: Node<'_>) -> Option<Problem> {
    let walrus = statement.named_child(0).filter(|only| only.kind() == "named_expression")?;
    Some(problem(walrus, Kind::Unreadable))
}

/// Reports `nonlocal` at the top level, and `import *` inside a function or class.
pub(super) fn misplaced(statement: Node<'_>, above: &[Node<'_>]) -> Option<Problem> {
    let (home, _) = nearest(above, HOMES)?;
    let is_top = home.kind() == "module";
    match statement.kind() {
        "nonlocal_statement" if is_top => Some(unexpected(statement, "nonlocal")),
        "wildcard_import" if !is_top => Some(unexpected(statement, "*")),
        _ => None,
    }
}

/// Reports a decorator that does not begin at the same column as its definition.
pub(super) fn moved_definition(decorated: Node<'_>) -> Option<Problem> {
    let (first, definition) = (decorated.child(0)?, decorated.child_by_field_name("definition")?);
    let (begin, end) = (first.start_position(), definition.start_position());
    (begin.row != end.row && begin.column != end.column).then(|| problem(definition, Kind::Indentation))
}
