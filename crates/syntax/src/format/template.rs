//! Gaps for template engines: Helm and Go (`{{ }}`), Jinja, Django and Liquid (`{% %}`), ERB and EJS (`<% %>`), PHP
//! (`<?php ?>`), CMake and Autoconf (`@NAME@`).

use std::borrow::Cow;

use crate::overwrite::overwrite;

/// Beginning and end of each kind of gap.
const GAPS: [(&str, &str); 4] = [("{{", "}}"), ("{%", "%}"), ("<%", "%>"), ("<?php", "?>")];
/// Maximum length of a gap, in bytes.
const MAX_GAP_BYTES: usize = 5_000;

/// Returns whether a text has gaps. A workflow's `${{ }}` is not one: it stands inside of values.
pub(super) fn has_gaps(text: &[u8]) -> bool {
    next(text, 0).is_some()
}

/// Returns whether a component has gaps besides its own markup: of `{{ }}`, only the blocks of Handlebars count.
pub(super) fn has_gaps_beside_markup(text: &[u8]) -> bool {
    let mut gaps = std::iter::successors(next(text, 0), |(_, to)| next(text, *to));
    gaps.any(|(from, _)| match text[from..].strip_prefix(b"{{") {
        Some(inside) => matches!(inside.first(), Some(b'#' | b'/' | b'^' | b'>')),
        None => true,
    })
}

/// Fills the gaps with digits, which are a value in every format; gaps that fill a line, and statements, become blanks.
pub(super) fn filled(text: &[u8]) -> Cow<'_, [u8]> {
    let mut filled = Cow::Borrowed(text);
    let mut at = 0;
    while let Some((from, to)) = next(text, at) {
        let line = text[..from].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let is_first = text[line..from].trim_ascii().is_empty();
        let rest = text[to..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        let has_own_lines = is_first && rest.trim_ascii().is_empty();
        let is_statement = !text[from..].starts_with(b"{{") && text[from] != b'@';
        overwrite(&mut filled, from..to, if has_own_lines || is_statement { b' ' } else { b'1' });
        at = to;
    }
    filled
}

/// Returns whether a line begins with a complete gap of code, which no language has: `<% if a -%>`.
pub(crate) fn has_own_lines(text: &[u8]) -> bool {
    let is_gap = |line: &[u8]| {
        let line = line.trim_ascii_start();
        line.starts_with(b"<%") && memchr::memmem::find(line, b"%>").is_some()
    };
    text.split(|byte| *byte == b'\n').any(is_gap)
}

/// Fills the gaps of code (`<% %>`): one that prints becomes a name of this letter. Returns `None` if there are none.
pub(crate) fn code(text: &[u8], name: u8) -> Option<Cow<'_, [u8]>> {
    let mut filled = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(open) = memchr::memmem::find(&text[at..], b"<%").map(|length| at + length) {
        let reach = &text[open..(open + MAX_GAP_BYTES).min(text.len())];
        let Some(length) = memchr::memmem::find(reach, b"%>") else { break };
        at = open + length + 2;
        let prints = matches!(text[open + 2], b'=' | b'-');
        overwrite(&mut filled, open..at, if prints { name } else { b' ' });
    }
    matches!(filled, Cow::Owned(_)).then_some(filled)
}

/// Returns the next gap at or after a position.
fn next(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut at = at;
    while at < text.len() {
        let brace = at + memchr::memchr3(b'{', b'<', b'@', &text[at..])?;
        if let Some(length) = variable(&text[brace..]) {
            return Some((brace, brace + length));
        }
        let gap = GAPS.iter().find(|(open, _)| text[brace..].starts_with(open.as_bytes()));
        let is_workflow = brace > 0 && text[brace - 1] == b'$';
        if let Some((open, close)) = gap.filter(|_| !is_workflow) {
            let inner = brace + open.len();
            let reach = &text[inner..(inner + MAX_GAP_BYTES).min(text.len())];
            if let Some(end) = memchr::memmem::find(reach, close.as_bytes()) {
                return Some((brace, inner + end + close.len()));
            }
        }
        at = brace + 1;
    }
    None
}

/// Returns the length of `@NAME@`.
fn variable(text: &[u8]) -> Option<usize> {
    /// Maximum length of a name, in bytes.
    const NAME: usize = 80;
    let name = text.strip_prefix(b"@")?;
    let length = name
        .iter()
        .take(NAME)
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'_')
        .count();
    (length >= 2 && name.get(length) == Some(&b'@')).then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_code_become_names_or_nothing() {
        let filled =
            |text: &'static str| code(text.as_bytes(), b'a').map(|text| String::from_utf8_lossy(&text).into_owned());

        assert_eq!(filled("f(<%= x %>);<% } %>").as_deref(), Some("f(aaaaaaaa);       "));
        assert_eq!(filled("a < % b"), None);
        assert!(has_own_lines(b"  <% if a -%>\nb\n") && !has_own_lines(b"a = '<%= b %>'\n<%\n"));
    }

    #[test]
    fn gaps_are_filled_and_nothing_moves() {
        for (text, expected) in [
            ("a: {{ .Values.a }}\n", "a: 111111111111111\n"),
            ("{{- if .a }}\nb: 1\n{{- end }}\n", "            \nb: 1\n          \n"),
            ("{% for a in b %}c: 1{% endfor %}", "                c: 1            "),
            ("a: ${{ github.ref }}", "a: ${{ github.ref }}"),
            ("a: {{ open", "a: {{ open"),
            ("{\"a\": @API_LEVEL@, \"b\": \"me@HOST\"}", "{\"a\": 11111111111, \"b\": \"me@HOST\"}"),
        ] {
            assert_eq!(String::from_utf8_lossy(&filled(text.as_bytes())), expected);
        }
    }
}
