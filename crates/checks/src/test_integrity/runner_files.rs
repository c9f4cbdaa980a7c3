//! Files that a test runner, a build tool or a gate reads: what a change to them does to the tests.
//!
//! A setting is judged by its name and value: one that chooses what runs, or what counts as a failure, asks; one of layout,
//! coverage or time limits is told. What is not known asks.

use std::collections::BTreeMap;

use switchboard_protocol::finding::CheckCommand;

use super::change::{Change, ChangedFile};
use super::hit::{Hit, Weight};
use super::{cargo_files, node_files, python_files, recipes};

/// A kind of file that a runner loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunnerFile {
    /// `conftest.py`
    Conftest,
    /// Python loads it before anything else: `sitecustomize.py`, `*.pth`.
    Startup,
    /// A module with the name of one that a runner imports.
    Shadow,
    /// `pytest.ini`, `setup.cfg`, `tox.ini`
    Ini,
    /// `pyproject.toml`
    Pyproject,
    /// `package.json`
    PackageJson,
    /// `.npmrc`
    Npmrc,
    /// Configuration of a JavaScript test runner or of what compiles for it.
    JavaScript,
    /// `build.rs`
    BuildRs,
    /// `.cargo/config.toml`
    CargoConfig,
    /// `Cargo.toml`
    CargoToml,
    /// `rust-toolchain.toml`
    Toolchain,
}

/// Modules that runners import by name; one in the repository is found first.
const SHADOWED: [&str; 22] = [
    "unittest",
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "doctest",
    "nose",
    "coverage",
    "tox",
    "site",
    "runpy",
    "traceback",
    "difflib",
    "warnings",
    "argparse",
    "importlib",
    "inspect",
    "functools",
    "logging",
    "signal",
    "re",
    "packaging",
];
const SCRIPT_CONFIGS: [&str; 11] = [
    "jest.config",
    "vitest.config",
    "vitest.workspace",
    "vite.config",
    "ava.config",
    "karma.conf",
    "playwright.config",
    "babel.config",
    "cypress.config",
    "jasmine",
    "wallaby",
];
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
/// Files whose lines take something out of a gate.
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
/// What nobody writes by hand: leaving it out of a gate hides nothing.
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
/// Words in a line of configuration that lets more through.
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
/// Words in a line of configuration that holds the code to something.
const STRICTER: [&str; 10] =
    ["select", "extend", "deny", "error", "warn", "forbid", "plugins", "rules", "strict", "true"];

// === impl RunnerFile ===

impl RunnerFile {
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let folder = path[..path.len() - name.len()].trim_end_matches('/');
        let is_top = folder.is_empty() || folder == "src" || folder == "lib";
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let is_script = [".js", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".json"].iter().any(|end| name.ends_with(end));
        Some(match name {
            "conftest.py" => Self::Conftest,
            "sitecustomize.py" | "usercustomize.py" => Self::Startup,
            _ if name.ends_with(".pth") && is_top => Self::Startup,
            "pytest.ini" | ".pytest.ini" | "setup.cfg" | "tox.ini" => Self::Ini,
            "pyproject.toml" | "pytest.toml" => Self::Pyproject,
            "package.json" => Self::PackageJson,
            ".npmrc" | ".yarnrc" | ".yarnrc.yml" => Self::Npmrc,
            "build.rs" => Self::BuildRs,
            "Cargo.toml" => Self::CargoToml,
            "config.toml" | "config" if folder.ends_with(".cargo") => Self::CargoConfig,
            "rust-toolchain" | "rust-toolchain.toml" => Self::Toolchain,
            _ if name.starts_with(".mocharc")
                || name.starts_with(".babelrc")
                || name.starts_with(".nycrc")
                || name.starts_with(".taprc") =>
            {
                Self::JavaScript
            }
            _ if is_script && SCRIPT_CONFIGS.iter().any(|config| name.starts_with(config)) => Self::JavaScript,
            _ if name.ends_with(".py") && is_top && SHADOWED.contains(&stem) => Self::Shadow,
            "__init__.py" if SHADOWED.contains(&folder.trim_start_matches("src/")) => Self::Shadow,
            _ => return None,
        })
    }
}

/// Returns whether a gate other than the tests reads the file.
pub(super) fn is_gate_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    GATE_FILES.contains(&name) || IGNORE_FILES.contains(&name)
}

pub(super) fn hits(change: &Change, commands: &[CheckCommand]) -> Vec<Hit> {
    let mut hits: Vec<Hit> = change.files.iter().flat_map(|file| of_file(file, commands)).collect();
    hits.extend(recipes::hits(change, commands));
    hits
}

fn of_file(file: &ChangedFile, commands: &[CheckCommand]) -> Vec<Hit> {
    if is_gate_file(&file.path) {
        return gate_file(file);
    }
    let Some(kind) = RunnerFile::of(&file.path) else { return Vec::new() };
    if file.is_link {
        return vec![whole(file, Weight::Asks, "is a link now")];
    }
    match kind {
        RunnerFile::Conftest => python_files::conftest(file),
        RunnerFile::Startup | RunnerFile::Shadow if file.is_deleted() => Vec::new(),
        RunnerFile::Startup => python_files::startup(file),
        RunnerFile::Shadow if !file.is_new() => Vec::new(),
        RunnerFile::Shadow => {
            vec![whole(file, Weight::Asks, "is found before the module of that name that test runners import")]
        }
        RunnerFile::Ini => python_files::ini(file, commands),
        RunnerFile::Pyproject => python_files::pyproject(file),
        RunnerFile::PackageJson => node_files::package(file, commands),
        RunnerFile::Npmrc => node_files::npmrc(file),
        RunnerFile::JavaScript => node_files::script(file),
        RunnerFile::BuildRs => cargo_files::build_script(file),
        RunnerFile::CargoConfig => cargo_files::config(file),
        RunnerFile::CargoToml => cargo_files::manifest(file),
        RunnerFile::Toolchain => cargo_files::toolchain(file),
    }
}

/// A finding about a file as a whole.
pub(super) fn whole(file: &ChangedFile, weight: Weight, what: &str) -> Hit {
    let state = match (file.is_new(), file.is_deleted()) {
        (true, _) => "the new file",
        (_, true) => "the deleted file",
        (false, false) => "the changed file",
    };
    let message = format!("{state} `{}` {what}", file.name());
    Hit::new("runner-file", weight, &file.path, 0..0, message)
}

/// Settings by their names with dots, and what became of each.
pub(super) type Settings = BTreeMap<String, String>;

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    pub(super) before: Option<&'a str>,
    pub(super) after: Option<&'a str>,
}

pub(super) fn different<'a>(before: &'a Settings, after: &'a Settings) -> Vec<Setting<'a>> {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let setting = |name: &'a String| Setting {
        name,
        before: before.get(name).map(String::as_str),
        after: after.get(name).map(String::as_str),
    };
    names.map(setting).filter(|setting| setting.before != setting.after).collect()
}

/// A finding about one setting.
pub(super) fn setting(file: &ChangedFile, rule: &'static str, weight: Weight, of: &Setting<'_>) -> Hit {
    let cut = |value: &str| -> String { switchboard_secrets::redact(value).chars().take(60).collect() };
    let what = match (of.before, of.after) {
        (None, Some(after)) => format!("is new: {}", cut(after)),
        (Some(before), None) => format!("was taken out, before: {}", cut(before)),
        (Some(before), Some(after)) => format!("is {}, before: {}", cut(after), cut(before)),
        (None, None) => String::new(),
    };
    let last = of.name.rsplit('.').next().unwrap_or(of.name);
    let text = file.texts().1;
    let at = text.find(last).map_or(0..0, |at| at..at + last.len());
    Hit::new(rule, weight, &file.path, at, format!("the setting `{}` {what}", of.name))
}

/// Judges a file of a linter or another gate by the lines that came and went.
fn gate_file(file: &ChangedFile) -> Vec<Hit> {
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
        GENERATED
            .iter()
            .any(|known| line == known.trim_matches('*').trim_matches('/') || line.trim_matches('/') == *known)
    };
    let is_looser = |line: &&String| match is_ignore {
        true => !is_generated(line) && !line.starts_with('!'),
        false => LOOSER.iter().any(|word| line.to_lowercase().contains(word)),
    };
    let is_lost = |line: &&String| !is_ignore && STRICTER.iter().any(|word| line.to_lowercase().contains(word));
    let hit = |line: &String, weight, what: &str| {
        let at = after.find(line.as_str()).map_or(0..0, |at| at..at + line.len());
        let shown: String = switchboard_secrets::redact(line).chars().take(80).collect();
        Hit::new(rule, weight, &file.path, at, format!("`{shown}` {what}"))
    };
    let mut hits: Vec<Hit> =
        added.filter(is_looser).map(|line| hit(line, Weight::Asks, "may let more through a gate")).collect();
    // A line that was replaced by one with the same key is judged by what stands there now.
    let key = |line: &str| line.split([':', '=']).next().unwrap_or(line).trim().to_owned();
    let is_replaced = |line: &&String| new.iter().any(|other| key(other) == key(line));
    hits.extend(
        gone.filter(is_lost)
            .filter(|line| !is_replaced(line))
            .map(|line| hit(line, Weight::Asks, "is gone, and held the code to something")),
    );
    if hits.is_empty() && old != new {
        hits.push(Hit::new(rule, Weight::Told, &file.path, 0..0, "the configuration of a gate was changed".to_owned()));
    }
    hits
}

/// Flattens TOML into settings; `None` if it is none.
pub(super) fn toml(text: &str) -> Option<Settings> {
    let value: serde_json::Value = toml_edit::de::from_str(text).ok()?;
    Some(flat(&value))
}

/// Flattens a value into settings by their names with dots; lists of plain values stay one setting.
pub(super) fn flat(value: &serde_json::Value) -> Settings {
    fn add(name: &str, value: &serde_json::Value, into: &mut Settings) {
        let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| add(&below(key), value, into)),
            serde_json::Value::Array(list) if list.iter().any(serde_json::Value::is_object) => {
                list.iter().enumerate().for_each(|(at, value)| add(&below(&at.to_string()), value, into));
            }
            serde_json::Value::String(text) => drop(into.insert(name.to_owned(), text.clone())),
            other => drop(into.insert(name.to_owned(), other.to_string())),
        }
    }
    let mut settings = Settings::new();
    add("", value, &mut settings);
    settings
}

/// Returns whether a command line differs only by words that change neither what runs nor what counts as a failure.
pub(super) fn is_harmless(before: &str, after: &str) -> bool {
    const HARMLESS: [&str; 24] = [
        "-v",
        "-vv",
        "-q",
        "-ra",
        "-rA",
        "-rs",
        "--verbose",
        "--quiet",
        "--silent",
        "--coverage",
        "--cov",
        "--tb",
        "--durations",
        "--color",
        "--colors",
        "--no-color",
        "--test-reporter",
        "--reporter",
        "--experimental-test-coverage",
        "--strict-markers",
        "--strict-config",
        "--no-warnings",
        "--nocapture",
        "--show-output",
    ];
    let words = |text: &str| -> Vec<String> {
        text.split([' ', '\n', ',', '"', '[', ']', '\'']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (old, new) = (words(before), words(after));
    let is_known = |word: &String| {
        let name = word.split('=').next().unwrap_or(word);
        HARMLESS.contains(&name) || name.starts_with("--cov")
    };
    let changed = new.iter().filter(|word| !old.contains(word)).chain(old.iter().filter(|word| !new.contains(word)));
    let mut changed = changed.peekable();
    changed.all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_runners_load_are_known_by_their_names() {
        let of = |path| RunnerFile::of(path);

        assert_eq!(of("tests/conftest.py"), Some(RunnerFile::Conftest));
        assert_eq!(of("unittest/__init__.py"), Some(RunnerFile::Shadow));
        assert_eq!(of("a/.cargo/config.toml"), Some(RunnerFile::CargoConfig));
        assert_eq!(of("jest.config.mjs"), Some(RunnerFile::JavaScript));
        assert_eq!(
            (of("config.toml"), of("pkg/logging.py"), of("models/weights.pth"), of("jest.config.md")),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_flag_of_layout_is_harmless_and_one_that_chooses_tests_is_not() {
        assert!(is_harmless("node --test", "node --test --test-reporter=spec"));
        assert!(is_harmless("-q", "-ra --strict-markers"));
        for bad in ["node --test || true", "true", "node --test -k x", "echo node --test", "node --test; exit 0"] {
            assert!(!is_harmless("node --test", bad), "{bad}");
        }
    }
}
