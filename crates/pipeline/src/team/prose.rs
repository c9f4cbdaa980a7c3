//! Splits text of agents into lines and words, and tells prose from code and quotations.

/// Marks of a fenced block.
const FENCES: [char; 2] = ['`', '~'];

/// Fewest marks of a fence (CommonMark 0.31, section 4.5).
const FENCE_LEN: usize = 3;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Text of the author.
    Prose,
    /// A fence, or code inside one.
    Fenced,
    /// A quotation: it begins with `>`.
    Quoted,
}

/// A line of a text.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub(super) number: usize,
    /// As it was written.
    pub(super) raw: &'a str,
    /// The same with code spans and invisible characters blanked; empty for a line that is no prose.
    pub(super) prose: String,
    /// What it is.
    pub(super) kind: LineKind,
}

/// A word of a text in lower case. A hyphen or an apostrophe ends a word, an underscore doesn't.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The line that it is on, from 1.
    pub(super) line: usize,
    /// In lower case.
    pub(super) text: String,
    /// Whether code, a quotation or an empty line stands between it and the word before.
    pub(super) begins: bool,
}

/// Returns the lines of a text. A fence that is never closed fences nothing: what follows it counts as prose.
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

/// Returns the words of the prose of a text.
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

/// Where a phrase begins among words: consecutive words of one passage. The phrase is in lower case.
pub(super) fn find<'a>(words: &'a [Word], phrase: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
    let len = phrase.len().max(1);
    words.windows(len).enumerate().filter_map(move |(at, window)| {
        let is_same = window.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted);
        let is_joined = window.iter().skip(1).all(|word| !word.begins);
        (is_same && is_joined && !phrase.is_empty()).then_some(at)
    })
}

/// Returns a text without its passages in double quotation marks; [`CODE`] stands for each.
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

/// Whether a character shows nothing, or turns the direction of writing.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Stands where a code span was: it is no letter, so it ends a word.
pub(super) const CODE: char = '\u{fffc}';

/// The line without its code spans and invisible characters; [`CODE`] stands for each span.
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

/// Where the run of exactly so many backticks begins that ends a code span.
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

/// The line that closes the fence which opens at `at`, if one opens there and is closed.
fn closing(lines: &[&str], at: usize) -> Option<usize> {
    let (mark, len) = fence(lines[at])?;
    let closes = |line: &&str| {
        let text = line.trim();
        run(text, mark) >= len && run(text, mark) == text.len()
    };
    lines[at + 1..].iter().position(closes).map(|found| at + 1 + found)
}

/// The mark and the length of the fence that a line opens. Inside a list a fence is indented, so any indent will do.
fn fence(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| FENCES.contains(c))?;
    let len = run(text, mark);
    let info = &text[len..];
    (len >= FENCE_LEN && !(mark == '`' && info.contains('`'))).then_some((mark, len))
}

/// How many of a mark, a character of one byte, a text begins with.
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
