//! Classifies a file by what matters for credentials.

/// Properties that decide which detectors run, whether a value needs quotes, and how much evidence a password needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileKind {
    pub(crate) form: Form,
    /// True for tests and samples of any form: made-up credentials are usual there.
    pub(crate) is_test: bool,
    /// True if the file configures a running system: a literal there is in use.
    pub(crate) is_deployed: bool,
}

/// The way values are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A value is a literal in quotes.
    Code,
    /// A value may stand without quotes.
    Config,
    /// `NAME=value` without quotes, variables with `$`.
    Shell,
    /// Prose with examples in it.
    Docs,
    /// A file full of checksums: only tokens with a form of their own count.
    Lock,
    /// Texts for people in several languages.
    Translation,
    /// Output of a program.
    Log,
}

/// Names of folders that hold tests and samples.
const TEST_FOLDERS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "testdata",
    "test_data",
    "spec",
    "specs",
    "__tests__",
    "__mocks__",
    "mock",
    "mocks",
    "fixtures",
    "fixture",
    "example",
    "examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "e2e",
    "testsuite",
    "benches",
    "benchmark",
    "stubs",
];
const LOCKS: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "cargo.lock",
    "poetry.lock",
    "uv.lock",
    "pipfile.lock",
    "go.sum",
    "composer.lock",
    "gemfile.lock",
    "packages.lock.json",
    "mix.lock",
    "pubspec.lock",
    "flake.lock",
    "podfile.lock",
    "bun.lock",
    "deno.lock",
    "gradle.lockfile",
    "checksums.txt",
    ".cargo-checksum.json",
];
const CONFIG_ENDINGS: &[&str] = &[
    "yaml",
    "yml",
    "properties",
    "ini",
    "cfg",
    "conf",
    "config",
    "toml",
    "tfvars",
    "cnf",
    "netrc",
    "pgpass",
    "npmrc",
    "pypirc",
    "cred",
    "credentials",
    "prefs",
    "settings",
    "tf",
    "hcl",
    "htaccess",
    "service",
    "plist",
    "json",
    "json5",
    "jsonc",
    "xml",
    "txt",
    "csv",
    "env",
    "envrc",
    "secrets",
    "text",
    "sql",
    "ovpn",
    "reg",
    "inf",
];
const SHELL_ENDINGS: &[&str] =
    &["sh", "bash", "zsh", "ksh", "fish", "bat", "cmd", "ps1", "psm1", "dockerfile", "mk", "command"];
const DOC_ENDINGS: &[&str] = &["md", "markdown", "rst", "adoc", "html", "htm", "tex", "org", "pod", "ipynb"];
const DEPLOYED_ENDINGS: &[&str] = &[
    "yaml",
    "yml",
    "properties",
    "ini",
    "cfg",
    "conf",
    "config",
    "tfvars",
    "cnf",
    "netrc",
    "pgpass",
    "npmrc",
    "pypirc",
    "cred",
    "credentials",
    "htaccess",
    "service",
    "env",
    "envrc",
    "secrets",
    "ovpn",
];
/// Endings of text files that are in no other list.
const TEXT_ENDINGS: &[&str] = &[
    "log",
    "svg",
    "vue",
    "svelte",
    "scss",
    "sass",
    "less",
    "graphql",
    "proto",
    "jsp",
    "erb",
    "ejs",
    "hbs",
    "tpl",
    "j2",
    "pem",
    "key",
    "crt",
    "asc",
    "ps",
    "m",
    "mm",
    "pl",
    "pm",
    "r",
    "lua",
    "scala",
    "groovy",
    "gradle",
    "clj",
    "ex",
    "exs",
    "erl",
    "hs",
    "ml",
    "fs",
    "vb",
    "pas",
    "sol",
    "nix",
    "zig",
    "lock",
    "gitignore",
    "editorconfig",
];

// === impl FileKind ===

impl FileKind {
    /// The output of a program.
    pub(crate) const LOG: Self = Self { form: Form::Log, is_test: false, is_deployed: false };

    /// Returns the kind from the path.
    pub(crate) fn of(path: &str) -> Self {
        let path = path.to_ascii_lowercase();
        let file = path.rsplit('/').next().unwrap_or(&path);
        let (form, is_test) = (Form::of(&path, file), is_test(&path, file));
        let is_deployed = !is_test && is_deployed(form, file);
        Self { form, is_test, is_deployed }
    }

    /// Returns the kind for text that the file only shows, such as a setting that is commented out.
    pub(crate) const fn shown(self) -> Self {
        Self { is_test: true, is_deployed: false, ..self }
    }

    /// Returns whether a value may stand without quotes.
    pub(crate) const fn has_bare_values(self) -> bool {
        matches!(self.form, Form::Config | Form::Shell | Form::Log)
    }

    /// Returns whether made-up credentials are usual here.
    pub(crate) const fn is_for_show(self) -> bool {
        self.is_test || matches!(self.form, Form::Docs | Form::Translation)
    }
}

// === impl Form ===

impl Form {
    fn of(path: &str, file: &str) -> Self {
        let stem = file.trim_start_matches('.');
        let ending = stem.rsplit_once('.').map_or(stem, |(_, ending)| ending);
        let is_built =
            file.ends_with(".min.js") || file.ends_with(".min.css") || ["map", "sum", "svg"].contains(&ending);
        let is_recipe =
            ["makefile", "dockerfile", "containerfile", "procfile"].iter().any(|name| stem.starts_with(name));
        match ending {
            _ if LOCKS.contains(&file) || is_built => Self::Lock,
            _ if is_translation(path, ending) => Self::Translation,
            _ if DOC_ENDINGS.contains(&ending) => Self::Docs,
            _ if SHELL_ENDINGS.contains(&ending) || is_recipe => Self::Shell,
            _ if CONFIG_ENDINGS.contains(&ending) || stem.starts_with("env.") => Self::Config,
            "log" | "out" => Self::Log,
            _ => Self::Code,
        }
    }
}

/// Returns whether a path names a text file, by its ending or by a known name without one.
#[must_use]
pub fn is_text_type(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let file = path.rsplit('/').next().unwrap_or(&path);
    let stem = file.trim_start_matches('.');
    let ending = stem.rsplit_once('.').map_or(stem, |(_, ending)| ending);
    let is_known =
        [CONFIG_ENDINGS, SHELL_ENDINGS, DOC_ENDINGS, TEXT_ENDINGS].iter().any(|endings| endings.contains(&ending));
    is_known || LOCKS.contains(&file) || Form::of(&path, file) != Form::Code
}

fn is_test(path: &str, file: &str) -> bool {
    let mut folders = path.rsplit('/').skip(1);
    folders.any(|folder| TEST_FOLDERS.contains(&folder))
        || ["test_", "test-", "tst-"].iter().any(|start| file.starts_with(start))
        || ["test", "tests", "spec"].contains(&file.split('.').next().unwrap_or(file))
        || [
            ".test.",
            ".spec.",
            "_test.",
            "_spec.",
            "-test.",
            ".example",
            ".sample",
            ".dist",
            ".template",
            "test.java",
            "tests.cs",
            "test.php",
            "test.kt",
            "tests.swift",
        ]
        .iter()
        .any(|mark| file.contains(mark))
}

/// Returns whether a file holds settings that a program reads at its start; other files of the same form are data.
fn is_deployed(form: Form, file: &str) -> bool {
    let stem = file.trim_start_matches('.');
    let ending = stem.rsplit_once('.').map_or(stem, |(_, ending)| ending);
    let is_recipe = ["dockerfile", "containerfile", "procfile"].iter().any(|name| stem.starts_with(name));
    match form {
        Form::Config => DEPLOYED_ENDINGS.contains(&ending) || stem.starts_with("env."),
        Form::Shell => is_recipe || ending == "dockerfile",
        Form::Code | Form::Docs | Form::Lock | Form::Translation | Form::Log => false,
    }
}

fn is_translation(path: &str, ending: &str) -> bool {
    ["po", "pot", "strings", "xlf", "xliff", "arb", "resx"].contains(&ending)
        || path.split('/').any(|folder| {
            ["locale", "locales", "i18n", "l10n", "lang", "langs", "translations", "nls"].contains(&folder)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_comes_from_folders_before_endings() {
        let kind = |path| (FileKind::of(path).form, FileKind::of(path).is_test);

        assert_eq!(kind("src/app.py"), (Form::Code, false));
        assert_eq!(kind("tests/conf.yaml"), (Form::Config, true));
        assert_eq!(kind("deploy/.env"), (Form::Config, false));
        assert_eq!(kind(".env.production"), (Form::Config, false));
        assert_eq!(kind("Dockerfile"), (Form::Shell, false));
        assert_eq!(kind("web/yarn.lock"), (Form::Lock, false));
        assert_eq!(kind("src/locales/de.json"), (Form::Translation, false));
    }
}
