//! Judges files that npm and JavaScript test runners load.

use std::collections::BTreeSet;

use switchboard_protocol::finding::CheckCommand;

use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::runner_file::whole;
use super::settings::{Setting, Settings, different, flat, is_harmless, setting};

/// Scripts that npm runs automatically during an installation.
const AT_INSTALL: [&str; 6] = ["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare"];
/// Sections of `package.json` that configure a runner or its compiler.
const RUNNERS: [&str; 8] = ["jest", "mocha", "vitest", "ava", "nyc", "c8", "babel", "tap"];
/// Settings of runners that choose tests, load code, or decide what counts as a failure.
const RUNNER_SETTINGS: [&str; 33] = [
    "testMatch",
    "testRegex",
    "PathIgnorePatterns",
    "testNamePattern",
    "setupFiles",
    "setupFilesAfterEnv",
    "globalSetup",
    "globalTeardown",
    "reporters",
    "testRunner",
    "runner",
    "passWithNoTests",
    "testSequencer",
    "snapshotResolver",
    "resolver",
    "require",
    "grep",
    "fgrep",
    "invert",
    "ignore",
    "spec",
    "exclude",
    "include",
    "bail",
    "allowOnly",
    "retry",
    "retries",
    "file",
    "failFast",
    "process.exit",
    "child_process",
    "exitCode",
    "writeFile",
];

pub(super) fn package(file: &ChangedFile, commands: &[CheckCommand]) -> Vec<Hit> {
    let (before, after) = file.texts();
    let read = |text: &str| -> Option<Settings> {
        if text.is_empty() { Some(Settings::new()) } else { serde_json::from_str(text).ok().map(|value| flat(&value)) }
    };
    let (Some(old), Some(new)) = (read(&before), read(&after)) else {
        return vec![whole(file, Consequence::NeedsReview, "is no JSON and was not read")];
    };
    let used = scripts(commands, &new);
    different(&old, &new).iter().filter_map(|one| judged(file, one, &used)).collect()
}

fn judged(file: &ChangedFile, one: &Setting<'_>, used: &BTreeSet<String>) -> Option<Hit> {
    let (section, key) = one.name.split_once('.').unwrap_or((one.name, ""));
    let (before, after) = (one.before.unwrap_or(""), one.after.unwrap_or(""));
    let hit = |consequence| Some(setting(file, "runner-config", consequence, one));
    match section {
        "scripts" if AT_INSTALL.contains(&key) => {
            hit(if after.starts_with("husky") { Consequence::Reported } else { Consequence::NeedsReview })
        }
        "scripts" if used.contains(key) => hit(if !before.is_empty() && is_harmless(before, after) {
            Consequence::Reported
        } else {
            Consequence::NeedsReview
        }),
        section if RUNNERS.contains(&section) => {
            let reaches = RUNNER_SETTINGS.iter().any(|word| key.contains(word))
                || after.contains("./") && !key.contains("moduleNameMapper");
            hit(if reaches { Consequence::NeedsReview } else { Consequence::Reported })
        }
        "eslintConfig" | "eslintIgnore" | "prettier" | "stylelint" => {
            let is_looser = after == "off"
                || after == "0"
                || section == "eslintIgnore"
                || key.contains("ignore")
                || one.after.is_none();
            Some(setting(
                file,
                "gate-config",
                if is_looser { Consequence::NeedsReview } else { Consequence::Reported },
                one,
            ))
        }
        section if section.ends_with("ependencies") || section == "overrides" || section == "resolutions" => {
            let is_elsewhere = ["file:", "link:", "portal:", "git", "http:", "https:", "./", "../"]
                .iter()
                .any(|from| after.starts_with(from))
                || (after.contains('/') && !after.starts_with("npm:") && !after.starts_with("workspace:"));
            is_elsewhere.then(|| setting(file, "runner-config", Consequence::NeedsReview, one))
        }
        _ => None,
    }
}

/// Returns the scripts that the gates' commands run, with those that npm runs around them and those that they run
/// themselves.
fn scripts(commands: &[CheckCommand], settings: &Settings) -> BTreeSet<String> {
    let mut used: BTreeSet<String> = BTreeSet::new();
    let lines = commands.iter().map(|command| command.argv.join(" "));
    let mut open: Vec<String> = lines.collect();
    open.push("npm test".to_owned());
    while let Some(line) = open.pop() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let is_manager =
                ["npm", "yarn", "pnpm", "bun", "run", "npm-run-all", "run-s", "run-p", "run-script"].contains(&pair[0]);
            let name = if pair[1] == "t" { "test" } else { pair[1] };
            if is_manager && !name.starts_with('-') && used.insert(name.to_owned()) {
                used.extend([format!("pre{name}"), format!("post{name}")]);
                open.extend(
                    ["", "pre", "post"]
                        .iter()
                        .filter_map(|start| settings.get(&format!("scripts.{start}{name}")).cloned()),
                );
            }
        }
    }
    used
}

pub(super) fn npmrc(file: &ChangedFile) -> Vec<Hit> {
    const PROGRAM_SETTINGS: [&str; 8] =
        ["node-options", "script-shell", "shell", "ignore-scripts", "prefix", "globalconfig", "yarn-path", "yarnPath"];
    let (before, after) = file.texts();
    let lines = after.lines().filter(|line| !before.lines().any(|old| old == *line));
    let hit = |line: &str| {
        let key = line.split(['=', ':']).next().unwrap_or(line).trim().to_owned();
        let reaches = PROGRAM_SETTINGS.contains(&key.as_str()) || key.starts_with("plugins");
        reaches.then(|| {
            let at = after.find(line).map_or(0..0, |at| at..at + line.len());
            Hit::new(
                "runner-config",
                Consequence::NeedsReview,
                &file.path,
                at,
                format!("the setting `{key}` changes how npm runs programs"),
            )
        })
    };
    lines.filter_map(hit).collect()
}

/// Judges configuration that is code, by its added and removed lines.
pub(super) fn script(file: &ChangedFile) -> Vec<Hit> {
    let (before, after) = file.texts();
    let gone = before.lines().filter(|line| !after.lines().any(|new| new == *line));
    let added = after.lines().filter(|line| !before.lines().any(|old| old == *line));
    let reaches = |line: &&str| {
        let line = line.trim();
        let is_comment = line.starts_with("//") || line.starts_with('*');
        let loads = (line.contains("transform") || line.contains("testEnvironment"))
            && (line.contains("./") || line.contains("<rootDir>"));
        let is_for_coverage = line.contains("coverage") || line.contains("collectCoverageFrom");
        !is_comment && !is_for_coverage && (loads || RUNNER_SETTINGS.iter().any(|word| has_word(line, word)))
    };
    let mut hits: Vec<Hit> = added
        .filter(reaches)
        .map(|line| {
            let at = after.find(line).map_or(0..0, |at| at..at + line.len());
            let shown: String = line.trim().chars().take(80).collect();
            Hit::new(
                "runner-config",
                Consequence::NeedsReview,
                &file.path,
                at,
                format!("`{shown}` chooses tests, loads code or decides what fails"),
            )
        })
        .collect();
    if let Some(line) = gone.filter(reaches).find(|_| hits.is_empty()) {
        let shown: String = line.trim().chars().take(80).collect();
        hits.push(Hit::new(
            "runner-config",
            Consequence::NeedsReview,
            &file.path,
            0..0,
            format!("`{shown}` was taken out"),
        ));
    }
    if hits.is_empty() {
        hits.push(whole(file, Consequence::Reported, "is loaded by the test runner"));
    }
    hits
}

/// Returns whether a line has a word as a whole name; a word with a capital first letter may also end a longer name.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before =
            line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() || word.starts_with(char::is_uppercase));
        let after = line[at + word.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric());
        before && after
    })
}
