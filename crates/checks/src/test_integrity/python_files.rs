//! Judges files that Python, pytest and unittest load.

use std::ops::Range;

use switchboard_protocol::finding::CheckCommand;

use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::runner_file::whole;
use super::settings::{Setting, Settings, different, is_harmless, keeps_all, moves_threshold, setting, toml};

/// Names that a `conftest.py` needs to change how tests run or what counts as passed. Fixtures need none of them.
const RUNNER_INTERNALS: [&str; 22] = [
    "def pytest_",
    "collect_ignore",
    "pytest_plugins",
    "os._exit",
    "sys.exit",
    "sys.modules",
    "setattr(",
    "builtins",
    "exec(",
    "eval(",
    "hookimpl",
    "hookwrapper",
    "__import__",
    "_pytest",
    "TestCase.",
    "exitstatus",
    "atexit",
    "settrace",
    "_getframe",
    "inspect.",
    "raise SystemExit",
    "importlib",
];
/// Tables of `pyproject.toml` with settings of linters, type checkers and coverage.
const LINTERS: [&str; 7] =
    ["tool.ruff", "tool.mypy", "tool.pylint", "tool.flake8", "tool.bandit", "tool.pyright", "tool.coverage.report"];
/// Hooks that only declare something.
const DECLARES: [&str; 3] = ["def pytest_configure(", "def pytest_addoption(", "def pytest_report_header("];
/// Settings of pytest that neither choose tests nor decide what counts as a failure.
const HARMLESS: [&str; 16] = [
    "markers",
    "filterwarnings",
    "minversion",
    "log_cli",
    "log_level",
    "log_cli_level",
    "log_file",
    "log_format",
    "junit_family",
    "asyncio_mode",
    "asyncio_default_fixture_loop_scope",
    "timeout",
    "console_output_style",
    "doctest_optionflags",
    "required_plugins",
    "tmp_path_retention_count",
];
/// Settings of pytest that collect more tests when their lists grow.
const WIDENS: [&str; 4] = ["testpaths", "python_files", "python_classes", "python_functions"];

pub(super) fn conftest(file: &ChangedFile) -> Vec<Hit> {
    let (before, after) = file.texts();
    if file.is_deleted() {
        return vec![whole(file, Consequence::NeedsReview, "was loaded by the tests")];
    }
    let found: Vec<(&str, Range<usize>)> = after
        .lines()
        .scan(0, |at, line| {
            let from = *at;
            *at += line.len() + 1;
            Some((line, from..from + line.len()))
        })
        .filter(|(line, _)| !before.lines().any(|old| old == *line))
        .collect();
    let is_declared = |line: &str| {
        let hook = DECLARES.iter().find(|hook| line.contains(*hook));
        hook.is_some() && !after.contains("import os") && !after.contains("patch")
    };
    let reaches =
        found.iter().filter(|(line, _)| RUNNER_INTERNALS.iter().any(|word| line.contains(word)) && !is_declared(line));
    let mut hits: Vec<Hit> = reaches
        .map(|(line, range)| {
            let shown: String = line.trim().chars().take(80).collect();
            let message = format!("`{shown}` in a file that pytest loads reaches into the test run");
            Hit::new("runner-file", Consequence::NeedsReview, &file.path, range.clone(), message)
        })
        .collect();
    let is_automatic = found.iter().any(|(line, _)| line.contains("autouse"));
    if is_automatic && (after.contains("patch") || after.contains("skip(") || after.contains("xfail(")) {
        hits.push(whole(file, Consequence::NeedsReview, "has a fixture that patches code for every test"));
    }
    if hits.is_empty() {
        hits.push(whole(file, Consequence::Reported, "is loaded by pytest; it only has fixtures and helpers"));
    }
    hits
}

pub(super) fn startup(file: &ChangedFile) -> Vec<Hit> {
    let (_, after) = file.texts();
    let is_path_file = file.name().ends_with(".pth");
    if is_path_file && after.contains('\0') {
        return Vec::new();
    }
    vec![whole(file, Consequence::NeedsReview, "is run by Python before anything else")]
}

pub(super) fn ini(file: &ChangedFile, commands: &[CheckCommand]) -> Vec<Hit> {
    let (before, after) = file.texts();
    let (old, new) = (sections(&before), sections(&after));
    let uses_tox = commands.iter().any(|command| command.argv.iter().any(|word| word.contains("tox")));
    different(&old, &new)
        .iter()
        .filter_map(|one| {
            let (section, key) = one.name.rsplit_once('.')?;
            let consequence = match section {
                "pytest" | "tool:pytest" => pytest(key, one),
                section
                    if section.starts_with("testenv")
                        && uses_tox
                        && (key == "commands" || key == "setenv" || key.starts_with("allowlist")) =>
                {
                    Consequence::NeedsReview
                }
                "flake8" | "pycodestyle" | "pylint" | "mypy" | "coverage:report" => return loosens(file, key, one),
                _ => return None,
            };
            Some(setting(file, "runner-config", consequence, one))
        })
        .collect()
}

pub(super) fn pyproject(file: &ChangedFile) -> Vec<Hit> {
    let (before, after) = file.texts();
    let (Some(old), Some(new)) = (toml(&before), toml(&after)) else {
        return vec![whole(file, Consequence::NeedsReview, "is no TOML and was not read")];
    };
    different(&old, &new)
        .iter()
        .filter_map(|one| {
            if let Some(key) = one
                .name
                .strip_prefix("tool.pytest.ini_options.")
                .or_else(|| one.name.strip_prefix("tool.pytest."))
                .or_else(|| one.name.strip_prefix("pytest."))
            {
                return Some(setting(file, "runner-config", pytest(key, one), one));
            }
            let key = one.name.rsplit('.').next().unwrap_or(one.name);
            match one.name {
                name if LINTERS.iter().any(|tool| name.starts_with(tool)) => loosens(file, key, one),
                "build-system.build-backend" | "build-system.backend-path" => {
                    Some(setting(file, "runner-config", Consequence::NeedsReview, one))
                }
                name if name.starts_with("project.entry-points.pytest11")
                    || name.starts_with("tool.tox")
                    || name.starts_with("tool.nox") =>
                {
                    Some(setting(file, "runner-config", Consequence::NeedsReview, one))
                }
                _ => None,
            }
        })
        .collect()
}

/// Judges a setting of pytest.
fn pytest(key: &str, one: &Setting<'_>) -> Consequence {
    let (before, after) = (one.before.unwrap_or(""), one.after.unwrap_or(""));
    let is_harmless = match key {
        "addopts" => is_harmless(before, after),
        "xfail_strict" => after == "true",
        "pythonpath" => ["src", ".", "lib", "[\"src\"]", "[\".\"]", "[\"src\",\".\"]"].contains(&after),
        key if WIDENS.contains(&key) => !before.is_empty() && keeps_all(before, after),
        key => HARMLESS.contains(&key) || key.starts_with("log_"),
    };
    if is_harmless { Consequence::Reported } else { Consequence::NeedsReview }
}

/// Judges a setting of a linter or type checker.
fn loosens(file: &ChangedFile, key: &str, one: &Setting<'_>) -> Option<Hit> {
    let after = one.after.unwrap_or("");
    let is_looser =
        ["ignore", "exclude", "disable", "per-file", "skip", "allow"].iter().any(|word| one.name.contains(word))
            || (key.contains("strict") || key.starts_with("disallow") || key.starts_with("warn"))
                && one.after != Some("true")
            || (["select", "extend-select", "fail-on", "enable"].contains(&key)
                && one.before.is_some_and(|before| before.is_empty() || !keeps_all(before, after)))
            || one.before.is_some_and(|before| moves_threshold(key, before, after));
    let consequence = if is_looser { Consequence::NeedsReview } else { Consequence::Reported };
    Some(setting(file, "gate-config", consequence, one))
}

/// Parses an INI file; indented lines continue a value.
fn sections(text: &str) -> Settings {
    let (mut settings, mut section, mut key) = (Settings::new(), String::new(), None::<String>);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            (section, key) = (name.to_owned(), None);
        } else if line.starts_with(char::is_whitespace)
            && let Some(value) = key.as_ref().and_then(|key| settings.get_mut(key))
        {
            value.push('\n');
            value.push_str(trimmed);
        } else if let Some((name, value)) = trimmed.split_once(['=', ':']) {
            let name = format!("{section}.{}", name.trim());
            settings.insert(name.clone(), value.trim().to_owned());
            key = Some(name);
        }
    }
    settings
}
