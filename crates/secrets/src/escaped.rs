//! JSON inside a string, `"{\\"password\\": \\"…\\"}"`: its quotes are escaped, so it must be unescaped before it is
//! read.

use std::ops::Range;

/// Maximum number of bytes of one file that are unescaped.
const BUDGET: usize = 1 << 20;
/// Maximum length of a line that is unescaped.
const LINE: usize = 64 << 10;

/// A line with its escapes resolved.
pub(crate) struct Unescaped {
    pub(crate) text: Vec<u8>,
    /// Original position of each byte, and of the end of the line.
    from: Vec<usize>,
}

// === impl Unescaped ===

impl Unescaped {
    fn of(text: &[u8], line: Range<usize>) -> Self {
        let (mut plain, mut from) = (Vec::with_capacity(line.len()), Vec::with_capacity(line.len() + 1));
        let mut at = line.start;
        while at < line.end {
            let escaped = (text[at] == b'\\').then(|| text.get(at + 1)).flatten().filter(|_| at + 1 < line.end);
            let byte = match escaped {
                Some(quote @ (b'"' | b'\\' | b'/')) => Some(*quote),
                Some(b'n' | b'r') => Some(b'\n'),
                Some(b't') => Some(b'\t'),
                Some(_) | None => None,
            };
            plain.push(byte.unwrap_or(text[at]));
            from.push(at);
            at += if byte.is_some() { 2 } else { 1 };
        }
        from.push(line.end);
        Self { text: plain, from }
    }

    /// Returns the position in the text of a range of the unescaped line.
    pub(crate) fn range(&self, range: &Range<usize>) -> Range<usize> {
        self.from[range.start]..self.from[range.end]
    }
}

/// Unescapes the lines that hold JSON in a string: at least two names with an escaped quote before a colon.
pub(crate) fn lines(text: &[u8]) -> Vec<Unescaped> {
    let marks = memchr::memmem::find_iter(text, b"\\\":").chain(memchr::memmem::find_iter(text, b"\\\" :"));
    let (mut found, mut budget, mut behind) = (Vec::new(), BUDGET, 0);
    let mut marks: Vec<usize> = marks.collect();
    marks.sort_unstable();
    for mark in marks {
        if mark < behind {
            continue;
        }
        let start = memchr::memrchr(b'\n', &text[..mark]).map_or(0, |at| at + 1).max(mark.saturating_sub(LINE / 2));
        let end = memchr::memchr(b'\n', &text[mark..]).map_or(text.len(), |at| mark + at).min(mark + LINE / 2);
        behind = end;
        if end - start > budget {
            break;
        }
        budget -= end - start;
        found.push(Unescaped::of(
            text,
            start.max(found.last().map_or(0, |last: &Unescaped| last.from[last.text.len()]))..end,
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_unescaped_and_every_byte_knows_where_it_stood() {
        let text = br#"first
let body = "{\"name\": \"a\\b\", \"at\": 1}";
"#;

        let lines = lines(text);

        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].text, br#"let body = "{"name": "a\b", "at": 1}";"#);
        let at = lines[0].text.windows(2).position(|part| part == b"at").unwrap();
        assert_eq!(&text[lines[0].range(&(at..at + 2))], b"at");
    }
}
