//! Reads tests in Rust: functions with an attribute that ends in `test`, in a test file or beside other code.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::assertion::Assertion;
use super::node::{children, field, split, squash, text, walk};
use super::test::{Skip, Test};

pub(super) fn tests(tree: &Tree, source: &str) -> Vec<Test> {
    let of_file = children(tree.root_node()).into_iter().filter(|node| node.kind() == "inner_attribute_item");
    let of_file = of_file.map(|node| skip_of(text(node, source))).fold(Skip::No, Ord::max);
    let mut found = Vec::new();
    walk(tree.root_node(), |node, above| {
        if node.kind() != "function_item" {
            return true;
        }
        let attributes = attributes(node, source);
        if attributes.iter().any(|(attribute, _)| is_test(attribute)) {
            found.push(test(node, above, &attributes, of_file, source));
        }
        false
    });
    found
}

/// Returns the attributes before an item, each with its offset.
fn attributes<'a>(item: Node<'_>, source: &'a str) -> Vec<(&'a str, usize)> {
    let mut found = Vec::new();
    let mut before = item.prev_sibling();
    while let Some(node) =
        before.filter(|node| ["attribute_item", "line_comment", "block_comment"].contains(&node.kind()))
    {
        if node.kind() == "attribute_item" {
            found.push((text(node, source), node.start_byte()));
        }
        before = node.prev_sibling();
    }
    found
}

fn is_test(attribute: &str) -> bool {
    let name = attribute.trim_start_matches("#[").split(['(', ']']).next().unwrap_or("").trim();
    name == "test"
        || name.ends_with("::test")
        || ["rstest", "test_case", "quickcheck", "wasm_bindgen_test"].contains(&name)
}

fn skip_of(attribute: &str) -> Skip {
    let code: String = attribute.split_whitespace().collect();
    let code = code.trim_start_matches("#!").trim_start_matches('#');
    match code {
        code if code.starts_with("[ignore") => Skip::Always,
        "[cfg(test)]" => Skip::No,
        "[cfg(any())]" | "[cfg(not(test))]" | "[cfg(FALSE)]" | "[cfg(false)]" => Skip::Always,
        code if code.starts_with("[cfg_attr(") && code.contains("ignore") => Skip::Sometimes,
        code if code.starts_with("[cfg(") => Skip::Sometimes,
        _ => Skip::No,
    }
}

fn test(node: Node<'_>, above: &[Node<'_>], attributes: &[(&str, usize)], of_file: Skip, source: &str) -> Test {
    let modules = above.iter().filter(|node| node.kind() == "mod_item");
    let mut name: Vec<&str> = modules.clone().map(|module| field(*module, "name", source)).collect();
    name.push(field(node, "name", source));
    let of_modules = modules.flat_map(|module| self::attributes(*module, source));
    let skip =
        attributes.iter().copied().chain(of_modules).map(|(attribute, _)| skip_of(attribute)).fold(of_file, Ord::max);
    let mut assertions: Vec<Assertion> = attributes.iter().filter_map(|(attribute, at)| case(attribute, *at)).collect();
    if attributes.iter().any(|(attribute, _)| attribute.starts_with("#[should_panic")) {
        assertions.push(Assertion::named("should_panic", "", node.byte_range()));
    }
    if let Some(body) = node.child_by_field_name("body") {
        let ends = |node: &Node<'_>| ["return;", "return"].contains(&text(*node, source).trim());
        let end = children(body).into_iter().find(ends).map_or(usize::MAX, |end| end.start_byte());
        walk(body, |node, _| {
            if node.start_byte() >= end {
                return false;
            }
            assertions.extend(assertion(node, source));
            if node.kind() == "array_expression" {
                assertions.extend(table(node, source));
            }
            true
        });
    }
    let start = attributes.iter().map(|(_, at)| *at).min().unwrap_or(node.start_byte());
    let range = node.child_by_field_name("name").map_or(node.byte_range(), |name| name.byte_range());
    let body = start..node.end_byte();
    Test { name: name.join("::"), range, body, skip, is_focused: false, swallows: false, assertions }
}

/// Reads a `#[case(…)]` or `#[test_case(… => …)]`.
fn case(attribute: &str, at: usize) -> Option<Assertion> {
    let is_case = ["#[case", "#[test_case"].iter().any(|start| attribute.starts_with(start));
    let inner = attribute.split_once('(').filter(|_| is_case)?.1.trim_end_matches([')', ']']);
    let inner = inner.replace("=>", ",");
    Assertion::row(&format!("({inner})"), at..at + attribute.len())
}

fn assertion(node: Node<'_>, source: &str) -> Option<Assertion> {
    let range = node.byte_range();
    match node.kind() {
        "macro_invocation" => {
            let name = field(node, "macro", source).rsplit("::").next().unwrap_or("").trim_start_matches("debug_");
            if !name.starts_with("assert") && !name.starts_with("check") && !name.starts_with("prop_assert") {
                return None;
            }
            let tokens = children(node).into_iter().find(|node| node.kind() == "token_tree")?;
            Some(of_macro(name, text(tokens, source), range))
        }
        "call_expression" => {
            let function = field(node, "function", source).rsplit("::").next().unwrap_or("");
            let is_check = ["assert", "check", "verify", "expect_"].iter().any(|start| function.starts_with(start));
            is_check.then(|| Assertion::named(function, field(node, "arguments", source), range))
        }
        _ => None,
    }
}

fn of_macro(name: &str, tokens: &str, range: Range<usize>) -> Assertion {
    let arguments = split(tokens.get(1..tokens.len().saturating_sub(1)).unwrap_or(""));
    match (name, &arguments[..]) {
        ("assert_eq" | "prop_assert_eq", [left, right, ..]) => Assertion::equal(left, right, range),
        ("assert_ne" | "prop_assert_ne", [left, right, ..]) => Assertion::unequal(left, right, range),
        ("assert" | "prop_assert", [condition, ..]) => of_condition(condition, range),
        _ => Assertion::named(name, &arguments.join(", "), range),
    }
}

fn of_condition(condition: &str, range: Range<usize>) -> Assertion {
    let code = squash(condition);
    if code.ends_with("|| true") || code.starts_with("true ||") {
        return Assertion::truth("true", range);
    }
    let has = |operators: &[&str]| operators.iter().any(|operator| code.contains(operator));
    if has(&["&&", "||", "matches!"]) {
        return Assertion::condition(&code, range);
    }
    match (code.split_once(" == "), code.split_once(" != "), code.strip_prefix('!')) {
        (Some((left, right)), ..) => Assertion::equal(left, right, range),
        (None, Some((left, right)), _) => Assertion::unequal(left, right, range),
        (None, None, _) if has(&[" < ", " > ", " <= ", " >= "]) => Assertion::condition(&code, range),
        (None, None, Some(of)) => Assertion::negation(of, range),
        (None, None, None) => Assertion::truth(&code, range),
    }
}

fn table(node: Node<'_>, source: &str) -> Vec<Assertion> {
    let rows = children(node);
    if rows.len() < 2 || !rows.iter().all(|row| row.kind() == "tuple_expression" && row.named_child_count() > 1) {
        return Vec::new();
    }
    rows.iter().filter_map(|row| Assertion::row(text(*row, source), row.byte_range())).collect()
}

/// Returns the modules that are compiled for tests only: name, and byte range with attributes.
pub(super) fn test_modules(tree: &Tree, source: &str) -> Vec<(String, Range<usize>)> {
    let modules = children(tree.root_node()).into_iter().filter(|node| node.kind() == "mod_item");
    modules
        .filter_map(|module| {
            let attributes = attributes(module, source);
            let is_test = attributes.iter().any(|(attribute, _)| attribute.contains("cfg(test)"));
            let start = attributes.iter().map(|(_, at)| *at).min()?;
            let has_body = module.child_by_field_name("body").is_some();
            (is_test && has_body).then(|| (field(module, "name", source).to_owned(), start..module.end_byte()))
        })
        .collect()
}
