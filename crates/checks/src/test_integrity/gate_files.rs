//! Judges configuration and ignore files of linters, formatters, type checkers and secret scans by their added and
//! removed lines.

use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::paths;
use super::settings::moves_threshold;

/// Files that a linter, a formatter, a type checker or a secret scan reads.
const GATE_FILES: [&str; 38] = [
    ".eslintrc",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".eslintrc.yaml",
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    ".flake8",
    ".pylintrc",
    "pylintrc",
    "ruff.toml",
    ".ruff.toml",
    "mypy.ini",
    ".mypy.ini",
    "pyrightconfig.json",
    "clippy.toml",
    ".clippy.toml",
    "rustfmt.toml",
    ".rustfmt.toml",
    "deny.toml",
    "tsconfig.json",
    "biome.json",
    "biome.jsonc",
    ".gitleaks.toml",
    ".pre-commit-config.yaml",
    ".golangci.yml",
    ".golangci.yaml",
    ".rubocop.yml",
    ".bandit",
    ".semgrep.yml",
    "tslint.json",
    ".stylelintrc",
    ".prettierrc",
    ".coveragerc",
    ".codecov.yml",
];
/// Files whose lines exclude something from a gate.
const IGNORE_FILES: [&str; 9] = [
    ".eslintignore",
    ".prettierignore",
    ".secretscanignore",
    ".gitleaksignore",
    ".semgrepignore",
    ".secrets.baseline",
    ".trufflehogignore",
    ".stylelintignore",
    ".trivyignore",
];
/// Generated files: excluding them from a gate hides nothing.
const GENERATED: [&str; 14] = [
    "dist",
    "build",
    "coverage",
    "node_modules",
    "target",
    "out",
    ".venv",
    "venv",
    "__pycache__",
    ".next",
    "vendor",
    "*.min.js",
    "*.lock",
    "package-lock.json",
];
/// Words in a configuration line that makes a gate less strict.
const LOOSER: [&str; 16] = [
    "ignore",
    "exclude",
    "disable",
    "\"off\"",
    "'off'",
    ": off",
    "allow",
    "skip",
    "per-file",
    "strict = false",
    "\"strict\": false",
    "false",
    ": 0",
    "noqa",
    "suppress",
    "whitelist",
];
/// Words in a configuration line that makes a gate stricter.
const STRICTER: [&str; 10] =
    ["select", "extend", "deny", "error", "warn", "forbid", "plugins", "rules", "strict", "true"];

/// Returns whether a gate other than the tests reads the file.
pub(super) fn is_gate_file(path: &str) -> bool {
    let name = paths::name(path);
    GATE_FILES.contains(&name) || IGNORE_FILES.contains(&name)
}

/// Judges a file of a linter or another gate by its added and removed lines.
pub(super) fn hits(file: &ChangedFile) -> Vec<Hit> {
    let (before, after) = file.texts();
    let is_ignore = IGNORE_FILES.contains(&file.name());
    let rule = if is_ignore { "ignore-file" } else { "gate-config" };
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with(['#', '/']))
            .map(str::to_owned)
            .collect()
    };
    let (old, new) = (lines(&before), lines(&after));
    let added = new.iter().filter(|line| !old.contains(line));
    let gone = old.iter().filter(|line| !new.contains(line));
    let is_generated = |line: &str| {
        let line = line.trim_matches(['/', '*', '"', ',', ' ']);
        GENERATED.iter().any(|known| line == known.trim_start_matches('*'))
    };
    let is_looser = |line: &&String| match is_ignore {
        true => !is_generated(line) && !line.starts_with('!'),
        false => LOOSER.iter().any(|word| line.to_lowercase().contains(word)),
    };
    let is_lost = |line: &&String| !is_ignore && STRICTER.iter().any(|word| line.to_lowercase().contains(word));
    let hit = |line: &String, what: &str| {
        let at = after.find(line.as_str()).map_or(0..0, |at| at..at + line.len());
        let shown: String = switchboard_secrets::redact(line).chars().take(80).collect();
        Hit::new(rule, Consequence::NeedsReview, &file.path, at, format!("`{shown}` {what}"))
    };
    let mut hits: Vec<Hit> =
        added.clone().filter(is_looser).map(|line| hit(line, "may let more through a gate")).collect();
    // A line whose key has a new line is judged by the new line.
    let is_replaced = |line: &&String| new.iter().any(|other| key_of(other) == key_of(line));
    let lost = gone.clone().filter(is_lost).filter(|line| !is_replaced(line));
    hits.extend(lost.map(|line| hit(line, "is gone, and held the code to something")));
    for line in gone.filter(|_| !is_ignore) {
        let (key, was) = setting_of(line);
        let is_moved = |other: &&String| {
            let (other_key, is) = setting_of(other);
            !is_looser(other) && other_key == key && moves_threshold(key, was, is)
        };
        hits.extend(added.clone().find(is_moved).map(|other| hit(other, &format!("was `{was}`"))));
    }
    if hits.is_empty() && old != new {
        hits.push(Hit::new(
            rule,
            Consequence::Reported,
            &file.path,
            0..0,
            "the configuration of a gate was changed".to_owned(),
        ));
    }
    hits
}

fn key_of(line: &str) -> &str {
    setting_of(line).0
}

/// Returns the name and the value in a line. A number on a line of its own, as in a list, has no name.
fn setting_of(line: &str) -> (&str, &str) {
    match line.split_once([':', '=']) {
        Some((key, value)) => (key.trim(), value.trim()),
        None if line.starts_with(|c: char| c.is_ascii_digit()) => ("", line),
        None => (line, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_lets_more_through_asks_and_one_of_layout_is_told() {
        let consequences = |path: &str, before: &str, after: &str| -> Vec<Consequence> {
            let text = |text: &str| Some(text.as_bytes().to_vec());
            let file =
                ChangedFile { path: path.into(), before: text(before), after: text(after), ..ChangedFile::default() };
            hits(&file).iter().map(|hit| hit.consequence).collect()
        };

        assert_eq!(consequences("ruff.toml", "line-length = 80\n", "line-length = 100\n"), [Consequence::Reported]);
        assert_eq!(consequences("ruff.toml", "", "ignore = [\"E501\"]\n"), [Consequence::NeedsReview]);
        for (path, before, after) in [
            (".coveragerc", "fail_under = 90\n", "fail_under = 1\n"),
            (".flake8", "max-complexity = 10\n", "max-complexity = 50\n"),
            ("eslint.config.js", "\"complexity\": [2, 10],\n", "\"complexity\": [2, 99],\n"),
            ("clippy.toml", "too-many-lines-threshold = 100\n", "too-many-lines-threshold = 900 # more\n"),
        ] {
            assert_eq!(consequences(path, before, after), [Consequence::NeedsReview], "{after}");
        }
        for (path, before, after) in [
            (".flake8", "max-line-length = 80\n", "max-line-length = 100\n"),
            ("rustfmt.toml", "max_width = 100\n", "max_width = 120\n"),
            (".prettierrc", "\"printWidth\": 80,\n", "\"printWidth\": 100\n"),
            (".pre-commit-config.yaml", "rev: 1.2.3\n", "rev: 1.3.0\n"),
            (".flake8", "max-complexity = 10\n", "max-complexity=10\n"),
        ] {
            assert_eq!(consequences(path, before, after), [Consequence::Reported], "{after}");
        }
        assert_eq!(consequences(".eslintignore", "dist/\n", "dist/\nbuild/\n"), [Consequence::Reported]);
        assert_eq!(consequences(".eslintignore", "dist/\n", "dist/\nsrc/\n"), [Consequence::NeedsReview]);
    }
}
