//! Judges files of the repository that the gates' commands use: targets of a Makefile, and scripts.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::finding::CheckCommand;

use super::change::Change;
use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::runner_file::RunnerFile;
use super::settings::is_harmless;

const MAKEFILES: [&str; 3] = ["Makefile", "makefile", "GNUmakefile"];

/// File endings of programs that a shell, an interpreter or a task runner executes.
const PROGRAMS: [&str; 21] = [
    "sh", "bash", "zsh", "fish", "ksh", "ps1", "bat", "cmd", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php",
    "lua", "awk", "mk", "yml",
];

pub(super) fn hits(change: &Change, commands: &[CheckCommand]) -> Vec<Hit> {
    let words: Vec<Vec<String>> = commands.iter().map(|command| words(&command.argv)).collect();
    change.files.iter().filter_map(|file| of_file(file, &words)).collect()
}

/// Returns whether a gate's command runs a file, or a target in it.
pub(super) fn is_run(path: &str, commands: &[CheckCommand]) -> bool {
    let words: Vec<String> = commands.iter().flat_map(|command| words(&command.argv)).collect();
    let is_made = MAKEFILES.contains(&path) && words.iter().any(|word| word == "make" || word == "gmake");
    is_made || words.iter().any(|word| word == path)
}

/// Returns whether a file may be a program, rather than data that a command reads: `grep -q done state.txt` runs no `state.txt`.
fn may_be_program(path: &str) -> bool {
    match super::paths::name(path).rsplit_once('.') {
        None | Some(("", _)) => true,
        Some((_, end)) => PROGRAMS.contains(&end),
    }
}

/// Returns the words of a command, including those inside a shell line.
fn words(argv: &[String]) -> Vec<String> {
    let each = argv.iter().flat_map(|word| word.split([' ', ';', '&', '|', '\n', '(', ')', '"', '\'']));
    each.filter(|word| !word.is_empty()).map(|word| word.trim_start_matches("./").to_owned()).collect()
}

fn of_file(file: &ChangedFile, commands: &[Vec<String>]) -> Option<Hit> {
    let (before, after) = file.texts();
    let asks = |what: String| Some(Hit::new("gate-config", Consequence::NeedsReview, &file.path, 0..0, what));
    let told = |what: String| Some(Hit::new("gate-config", Consequence::Reported, &file.path, 0..0, what));
    if MAKEFILES.contains(&file.path.as_str()) {
        let targets = commands.iter().filter(|words| words.iter().any(|word| word == "make" || word == "gmake"));
        let targets: BTreeSet<&str> =
            targets.flatten().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
        let (old, new) = (Rules::read(&before), Rules::read(&after));
        let changed = targets.iter().find(|target| old.of(target) != new.of(target))?;
        let what = format!("what `make {changed}` does was changed, and a gate runs it");
        return if is_harmless(&old.of(changed).join("\n"), &new.of(changed).join("\n")) {
            told(what)
        } else {
            asks(what)
        };
    }
    let is_run = commands.iter().any(|words| words.iter().any(|word| word == &file.path));
    let is_known = RunnerFile::of(&file.path).is_some() || super::paths::is_test(&file.path);
    if !is_run || !may_be_program(&file.path) || is_known || before == after {
        return None;
    }
    let what = "a gate's command runs the file".to_owned();
    if !file.is_new() && is_harmless(&before, &after) { told(what) } else { asks(what) }
}

/// Rules of a Makefile.
#[derive(Default)]
struct Rules {
    /// Lines of each target: its prerequisites, then its recipe.
    targets: BTreeMap<String, (Vec<String>, Vec<String>)>,
    /// Assignments and other lines outside of rules.
    rest: BTreeMap<String, String>,
}

// === impl Rules ===

impl Rules {
    fn read(text: &str) -> Self {
        let mut rules = Self::default();
        let mut open: Vec<String> = Vec::new();
        for line in text.lines() {
            if line.starts_with('\t') {
                for target in &open {
                    rules.targets.entry(target.clone()).or_default().1.push(line.trim().to_owned());
                }
                continue;
            }
            let plain = line.split('#').next().unwrap_or("").trim();
            let assigned = plain.split_once('=').filter(|(name, _)| {
                !name.contains(['\t', ' '])
                    || name.trim_end().split(' ').count() == 1
                    || name.ends_with([':', '?', '+', ' '])
            });
            match (assigned, plain.split_once(':')) {
                (Some((name, value)), _) if !name.contains('(') => {
                    let name = name
                        .trim_end_matches([':', '?', '+', '!', ' '])
                        .trim_start_matches("export ")
                        .trim()
                        .to_owned();
                    rules.rest.insert(name, value.trim().to_owned());
                }
                (_, Some((targets, needs))) => {
                    open = targets.split_whitespace().map(str::to_owned).collect();
                    for target in &open {
                        let needs = needs.split_whitespace().map(str::to_owned);
                        rules.targets.entry(target.clone()).or_default().0.extend(needs);
                    }
                }
                _ if plain.is_empty() => {}
                _ => drop(rules.rest.insert(plain.to_owned(), String::new())),
            }
        }
        rules
    }

    /// Returns all lines that making a target runs, and the variables in them.
    fn of(&self, target: &str) -> Vec<String> {
        let (mut lines, mut open) = (Vec::new(), vec![target.to_owned()]);
        let mut seen: BTreeSet<String> = open.iter().cloned().collect();
        while let Some(target) = open.pop() {
            let Some((needs, does)) = self.targets.get(&target) else { continue };
            lines.extend(does.iter().cloned());
            open.extend(needs.iter().filter(|need| seen.insert((*need).clone())).cloned());
        }
        let is_used = |name: &str, lines: &[String]| {
            lines
                .iter()
                .any(|line| [format!("$({name})"), format!("${{{name}}}")].iter().any(|use_| line.contains(use_)))
        };
        let global = ["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "PATH"];
        let variables = self.rest.iter().filter(|(name, _)| {
            is_used(name, &lines)
                || global.contains(&name.as_str())
                || name.starts_with("include")
                || name.starts_with('-')
        });
        let variables: Vec<String> = variables.map(|(name, value)| format!("{name}={value}")).collect();
        lines.extend(variables);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_the_lines_of_what_it_needs_and_its_variables() {
        let rules = Rules::read(
            "PY = python3\n\n.PHONY: test lint\ntest: build\n\t$(PY) -m unittest\nbuild:\n\techo b\nlint:\n\truff\n",
        );

        assert_eq!(rules.of("test"), ["$(PY) -m unittest", "echo b", "PY=python3"]);
        assert_eq!(rules.of("lint"), ["ruff"]);
    }
}
