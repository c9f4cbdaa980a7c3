//! The tree-sitter languages, compiled once.
//!
//! [`Language::of`] returns a file's language from its name or first line; [`Language::grammar`] returns the parser's table.

mod name;

/// Generates the enum and its tables from one list: variant, name, title, grammar.
macro_rules! languages {
    ($($variant:ident, $name:literal, $title:literal, $grammar:expr;)*) => {
        /// A language that can be parsed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Language {
            $(#[doc = $title] $variant,)*
        }

        impl Language {
            /// Lists every language.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name in lower case, as plans and findings write it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the name for people.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }

            /// Returns the tree-sitter grammar.
            #[must_use]
            pub fn grammar(self) -> tree_sitter::Language {
                match self {
                    $(Self::$variant => $grammar.into(),)*
                }
            }
        }
    };
}

languages! {
    Bash, "bash", "Bash", tree_sitter_bash::LANGUAGE;
    C, "c", "C", tree_sitter_c::LANGUAGE;
    CSharp, "csharp", "C#", tree_sitter_c_sharp::LANGUAGE;
    Cpp, "cpp", "C++", tree_sitter_cpp::LANGUAGE;
    Css, "css", "CSS", tree_sitter_css::LANGUAGE;
    Dart, "dart", "Dart", tree_sitter_dart::LANGUAGE;
    Go, "go", "Go", tree_sitter_go::LANGUAGE;
    Ini, "ini", "INI", tree_sitter_ini::LANGUAGE;
    Java, "java", "Java", tree_sitter_java::LANGUAGE;
    JavaScript, "javascript", "JavaScript", tree_sitter_javascript::LANGUAGE;
    Kotlin, "kotlin", "Kotlin", tree_sitter_kotlin_ng::LANGUAGE;
    Php, "php", "PHP", tree_sitter_php::LANGUAGE_PHP;
    PowerShell, "powershell", "PowerShell", tree_sitter_powershell::LANGUAGE;
    Python, "python", "Python", tree_sitter_python::LANGUAGE;
    Regex, "regex", "a regular expression", tree_sitter_regex::LANGUAGE;
    Ruby, "ruby", "Ruby", tree_sitter_ruby::LANGUAGE;
    Rust, "rust", "Rust", tree_sitter_rust::LANGUAGE;
    Swift, "swift", "Swift", tree_sitter_swift::LANGUAGE;
    TypeScript, "typescript", "TypeScript", tree_sitter_typescript::LANGUAGE_TYPESCRIPT;
    Tsx, "tsx", "TypeScript with JSX", tree_sitter_typescript::LANGUAGE_TSX;
}

impl Language {
    /// Returns the language of a file from its name, or from its `#!` line if the name has no ending.
    #[must_use]
    pub fn of(path: &str, head: &[u8]) -> Option<Self> {
        let file = path.rsplit('/').next().unwrap_or(path);
        match file.trim_start_matches('.').rsplit_once('.') {
            Some((_, ending)) => name::by_ending(&ending.to_ascii_lowercase()),
            None => name::by_first_line(head).or_else(|| name::by_name(file)),
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
        assert_eq!(Language::of("Rakefile", b""), Some(Language::Ruby));
        assert_eq!(Language::of("a.d.ts", b""), Some(Language::TypeScript));
    }
}
