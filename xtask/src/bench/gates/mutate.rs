//! Single-token changes of code, drawn from a seed.

use std::ops::Range;

/// A small random generator: splitmix64. The same seed gives the same changes.
#[derive(Debug)]
pub(crate) struct Draw(pub(crate) u64);

// === impl Draw ===

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap_or(0)
    }
}

/// Changes one token: deletes, doubles, swaps or inserts it, or deletes one of its characters or its line. Returns
/// `None` for a text that is too short.
pub(crate) fn mutate(text: &str, kind: usize, draw: &mut Draw) -> Option<String> {
    let tokens = tokens(text);
    if tokens.len() < 20 {
        return None;
    }
    let at = 1 + draw.below(tokens.len() - 2);
    let (here, next) = (tokens[at].clone(), tokens[at + 1].clone());
    let token = &text[here.clone()];
    Some(match kind % 6 {
        0 => [&text[..here.start], &text[here.end..]].concat(),
        1 => [&text[..here.end], " ", token, &text[here.end..]].concat(),
        2 => [&text[..here.start], &text[next.clone()], &text[here.end..next.start], token, &text[next.end..]].concat(),
        3 => {
            let other = tokens[draw.below(tokens.len())].clone();
            [&text[..here.end], " ", &text[other], " ", &text[here.end..]].concat()
        }
        4 => {
            let characters = token.char_indices().collect::<Vec<_>>();
            let (offset, character) = characters[draw.below(characters.len())];
            let cut = here.start + offset;
            [&text[..cut], &text[cut + character.len_utf8()..]].concat()
        }
        _ => {
            let start = text[..here.start].rfind('\n').map_or(0, |at| at + 1);
            let end = text[here.start..].find('\n').map_or(text.len(), |at| here.start + at + 1);
            [&text[..start], &text[end..]].concat()
        }
    })
}

/// Deletes one bracket on a line without quotes and comment marks; returns `None` if there is none.
pub(crate) fn without_bracket(text: &str, draw: &mut Draw) -> Option<String> {
    let is_plain = |line: &str| {
        // A star may begin a line of a comment, a hash a preprocessor line or a comment.
        !line.trim_start().starts_with(['*', ';', '%'])
            && !["\"", "'", "`", "#", "//", "/*", "*/", "--", "<!", "\\", "<<", "?"]
                .iter()
                .any(|mark| line.contains(mark))
    };
    let mut brackets = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if is_plain(line) {
            brackets.extend(line.match_indices(['(', ')', '[', ']', '{', '}']).map(|(at, _)| start + at));
        }
        start += line.len();
    }
    if brackets.is_empty() {
        return None;
    }
    let at = brackets[draw.below(brackets.len())];
    Some([&text[..at], &text[at + 1..]].concat())
}

/// Splits a text into words, strings on one line, and marks; leaves out comments that begin a line.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, first)) = rest.next() {
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let begins_line = text[line_start..start].trim().is_empty();
        if first.is_whitespace() {
            continue;
        }
        if begins_line && ["#", "//", "*", "/*"].iter().any(|mark| text[start..].starts_with(mark)) {
            while rest.next_if(|(_, character)| *character != '\n').is_some() {}
            continue;
        }
        if first.is_alphanumeric() || first == '_' {
            while rest.next_if(|(_, character)| character.is_alphanumeric() || *character == '_').is_some() {}
        } else if matches!(first, '"' | '\'')
            && let Some(end) =
                text[start + 1..].find([first, '\n']).filter(|end| text[start + 1 + end..].starts_with(first))
        {
            while rest.next_if(|(at, _)| *at <= start + 1 + end).is_some() {}
        }
        tokens.push(start..rest.peek().map_or(text.len(), |(at, _)| *at));
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_words_strings_and_marks() {
        let text = "# no\nlet a1 = \"x y\" + 'é';\n";

        let tokens: Vec<&str> = tokens(text).into_iter().map(|range| &text[range]).collect();

        assert_eq!(tokens, ["let", "a1", "=", "\"x y\"", "+", "'é'", ";"]);
    }

    #[test]
    fn a_bracket_is_deleted_where_it_is_code() {
        let text = "// (\nlet a = \"(\";\nlet b = [1];\n";

        let broken = without_bracket(text, &mut Draw(7)).unwrap();

        assert!(broken.starts_with("// (\nlet a = \"(\";\n") && broken.len() == text.len() - 1, "{broken}");
        assert_eq!(without_bracket("// ()\n", &mut Draw(7)), None);
    }

    #[test]
    fn every_kind_of_change_changes_and_the_same_seed_changes_the_same() {
        let text = "fn a(b: u8, c: u8) -> u8 {\n    let d = b + c;\n    d * 2\n}\n";
        for kind in 0..6 {
            let once = mutate(text, kind, &mut Draw(7)).unwrap();

            assert_ne!(once, text);
            assert_eq!(mutate(text, kind, &mut Draw(7)).unwrap(), once);
        }
    }
}
