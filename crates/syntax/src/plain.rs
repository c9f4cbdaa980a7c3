//! A second reading for languages whose grammar reports errors in correct code: arm by arm with a preprocessor, and by
//! brackets and quotes only where macros and dialects prevent more.

use switchboard_grammars::Language;

use crate::balance::{Quoting, unbalanced};
use crate::directives::{Preprocessor, readings, uneven};
use crate::grammar::problems_of;
use crate::parsers::Parsers;
use crate::problem::Problem;
use crate::shell;
use crate::source::{Base, Source};

/// Result of the second reading of a file in which the first found problems.
pub(crate) enum Plain {
    /// The file is correct.
    Right,
    /// The problems are real, and came with the change.
    Broken(Vec<Problem>),
    /// The second reading can't decide.
    Unknown,
}

/// Reads a file a second time.
pub(crate) fn look(source: &Source, language: Language, parsers: &mut Parsers) -> Plain {
    if source.base == Base::Same {
        return Plain::Unknown;
    }
    match language {
        Language::C | Language::Cpp => by_brackets(source, Some(Preprocessor::C), Quoting::C),
        Language::Css => by_brackets(source, None, Quoting::Css),
        Language::PowerShell => by_brackets(source, None, Quoting::PowerShell),
        Language::Bash => by_words(source),
        Language::CSharp => by_grammar(source, language, parsers),
        Language::Dart
        | Language::Go
        | Language::Ini
        | Language::Java
        | Language::JavaScript
        | Language::Kotlin
        | Language::Php
        | Language::Python
        | Language::Regex
        | Language::Ruby
        | Language::Rust
        | Language::Swift
        | Language::Tsx
        | Language::TypeScript => Plain::Unknown,
    }
}

/// Returns the problems of each reading of a text.
fn read(
    text: &[u8],
    preprocessor: Option<Preprocessor>,
    problems: &mut dyn FnMut(&[u8]) -> Vec<Problem>,
) -> Vec<Vec<Problem>> {
    let Some(preprocessor) = preprocessor else { return vec![problems(text)] };
    let read = readings(text, preprocessor);
    match read.stray {
        Some(stray) => vec![vec![stray]],
        None => read.texts.iter().map(|text| problems(text)).collect(),
    }
}

/// Checks brackets and quotes. Never reports a file as correct: the grammar may have refused a balanced file rightly.
fn by_brackets(source: &Source, preprocessor: Option<Preprocessor>, quoting: Quoting) -> Plain {
    let mut problems = |text: &[u8]| unbalanced(text, quoting).into_iter().collect();
    let now = read(&source.text, preprocessor, &mut problems);
    let before = before(source).map(|text| read(text, preprocessor, &mut problems));
    let mut found = broken(now, before);
    if found.is_none() && preprocessor == Some(Preprocessor::C) && source.base == Base::Nothing {
        // Some reading of a new file is right; a reading with another value of one condition may still be wrong.
        found = uneven(&source.text, quoting, Preprocessor::C).map(|problem| vec![problem]);
    }
    found.map_or(Plain::Unknown, Plain::Broken)
}

/// Checks the reserved words, brackets and quotes of a shell; skips scripts for shells with another syntax.
fn by_words(source: &Source) -> Plain {
    let first = source.text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_other = first.starts_with(b"#!")
        && [&b"zsh"[..], b"fish", b"csh", b"ksh"].iter().any(|shell| memchr::memmem::find(first, shell).is_some());
    if is_other || source.path.ends_with(".zsh") || reexecutes_itself(&source.text) {
        return Plain::Unknown;
    }
    let now = vec![shell::unbalanced(&source.text).into_iter().collect()];
    let before = before(source).map(|text| vec![shell::unbalanced(text).into_iter().collect()]);
    broken(now, before).map_or(Plain::Unknown, Plain::Broken)
}

/// Returns whether a script re-executes itself with another program: after a comment that a backslash continues for
/// that program only, and `exec` or `if` on the next line, the text is no shell script.
fn reexecutes_itself(text: &[u8]) -> bool {
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').take(30).collect();
    lines.windows(2).any(|pair| {
        let (before, line) = (pair[0].trim_ascii(), pair[1].trim_ascii_start());
        before.starts_with(b"#") && before.ends_with(b"\\") && (line.starts_with(b"exec ") || line.starts_with(b"if "))
    })
}

/// Checks the readings without the preprocessor's lines by the grammar: a file that parses in one of its readings is
/// right.
fn by_grammar(source: &Source, language: Language, parsers: &mut Parsers) -> Plain {
    let mut problems = |text: &[u8]| {
        let tree = parsers.parse(language, text);
        tree.map(|tree| problems_of(&tree, text, language)).unwrap_or_default()
    };
    let now = read(&source.text, Some(Preprocessor::CSharp), &mut problems);
    let before = before(source).map(|text| read(text, Some(Preprocessor::CSharp), &mut problems));
    let was_right = before.as_ref().is_none_or(|before| before.iter().any(Vec::is_empty));
    let is_right = now.iter().any(Vec::is_empty);
    match broken(now, before) {
        Some(found) => Plain::Broken(found),
        None if source.base == Base::Nothing && is_right => {
            let arm = uneven(&source.text, Quoting::CSharp, Preprocessor::CSharp);
            arm.map_or(Plain::Right, |problem| Plain::Broken(vec![problem]))
        }
        None if is_right && was_right => Plain::Right,
        None => Plain::Unknown,
    }
}

fn before(source: &Source) -> Option<&[u8]> {
    match &source.base {
        Base::Other(before) => Some(before),
        Base::Nothing | Base::Same => None,
    }
}

/// Returns the problems that came with the change: those of a reading that was right before; in a new file those of the
/// first reading, if no reading is right.
fn broken(now: Vec<Vec<Problem>>, before: Option<Vec<Vec<Problem>>>) -> Option<Vec<Problem>> {
    match before {
        None if now.iter().any(Vec::is_empty) => None,
        None => now.into_iter().next(),
        Some(before) if before.len() == now.len() => {
            let mut pairs = now.into_iter().zip(before);
            pairs.find(|(now, before)| before.is_empty() && !now.is_empty()).map(|(now, _)| now)
        }
        // The change added or removed conditions: the readings have no counterparts.
        Some(before) if before.iter().any(Vec::is_empty) && now.iter().all(|now| !now.is_empty()) => {
            now.into_iter().next()
        }
        Some(_) => None,
    }
}
