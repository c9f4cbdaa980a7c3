//! Helpers to query a syntax tree, and code as text.

use tree_sitter::Node;

/// Maximum number of nodes in one walk; a larger file is not written by hand.
const MAX_NODES: usize = 2_000_000;
/// Maximum nesting of brackets in a literal.
const DEEPEST: usize = 64;

/// Returns the text of a node.
pub(super) fn text<'a>(node: Node<'_>, source: &'a str) -> &'a str {
    source.get(node.byte_range()).unwrap_or("")
}

/// Returns the text of a field of a node.
pub(super) fn field<'a>(node: Node<'_>, name: &str, source: &'a str) -> &'a str {
    node.child_by_field_name(name).map_or("", |child| text(child, source))
}

/// Returns the named children of a node.
pub(super) fn children<'a>(node: Node<'a>) -> Vec<Node<'a>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.kind().contains("comment")).collect()
}

/// Visits a node and all below it, each with its ancestors, outermost first; `visit` returns whether to go deeper.
pub(super) fn walk<'a>(node: Node<'a>, mut visit: impl FnMut(Node<'a>, &[Node<'a>]) -> bool) {
    let mut cursor = node.walk();
    let mut above: Vec<Node<'a>> = Vec::new();
    for _ in 0..MAX_NODES {
        let here = cursor.node();
        if visit(here, &above) && cursor.goto_first_child() {
            above.push(here);
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

/// Collapses the white space of a piece of code to single blanks, so that it can be compared.
pub(super) fn squash(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    for word in code.split_whitespace() {
        let tight = out.ends_with(['(', '[', '{', '.']) || word.starts_with([')', ']', '}', ',', '.']);
        if !out.is_empty() && !tight {
            out.push(' ');
        }
        out.push_str(word);
    }
    for (from, to) in [(",)", ")"), (",]", "]"), (", )", ")"), ("( ", "("), ("[ ", "[")] {
        out = out.replace(from, to);
    }
    out.trim_end_matches([';', ',']).replace('\'', "\"")
}

/// Returns the literals in a piece of code, numbers and quoted strings, as written.
pub(super) fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let bytes = code.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'' | b'`') => {
                let from = at + 1;
                at = from;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                found.push(format!("\"{}\"", code.get(from..at.min(code.len())).unwrap_or("")));
                at += 1;
            }
            b'0'..=b'9' if at == 0 || !is_word(bytes[at - 1]) => {
                let from = at;
                while at < bytes.len()
                    && (is_word(bytes[at]) || (bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)))
                {
                    at += 1;
                }
                found.push(
                    code[from..at]
                        .trim_end_matches(|c: char| c.is_ascii_alphabetic() && !code[from..at].starts_with("0x"))
                        .to_owned(),
                );
            }
            _ => at += 1,
        }
    }
    found
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether a piece of code is a literal, without computation.
pub(super) fn is_literal(code: &str) -> bool {
    is_literal_within(code, DEEPEST)
}

fn is_literal_within(code: &str, depth: usize) -> bool {
    let code = code.trim().trim_start_matches(['-', '&', '+']);
    if matches!(code, "true" | "false" | "True" | "False" | "None" | "null" | "undefined" | "[]" | "{}" | "()") {
        return true;
    }
    let Some(first) = code.chars().next() else { return false };
    if first.is_ascii_digit() {
        return code.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    }
    if ['"', '\'', '`'].contains(&first) {
        return literals(code).len() == 1 && code.ends_with(first) && !code.contains("${");
    }
    let is_bracketed = [('(', ')'), ('[', ']'), ('{', '}')]
        .iter()
        .any(|(open, close)| code.len() > 1 && code.starts_with(*open) && code.ends_with(*close));
    // In a pair only the value counts: the key may be a name.
    let value = |part: &str| places(part, ':').first().map_or(0, |at| at + 1);
    let is_plain = |part: &String| is_literal_within(&part[value(part)..], depth - 1);
    is_bracketed && depth > 0 && split(&code[1..code.len() - 1]).iter().all(is_plain)
}

/// Splits code at the commas outside of brackets and strings.
pub(super) fn split(code: &str) -> Vec<String> {
    let ends = places(code, ',').into_iter().chain([code.len()]);
    let mut from = 0;
    let parts = ends.map(|end| code[std::mem::replace(&mut from, end + 1)..end].trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns the positions of a character outside of brackets and strings.
fn places(code: &str, wanted: char) -> Vec<usize> {
    let (mut found, mut depth, mut quote) = (Vec::new(), 0_i32, None);
    let mut escaped = false;
    for (at, c) in code.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, c) if c == wanted && depth == 0 => found.push(at),
            (None, _) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_compared_without_its_layout() {
        assert_eq!(squash("f(\n  a,\n  b,\n)"), squash("f(a, b)"));
        assert_eq!(squash("f('x')"), "f(\"x\")");
    }

    #[test]
    fn literals_are_found_and_told_from_what_is_computed() {
        assert_eq!(literals("f(1, 2.5, 'a b', x1, -3)"), ["1", "2.5", "\"a b\"", "3"]);
        for literal in ["1", "-2.5", "'x'", "[1, 2]", "(1, \"a\")", "{\"a\": 1}", "None", "10_000u64"] {
            assert!(is_literal(literal), "{literal}");
        }
        for computed in ["x", "f(1)", "[x]", "a + 1", "`${x}`", ""] {
            assert!(!is_literal(computed), "{computed}");
        }
    }

    #[test]
    fn nested_brackets_are_judged_in_time_and_to_a_depth() {
        let nested = |levels: usize, inner: &str| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));

        assert!(is_literal(&nested(40, "1")));
        assert!(!is_literal(&nested(40, "x")), "each level is judged once");
        assert!(!is_literal(&nested(20_000, "1")), "deeper than anyone writes");
        assert!(is_literal("{\"a:b\": [1, 'c:d'], (1, 2): {\"e\": -1}}"));
        assert!(!is_literal("{\"a\": x}") && !is_literal("[1, a::B]"));
    }

    #[test]
    fn arguments_are_split_outside_of_brackets_and_strings() {
        assert_eq!(split("f(1, 2), \"a, b\", [3, 4]"), ["f(1, 2)", "\"a, b\"", "[3, 4]"]);
    }
}
