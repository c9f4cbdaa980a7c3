//! The tree-sitter languages, compiled once.
//!
//! [`Language::of`] tells a file's language from its name or first line; [`Language::grammar`] gives the parser's table.

mod name;

/// A language that can be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Go.
    Go,
    /// JavaScript, with JSX.
    JavaScript,
    /// Python 3.
    Python,
    /// Rust.
    Rust,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
}

impl Language {
    /// Lists every language.
    pub const ALL: [Self; 6] = [Self::Go, Self::JavaScript, Self::Python, Self::Rust, Self::TypeScript, Self::Tsx];

    /// Gives the name in lower case, as the swarm document writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
        }
    }

    /// Gives the name as people write it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Go => "Go",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::TypeScript => "TypeScript",
            Self::Tsx => "TypeScript with JSX",
        }
    }

    /// Gives the grammar.
    #[must_use]
    pub fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        }
    }

    /// Tells the language of a file from its name, or from its `#!` line where the name has no ending.
    #[must_use]
    pub fn of(path: &str, head: &[u8]) -> Option<Self> {
        let file = path.rsplit('/').next().unwrap_or(path);
        match file.rsplit_once('.') {
            Some((_, ending)) => name::by_ending(&ending.to_ascii_lowercase()),
            None => name::by_first_line(head),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_loads_into_the_parser() {
        for language in Language::ALL {
            let mut parser = tree_sitter::Parser::new();

            assert!(parser.set_language(&language.grammar()).is_ok(), "{language:?}");
        }
    }

    #[test]
    fn the_language_comes_from_the_ending_or_the_first_line() {
        assert_eq!(Language::of("a/b.RS", b""), Some(Language::Rust));
        assert_eq!(Language::of("a.b/tool", b"#!/usr/bin/env -S python3 -u\n"), Some(Language::Python));
        assert_eq!(Language::of("a/README", b"python\n"), None);
        assert_eq!(Language::of("a.tsx", b""), Some(Language::Tsx));
    }
}
