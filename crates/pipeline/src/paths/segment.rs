//! Parts of a declared path, and whether two patterns overlap.

/// A part between slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// `**`: any number of parts.
    Any,
    /// A part with its text and its wildcards.
    Part { text: String, tokens: Vec<Token> },
}

/// A character of a part, or a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Char(char),
    One,
    Many,
}

impl Segment {
    /// Returns the longest common prefix of all matching names, and whether it is the whole name.
    pub(super) fn stem(&self) -> (&str, bool) {
        match self {
            Self::Any => ("", false),
            Self::Part { text, .. } => match text.find(['*', '?', '[', '{']) {
                Some(at) => (&text[..at], false),
                None => (text, true),
            },
        }
    }

    pub(super) fn parse(part: &str) -> Self {
        if part == "**" {
            return Self::Any;
        }
        Self::Part { text: part.to_owned(), tokens: tokens(part) }
    }

    pub(super) fn is_literal(&self) -> bool {
        match self {
            Self::Any => false,
            Self::Part { tokens, .. } => tokens.iter().all(|token| matches!(token, Token::Char(_))),
        }
    }
}

/// Parses a part. `[…]` counts as any one character and `{…}` as any text, which matches more than they mean.
fn tokens(part: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '*' => Token::Many,
            '?' => Token::One,
            '[' => bracket(&mut chars, ']', Token::One, c),
            '{' => bracket(&mut chars, '}', Token::Many, c),
            c => Token::Char(c),
        });
    }
    tokens
}

fn bracket(chars: &mut std::str::Chars<'_>, close: char, means: Token, open: char) -> Token {
    let rest = chars.as_str();
    let Some(end) = rest.find(close) else { return Token::Char(open) };
    *chars = rest[end + close.len_utf8()..].chars();
    means
}

/// Returns true if a path matches both patterns, or lies below a match of one of them.
pub(super) fn meet(a: &[Segment], b: &[Segment]) -> bool {
    table(a.len(), b.len(), |i, j, next| {
        if i == a.len() || j == b.len() {
            return true;
        }
        match (&a[i], &b[j]) {
            (Segment::Any, _) | (_, Segment::Any) => next(i + 1, j) || next(i, j + 1),
            (Segment::Part { text: s, tokens: x }, Segment::Part { text: t, tokens: y }) => {
                next(i + 1, j + 1) && (s == t || either_meets((s, x), (t, y)))
            }
        }
    })
}

/// Returns true if a path matches the pattern, or lies below a match.
pub(super) fn covers(pattern: &[Segment], path: &[&str]) -> bool {
    table(pattern.len(), path.len(), |i, j, next| {
        if i == pattern.len() {
            return true;
        }
        match &pattern[i] {
            Segment::Any => next(i + 1, j) || (j < path.len() && next(i, j + 1)),
            Segment::Part { text, tokens } => {
                let fits = |part: &str| text == part || parts_meet(tokens, &literal(part));
                j < path.len() && next(i + 1, j + 1) && fits(path[j])
            }
        }
    })
}

/// Checks whether two parts overlap. A part with brackets may be a folder's name (`[id]`), so it counts as both.
fn either_meets((s, x): (&str, &[Token]), (t, y): (&str, &[Token])) -> bool {
    parts_meet(x, y)
        || (has_brackets(s) && parts_meet(&literal(s), y))
        || (has_brackets(t) && parts_meet(x, &literal(t)))
}

fn has_brackets(part: &str) -> bool {
    part.contains(['[', '{'])
}

fn literal(part: &str) -> Vec<Token> {
    part.chars().map(Token::Char).collect()
}

fn parts_meet(a: &[Token], b: &[Token]) -> bool {
    if let (Some(Token::Char(x)), Some(Token::Char(y))) = (a.first(), b.first())
        && x != y
    {
        return false;
    }
    table(a.len(), b.len(), |i, j, next| {
        let many = |tokens: &[Token], at: usize| tokens.get(at) == Some(&Token::Many);
        match (a.get(i), b.get(j)) {
            (None, None) => true,
            _ if many(a, i) => next(i + 1, j) || (j < b.len() && next(i, j + 1)),
            _ if many(b, j) => next(i, j + 1) || (i < a.len() && next(i + 1, j)),
            (Some(Token::Char(x)), Some(Token::Char(y))) => x == y && next(i + 1, j + 1),
            (Some(_), Some(_)) => next(i + 1, j + 1),
            (None, Some(_)) | (Some(_), None) => false,
        }
    })
}

/// Fills a table of answers from its end, so that each pair of remainders is computed once.
fn table(rows: usize, columns: usize, answer: impl Fn(usize, usize, &dyn Fn(usize, usize) -> bool) -> bool) -> bool {
    let mut answers = vec![false; (rows + 2) * (columns + 2)];
    for i in (0..=rows).rev() {
        for j in (0..=columns).rev() {
            let known = &answers;
            let value = answer(i, j, &|i, j| known[i * (columns + 2) + j]);
            answers[i * (columns + 2) + j] = value;
        }
    }
    answers[0]
}
