//! Mistakes that Go refuses and the grammar accepts: statements outside functions, a missing package clause, lists
//! whose last line ends without a comma, parameters of which only some have names.

use tree_sitter::{Node, Tree};

use crate::node::{children, missing};
use crate::problem::{Kind, Problem};
use crate::tree::each_node;

/// Lists these mistakes in a tree without errors.
pub(super) fn mistakes(tree: &Tree, text: &[u8]) -> Vec<Problem> {
    let mut found = Vec::new();
    each_node(tree, |node| {
        found.extend(match node.kind() {
            "source_file" => outline(node),
            "parameter_list" => half_named(node).or_else(|| open_end(node, text)),
            "argument_list" | "literal_value" => open_end(node, text),
            "unary_expression" => doubled_operator(node, text),
            _ => None,
        });
        true
    });
    found
}

/// Reports a file that is not a package clause, imports, then declarations.
fn outline(file: Node<'_>) -> Option<Problem> {
    let parts: Vec<Node<'_>> = file.named_children(&mut file.walk()).filter(|part| !part.is_extra()).collect();
    let (first, rest) = parts.split_first()?;
    if first.kind() != "package_clause" {
        return Some(missing(*first, "a package clause"));
    }
    let mut has_declaration = false;
    for part in rest {
        match part.kind() {
            "import_declaration" if !has_declaration => {}
            "function_declaration"
            | "method_declaration"
            | "const_declaration"
            | "type_declaration"
            | "var_declaration" => has_declaration = true,
            _ => return Some(crate::node::problem(*part, Kind::Unreadable)),
        }
    }
    None
}

/// Reports a parameter without a name beside named ones; one without a type takes that of the next.
fn half_named(list: Node<'_>) -> Option<Problem> {
    let is_named = |parameter: &Node<'_>| parameter.child_by_field_name("name").is_some();
    let parameters: Vec<Node<'_>> = children(list).into_iter().filter(Node::is_named).collect();
    let last = *parameters.last().filter(|_| parameters.iter().any(is_named))?;
    let is_bare_name = |parameter: &Node<'_>| {
        parameter.child_by_field_name("type").is_some_and(|only| only.kind() == "type_identifier") && *parameter != last
    };
    let nameless = parameters.iter().find(|parameter| !is_named(parameter) && !is_bare_name(parameter));
    nameless.map(|parameter| missing(*parameter, "a name"))
}

/// Reports a list whose last line ends without a comma: Go ends the statement there.
fn open_end(list: Node<'_>, text: &[u8]) -> Option<Problem> {
    let parts = children(list);
    let [.., last, close] = parts[..] else {
        return None;
    };
    let is_open = matches!(last.kind(), "," | "(" | "{" | "variadic_argument" | "\n" | ";");
    let breaks = text[last.end_byte()..close.start_byte()].contains(&b'\n');
    (!is_open && breaks && matches!(close.kind(), ")" | "}")).then(|| missing(close, ","))
}

/// Reports `&&x` and the like, which Go reads as one operator.
fn doubled_operator(unary: Node<'_>, text: &[u8]) -> Option<Problem> {
    let at = unary.start_byte();
    let pair = text.get(at..at + 2)?;
    [&b"&&"[..], b"--", b"++"].contains(&pair).then(|| crate::node::problem(unary, Kind::Unreadable))
}
