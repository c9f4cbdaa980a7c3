//! Functions that make untrusted text safe to show.

use std::borrow::Cow;

/// Maximum length of an escape sequence that is removed as a whole, in characters: an endless one must not remove the rest of the text.
const MAX_SEQUENCE: usize = 256;

/// Cuts a text at a character boundary to at most `bytes` bytes, removes escape sequences, and replaces control characters by
/// spaces, because people are shown what agents write.
#[must_use]
pub fn cut(text: &str, bytes: usize) -> String {
    cut_with(text, bytes, |c| if c.is_control() { ' ' } else { c })
}

/// Cuts a text of several lines in the same way but keeps line breaks and tabs, for text that agents get as data.
#[must_use]
pub fn cut_lines(text: &str, bytes: usize) -> String {
    cut_with(text, bytes, |c| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c })
}

/// Joins names by commas, the first `most` of them, and adds the number of the others: `a, b and 3 more`.
#[must_use]
pub fn listed(names: impl IntoIterator<Item = impl AsRef<str>>, most: usize) -> String {
    let mut names = names.into_iter();
    let mut text = String::new();
    for (at, name) in names.by_ref().take(most).enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(name.as_ref());
    }
    let left = names.count();
    if left > 0 { format!("{text} and {left} more") } else { text }
}

fn cut_with(text: &str, bytes: usize, shown: impl Fn(char) -> char) -> String {
    let mut out = String::new();
    for c in unstyled(text).chars() {
        if out.len() + c.len_utf8() > bytes {
            out.push('…');
            break;
        }
        out.push(shown(c));
    }
    out
}

/// Returns the beginning and the end of a text, together at most `bytes` bytes and cut at character boundaries; `None` if the text is
/// not longer.
#[must_use]
pub fn ends(text: &str, bytes: usize) -> Option<(&str, &str)> {
    if text.len() <= bytes {
        return None;
    }
    let head = text.floor_char_boundary(bytes / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes / 2);
    Some((&text[..head], &text[tail..]))
}

/// Maximum length, in bytes, of the note of [`shortened`].
pub const MAX_NOTE_BYTES: usize = 64;

/// Shortens a text to its beginning and its end, together at most `bytes` bytes, with a note on what is left out between
/// them; also returns the number of bytes that are left out.
#[must_use]
pub fn shortened(text: &str, bytes: usize) -> (String, u64) {
    match ends(text, bytes) {
        None => (text.to_owned(), 0),
        Some((head, tail)) => {
            let elided = text.len() - head.len() - tail.len();
            (format!("{head}\n[… {elided} bytes are left out …]\n{tail}"), elided as u64)
        }
    }
}

/// Returns the words of a command, with double quotes around each that is not plain: control characters and bidirectional marks appear as
/// escapes, so that nothing is hidden.
#[must_use]
pub fn quoted<S: AsRef<str>>(argv: &[S]) -> String {
    let word = |word: &S| {
        let word = word.as_ref();
        let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            return word.to_owned();
        }
        let hides = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        let shown = word.chars().map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() || hides(c) => c.escape_default().to_string(),
            c => c.to_string(),
        });
        format!("\"{}\"", shown.collect::<String>())
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the text without terminal escape sequences (ECMA-48): colours, cursor moves, titles, links.
#[must_use]
pub fn unstyled(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\u{9b}']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '\u{9b}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at + sequence(&rest[at..])..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the length of the escape sequence at the beginning of a text, in bytes; that of the escape character alone if no sequence
/// follows.
fn sequence(text: &str) -> usize {
    let (escape, body) = text.split_at(if text.starts_with('\u{1b}') { 1 } else { '\u{9b}'.len_utf8() });
    let until = |from: usize, ends: fn(char) -> bool| {
        let end = body.char_indices().skip(from).take(MAX_SEQUENCE).find(|(_, c)| ends(*c));
        end.map_or(escape.len(), |(at, c)| escape.len() + at + c.len_utf8())
    };
    if escape == "\u{9b}" {
        return until(0, |c| matches!(c, '@'..='~'));
    }
    match body.chars().next() {
        Some('[') => until(1, |c| matches!(c, '@'..='~')),
        // A string for the terminal itself: it ends with BEL or ESC \.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            let end = until(1, |c| matches!(c, '\u{7}' | '\u{1b}'));
            if text[..end].ends_with('\u{1b}') && text[end..].starts_with('\\') { end + 1 } else { end }
        }
        Some(' '..='/') => until(1, |c| matches!(c, '0'..='~')),
        Some('0'..='~') => escape.len() + 1,
        Some(_) | None => escape.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_up_to_a_number_and_the_others_are_counted() {
        let listed = |count: usize| listed(["a", "b", "c"].into_iter().take(count), 2);

        assert_eq!([0, 1, 2, 3].map(listed), ["", "a", "a, b", "a, b and 1 more"]);
    }

    #[test]
    fn a_long_text_keeps_its_ends_and_says_what_is_left_out() {
        let said = format!("é{}ö", "x".repeat(100));

        let (text, elided) = shortened(&said, 11);

        assert_eq!((text.as_str(), elided), ("éxxx\n[… 94 bytes are left out …]\nxxxö", 94));
        assert_eq!(shortened("short", 11), ("short".to_owned(), 0));
        assert!(format!("\n[… {} bytes are left out …]\n", u64::MAX).len() <= MAX_NOTE_BYTES);
    }

    #[test]
    fn escape_sequences_are_taken_out_whole_and_nothing_else_is() {
        assert_eq!(unstyled("\u{1b}[31;1merror\u{1b}[0m: \u{1b}[38;5;9mno\u{1b}[K key"), "error: no key");
        assert_eq!(unstyled("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{7} \u{1b}(B\u{1b}7x\u{9b}2Jy"), "link xy");
        assert_eq!(unstyled("a \u{1b}]an end that never comes"), "a ]an end that never comes");
        assert_eq!(unstyled("\u{1b}"), "");
        assert_eq!(unstyled("[31m is no colour"), "[31m is no colour");
        assert_eq!(cut("\u{1b}[31mred\u{1b}[0m", 3), "red");
    }

    #[test]
    fn a_quoted_command_hides_nothing() {
        assert_eq!(quoted(&["npm", "ci", "--no-audit"]), "npm ci --no-audit");
        let tricky = ["sh", "-c", "echo \"hi\"\u{1b}[2K\r\n\u{202e}x", ""];
        assert_eq!(quoted(&tricky), r#"sh -c "echo \"hi\"\u{1b}[2K\r\n\u{202e}x" """#);
    }

    #[test]
    fn a_text_is_cut_between_characters_and_holds_no_control_character() {
        assert_eq!(cut("a\tb", 10), "a b");
        assert_eq!(cut_lines("a\n\tb\u{7}\u{1b}[31mc", 10), "a\n\tb c");
        assert_eq!(cut("üüü", 4), "üü…");
        assert_eq!(cut("üüü", 3), "ü…");
        assert_eq!(cut("", 0), "");
    }
}
