//! Splits agents' text into lines and words, and separates prose from code and quotations.

/// Characters that form the fence of a block.
const FENCES: [char; 2] = ['`', '~'];

/// Minimum number of characters in a fence (CommonMark 0.31, section 4.5).
const FENCE_LEN: usize = 3;

/// Kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// The author's own text.
    Prose,
    /// A fence, or code inside one.
    Fenced,
    /// A quotation, which begins with `>`.
    Quoted,
}

/// A line of a text.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    /// Line number, from 1.
    pub(super) number: usize,
    /// The line as written.
    pub(super) raw: &'a str,
    /// The line with code spans and invisible characters blanked; empty unless the line is prose.
    pub(super) prose: String,
    /// Kind of the line.
    pub(super) kind: LineKind,
}

/// A word in lower case. A hyphen or an apostrophe ends a word, an underscore doesn't.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Number of the word's line, from 1.
    pub(super) line: usize,
    /// The word in lower case.
    pub(super) text: String,
    /// True if code, a quotation or an empty line separates it from the previous word.
    pub(super) begins: bool,
}

/// Splits a text into lines. An unclosed fence has no effect: the lines after it count as prose.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let raw: Vec<&str> = text.lines().collect();
    let mut kinds = vec![LineKind::Prose; raw.len()];
    let mut at = 0;
    while at < raw.len() {
        match closing(&raw, at) {
            Some(end) => {
                kinds[at..=end].fill(LineKind::Fenced);
                at = end + 1;
            }
            None => {
                if raw[at].trim_start().starts_with('>') {
                    kinds[at] = LineKind::Quoted;
                }
                at += 1;
            }
        }
    }
    let line = |(number, (raw, kind))| {
        let prose = if kind == LineKind::Prose { without_code(raw) } else { String::new() };
        Line { number, raw, prose, kind }
    };
    (1..).zip(raw.into_iter().zip(kinds)).map(line).collect()
}

/// Returns the words in the prose of a text.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut begins = true;
    for line in lines(text) {
        if line.prose.trim().is_empty() {
            begins = true;
            continue;
        }
        for (at, part) in line.prose.split(CODE).enumerate() {
            begins |= at > 0;
            for word in part.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
                words.push(Word { line: line.number, text: word.to_lowercase(), begins });
                begins = false;
            }
        }
    }
    words
}

/// Returns the positions of a phrase among words, as consecutive words of one passage. The phrase is in lower case.
pub(super) fn find<'a>(words: &'a [Word], phrase: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
    let len = phrase.len().max(1);
    words.windows(len).enumerate().filter_map(move |(at, window)| {
        let is_same = window.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted);
        let is_joined = window.iter().skip(1).all(|word| !word.begins);
        (is_same && is_joined && !phrase.is_empty()).then_some(at)
    })
}

/// Replaces passages in double quotation marks by [`CODE`].
pub(super) fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((at, open)) = rest.char_indices().find(|(_, c)| ['"', '“', '„', '«'].contains(c)) {
        let body = &rest[at + open.len_utf8()..];
        let closes = |c: char| if open == '"' { c == '"' } else { ['”', '“', '»'].contains(&c) };
        let Some(end) = body.find(closes) else { break };
        out.push_str(&rest[..at]);
        out.push(CODE);
        let behind = &body[end..];
        rest = &behind[behind.chars().next().map_or(0, char::len_utf8)..];
    }
    out.push_str(rest);
    out
}

/// Returns true if a character is invisible, or changes the direction of writing.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Replaces a code span. It is not a letter, so it ends a word.
pub(super) const CODE: char = '\u{fffc}';

/// Returns the line without code spans and invisible characters; [`CODE`] replaces each span.
fn without_code(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        out.push_str(&rest[..at]);
        let ticks = run(&rest[at..], '`');
        let body = &rest[at + ticks..];
        match end_of_span(body, ticks) {
            Some(end) => {
                out.push(CODE);
                rest = &body[end + ticks..];
            }
            None => {
                out.push(' ');
                rest = body;
            }
        }
    }
    out.push_str(rest);
    out.retain(|c| !is_invisible(c));
    out
}

/// Returns the position of the run of exactly `ticks` backticks that ends a code span.
fn end_of_span(body: &str, ticks: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = body[from..].find('`').map(|at| at + from) {
        let found = run(&body[at..], '`');
        if found == ticks {
            return Some(at);
        }
        from = at + found;
    }
    None
}

/// Returns the index of the line that closes the fence opened at `at`, if there is such a fence.
fn closing(lines: &[&str], at: usize) -> Option<usize> {
    let (mark, len) = fence(lines[at])?;
    let closes = |line: &&str| {
        let text = line.trim();
        run(text, mark) >= len && run(text, mark) == text.len()
    };
    lines[at + 1..].iter().position(closes).map(|found| at + 1 + found)
}

/// Returns the character and length of the fence that a line opens. In a list, a fence is indented, so any indent is
/// accepted.
fn fence(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| FENCES.contains(c))?;
    let len = run(text, mark);
    let info = &text[len..];
    (len >= FENCE_LEN && !(mark == '`' && info.contains('`'))).then_some((mark, len))
}

/// Returns how often a text begins with a mark, which is a one-byte character.
fn run(text: &str, mark: char) -> usize {
    text.chars().take_while(|c| *c == mark).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn code_and_quotations_have_no_words() {
        let text = "One `two` three\n> four\n```rust\nfive\n```\n~~~~\nsix\n~~~\nseven\n~~~~\n``a ` b`` eight";

        assert_eq!(texts(text), ["one", "three", "eight"]);
    }

    #[test]
    fn a_fence_or_a_code_span_that_is_never_closed_hides_nothing() {
        assert_eq!(texts("```\none\ntwo"), ["one", "two"]);
        assert_eq!(texts("a `b c"), ["a", "b", "c"]);
    }

    #[test]
    fn a_phrase_runs_over_the_end_of_a_line_but_not_over_code_or_an_empty_line() {
        let found = |text: &str| find(&words(text), &["review", "needed"]).count();

        assert_eq!(found("Review\nneeded, review-needed"), 2);
        assert_eq!(found("review `x` needed"), 0);
        assert_eq!(found("review\n\nneeded"), 0);
    }

    #[test]
    fn an_invisible_character_does_not_split_a_word() {
        assert_eq!(texts("mu\u{200b}st"), ["must"]);
    }

    proptest! {
        #[test]
        fn any_text_has_lines_with_their_numbers(text in "[ -~`>\\n\u{e9}]{0,200}") {
            let lines = lines(&text);

            prop_assert_eq!(lines.len(), text.lines().count());
            prop_assert!(lines.iter().enumerate().all(|(at, line)| line.number == at + 1));
            prop_assert!(words(&text).iter().all(|word| word.line <= lines.len()));
        }
    }
}
