//! Text that only stands for text to come, in strings.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use tree_sitter::Node;

use super::found::{Placeholder, Weight};

/// The whole of a string that a function gives back.
static GIVEN_BACK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:placeholder|todo|tbd|fixme|stub|dummy|wip|not (?:yet )?implemented(?: yet)?|implement me|coming soon)[.! ]*$",
    )
});
/// What is a placeholder wherever it stands.
static ANYWHERE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?:todo|fixme|tbd): .{3}|lorem ipsum|placeholder (?:text|value|content|data|implementation)\b|(?:your|insert)[ _-](?:code|text|logic|implementation)[ _-](?:goes[ _-])?here\b|(?:this is a |just a )?stub implementation\b|implement (?:me|this)\b|replace[ _-]?me\b)",
    )
});
/// Above a string, where it names or compares something.
const BESIDE_THE_POINT: [&str; 14] = [
    "jsx_attribute",
    "binary_expression",
    "comparison_operator",
    "switch_case",
    "case_clause",
    "subscript",
    "subscript_expression",
    "import_statement",
    "attribute_item",
    "attribute",
    "assert_statement",
    "regex",
    "match_pattern",
    "boolean_operator",
];

fn pattern(text: &str) -> Regex {
    RegexBuilder::new(text).unicode(false).case_insensitive(true).build().expect("a constant pattern")
}

/// Returns whether a string is a placeholder.
pub(super) fn of_string(node: Node<'_>, above: &[Node<'_>], text: &[u8]) -> Option<Placeholder> {
    let is_string = node.is_named()
        && matches!(
            node.kind(),
            "string" | "string_literal" | "interpreted_string_literal" | "encapsed_string" | "template_string"
        );
    if !is_string || node.byte_range().len() > 2_000 {
        return None;
    }
    let content = content(&text[node.byte_range()]);
    if content.len() < 3 || is_beside_the_point(node, above) {
        return None;
    }
    let weight = if is_given_back(node, above) && GIVEN_BACK.is_match(content) {
        Weight::Asks
    } else if ANYWHERE.is_match(content) {
        Weight::Note
    } else {
        return None;
    };
    Some(Placeholder {
        weight,
        rule: "placeholder/text-placeholder".into(),
        what: "the text only stands for one to come",
        range: node.byte_range(),
    })
}

fn content(written: &[u8]) -> &[u8] {
    let quotes = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`');
    let from = written.iter().position(quotes).unwrap_or(0);
    let inner = &written[from..];
    let start = inner.iter().take_while(|byte| quotes(byte)).count();
    let end = inner.len() - inner.iter().rev().take_while(|byte| quotes(byte)).count();
    inner.get(start..end.max(start)).unwrap_or_default().trim_ascii()
}

/// A docstring, a key, an attribute, a comparison: there the words are the subject.
fn is_beside_the_point(node: Node<'_>, above: &[Node<'_>]) -> bool {
    let Some(parent) = above.last() else { return true };
    let is_key = parent.child_by_field_name("key").is_some_and(|key| key == node);
    let is_docstring = parent.kind() == "expression_statement";
    is_key || is_docstring || BESIDE_THE_POINT.contains(&parent.kind())
}

fn is_given_back(node: Node<'_>, above: &[Node<'_>]) -> bool {
    let returns = |outer: Option<&Node<'_>>| outer.is_some_and(|outer| outer.kind().starts_with("return"));
    let parent = above.last();
    let is_body = |parent: &Node<'_>| {
        parent.kind() == "arrow_function" && parent.child_by_field_name("body").is_some_and(|body| body == node)
    };
    returns(parent) || parent.is_some_and(is_body)
}
