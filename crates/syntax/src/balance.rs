//! Checks brackets and quotes without a grammar, by a language's rules for strings and comments: an unbalanced text is
//! broken whatever macros and dialects it uses.

use crate::problem::{Kind, Problem};

/// Set of rules for strings and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// Rules of C and C++, after the preprocessor's lines were removed.
    C,
    /// Rules of C#, after the preprocessor's lines were removed, with verbatim and raw strings.
    CSharp,
    Css,
    Scss,
    Json5,
    PowerShell,
}

/// Token at a position.
enum Token {
    /// A comment, a string, or any other character; holds the position of its end.
    Other(usize),
    Open(u8),
    Close(u8),
    /// A string or comment that never ends; holds its name.
    Endless(&'static str),
}

/// An open bracket.
#[derive(Clone, Copy)]
struct Open {
    mark: u8,
    at: usize,
}

/// Finds the first bracket, string or comment without an end, or the first closing bracket without a partner.
pub(crate) fn unbalanced(text: &[u8], quoting: Quoting) -> Option<Problem> {
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match token(text, at, quoting) {
            Token::Other(end) => at = end.max(at + 1),
            Token::Open(mark) => {
                open.push(Open { mark, at });
                at += 1;
            }
            Token::Close(mark) => {
                match open.pop() {
                    Some(before) if before.mark == partner(mark) => {}
                    Some(before) if open.iter().any(|outer| outer.mark == partner(mark)) => {
                        return Some(unclosed(text, before));
                    }
                    Some(_) | None => {
                        let kind = Kind::ClosesNothing(char::from(mark).to_string());
                        return Some(Problem::at(text, at, kind));
                    }
                }
                at += 1;
            }
            Token::Endless(what) => {
                return Some(Problem::at(text, at, Kind::Stated(format!("{what} that never ends"))));
            }
        }
    }
    open.pop().map(|last| unclosed(text, last))
}

/// Lists the brackets outside of strings and comments, with their positions; `None` if a string or comment never ends.
pub(crate) fn brackets(text: &[u8], quoting: Quoting) -> Option<Vec<(u8, usize)>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match token(text, at, quoting) {
            Token::Other(end) => at = end.max(at + 1),
            Token::Open(mark) | Token::Close(mark) => {
                found.push((mark, at));
                at += 1;
            }
            Token::Endless(_) => return None,
        }
    }
    Some(found)
}

/// Returns whether a closing bracket matches an opening one.
pub(crate) const fn closes(opening: u8, closing: u8) -> bool {
    matches!((opening, closing), (b'(', b')') | (b'[', b']') | (b'{', b'}'))
}

fn unclosed(text: &[u8], open: Open) -> Problem {
    Problem::at(text, open.at, Kind::Unclosed(char::from(open.mark).to_string()))
}

const fn partner(closing: u8) -> u8 {
    match closing {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    }
}

fn token(text: &[u8], at: usize, quoting: Quoting) -> Token {
    let rest = &text[at..];
    let comment = match quoting {
        Quoting::C | Quoting::CSharp | Quoting::Scss | Quoting::Json5 => comment(rest, Some("//"), "/*", "*/"),
        Quoting::Css => comment(rest, None, "/*", "*/"),
        Quoting::PowerShell if begins_word(text, at) => comment(rest, Some("#"), "<#", "#>"),
        Quoting::PowerShell => comment(rest, None, "<#", "#>"),
    };
    match comment {
        Some(Some(length)) => return Token::Other(at + length),
        Some(None) => return Token::Endless("a comment"),
        None => {}
    }
    match (rest[0], quoting) {
        (b'(' | b'[' | b'{', _) => Token::Open(rest[0]),
        (b')' | b']' | b'}', _) => Token::Close(rest[0]),
        (b'"', Quoting::C) if is_raw(text, at) => {
            raw_string(rest).map_or(Token::Endless("a string"), |end| Token::Other(at + end))
        }
        // A separator of digits, as in `1'000`, or an apostrophe behind a word that is no string prefix.
        (b'\'', Quoting::C) if at > 0 && text[at - 1].is_ascii_alphanumeric() && !is_prefix(text, at) => {
            Token::Other(at + 1)
        }
        (b'"' | b'\'', Quoting::C) => {
            string(rest, b'\\', false).map_or(Token::Endless("a string"), |end| Token::Other(at + end))
        }
        (b'"', Quoting::CSharp) => csharp_string(text, at).map_or(Token::Endless("a string"), Token::Other),
        (b'\'', Quoting::CSharp) => {
            string(rest, b'\\', false).map_or(Token::Endless("a string"), |end| Token::Other(at + end))
        }
        (b'"' | b'\'', Quoting::Css | Quoting::Scss) => {
            string(rest, b'\\', false).map_or(Token::Endless("a string"), |end| Token::Other(at + end))
        }
        (b'"' | b'\'', Quoting::Json5) => {
            string(rest, b'\\', true).map_or(Token::Endless("a string"), |end| Token::Other(at + end))
        }
        (b'u', Quoting::Css | Quoting::Scss) if rest.starts_with(b"url(") => Token::Other(at + url(rest)),
        (b'\\', Quoting::Css | Quoting::Scss) => Token::Other(at + 2),
        (b'@', Quoting::PowerShell) if matches!(rest.get(1), Some(b'"' | b'\'')) => here_string(rest, at),
        (b'"' | b'\'', Quoting::PowerShell) => {
            powershell_string(rest).map_or(Token::Endless("a string"), |end| Token::Other(at + end))
        }
        (b'`', Quoting::PowerShell) => Token::Other(at + 2),
        _ => Token::Other(at + 1),
    }
}

/// Returns the length of a comment that begins here: `None` if none does, `Some(None)` if it never ends.
fn comment(rest: &[u8], line: Option<&str>, open: &str, close: &str) -> Option<Option<usize>> {
    if rest.starts_with(open.as_bytes()) {
        let end = memchr::memmem::find(&rest[open.len()..], close.as_bytes());
        return Some(end.map(|end| open.len() + end + close.len()));
    }
    let is_line = line.is_some_and(|mark| rest.starts_with(mark.as_bytes()));
    is_line.then(|| Some(line_end(rest)))
}

/// Returns where a line comment ends; a backslash at its end continues it on the next line.
fn line_end(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(length) = memchr::memchr(b'\n', &rest[at..]) {
        at += length;
        let line = &rest[..at];
        if !(line.ends_with(b"\\") || line.ends_with(b"\\\r")) || rest[0] == b'#' {
            return at;
        }
        at += 1;
    }
    rest.len()
}

/// Returns whether a `#` here begins a comment; inside a word it does not.
fn begins_word(text: &[u8], at: usize) -> bool {
    at == 0
        || text[at - 1].is_ascii_whitespace()
        || matches!(text[at - 1], b';' | b'(' | b')' | b'{' | b'}' | b'|' | b',')
}

/// Returns the length of a string; `None` if its line or the text ends before it does.
fn string(rest: &[u8], escape: u8, is_multiline: bool) -> Option<usize> {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match *byte {
            byte if byte == rest[0] => return Some(at + 1),
            byte if byte == escape => at += if rest[at + 1..].starts_with(b"\r\n") { 3 } else { 2 },
            b'\n' if !is_multiline => return None,
            _ => at += 1,
        }
    }
    None
}

/// Returns the length of a PowerShell string: quotes are doubled inside, `$( )` in double quotes holds code.
fn powershell_string(rest: &[u8]) -> Option<usize> {
    let (quote, mut at, mut depth) = (rest[0], 1, 0_usize);
    while let Some(byte) = rest.get(at) {
        match *byte {
            b'`' if quote == b'"' => at += 1,
            b'$' if quote == b'"' && rest.get(at + 1) == Some(&b'(') => {
                depth += 1;
                at += 1;
            }
            b'(' if depth > 0 => depth += 1,
            b')' if depth > 0 => depth -= 1,
            b'"' | b'\'' if depth > 0 => at += powershell_string(&rest[at..])? - 1,
            byte if byte == quote && rest.get(at + 1) == Some(&quote) => at += 1,
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns where a string of C# ends: raw (`"""`), verbatim (`@"`, in which a quote is doubled), or on one line.
fn csharp_string(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let quotes = rest.iter().take_while(|byte| **byte == b'"').count();
    let is_verbatim = text[..at].ends_with(b"@") || text[..at].ends_with(b"@$");
    if quotes >= 3 && !is_verbatim {
        return memchr::memmem::find(&rest[quotes..], &rest[..quotes]).map(|end| at + end + 2 * quotes);
    }
    if !is_verbatim {
        return string(rest, b'\\', false).map(|end| at + end);
    }
    let mut end = 1;
    while let Some(byte) = rest.get(end) {
        match (byte, rest.get(end + 1)) {
            (b'"', Some(b'"')) => end += 2,
            (b'"', _) => return Some(at + end + 1),
            (_, _) => end += 1,
        }
    }
    None
}

/// Reads a here-string: from `@"` at the end of a line up to a line that begins with `"@`.
fn here_string(rest: &[u8], at: usize) -> Token {
    let close = [b'\n', rest[1], b'@'];
    let head = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    if !rest[2..head.max(2)].trim_ascii().is_empty() {
        return Token::Other(at + 1);
    }
    memchr::memmem::find(&rest[head..], &close)
        .map_or(Token::Endless("a string"), |end| Token::Other(at + head + end + 3))
}

/// Returns the length of `url(…)`, whose content needs no quotes.
fn url(rest: &[u8]) -> usize {
    let inner = rest[4..].trim_ascii_start();
    if matches!(inner.first(), Some(b'"' | b'\'' | b'#' | b'$')) {
        return 1;
    }
    let end = rest.iter().position(|byte| matches!(byte, b')' | b'\n'));
    end.filter(|end| rest[*end] == b')').map_or(1, |end| end + 1)
}

/// Returns whether a raw string of C++ begins here: `R"x(…)x"` with any prefix.
fn is_raw(text: &[u8], at: usize) -> bool {
    at > 0 && text[at - 1] == b'R' && {
        let word = text[..at].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        matches!(&text[at - word..at], b"R" | b"LR" | b"uR" | b"UR" | b"u8R")
    }
}

fn is_prefix(text: &[u8], at: usize) -> bool {
    let word = text[..at].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    matches!(&text[at - word..at], b"L" | b"u" | b"U" | b"u8")
}

fn raw_string(rest: &[u8]) -> Option<usize> {
    let open = rest.iter().take(20).position(|byte| *byte == b'(')?;
    let close = [b")", &rest[1..open], b"\""].concat();
    memchr::memmem::find(rest, &close).map(|at| at + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        for (quoting, text) in [
            (
                Quoting::C,
                "int a[] = {'(', '\\'', 1'000}; // )\nchar *b = \"{\\\"\"; /* ( */ auto c = R\"x()\"})x\"; L'}';",
            ),
            (Quoting::CSharp, "var a = @\"\\(\" + $@\"\"\"(\" + \"\"\"(\"\"\" + '(' + $\"{b}(\";"),
            (Quoting::Css, "a { b: url(data:x;{) ; content: \"}\"; c: \\} } /* { */"),
            (Quoting::Scss, "// it's {\n.a { &:hover { b: #{$c}; } }"),
            (
                Quoting::PowerShell,
                "# it's (\n$a = \"x $(Get \"b)\") `\" {\"; $b = 'it''s (' <# { #>\n$c = @\"\n ( \" {\n\"@\nb#c; ${d}",
            ),
            (Quoting::Json5, "{ a: 'b\\\n]', // {\n}"),
        ] {
            assert_eq!(unbalanced(text.as_bytes(), quoting), None, "{text}");
        }
    }

    #[test]
    fn what_has_no_partner_is_found_where_it_stands() {
        for (quoting, text, line, message) in [
            (Quoting::C, "int f() {\n  g((1);\n}\n", 2, "`(` is opened here and never closed"),
            (Quoting::C, "int f() {\n}\n}\n", 3, "`}` closes nothing"),
            (Quoting::C, "char *a = \"b;\n", 1, "a string that never ends"),
            (Quoting::Css, "a {\n b: c;\n\nd { e: f }\n", 1, "`{` is opened here and never closed"),
            (Quoting::PowerShell, "if ($a -eq 'b {\n}\n", 1, "a string that never ends"),
            (Quoting::Scss, "/* a\n", 1, "a comment that never ends"),
        ] {
            let found = unbalanced(text.as_bytes(), quoting).unwrap();

            assert_eq!((found.lines.start + 1, found.message("x")), (line, message.to_owned()), "{text}");
        }
    }
}
