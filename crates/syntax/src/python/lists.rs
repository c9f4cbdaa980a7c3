//! Checks the order of parameters, arguments and imports.

use std::collections::HashSet;

use tree_sitter::Node;

use crate::node::{children, missing, problem, unexpected};
use crate::problem::{Kind, Problem};

/// Reports parameters out of order (Language Reference, 8.7: positional ones, `/`, those with a default, `*`, named
/// ones, `**`), or repeated.
pub(super) fn parameters(list: Node<'_>, text: &[u8]) -> Option<Problem> {
    let mut names = HashSet::new();
    let (mut has_default, mut has_slash, mut star, mut is_last) = (false, false, None, false);
    let all: Vec<Node<'_>> = children(list).into_iter().filter(Node::is_named).collect();
    for (at, &parameter) in all.iter().enumerate() {
        let inner = parameter.named_child(0).map_or("", |inner| inner.kind());
        let kind = if parameter.kind() == "typed_parameter" { inner } else { parameter.kind() };
        if is_last {
            return Some(problem(parameter, Kind::ArgumentOrder));
        }
        match kind {
            "positional_separator" if has_slash || star.is_some() => return Some(unexpected(parameter, "/")),
            "positional_separator" => has_slash = true,
            "list_splat_pattern" | "keyword_separator" if star.is_some() => return Some(unexpected(parameter, "*")),
            "list_splat_pattern" => star = Some(parameter),
            "keyword_separator" => {
                let follows = all.get(at + 1).map(|next| next.kind());
                if matches!(follows, None | Some("dictionary_splat_pattern")) {
                    return Some(missing(parameter, "a name"));
                }
                star = Some(parameter);
            }
            "dictionary_splat_pattern" => is_last = true,
            "default_parameter" | "typed_default_parameter" => has_default = true,
            "tuple_pattern" => return Some(problem(parameter, Kind::Unreadable)),
            "identifier" if has_default && star.is_none() => return Some(missing(parameter, "a default")),
            _ => {}
        }
        let name = name(parameter).filter(|name| !names.insert(&text[name.byte_range()]));
        if let Some(second) = name {
            return Some(problem(second, Kind::Unreadable));
        }
    }
    None
}

fn name(parameter: Node<'_>) -> Option<Node<'_>> {
    if parameter.kind() == "identifier" {
        return Some(parameter);
    }
    let mut inner = parameter.child_by_field_name("name").or_else(|| parameter.named_child(0))?;
    while inner.kind() != "identifier" {
        inner = inner.named_child(0)?;
    }
    Some(inner)
}

/// Reports a plain argument behind a named one, `*` behind `**`, and a repeated name.
pub(super) fn arguments(list: Node<'_>, text: &[u8]) -> Option<Problem> {
    let (mut has_keyword, mut has_splat) = (false, false);
    let mut names = HashSet::new();
    for argument in list.named_children(&mut list.walk()) {
        match argument.kind() {
            "keyword_argument" => {
                has_keyword = true;
                let name = argument.child_by_field_name("name")?;
                if !names.insert(&text[name.byte_range()]) {
                    return Some(problem(argument, Kind::Unreadable));
                }
            }
            "dictionary_splat" => (has_keyword, has_splat) = (true, true),
            "list_splat" if has_splat => return Some(problem(argument, Kind::ArgumentOrder)),
            "comment" | "line_continuation" | "list_splat" => {}
            _ if has_keyword => return Some(problem(argument, Kind::ArgumentOrder)),
            _ => {}
        }
    }
    None
}

/// Reports an import that ends with a comma outside of brackets.
pub(super) fn open_import(import: Node<'_>) -> Option<Problem> {
    let last = children(import).pop().filter(|last| last.kind() == ",")?;
    Some(unexpected(last, ","))
}

/// Reports `from __future__ import` after anything but comments, a docstring and other such imports.
pub(super) fn late_future(import: Node<'_>) -> Option<Problem> {
    let mut before = import.prev_named_sibling();
    while let Some(statement) = before {
        before = statement.prev_named_sibling();
        let is_docstring = before.is_none_or(|first| first.kind() == "comment")
            && statement.kind() == "expression_statement"
            && statement.named_child(0).is_some_and(|only| only.kind().ends_with("string"));
        if !is_docstring && !matches!(statement.kind(), "comment" | "future_import_statement") {
            return Some(problem(import, Kind::Unreadable));
        }
    }
    None
}
