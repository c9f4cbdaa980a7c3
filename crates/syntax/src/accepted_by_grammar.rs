//! Mistakes that a language's own parser refuses and the grammar accepts: each language's rules over a tree without
//! errors.

use switchboard_grammars::Language;
use tree_sitter::Tree;

use crate::problem::Problem;
use crate::{go, java, javascript, php, python, ruby};

/// Lists the mistakes that the grammar accepts; empty for a language without rules of its own.
pub(crate) fn mistakes(tree: &Tree, text: &[u8], language: Language) -> Vec<Problem> {
    match language {
        Language::Go => go::mistakes(tree, text),
        Language::Java => java::mistakes(tree, text),
        Language::JavaScript => javascript::mistakes(tree, text, javascript::Dialect::JavaScript),
        Language::TypeScript | Language::Tsx => javascript::mistakes(tree, text, javascript::Dialect::TypeScript),
        Language::Php => php::mistakes(tree, text),
        Language::Python => python::mistakes(tree, text),
        Language::Ruby => ruby::mistakes(tree, text),
        Language::Bash
        | Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Css
        | Language::Dart
        | Language::Ini
        | Language::Kotlin
        | Language::PowerShell
        | Language::Regex
        | Language::Rust
        | Language::Swift => Vec::new(),
    }
}
