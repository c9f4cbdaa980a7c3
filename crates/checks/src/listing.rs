//! Lists the checks with their rules, and the build commands that a folder's files imply.

use std::path::Path;

use serde::Serialize;
use switchboard_protocol::finding::{CheckCommand, CheckName, CommandKind};
use switchboard_protocol::verb::check::BuildMode;

use crate::project::build::steps;
use crate::project::{Project, Search};
use switchboard_secrets::rules as secret_rules;

/// Description of a check, for people who choose one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckAbout {
    /// Name of the check.
    pub name: &'static str,
    /// What the check finds, in one sentence.
    pub about: &'static str,
    /// True if this version has the check.
    pub is_available: bool,
    /// True if the check runs commands of the repository; it then runs only on request.
    pub runs_commands: bool,
    /// Rules as findings name them; empty if the rules are those of other tools.
    pub rules: Vec<String>,
}

/// Lists the checks.
#[must_use]
pub fn checks() -> Vec<CheckAbout> {
    CheckName::ALL.iter().map(|check| about(*check)).collect()
}

fn about(check: CheckName) -> CheckAbout {
    let (about, is_available, runs_commands) = match check {
        CheckName::SyntaxCheck => ("code that no longer parses, in 20 languages", true, false),
        CheckName::Secretscan => ("keys, tokens, passwords and other credentials", true, false),
        CheckName::PlaceholderScan => ("code that only pretends to be finished", true, false),
        CheckName::TodoExtract => ("notes in comments; lists them, blocks nothing", true, false),
        CheckName::TestIntegrity => ("what a change does to tests, and to what runs and judges them", true, false),
        CheckName::NewTests => ("whether new tests fail without the change, or add a case", true, true),
        CheckName::Diff => ("the files of a change, those that decide how it is judged first", true, false),
        CheckName::Imports => ("whether what a change imports is there", true, false),
        CheckName::RegressionSweep => ("the tests that depend on what a change touches", true, true),
        CheckName::Lint => ("what the repository's own linter says", true, true),
        CheckName::BuildCheck => ("whether it builds and type-checks", true, true),
        CheckName::TestRunner => ("whether its tests pass", true, true),
        CheckName::SastScan => ("weaknesses in code; not in this version", false, false),
        CheckName::QualityBudget => ("complexity and duplication; not in this version", false, false),
    };
    CheckAbout { name: check.as_str(), about, is_available, runs_commands, rules: rules(check) }
}

fn rules(check: CheckName) -> Vec<String> {
    match check {
        CheckName::SyntaxCheck => {
            switchboard_grammars::Language::ALL.iter().map(|language| format!("{}-syntax", language.as_str())).collect()
        }
        CheckName::Secretscan => secret_rules().map(|(rule, _)| rule.to_owned()).collect(),
        CheckName::PlaceholderScan => crate::placeholder::RULES.iter().map(|rule| (*rule).to_owned()).collect(),
        CheckName::TodoExtract => ["todo", "fixme", "hack", "xxx", "tbd", "wip", "warn", "note"]
            .iter()
            .map(|tag| format!("todo/{tag}"))
            .collect(),
        CheckName::TestIntegrity => crate::test_integrity::rules(),
        CheckName::NewTests => vec![crate::test_integrity::new_tests::RULE.to_owned()],
        CheckName::Diff => crate::test_integrity::diff::RULES.iter().map(|rule| (*rule).to_owned()).collect(),
        CheckName::Imports => crate::imports::RULES.iter().map(|rule| (*rule).to_owned()).collect(),
        CheckName::RegressionSweep
        | CheckName::Lint
        | CheckName::BuildCheck
        | CheckName::TestRunner
        | CheckName::SastScan
        | CheckName::QualityBudget => Vec::new(),
    }
}

/// Returns the commands that build a folder, derived from its files; a type check replaces a build by the same tool.
/// Runs nothing.
#[must_use]
pub fn build_commands(root: &Path) -> Vec<CheckCommand> {
    let mut found: Vec<(&str, CheckCommand)> = Vec::new();
    for step in steps(&Project::new(root), BuildMode::Both, &[]) {
        if let Search::Found(tool) = step.search {
            found.retain(|(name, _)| *name != tool.name);
            let command = CheckCommand {
                kind: CommandKind::Build,
                argv: tool.argv,
                cwd: None,
                time_limit_s: None,
                env: Vec::new(),
            };
            found.push((tool.name, command));
        }
    }
    found.into_iter().map(|(_, command)| command).collect()
}
