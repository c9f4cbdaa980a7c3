//! Numbers and strings that Python refuses.

use tree_sitter::Node;

use crate::node::problem;
use crate::problem::{Kind, Problem};

/// Reports `0777`, `1_`, and the `10L` of Python 2.
pub(super) fn number(integer: Node<'_>, text: &[u8]) -> Option<Problem> {
    let digits = &text[integer.byte_range()];
    let is_decimal = digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'_');
    let is_octal = is_decimal && digits[0] == b'0' && digits.iter().any(|byte| matches!(byte, b'1'..=b'9'));
    let is_long = matches!(digits.last(), Some(b'l' | b'L' | b'_'));
    (is_octal || is_long).then(|| problem(integer, Kind::Unreadable))
}

/// Reports escapes that end too early, letters beyond ASCII in bytes, and unknown prefixes.
pub(super) fn string(string: Node<'_>, text: &[u8]) -> Option<Problem> {
    let written = &text[string.byte_range()];
    let prefix: Vec<u8> =
        written.iter().take_while(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect();
    let has = |letter: u8| prefix.contains(&letter);
    if prefix.len() > 1 && has(b'u') {
        return Some(problem(string, Kind::Unreadable));
    }
    if has(b'b') && !written.is_ascii() {
        return Some(problem(string, Kind::Unreadable));
    }
    if has(b'r') {
        return None;
    }
    let contents: Vec<Node<'_>> =
        string.named_children(&mut string.walk()).filter(|part| part.kind() == "string_content").collect();
    let is_wrong = contents.iter().any(|content| !are_escapes_whole(&text[content.byte_range()], has(b'b')));
    is_wrong.then(|| problem(string, Kind::Unreadable))
}

fn are_escapes_whole(content: &[u8], is_bytes: bool) -> bool {
    let mut rest = content;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let escape = rest.get(at + 1).copied().unwrap_or(b' ');
        let digits = match escape {
            b'x' => 2,
            b'u' if !is_bytes => 4,
            b'U' if !is_bytes => 8,
            _ => 0,
        };
        rest = rest.get(at + 2..).unwrap_or_default();
        if rest.len() < digits || !rest[..digits].iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        let is_named = escape == b'N' && !is_bytes;
        if is_named && !(rest.starts_with(b"{") && memchr::memchr(b'}', rest).is_some()) {
            return false;
        }
    }
    true
}

/// Reports an invalid conversion after `!` in a formatted string.
pub(super) fn conversion(conversion: Node<'_>, text: &[u8]) -> Option<Problem> {
    let is_known = matches!(&text[conversion.byte_range()], b"!r" | b"!s" | b"!a");
    (!is_known).then(|| problem(conversion, Kind::Unreadable))
}
