//! Parses Rust a second time, with the parser that procedural macros use.
//!
//! The grammar fails on one in a hundred files of the published crates, mostly inside macros; this parser does not, and
//! it finds some mistakes that the grammar accepts.

use std::thread;

use crate::problem::{Kind, Problem};

/// Maximum nesting of brackets: the parser recurses.
const DEEPEST: usize = 100;
/// Maximum bytes of one statement and of those around it: their length limits recursion without nested brackets.
const MAX_STATEMENT_BYTES: usize = 8_000;
/// Maximum size of a file, in bytes.
const LARGEST: usize = 1_000_000;
/// Stack size of the parser, many times what [`MAX_STATEMENT_BYTES`] can use.
const STACK: usize = 128 * 1024 * 1024;

/// Result of the second parser.
pub(crate) enum SecondParse {
    Fine,
    Wrong(Problem),
    /// The parser was not run, or can't be trusted here.
    None,
}

/// Runs the second parser, on a stack of its own.
pub(crate) fn opinion(text: &[u8]) -> SecondParse {
    let Ok(source) = std::str::from_utf8(text) else {
        return SecondParse::None;
    };
    if text.len() > LARGEST || !is_shallow(text) {
        return SecondParse::None;
    }
    let ask = || match syn::parse_file(source) {
        Ok(_) => SecondParse::Fine,
        Err(error) => SecondParse::Wrong(problem(source, &error)),
    };
    thread::scope(|scope| {
        let asked = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, ask);
        asked.map_or(SecondParse::None, |asked| asked.join().unwrap_or(SecondParse::None))
    })
}

fn problem(source: &str, error: &syn::Error) -> Problem {
    let start = error.span().start();
    let line = start.line.saturating_sub(1);
    let line_at = source.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
    let column = source[line_at..].chars().take(start.column).map(char::len_utf8).sum::<usize>();
    let at = (line_at + column).min(source.len());
    Problem { kind: Kind::Unreadable, range: at..at, lines: line..line + 1 }
}

/// Returns whether a text nests too little for deep recursion. Brackets in strings and comments count too, which makes
/// the test stricter only.
fn is_shallow(text: &[u8]) -> bool {
    let (mut outer, mut around, mut run) = (Vec::new(), 0_usize, 0_usize);
    for byte in text {
        run += 1;
        match byte {
            b'(' | b'[' | b'{' => {
                outer.push(run);
                around += std::mem::take(&mut run);
            }
            b')' | b']' | b'}' => {
                let before = outer.pop().unwrap_or(0);
                around -= before;
                run = if *byte == b'}' { 0 } else { run + before };
            }
            b';' | b',' => run = 0,
            _ => {}
        }
        if outer.len() > DEEPEST || around + run > MAX_STATEMENT_BYTES {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_what_the_grammar_does_not_and_says_where() {
        assert!(matches!(opinion(b"unsafe extern \"C\" { safe fn a() -> u64; }"), SecondParse::Fine));
        let SecondParse::Wrong(problem) = opinion(b"fn a() {\n    let = 1;\n}\n") else { panic!("it parses") };

        assert_eq!((problem.lines, problem.range.start), (1..2, 17));
    }

    #[test]
    fn what_would_recurse_too_far_is_not_tried() {
        let deep = ["(", "-", "1+", "return ", "a=", "if a {} else ", "x.", "&", "|a| ", "{", "!{", "[return {"];
        for part in deep {
            let text = format!("fn f() {{ {}", part.repeat(60_000));

            assert!(matches!(opinion(text.as_bytes()), SecondParse::None | SecondParse::Wrong(_)), "{part}");
        }
    }

    #[test]
    fn what_is_just_allowed_fits_the_stack() {
        for part in ["-", "1+", "return ", "a=", "a..", "&", "|a|", "break ", "*"] {
            let text = format!("fn f() {{ {} }}", part.repeat((MAX_STATEMENT_BYTES - 100) / part.len()));

            assert!(is_shallow(text.as_bytes()), "{part}");
            let _survived = opinion(text.as_bytes());
        }
    }
}
