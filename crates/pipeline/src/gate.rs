//! The registry of gates: names, kinds, and what each gate needs to judge a change.

use switchboard_protocol::error::near_matches;
use switchboard_protocol::finding::{CheckName, CommandKind};
use switchboard_protocol::run::way::Need;

use crate::settings::Settings;

/// A row of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Name of the gate in plans, evidence and on screens.
    pub id: &'static str,
    /// Other spellings that plans may use.
    pub aliases: &'static [&'static str],
    /// What judges the change.
    pub kind: GateKind,
    /// True if a person is asked about findings of medium severity, which do not refuse the change.
    pub asks: bool,
}

/// What judges a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateKind {
    /// A built-in check.
    Check(CheckName),
    /// A command that the plan names.
    Command(CommandKind),
    /// Several checks at once, `pre_check_batch`.
    Batch,
    /// Checks that the change stays within the files that the task declares and its coder may write.
    Scope,
    /// A gate that this version doesn't implement.
    NotBuilt,
}

/// Name of the gate that limits a change to the files that its task declares, and in a team to the rights of the coder.
/// It applies to every task that declares files, and to every task of a team.
pub const SCOPE: &str = "scope";

/// Name of the gate that checks how a change affects tests, and the files that run and judge them.
pub const TEST_INTEGRITY: &str = "test_integrity";

/// Name of the gate that runs the tests of a change without the rest of the change. It judges the tests of a team's
/// test engineer in their step.
pub const NEW_TESTS: &str = "new_tests";

/// All gates.
pub const REGISTRY: &[Gate] = &[
    gate("syntax_check", &["syntax"], GateKind::Check(CheckName::SyntaxCheck)),
    Gate { asks: true, ..gate("secretscan", &["secrets", "secret_scan"], GateKind::Check(CheckName::Secretscan)) },
    Gate {
        asks: true,
        ..gate("placeholder_scan", &["placeholder", "placeholders"], GateKind::Check(CheckName::PlaceholderScan))
    },
    gate("todo_extract", &["todo"], GateKind::Check(CheckName::TodoExtract)),
    Gate { asks: true, ..gate(TEST_INTEGRITY, &["integrity"], GateKind::Check(CheckName::TestIntegrity)) },
    gate(NEW_TESTS, &[], GateKind::Check(CheckName::NewTests)),
    gate("lint", &["linter"], GateKind::Command(CommandKind::Lint)),
    gate("build_check", &["build"], GateKind::Command(CommandKind::Build)),
    gate("test_runner", &["test", "tests"], GateKind::Command(CommandKind::Test)),
    gate("pre_check_batch", &["batch"], GateKind::Batch),
    gate(SCOPE, &["scope_check", "files_touched"], GateKind::Scope),
    gate("diff", &["contracts"], GateKind::Check(CheckName::Diff)),
    gate("imports", &["dependencies"], GateKind::Check(CheckName::Imports)),
    gate("regression_sweep", &["regression"], GateKind::Check(CheckName::RegressionSweep)),
    gate("sast_scan", &["sast"], GateKind::NotBuilt),
    gate("quality_budget", &["quality"], GateKind::NotBuilt),
];

/// Gates that apply to every change unless the plan leaves one out. A command gate applies if the plan names the
/// command, and is shown as not configured otherwise.
pub const DEFAULTS: [(&str, Need); 5] = [
    ("syntax_check", Need::Required),
    ("secretscan", Need::Required),
    (TEST_INTEGRITY, Need::Required),
    ("build_check", Need::IfConfigured),
    ("test_runner", Need::IfConfigured),
];

/// Additional gates of a team's tasks. Those that this version doesn't implement are shown as not configured.
pub const OF_TEAM: [(&str, Need); 6] = [
    ("diff", Need::IfConfigured),
    ("placeholder_scan", Need::Required),
    ("lint", Need::IfConfigured),
    ("imports", Need::IfConfigured),
    ("pre_check_batch", Need::Required),
    ("regression_sweep", Need::IfConfigured),
];

const fn gate(id: &'static str, aliases: &'static [&'static str], kind: GateKind) -> Gate {
    Gate { id, aliases, kind, asks: false }
}

// === impl Gate ===

impl Gate {
    /// Returns what the gate lacks to judge a task with these settings; `None` if nothing.
    #[must_use]
    pub fn lacks(&self, settings: &Settings) -> Option<Lack> {
        match self.kind {
            GateKind::Check(CheckName::NewTests | CheckName::RegressionSweep) => {
                settings.command_of(CommandKind::Test).is_none().then_some(Lack::Command(CommandKind::Test))
            }
            GateKind::Check(_) | GateKind::Batch => None,
            GateKind::Command(kind) => settings.command_of(kind).is_none().then_some(Lack::Command(kind)),
            // In a team, the rights of the coder's role apply even if the task declares no files.
            GateKind::Scope => (!settings.declares_files() && !settings.team).then_some(Lack::Files),
            GateKind::NotBuilt => Some(Lack::NotBuilt),
        }
    }
}

/// Reason why a gate can't judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// The plan names no command of this kind.
    Command(CommandKind),
    /// The task declares no files.
    Files,
    /// This version doesn't implement the gate.
    NotBuilt,
}

impl Lack {
    /// Returns the reason as text.
    #[must_use]
    pub fn reason(self) -> String {
        match self {
            Self::Command(kind) => format!("the plan names no {} command", setting(kind)),
            Self::Files => "the task declares neither a scope nor files_touched nor outputs".to_owned(),
            Self::NotBuilt => "this version does not have it yet".to_owned(),
        }
    }

    /// Returns a hint on how to resolve it.
    #[must_use]
    pub fn hint(self) -> String {
        match self {
            Self::Command(kind) => {
                format!("set x-switchboard.{0}, for example \"{0}\": [\"make\", \"{0}\"]", setting(kind))
            }
            Self::Files => "name them, for example \"x-switchboard\": { \"scope\": [\"src/**\"] }".to_owned(),
            Self::NotBuilt => "take it out of the plan's gates".to_owned(),
        }
    }
}

/// Returns the key in a plan's `x-switchboard` that holds the command of a kind.
const fn setting(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::Build => "build",
        CommandKind::Test => "test",
        CommandKind::Lint => "lint",
    }
}

/// Finds a gate by its name or an alias; `-` and `_` are equivalent.
#[must_use]
pub fn find(name: &str) -> Option<&'static Gate> {
    let wanted = name.replace('-', "_").to_lowercase();
    REGISTRY.iter().find(|gate| gate.id == wanted || gate.aliases.contains(&wanted.as_str()))
}

/// Returns up to three gate names close to a misspelt one.
#[must_use]
pub fn near(name: &str) -> Vec<&'static str> {
    near_matches(name, REGISTRY.iter().map(|gate| gate.id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_has_a_gate_and_no_name_means_two() {
        for check in CheckName::ALL {
            assert!(find(check.as_str()).is_some(), "{check}");
        }
        let names: Vec<_> = REGISTRY.iter().flat_map(|gate| gate.aliases.iter().chain([&gate.id])).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn the_page_about_unknown_gates_lists_all_there_are_and_those_that_are_not_built_as_such() {
        const PAGE: &str = include_str!("../../../docs/errors/plan.unknown-gate.md");
        let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('|'));
        let rows: Vec<_> = rows.map(|(gates, judges)| (gates.replace(['`', ' '], ""), judges)).collect();
        let listed: BTreeSet<_> = rows
            .iter()
            .flat_map(|(gates, judges)| gates.split(',').map(|gate| (gate, judges.contains("not built yet"))))
            .collect();

        let there_are = REGISTRY.iter().map(|gate| (gate.id, gate.kind == GateKind::NotBuilt));
        assert_eq!(listed, there_are.collect());
    }

    #[test]
    fn every_default_is_in_the_registry() {
        assert!(DEFAULTS.iter().chain(&OF_TEAM).all(|(id, _)| find(id).is_some_and(|gate| gate.id == *id)));
    }

    #[test]
    fn a_gate_is_found_by_another_spelling_and_a_misspelt_one_has_a_near_match() {
        assert_eq!(find("Syntax-Check").map(|gate| gate.id), Some("syntax_check"));
        assert_eq!(find("tests").map(|gate| gate.id), Some("test_runner"));
        assert!(find("secretscam").is_none());
        assert_eq!(near("secretscam").first(), Some(&"secretscan"));
    }
}
