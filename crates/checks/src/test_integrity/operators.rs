//! Extracts the operators of a condition: conditions with different operators require different things, whatever the
//! subject.

use std::sync::LazyLock;

use regex::Regex;

/// Matches what is no operator (a string, the arguments of a generic call, an arrow, a shift), else an operator. Names
/// of predicates and of opposite values count: `is_ok` and `is_err`, `Some` and `None`.
static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    let no_operator = r#""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|(?:\w|::)<[\w\s,:\[\].;<>]*>(?:\(|::)|=>|->|<<|>>|\w![(\[{.,;)]"#;
    let operator = r"!==|===|!=|==|<=|>=|&&|\|\||<|>|!|\b(?:not|in|is|and|or|Ok|Err|Some|None|True|False|true|false|null|undefined)\b|\b(?:is|has)_\w+";
    Regex::new(&format!("(?:{no_operator})|(?P<operator>{operator})")).expect("a constant pattern")
});

/// Returns the operators of a piece of code, in order.
pub(super) fn operators(code: &str) -> String {
    let found = TOKENS.captures_iter(code).filter_map(|found| found.name("operator").map(|one| one.as_str()));
    found.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_told_from_what_looks_like_them() {
        for (code, expected) in [
            ("x", ""),
            ("f(n=3)", ""),
            ("all(n < 3 for n in x)", "< in"),
            ("x<10 && !y", "< && !"),
            ("f(() => 3)", ""),
            ("f::<Vec<u8>>(&x)", ""),
            ("parse<number>(x) >= 3", ">="),
            ("x.is_ok()", "is_ok"),
            ("matches!(x, Ok(_))", "Ok"),
            ("x is not None", "is not None"),
            ("f(\"a < b\", 'not')", ""),
            ("notify(island)", ""),
        ] {
            assert_eq!(operators(code), expected, "{code}");
        }
    }
}
