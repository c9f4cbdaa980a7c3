//! Mistakes that Python refuses and the grammar accepts: indentation that fits no block, empty blocks, a missing right
//! side, arguments in the wrong order, bytes beside text.

use tree_sitter::{Node, Tree};

use crate::node::{empty_item, missing, nearest, problem, unexpected};
use crate::problem::{Kind, Problem};
use crate::tree::each_node_below;

mod lists;
mod literals;
mod targets;

const FUNCTIONS: &[&str] = &["function_definition", "lambda"];
const LOOPS: &[&str] = &["for_statement", "while_statement"];
/// Nodes that a `return` or a `break` may belong to.
const HOMES: &[&str] = &["function_definition", "lambda", "class_definition", "module"];
/// Nodes that hold statements.
const BLOCKS: &[&str] = &["block", "module"];
/// Nodes that hold statements, and nodes that allow a line end inside.
const ENCLOSING: &[&str] = &[
    "block",
    "module",
    "parenthesized_expression",
    "argument_list",
    "list",
    "tuple",
    "dictionary",
    "set",
    "subscript",
    "parameters",
    "list_comprehension",
    "dictionary_comprehension",
    "set_comprehension",
    "generator_expression",
    "interpolation",
    "import_from_statement",
    "with_clause",
    "type_parameter",
    "list_pattern",
    "tuple_pattern",
    "dict_pattern",
    "class_pattern",
    "format_expression",
    "slice",
];

/// Lists these mistakes in a tree without errors.
pub(super) fn mistakes(tree: &Tree, text: &[u8]) -> Vec<Problem> {
    let mut found = Vec::new();
    each_node_below(tree, |node, above| {
        let mistake = match node.kind() {
            "module" => indentation(node, text, Some(b"")),
            "block" => empty_block(node).or_else(|| indentation(node, text, None)),
            "assignment" | "augmented_assignment" => missing_right_side(node, text).or_else(|| targets::assigned(node)),
            "comparison_operator" => broken_line(node, above, text).or_else(|| targets::older_operator(node)),
            "binary_operator" | "boolean_operator" | "attribute" => broken_line(node, above, text),
            "try_statement" => bare_try(node),
            "return_statement" | "yield" => outside(node, above, FUNCTIONS),
            "await" => outside_async(above, node),
            "with_statement" | "for_statement" => waiting_word(node).and_then(|word| outside_async(above, word)),
            "break_statement" | "continue_statement" => outside(node, above, LOOPS),
            "list_splat" => lone_star(node, above),
            "argument_list" => empty_item(node).or_else(|| lists::arguments(node, text)),
            "set" | "dictionary" | "list" => empty_item(node),
            "parameters" | "lambda_parameters" => lists::parameters(node, text),
            "import_statement" | "import_from_statement" => lists::open_import(node),
            "future_import_statement" => lists::late_future(node),
            "for_in_clause" => waiting_word(node).and_then(|word| outside_async(above, word)),
            "integer" => literals::number(node, text),
            "string" => literals::string(node, text),
            "type_conversion" => literals::conversion(node, text),
            "delete_statement" | "as_pattern_target" => targets::value_as_target(node),
            "print_statement" | "exec_statement" => targets::older_statement(node),
            "raise_statement" => targets::raised_list(node),
            "identifier" => targets::reserved(node, text),
            "expression_statement" => targets::bare_walrus(node),
            "nonlocal_statement" | "wildcard_import" => targets::misplaced(node, above),
            "decorated_definition" => targets::moved_definition(node),
            "concatenated_string" => mixed_strings(node, text),
            _ => None,
        };
        found.extend(mistake);
    });
    found
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

/// Reports a statement of a block that begins a line at another column than the others.
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

/// Returns the blanks before a statement; `None` if other text precedes it on its line or the line continues the one
/// above.
fn indent_of(statement: Node<'_>, text: &[u8]) -> Option<Vec<u8>> {
    let before = &text[..statement.start_byte()];
    let line_at = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let goes_on = before[..line_at].trim_ascii_end().ends_with(b"\\");
    let indent: Vec<u8> = before[line_at..].iter().copied().filter(|byte| *byte != b'\x0c').collect();
    let indent = indent.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&indent).to_vec();
    (!goes_on && indent.iter().all(|byte| matches!(byte, b' ' | b'\t'))).then_some(indent)
}

/// Reports `x =` with the value on the next line: these are two statements, the first of which is broken.
fn missing_right_side(assignment: Node<'_>, text: &[u8]) -> Option<Problem> {
    let parts: Vec<Node<'_>> = assignment.children(&mut assignment.walk()).collect();
    let broken = parts.windows(2).find(|pair| {
        !pair[0].is_named() && pair[1].is_named() && breaks_line(&text[pair[0].end_byte()..pair[1].start_byte()])
    })?;
    Some(missing(broken[0], "a value"))
}

/// Reports an operator at the end of a line outside of brackets.
fn broken_line(operation: Node<'_>, above: &[Node<'_>], text: &[u8]) -> Option<Problem> {
    if operation.start_position().row == operation.end_position().row {
        return None;
    }
    let parts: Vec<Node<'_>> = operation.children(&mut operation.walk()).collect();
    let broken = parts.windows(2).find(|pair| breaks_line(&text[pair[0].end_byte()..pair[1].start_byte()]))?;
    let (enclosing, _) = nearest(above, ENCLOSING)?;
    BLOCKS.contains(&enclosing.kind()).then(|| missing(broken[1], "a value"))
}

fn breaks_line(between: &[u8]) -> bool {
    between.split(|byte| *byte == b'\n').rev().skip(1).any(|line| !line.trim_ascii_end().ends_with(b"\\"))
}

fn bare_try(statement: Node<'_>) -> Option<Problem> {
    let ends = ["except_clause", "except_group_clause", "finally_clause"];
    let parts: Vec<Node<'_>> = statement.children(&mut statement.walk()).collect();
    let clauses: Vec<&Node<'_>> = parts.iter().filter(|part| part.kind().starts_with("except")).collect();
    let has_else = parts.iter().any(|part| part.kind() == "else_clause");
    if clauses.is_empty() && (has_else || !parts.iter().any(|part| ends.contains(&part.kind()))) {
        return Some(missing(statement, "an except"));
    }
    // A handler that catches everything must be the last.
    let early = clauses.iter().rev().skip(1).find(|clause| clause.child(1).is_some_and(|next| next.kind() == ":"));
    early.map(|clause| unexpected(**clause, "except"))
}

/// Reports `return` outside of a function and `break` outside of a loop of the same function.
fn outside(statement: Node<'_>, above: &[Node<'_>], inside: &[&str]) -> Option<Problem> {
    let (home, _) = nearest(above, HOMES)?;
    let is_inside = inside.contains(&home.kind()) || (inside == LOOPS && is_in_loop(above));
    let word = statement.child(0).map_or("return", |word| word.kind());
    (!is_inside).then(|| unexpected(statement, word))
}

/// Returns the `async` of `async with` and `async for`.
fn waiting_word(statement: Node<'_>) -> Option<Node<'_>> {
    statement.child(0).filter(|word| word.kind() == "async")
}

/// Reports `async` or `await` outside of an `async def`.
fn outside_async(above: &[Node<'_>], word: Node<'_>) -> Option<Problem> {
    let (home, within) = nearest(above, HOMES)?;
    // A generator expression may await: the code that iterates over it does.
    let is_generator = above[within.len()..].iter().any(|outer| outer.kind() == "generator_expression");
    let is_inside = is_generator || (home.kind() == "function_definition" && waiting_word(home).is_some());
    (!is_inside).then(|| unexpected(word, if word.kind() == "async" { "async" } else { "await" }))
}

fn is_in_loop(above: &[Node<'_>]) -> bool {
    nearest(above, &["for_statement", "while_statement", "function_definition", "class_definition", "module"])
        .is_some_and(|(home, _)| LOOPS.contains(&home.kind()))
}

/// Reports `*x` that is not one of several items.
fn lone_star(splat: Node<'_>, above: &[Node<'_>]) -> Option<Problem> {
    let parent = above.last()?;
    let is_operand = matches!(
        parent.kind(),
        "binary_operator" | "comparison_operator" | "boolean_operator" | "unary_operator" | "not_operator"
    );
    let is_value = matches!(parent.kind(), "assignment" | "augmented_assignment")
        && parent.child_by_field_name("right") == Some(splat);
    (is_operand || is_value).then(|| unexpected(splat, "*"))
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
