//! Which file names and first lines mean which language.

use crate::Language;

/// Tells the language from a file's ending in lower case, without the dot.
pub(crate) fn by_ending(ending: &str) -> Option<Language> {
    Some(match ending {
        "go" => Language::Go,
        "js" | "cjs" | "mjs" | "jsx" => Language::JavaScript,
        "py" | "pyi" | "pyw" => Language::Python,
        "rs" => Language::Rust,
        "ts" | "cts" | "mts" => Language::TypeScript,
        "tsx" => Language::Tsx,
        _ => return None,
    })
}

/// Tells the language from the interpreter in a `#!` line.
pub(crate) fn by_first_line(head: &[u8]) -> Option<Language> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let words = std::str::from_utf8(line.strip_prefix(b"#!")?).ok()?.split_whitespace();
    let interpreter = words
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='))?;
    Some(match interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "python" | "pypy" => Language::Python,
        "node" | "nodejs" => Language::JavaScript,
        "deno" | "bun" | "ts-node" | "tsx" => Language::TypeScript,
        _ => return None,
    })
}
