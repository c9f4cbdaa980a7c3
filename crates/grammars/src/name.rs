//! Maps file names and first lines to languages.

use crate::Language;

/// Returns the language from a file's ending in lower case, without the dot.
pub(crate) fn by_ending(ending: &str) -> Option<Language> {
    Some(match ending {
        "sh" | "bash" => Language::Bash,
        "c" => Language::C,
        "cs" => Language::CSharp,
        "cc" | "cpp" | "cxx" | "c++" | "h" | "hh" | "hpp" | "hxx" | "ipp" => Language::Cpp,
        "css" => Language::Css,
        "dart" => Language::Dart,
        "go" => Language::Go,
        "ini" => Language::Ini,
        "java" => Language::Java,
        "js" | "cjs" | "mjs" | "jsx" => Language::JavaScript,
        "kt" | "kts" => Language::Kotlin,
        "php" | "phtml" => Language::Php,
        "ps1" | "psm1" | "psd1" => Language::PowerShell,
        "py" | "pyi" | "pyw" => Language::Python,
        "regex" => Language::Regex,
        "rb" | "rake" | "gemspec" => Language::Ruby,
        "rs" => Language::Rust,
        "swift" => Language::Swift,
        "ts" | "cts" | "mts" => Language::TypeScript,
        "tsx" => Language::Tsx,
        _ => return None,
    })
}

/// Returns the language for a whole file name without an ending.
pub(crate) fn by_name(file: &str) -> Option<Language> {
    Some(match file {
        "Gemfile" | "Rakefile" | "Podfile" | "Vagrantfile" | "Fastfile" => Language::Ruby,
        ".bashrc" | ".bash_profile" | ".profile" => Language::Bash,
        _ => return None,
    })
}

/// Returns the language from the interpreter in a `#!` line.
pub(crate) fn by_first_line(head: &[u8]) -> Option<Language> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let words = std::str::from_utf8(line.strip_prefix(b"#!")?).ok()?.split_whitespace();
    let interpreter = words
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='))?;
    Some(match interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "sh" | "bash" | "dash" => Language::Bash,
        "ruby" => Language::Ruby,
        "php" => Language::Php,
        "pwsh" => Language::PowerShell,
        "python" | "pypy" => Language::Python,
        "node" | "nodejs" => Language::JavaScript,
        "deno" | "bun" | "ts-node" | "tsx" => Language::TypeScript,
        _ => return None,
    })
}
