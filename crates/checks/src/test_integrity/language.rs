//! Languages whose tests are parsed; test files of others are judged by their names.

use switchboard_grammars::Language;

/// A language whose tests are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestLanguage {
    Python,
    JavaScript,
    Rust,
}

// === impl TestLanguage ===

impl TestLanguage {
    pub(crate) fn of(path: &str) -> Option<(Self, Language)> {
        let language = Language::of(path, b"")?;
        let kind = match language {
            Language::Python => Self::Python,
            Language::JavaScript | Language::TypeScript | Language::Tsx => Self::JavaScript,
            Language::Rust => Self::Rust,
            Language::Bash
            | Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Css
            | Language::Dart
            | Language::Go
            | Language::Ini
            | Language::Java
            | Language::Kotlin
            | Language::Php
            | Language::PowerShell
            | Language::Regex
            | Language::Ruby
            | Language::Swift => return None,
        };
        Some((kind, language))
    }
}
