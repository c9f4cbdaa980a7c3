//! SQL of any dialect: quotes, comments and brackets, those in the bodies of functions in SQL, too. What stands between them differs
//! from database to database.

use crate::problem::{Kind, Problem};

/// Bodies of functions within each other that are read; what is quoted deeper is passed over. A function that makes functions takes two.
const DEPTH: usize = 4;

/// Finds the first string, comment or bracket without an end.
pub(super) fn problem(text: &[u8]) -> Option<Problem> {
    problem_at(text, 0)
}

fn problem_at(text: &[u8], depth: usize) -> Option<Problem> {
    // Of a script with conditions some lines are not read.
    if memchr::memmem::find(text, b"\\if ").is_some() {
        return None;
    }
    let has_own_end = sets_delimiter(text);
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let is_line_start = at == 0 || text[at - 1] == b'\n';
        let endless = |what: &str| Some(Problem::at(text, at, Kind::Stated(format!("{what} that never ends"))));
        let length = match rest[0] {
            b'-' if rest.starts_with(b"--") => line(rest),
            // A comment of MySQL, a command of `psql`.
            b'#' if is_line_start => line(rest),
            b'\\'
                if text[..at].rsplit(|byte| *byte == b'\n').next().is_some_and(|line| line.trim_ascii().is_empty()) =>
            {
                line(rest)
            }
            b'/' if rest.starts_with(b"/*") => match block(rest) {
                Some(length) => length,
                None => return endless("a comment"),
            },
            b'\'' | b'"' | b'`' => match quoted(rest, at.checked_sub(1).map(|before| text[before])) {
                Some(length) => length,
                None => return endless("a string"),
            },
            b'$' => match dollar_quoted(rest) {
                Some(_) if has_own_end => 1,
                Some((mark, length)) => {
                    let body = at + mark..at + length - mark;
                    if depth < DEPTH
                        && is_sql(&text[..at], &rest[length..])
                        && let Some(inner) = problem_at(&text[body.clone()], depth + 1)
                    {
                        return Some(Problem::at(text, body.start + inner.range.start, inner.kind));
                    }
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
            // The data of a dump, up to a line of `\.`.
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

/// Returns the length of a comment; some databases nest them, so that the shorter reading counts where both end.
fn block(rest: &[u8]) -> Option<usize> {
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
    memchr::memmem::find(rest, b"*/").map(|end| end + 2)
}

/// Returns the length of a string: its quote is doubled inside; a backslash escapes only in some databases, so that both
/// readings are tried.
fn quoted(rest: &[u8], before: Option<u8>) -> Option<usize> {
    let standard = end_of(rest, false);
    let escaped = end_of(rest, true);
    match (standard, escaped) {
        (Some(standard), Some(escaped)) if standard != escaped => {
            let is_escape = matches!(before, Some(b'E' | b'e'));
            // `'\'` is a whole string of one backslash, `'it\'s'` goes on.
            let goes_on = rest.get(standard).is_some_and(|byte| byte.is_ascii_alphanumeric());
            Some(if is_escape || goes_on { escaped } else { standard })
        }
        (standard, escaped) => standard.or(escaped),
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

/// `DELIMITER $$` of MySQL: the mark ends a statement and quotes nothing.
fn sets_delimiter(text: &[u8]) -> bool {
    memchr::memmem::find_iter(text, b"$$").any(|at| {
        let line = text[..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        line.trim_ascii().eq_ignore_ascii_case(b"delimiter")
    })
}

/// Returns whether what is quoted between these two texts is SQL: the body of a function that says so, or a block to be done.
fn is_sql(before: &[u8], after: &[u8]) -> bool {
    /// The longest head and tail of a statement that are looked at.
    const AROUND: usize = 2_000;
    let head = &before[before.len().saturating_sub(AROUND)..];
    let head = head.rsplit(|byte| *byte == b';').next().unwrap_or_default();
    let tail = after[..after.len().min(AROUND)].split(|byte| *byte == b';').next().unwrap_or_default();
    let said = [head, tail].map(|part| String::from_utf8_lossy(part).to_ascii_lowercase().replace(['\'', '"'], ""));
    let mut words = said.iter().flat_map(|part| part.split_ascii_whitespace());
    match words.find(|word| *word == "language") {
        Some(_) => matches!(words.next(), Some("sql" | "plpgsql")),
        None => said[0].split_ascii_whitespace().next_back() == Some("do"),
    }
}

/// `$$…$$` or `$name$…$name$` of PostgreSQL: the length of its mark and its own; `None` if it is neither or never ends.
fn dollar_quoted(rest: &[u8]) -> Option<(usize, usize)> {
    let end = 1 + rest[1..].iter().take(64).position(|byte| *byte == b'$')?;
    let is_name = rest[1..end].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && !rest.get(1).is_some_and(u8::is_ascii_digit);
    let mark = &rest[..=end];
    let close = is_name.then(|| memchr::memmem::find(&rest[end + 1..], mark)).flatten()?;
    Some((mark.len(), end + 1 + close + mark.len()))
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
