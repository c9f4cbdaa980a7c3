//! Mistakes that Java refuses and the grammar accepts: expressions that are no statements, methods without a type,
//! modifiers that are repeated or misplaced, numbers that are too large, keywords as names.

use tree_sitter::{Node, Tree};

use crate::node::{children, missing, nearest, reserved, unexpected};
use crate::problem::{Kind, Problem};
use crate::tree::each_node_below;

/// Reserved words of the Java Language Specification, 3.9, except those that the grammar never accepts as names.
const RESERVED: &[&str] = &[
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extends",
    "final",
    "finally",
    "float",
    "for",
    "goto",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "short",
    "static",
    "switch",
    "synchronized",
    "throw",
    "throws",
    "transient",
    "try",
    "void",
    "volatile",
    "while",
    "true",
    "false",
    "null",
];

/// Maximum number of modifiers that are compared: there are fewer different ones, so that a longer list repeats one.
const MODIFIERS: usize = 20;

/// Lists these mistakes in a tree without errors.
pub(super) fn mistakes(tree: &Tree, text: &[u8]) -> Vec<Problem> {
    let mut found = Vec::new();
    each_node_below(tree, |node, above| {
        found.extend(match node.kind() {
            "identifier" | "type_identifier" => reserved(node, text, RESERVED),
            "expression_statement" => no_statement(node, above),
            "modifiers" => repeated_modifier(node),
            "constructor_declaration" | "compact_constructor_declaration" => foreign_constructor(node, above, text),
            "formal_parameter" | "spread_parameter" | "catch_formal_parameter" => misplaced_modifier(node),
            "local_variable_declaration" if above.last().is_some_and(|parent| parent.kind() != "program") => {
                misplaced_modifier(node)
            }
            "type_arguments" => empty_arguments(node, above),
            "try_statement" => bare_try(node),
            "decimal_integer_literal" | "hex_integer_literal" => too_large(node, above, text),
            _ => None,
        });
    });
    found
}

/// Reports an expression that is no statement: only assignments, calls, increments, decrements and `new` are.
fn no_statement(statement: Node<'_>, above: &[Node<'_>]) -> Option<Problem> {
    let expression = statement.named_child(0)?;
    let may_stand = matches!(
        expression.kind(),
        "assignment_expression"
            | "update_expression"
            | "method_invocation"
            | "object_creation_expression"
            | "switch_expression"
            | "line_comment"
            | "block_comment"
    );
    // The value of a `case` in a switch expression is no statement.
    let is_value = || above.last().is_some_and(|parent| parent.kind() == "switch_rule");
    (!may_stand && !is_value()).then(|| crate::node::problem(expression, Kind::Unreadable))
}

fn repeated_modifier(modifiers: Node<'_>) -> Option<Problem> {
    let words: Vec<Node<'_>> =
        children(modifiers).into_iter().filter(|child| !child.is_named()).take(MODIFIERS).collect();
    let twice =
        words.iter().enumerate().find(|(at, word)| words[..*at].iter().any(|other| other.kind() == word.kind()));
    twice.map(|(_, word)| unexpected(*word, word.kind()))
}

/// Reports a constructor that is not named like its class: it is a method without a type.
fn foreign_constructor(constructor: Node<'_>, above: &[Node<'_>], text: &[u8]) -> Option<Problem> {
    let name = constructor.child_by_field_name("name")?;
    let (class, _) = nearest(
        above,
        &[
            "class_declaration",
            "enum_declaration",
            "record_declaration",
            "object_creation_expression",
            "interface_declaration",
        ],
    )?;
    let own = class.child_by_field_name("name").map(|name| &text[name.byte_range()]);
    (own != Some(&text[name.byte_range()])).then(|| missing(name, "a return type"))
}

/// Reports any modifier of a parameter or local variable except `final`.
fn misplaced_modifier(variable: Node<'_>) -> Option<Problem> {
    let modifiers = variable.child(0).filter(|child| child.kind() == "modifiers")?;
    let misplaced = children(modifiers).into_iter().find(|child| !child.is_named() && child.kind() != "final")?;
    Some(unexpected(misplaced, misplaced.kind()))
}

/// Reports `<>` anywhere but behind `new`.
fn empty_arguments(arguments: Node<'_>, above: &[Node<'_>]) -> Option<Problem> {
    let is_diamond = arguments.named_child_count() == 0;
    let [.., outer, generic] = above else { return None };
    let is_created = outer.kind() == "object_creation_expression";
    (is_diamond && generic.kind() == "generic_type" && !is_created).then(|| missing(arguments, "a type"))
}

fn bare_try(statement: Node<'_>) -> Option<Problem> {
    let is_bare = children(statement).iter().all(|child| !matches!(child.kind(), "catch_clause" | "finally_clause"));
    is_bare.then(|| missing(statement, "a catch"))
}

/// Reports 2147483648 and 9223372036854775808L unless they follow a minus (3.10.1).
fn too_large(literal: Node<'_>, above: &[Node<'_>], text: &[u8]) -> Option<Problem> {
    let digits: String =
        text[literal.byte_range()].iter().filter(|byte| **byte != b'_').map(|byte| char::from(*byte)).collect();
    let digits = digits.to_ascii_lowercase();
    let (digits, is_long) = digits.strip_suffix('l').map_or((digits.as_str(), false), |digits| (digits, true));
    let bits = if is_long { 64 } else { 32 };
    let fits = if let Some(digits) = digits.strip_prefix("0x") {
        u128::from_str_radix(digits, 16).is_ok_and(|number| number >> bits == 0)
    } else {
        let is_negated = || {
            above.last().is_some_and(|parent| parent.kind() == "unary_expression" && text[parent.start_byte()] == b'-')
        };
        let most = 1_u128 << (bits - 1);
        digits.parse::<u128>().is_ok_and(|number| number < most || (number == most && is_negated()))
    };
    (!fits).then(|| crate::node::problem(literal, Kind::Unreadable))
}
