//! SQL of any dialect: checks quotes, comments and brackets, including those in the bodies of SQL functions. The text
//! between them differs from database to database.

use std::collections::HashMap;

use crate::problem::{Kind, Problem};

/// Maximum nesting of function bodies that are read; deeper quoted text is skipped. A function that creates functions
/// takes two.
const DEPTH: usize = 4;

/// Finds the first string, comment or bracket without an end, in time proportional to the length of the text.
pub(super) fn problem(text: &[u8]) -> Option<Problem> {
    problem_at(text, 0)
}

fn problem_at(text: &[u8], depth: usize) -> Option<Problem> {
    // A script with conditions skips some of its lines.
    if memchr::memmem::find(text, b"\\if ").is_some() {
        return None;
    }
    let has_own_end = sets_delimiter(text);
    let marks = Marks::new(text);
    let mut comments = Comments::default();
    let mut strings = Strings::new(text.len());
    let mut open: Vec<usize> = Vec::new();
    let (mut at, mut body_end) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let is_line_start = at == 0 || text[at - 1] == b'\n';
        let endless = |what: &str| Some(Problem::at(text, at, Kind::Stated(format!("{what} that never ends"))));
        let length = match rest[0] {
            b'-' if rest.starts_with(b"--") => line(rest),
            // A comment of MySQL, or a command of `psql`.
            b'#' if is_line_start => line(rest),
            b'\\' if is_first_of_line(&text[..at]) => line(rest),
            b'/' if rest.starts_with(b"/*") => match comments.block(rest) {
                Some(length) => length,
                None => return endless("a comment"),
            },
            b'\'' | b'"' | b'`' => match strings.quoted(rest, at.checked_sub(1).map(|before| text[before])) {
                Some(length) => length,
                None => return endless("a string"),
            },
            b'$' if !has_own_end => match marks.quoted(at) {
                Some((mark, length)) => {
                    let body = at + mark..at + length - mark;
                    if depth < DEPTH
                        && is_sql(&text[body_end..at], &rest[length..])
                        && let Some(inner) = problem_at(&text[body.clone()], depth + 1)
                    {
                        return Some(Problem::at(text, body.start + inner.range.start, inner.kind));
                    }
                    body_end = at + length;
                    length
                }
                None => 1,
            },
            b'(' | b'[' => {
                open.push(at);
                1
            }
            b')' | b']' => {
                let opening = if rest[0] == b')' { b'(' } else { b'[' };
                if open.last().is_none_or(|open| text[*open] != opening) {
                    return Some(Problem::at(text, at, Kind::ClosesNothing(char::from(rest[0]).into())));
                }
                open.pop();
                1
            }
            // The data of a dump, up to a line with `\.`.
            b';' if is_copy(text, at) => match memchr::memmem::find(rest, b"\n\\.") {
                Some(end) => end + 3,
                None => return None,
            },
            _ => 1,
        };
        at += length;
    }
    let at = open.pop()?;
    Some(Problem::at(text, at, Kind::Unclosed(char::from(text[at]).into())))
}

fn line(rest: &[u8]) -> usize {
    memchr::memchr(b'\n', rest).unwrap_or(rest.len())
}

/// Returns whether only blanks are between the start of a line and the end of this text.
fn is_first_of_line(before: &[u8]) -> bool {
    let rest = without_blanks(before);
    rest.is_empty() || rest.ends_with(b"\n")
}

fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().rev().take_while(|byte| **byte != b'\n' && byte.is_ascii_whitespace()).count();
    &text[..text.len() - blanks]
}

/// Nesting of comments in a text: in some databases comments nest.
#[derive(Debug, Default)]
struct Comments {
    /// True after a comment that would never end if comments nested.
    are_flat: bool,
}

// === impl Comments ===

impl Comments {
    /// Returns the length of the comment that begins here.
    fn block(&mut self, rest: &[u8]) -> Option<usize> {
        if !self.are_flat {
            match nested_block(rest) {
                Some(length) => return Some(length),
                None => self.are_flat = true,
            }
        }
        memchr::memmem::find(rest, b"*/").map(|end| end + 2)
    }
}

fn nested_block(rest: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (2, 1_usize);
    while at < rest.len() {
        match &rest[at..] {
            inner if inner.starts_with(b"/*") => {
                depth += 1;
                at += 2;
            }
            inner if inner.starts_with(b"*/") => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// Strings of a text: a quote is doubled inside. A backslash escapes only in some databases, so both readings are
/// tried.
#[derive(Debug)]
struct Strings {
    /// Remaining number of bytes that readings with escapes may examine.
    left: usize,
}

// === impl Strings ===

impl Strings {
    /// Maximum number of times that readings with escapes examine each byte, on average. A long rejected one is rare,
    /// since the next quote ends it. Beyond the limit a text is read by the standard.
    const TIMES: usize = 8;

    fn new(length: usize) -> Self {
        Self { left: length.saturating_mul(Self::TIMES) }
    }

    /// Returns the length of the string that begins here.
    fn quoted(&mut self, rest: &[u8], before: Option<u8>) -> Option<usize> {
        let standard = end_of(rest, false);
        let may_escape = memchr::memchr(b'\\', &rest[..standard.unwrap_or(rest.len())]).is_some();
        if !may_escape || self.left == 0 {
            return standard;
        }
        let escaped = end_of(rest, true);
        self.left = self.left.saturating_sub(escaped.unwrap_or(rest.len()).max(standard.unwrap_or(rest.len())));
        match (standard, escaped) {
            (Some(standard), Some(escaped)) if standard != escaped => {
                let is_escape = matches!(before, Some(b'E' | b'e'));
                // `'\'` is a complete string of one backslash, `'it\'s'` continues.
                let goes_on = rest.get(standard).is_some_and(|byte| byte.is_ascii_alphanumeric());
                Some(if is_escape || goes_on { escaped } else { standard })
            }
            (standard, escaped) => standard.or(escaped),
        }
    }
}

fn end_of(rest: &[u8], escapes: bool) -> Option<usize> {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' if escapes => at += 1,
            byte if byte == rest[0] && rest.get(at + 1) == Some(&rest[0]) => at += 1,
            byte if byte == rest[0] => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns whether a text has `DELIMITER $$` of MySQL: there the mark ends a statement and quotes nothing.
fn sets_delimiter(text: &[u8]) -> bool {
    const WORD: &[u8] = b"delimiter";
    memchr::memmem::find_iter(text, b"$$").any(|at| {
        let before = without_blanks(&text[..at]);
        let word = before.len().checked_sub(WORD.len()).map(|start| before.split_at(start));
        word.is_some_and(|(line, word)| word.eq_ignore_ascii_case(WORD) && is_first_of_line(line))
    })
}

/// Returns whether the text quoted between these two is SQL: the body of a function declared as SQL, or a `DO` block.
fn is_sql(before: &[u8], after: &[u8]) -> bool {
    /// Maximum number of bytes examined before and after the quoted text.
    const AROUND: usize = 2_000;
    let head = &before[before.len().saturating_sub(AROUND)..];
    let head = head.rsplit(|byte| *byte == b';').next().unwrap_or_default();
    // Ends at the next quoted text, so that each part of a text is examined twice at most.
    let tail = after[..after.len().min(AROUND)].split(|byte| matches!(byte, b';' | b'$')).next().unwrap_or_default();
    let said = [head, tail].map(|part| String::from_utf8_lossy(part).to_ascii_lowercase().replace(['\'', '"'], ""));
    let mut words = said.iter().flat_map(|part| part.split_ascii_whitespace());
    match words.find(|word| *word == "language") {
        Some(_) => matches!(words.next(), Some("sql" | "plpgsql")),
        None => said[0].split_ascii_whitespace().next_back() == Some("do"),
    }
}

/// Quotes `$$…$$` and `$name$…$name$` of PostgreSQL.
#[derive(Debug)]
struct Marks<'t> {
    text: &'t [u8],
    /// Last position of each mark, so that the end of an unclosed one is not searched.
    last: HashMap<&'t [u8], usize>,
}

// === impl Marks ===

impl<'t> Marks<'t> {
    fn new(text: &'t [u8]) -> Self {
        let marks = memchr::memchr_iter(b'$', text).filter_map(|at| Some((mark(&text[at..])?, at)));
        Self { text, last: marks.collect() }
    }

    /// Returns the length of the mark at a position, and of the quoted text with both marks; `None` if there is none or
    /// it never ends.
    fn quoted(&self, at: usize) -> Option<(usize, usize)> {
        let mark = mark(&self.text[at..])?;
        let start = at + mark.len();
        let body =
            (self.last.get(mark)? >= &start).then(|| memchr::memmem::find(&self.text[start..], mark)).flatten()?;
        Some((mark.len(), body + 2 * mark.len()))
    }
}

/// Returns the mark that a text begins with. PostgreSQL cuts identifiers at 63 bytes (`NAMEDATALEN` less one); a longer
/// name is no mark.
fn mark(text: &[u8]) -> Option<&[u8]> {
    let end = 1 + text[1..].iter().take(64).position(|byte| *byte == b'$')?;
    let name = &text[1..end];
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && !name.first().is_some_and(u8::is_ascii_digit);
    is_name.then(|| &text[..=end])
}

/// Returns whether the statement that ends here is `COPY … FROM stdin`.
fn is_copy(text: &[u8], end: usize) -> bool {
    let from = end.saturating_sub(2_000);
    let statement = text[from..end].rsplit(|byte| *byte == b';').next().unwrap_or_default();
    let words = String::from_utf8_lossy(statement).to_ascii_lowercase();
    words.contains("copy ") && words.contains("from stdin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_parentheses_have_an_end() {
        let lines = |text: &str| problem(text.as_bytes()).map(|found| found.lines.start + 1);
        for text in [
            "SELECT 'it''s (' || \"a(\" -- it's\nFROM t WHERE a IN (1, (2)); /* ( */",
            "CREATE FUNCTION f() AS $x$ BEGIN it's ( $$ END $x$;",
            "INSERT INTO a VALUES ('it\\'s', '\\', E'\\'');",
            "COPY a (b) FROM stdin;\nit's (\n\\.\nSELECT 1;",
            "CREATE FUNCTION f() AS $$ it's ( $$ LANGUAGE plpython;",
            "CREATE FUNCTION f(a int[]) LANGUAGE 'sql' AS $$ SELECT a[1] || '(' $$;",
            "\\echo it's (\nSELECT `a(`;\n# it's\n",
        ] {
            assert_eq!(lines(text), None, "{text}");
        }
        for (text, line) in [
            ("SELECT (1;\nSELECT 2;\n", 1),
            ("SELECT 1;\nSELECT 2);\n", 2),
            ("SELECT 1;\nSELECT 'a;\n", 2),
            ("CREATE FUNCTION f() AS $$\nSELECT (1;\n$$ LANGUAGE sql;", 2),
            ("DO $$\nBEGIN\nPERFORM f(1));\nEND\n$$;", 3),
            ("DELIMITER $$\nCREATE FUNCTION f() BEGIN SELECT (1; END$$\nDELIMITER ;", 2),
            ("SELECT a[1;\n", 1),
            ("SELECT (a[1);\n", 1),
            ("/* a\nSELECT 1;", 1),
        ] {
            assert_eq!(lines(text), Some(line), "{text}");
        }
    }

    /// Each of these texts took time that grew with the square of its length: minutes to hours at this size.
    #[test]
    fn what_never_ends_is_looked_for_once() {
        let marks: String = (0..400_000).map(|number| format!("$m{number}$ ")).collect();

        assert!(problem(marks.as_bytes()).is_none());
        for part in ["$$($$", "$$ ", "a\\ ", "'\\'\\'\\", "'\\''\\", "/*/**/", "; ", "$a$$b$"] {
            let _ = problem(part.repeat(300_000 / part.len()).as_bytes());
        }
    }

    #[test]
    fn bodies_within_bodies_are_read_to_a_depth() {
        let nested = |depth: usize| {
            let opened: String = (0..depth).map(|level| format!("DO $a{level}$ ")).collect();
            let closed: String = (0..depth).rev().map(|level| format!(" $a{level}$;")).collect();
            format!("{opened}SELECT (1{closed}")
        };

        assert!(problem(nested(2).as_bytes()).is_some());
        assert!(problem(nested(100_000).as_bytes()).is_none());
    }
}
