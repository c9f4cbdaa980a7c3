//! Front matter: settings between two lines of `---` at the head of a file, which site generators read and remove.

use std::borrow::Cow;

use crate::overwrite::overwrite;

/// Maximum length of front matter, in bytes.
const MAX_FRONT_MATTER_BYTES: usize = 20_000;

/// Returns a text with its front matter, if any, overwritten by blanks.
pub(crate) fn without(text: &[u8]) -> Cow<'_, [u8]> {
    let mut rest = Cow::Borrowed(text);
    if let Some(end) = end(text) {
        overwrite(&mut rest, 0..end, b' ');
    }
    rest
}

fn end(text: &[u8]) -> Option<usize> {
    let head = &text[..text.len().min(MAX_FRONT_MATTER_BYTES)];
    let is_mark = |line: &[u8]| line.trim_ascii_end() == b"---";
    let mut at = 0;
    for (number, line) in head.split_inclusive(|byte| *byte == b'\n').enumerate() {
        at += line.len();
        match (number, is_mark(line)) {
            (0, false) => return None,
            (1.., true) => return Some(at),
            (_, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_head_between_two_marks_is_taken_out() {
        for (text, rest) in [
            ("---\n---\nvar a;\n", "   \n   \nvar a;\n"),
            ("---\r\na: b\r\n---\r\nc\n", "   \r\n    \r\n   \r\nc\n"),
            ("---\na: b\n", "---\na: b\n"),
            ("a\n---\nb\n---\n", "a\n---\nb\n---\n"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8_lossy(&without(text.as_bytes())), rest, "{text}");
        }
    }
}
