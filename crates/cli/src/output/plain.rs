//! Makes text that agents wrote safe for a terminal.

/// Replaces everything that could control a terminal with `�`: control characters other than line end and tab, and the
/// marks that change the direction of writing.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_steering(c) { '\u{fffd}' } else { c }).collect()
}

/// Returns the first line of a text, made safe and cut to `width` characters.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let text = plain(text);
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default().replace('\t', " ");
    let is_cut = first.chars().count() > width || lines.next().is_some();
    let mut out: String = first.chars().take(if is_cut { width.saturating_sub(1) } else { width }).collect();
    if is_cut {
        out.push('…');
    }
    out
}

/// Returns a text without the Markdown fence in front of it: some agents fence what their tools print.
pub(crate) fn unfenced(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("```").and_then(|rest| rest.split_once('\n')) {
        Some((_, inside)) => inside,
        None => text,
    }
}

/// Returns a number with its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn is_steering(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    turns || (c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_escape_sequences_out_of_untrusted_text() {
        assert_eq!(plain("a\x1b[31mb\nc\u{202e}"), "a\u{fffd}[31mb\nc\u{fffd}");
    }

    #[test]
    fn a_fence_hides_no_first_line() {
        assert_eq!(one_line(unfenced("```\nPermission denied\n```"), 30), "Permission denied…");
        assert_eq!(unfenced("```sh\nfalse"), "false");
        assert_eq!(unfenced("no fence"), "no fence");
        assert_eq!(unfenced("```"), "```");
    }

    #[test]
    fn shows_that_a_line_was_cut() {
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("ab\ncd", 10), "ab…");
        assert_eq!(one_line("ab", 2), "ab");
    }
}
