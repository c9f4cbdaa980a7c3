//! How far a grammar is trusted, where it is weak.

use switchboard_grammars::Language;

use crate::problem::Problem;
use crate::source::Source;

/// What keeps a new problem from blocking. The shares of false alarms behind it were measured on published code:
/// two thirds of C++ headers, half of C files with macros, and some dialects of the looser languages.
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
            // Flow, which has no grammar of its own here.
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

    /// Returns whether nothing may be said of a file that has no base: the grammar does not know all that is legal in it.
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

/// Returns whether a directive or a name in capitals stands on the problem's lines or next to them.
fn is_near_macro(problem: &Problem, source: &Source) -> bool {
    let lines = problem.lines.start.saturating_sub(1)..(problem.lines.end + 1).min(problem.lines.start + 50);
    lines.into_iter().any(|line| {
        let text = source.lines().bytes(&source.text, line);
        let is_capital = |word: &[u8]| {
            word.len() >= 3
                && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
                && word[0].is_ascii_uppercase()
        };
        text.trim_ascii_start().starts_with(b"#")
            || text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').any(is_capital)
    })
}
