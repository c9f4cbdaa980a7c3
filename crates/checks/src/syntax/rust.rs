//! A second opinion on Rust, from the parser that procedural macros use.
//!
//! The grammar stumbles over a file in a hundred of the published crates, mostly inside macros; this parser does not, and
//! it sees some mistakes that the grammar forgives.

use super::problem::{Kind, Problem};

/// Deeper nesting is not tried: that parser recurses, and a thread's stack is small.
const DEEPEST: usize = 100;
/// Larger files are not tried.
const LARGEST: usize = 1_000_000;

/// What the second parser says.
pub(crate) enum Opinion {
    Fine,
    Wrong(Problem),
    /// It was not asked, or cannot be trusted here.
    None,
}

/// Asks the second parser.
pub(crate) fn opinion(text: &[u8]) -> Opinion {
    let Ok(source) = std::str::from_utf8(text) else {
        return Opinion::None;
    };
    if text.len() > LARGEST || nesting(text) > DEEPEST {
        return Opinion::None;
    }
    match syn::parse_file(source) {
        Ok(_) => Opinion::Fine,
        Err(error) => Opinion::Wrong(problem(source, &error)),
    }
}

fn problem(source: &str, error: &syn::Error) -> Problem {
    let start = error.span().start();
    let line = start.line.saturating_sub(1);
    let line_at = source
        .split_inclusive('\n')
        .take(line)
        .map(str::len)
        .sum::<usize>();
    let column = source[line_at..]
        .chars()
        .take(start.column)
        .map(char::len_utf8)
        .sum::<usize>();
    let at = (line_at + column).min(source.len());
    Problem {
        kind: Kind::Unreadable,
        range: at..at,
        lines: line..line + 1,
    }
}

/// Counts how deep brackets nest at most, and how many signs that nest without one stand in a row; those in strings
/// and comments count too, which only makes it more careful.
fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut run, mut longest) = (0_usize, 0_usize, 0_usize, 0_usize);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        run = if b"&*-!".contains(byte) {
            run + 1
        } else if byte.is_ascii_whitespace() {
            run
        } else {
            0
        };
        longest = longest.max(run);
    }
    deepest.max(longest)
}
