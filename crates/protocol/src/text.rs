//! Text of others, made safe to show.

/// Cuts a text at a character boundary so that it has at most `bytes` bytes, and replaces control characters by spaces: what agents write is shown
/// to people.
#[must_use]
pub fn cut(text: &str, bytes: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() + c.len_utf8() > bytes {
            out.push('…');
            break;
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_holds_no_control_character() {
        assert_eq!(cut("a\tb", 10), "a b");
        assert_eq!(cut("üüü", 4), "üü…");
        assert_eq!(cut("üüü", 3), "ü…");
        assert_eq!(cut("", 0), "");
    }
}
