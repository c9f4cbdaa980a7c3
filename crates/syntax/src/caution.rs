//! Limits the trust in a grammar where it is weak.

use switchboard_grammars::Language;

use crate::problem::Problem;
use crate::source::Source;

/// Conditions under which a new problem does not block. They follow the shares of false alarms measured on published
/// code: two thirds of C++ headers, half of C files with macros, and some dialects of the looser languages.
pub(crate) enum Caution {
    /// The grammar is as good as the language's own parser.
    None,
    /// Dialects: a problem blocks only where the base parsed cleanly.
    Dialects { base_was_clean: bool },
    /// Macros: a problem blocks only beside a clean base and away from macros. What is unbalanced was found before, by
    /// [`crate::plain`].
    Macros { base_was_clean: bool },
}

// === impl Caution ===

impl Caution {
    pub(crate) fn of(language: Language, source: &Source, base_was_clean: bool) -> Self {
        if source.language == Some(Language::JavaScript) && language == Language::Tsx {
            // Flow has no grammar of its own here.
            return Self::Dialects { base_was_clean };
        }
        match language {
            Language::C | Language::Cpp => Self::Macros { base_was_clean },
            Language::Bash
            | Language::Css
            | Language::Ini
            | Language::PowerShell
            | Language::Regex
            | Language::Swift => Self::Dialects { base_was_clean },
            Language::CSharp
            | Language::Dart
            | Language::Go
            | Language::Java
            | Language::JavaScript
            | Language::Kotlin
            | Language::Php
            | Language::Python
            | Language::Ruby
            | Language::Rust
            | Language::TypeScript
            | Language::Tsx => Self::None,
        }
    }

    /// Returns whether the grammar is too weak to judge a file without a base: it does not know all legal code.
    pub(crate) fn is_doubt(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Returns whether a new problem may block.
    pub(crate) fn lets_block(&self, problem: &Problem, source: &Source) -> bool {
        match self {
            Self::None => true,
            Self::Dialects { base_was_clean } => *base_was_clean,
            Self::Macros { base_was_clean } => {
                *base_was_clean && source.touched().is_near(&problem.lines) && !is_near_macro(problem, source)
            }
        }
    }
}

/// Maximum number of lines above a problem in which its statement may begin.
const STATEMENT_LINES: usize = 20;

/// Returns whether a directive, a name in capitals or more names than a declaration has are on the problem's lines,
/// next to them or where its statement begins.
fn is_near_macro(problem: &Problem, source: &Source) -> bool {
    let ends_statement = |line: &usize| {
        let text = source.lines().bytes(&source.text, *line).trim_ascii_end();
        text.is_empty() || matches!(text.last(), Some(b';' | b'{' | b'}'))
    };
    let above = (0..problem.lines.start).rev().take(STATEMENT_LINES).take_while(|line| !ends_statement(line)).count();
    let first = problem.lines.start - above.max(usize::from(problem.lines.start > 0));
    let lines = first..(problem.lines.end + 1).min(problem.lines.start + 50);
    lines.into_iter().any(|line| {
        let text = source.lines().bytes(&source.text, line);
        let is_capital = |word: &[u8]| {
            word.len() >= 3
                && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
                && word[0].is_ascii_uppercase()
        };
        text.trim_ascii_start().starts_with(b"#")
            || has_macro_word(text)
            || text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').any(is_capital)
    })
}

/// Returns whether more names stand in a row than a declaration of C has, as in `g_autofree Node *a` or
/// `extern int a attribute_hidden`: one of them is a lower-case macro.
fn has_macro_word(line: &[u8]) -> bool {
    const BUILT_IN: [&[u8]; 11] =
        [b"int", b"char", b"void", b"short", b"long", b"float", b"double", b"unsigned", b"signed", b"bool", b"auto"];
    const OTHERS: [&[u8]; 26] = [
        b"const",
        b"volatile",
        b"static",
        b"extern",
        b"inline",
        b"register",
        b"struct",
        b"union",
        b"enum",
        b"typedef",
        b"class",
        b"virtual",
        b"constexpr",
        b"typename",
        b"template",
        b"using",
        b"namespace",
        b"friend",
        b"explicit",
        b"mutable",
        b"override",
        b"final",
        b"noexcept",
        b"public",
        b"private",
        b"protected",
    ];
    let code = line.split(|byte| matches!(byte, b'=' | b'"' | b'/')).next().unwrap_or_default();
    code.split(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b' ' | b'\t' | b'*')).any(|row| {
        let words = || row.split(|byte| matches!(byte, b' ' | b'\t' | b'*')).filter(|word| !word.is_empty());
        let has = |known: &[&[u8]]| words().any(|word| known.contains(&word));
        if words().any(|word| word[0].is_ascii_digit())
            || has(&[b"return", b"goto", b"case", b"else", b"new", b"delete"])
        {
            return false;
        }
        let is_name = |word: &&[u8]| !BUILT_IN.contains(word) && !OTHERS.contains(word);
        // A type behind a name shows that a `;` or `,` is missing.
        let is_broken = words().skip_while(|word| !is_name(word)).any(|word| BUILT_IN.contains(&word));
        let names = words().filter(is_name).count();
        !is_broken && names > if has(&BUILT_IN) { 1 } else { 2 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_too_many_is_a_macro_and_declarations_calls_and_returns_have_none() {
        for line in ["\tg_autofree Node *alt;", "extern unsigned int a attribute_hidden;", "f(int a unused)"] {
            assert!(has_macro_word(line.as_bytes()), "{line}");
        }
        for line in [
            "static const struct node *a, *b;",
            "unsigned long long x = y z w;",
            "Node a(Node *b, int c);",
            "    return a b;",
            "a = b * c;",
            "// three words here",
            "x 3 y z",
            "int left char *right;",
        ] {
            assert!(!has_macro_word(line.as_bytes()), "{line}");
        }
    }
}
