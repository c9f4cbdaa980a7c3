//! What holds for one task once its own word, its phase's and its plan's are put together.

use switchboard_protocol::finding::CommandKind;
use switchboard_protocol::plan::{CommandLine, Phase, PhaseSettings, Plan, PlanSettings, Task, TaskSettings};
use switchboard_protocol::run::{DEFAULT_WORKERS, MAX_WORKERS};

/// Milliseconds in a minute.
const MINUTE_MS: i64 = 60_000;

/// The settings of one task: its own, else its phase's, else its plan's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Who does it, if the plan says so.
    pub agent: Option<String>,
    /// What the `exec` driver runs.
    pub command: Option<CommandLine>,
    /// The group of tasks in its phase.
    pub slice: Option<String>,
    /// Command of the test gate.
    pub test: Option<CommandLine>,
    /// Command of the build gate.
    pub build: Option<CommandLine>,
    /// Command of the lint gate, and of the lint in the batch.
    pub lint: Option<CommandLine>,
    /// What its plan, its phase and the task itself say about gates, in that order: names to add, `-name` to leave one out.
    pub gates: Vec<String>,
    /// Globs that it may write; nothing said means anywhere.
    pub scope: Option<Vec<String>>,
    /// Longest time of one attempt in milliseconds.
    pub timeout_ms: Option<i64>,
    /// Who is named as author of its commit.
    pub author: Option<String>,
}

impl Settings {
    /// The command of a kind, if the plan brings one.
    #[must_use]
    pub const fn command_of(&self, kind: CommandKind) -> Option<&CommandLine> {
        match kind {
            CommandKind::Build => self.build.as_ref(),
            CommandKind::Test => self.test.as_ref(),
            CommandKind::Lint => self.lint.as_ref(),
        }
    }
}

/// Puts together what holds for a task.
#[must_use]
pub fn of(plan: &Plan, phase: &Phase, task: &Task) -> Settings {
    let (plan_default, phase_default, task_default) =
        (PlanSettings::default(), PhaseSettings::default(), TaskSettings::default());
    let plan = plan.switchboard.as_ref().unwrap_or(&plan_default);
    let phase = phase.switchboard.as_ref().unwrap_or(&phase_default);
    let task = task.switchboard.as_ref().unwrap_or(&task_default);
    let minutes = task.timeout_minutes.or(plan.timeout_minutes);
    Settings {
        agent: first([&task.agent, &phase.agent, &plan.agent]),
        command: task.command.clone(),
        slice: task.slice.clone(),
        test: first([&task.test, &phase.test, &plan.test]),
        build: plan.build.clone(),
        lint: plan.lint.clone(),
        gates: [&plan.gates, &phase.gates, &task.gates].into_iter().flatten().flatten().cloned().collect(),
        scope: task.scope.clone(),
        timeout_ms: minutes.map(|minutes| i64::from(minutes) * MINUTE_MS),
        author: task.author.clone(),
    }
}

fn first<T: Clone>(options: [&Option<T>; 3]) -> Option<T> {
    options.into_iter().find_map(Clone::clone)
}

/// Most workers at once: the flag's word, else one where the plan's execution profile forbids more, else the smaller of what
/// `x-switchboard` and the profile say, else [`DEFAULT_WORKERS`]; always 1 to [`MAX_WORKERS`].
#[must_use]
pub fn max_workers(plan: &Plan, flag: Option<u32>) -> u32 {
    let profile = plan.execution_profile.as_ref();
    let allowed = match profile {
        Some(profile) if profile.parallelization_enabled => Some(profile.max_concurrent_tasks),
        Some(_) => Some(1),
        None => None,
    };
    let named = plan.switchboard.as_ref().and_then(|settings| settings.max_workers);
    let planned = [named, allowed].into_iter().flatten().min();
    flag.or(planned).unwrap_or(DEFAULT_WORKERS).clamp(1, MAX_WORKERS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tasks_own_setting_goes_before_its_phases_and_its_plans_and_gates_add_up() {
        let plan: Plan = serde_json::from_value(json!({
            "schema_version": "1.0.0", "title": "t", "swarm": "s",
            "x-switchboard": { "agent": "one", "test": "plan", "build": ["make"], "lint": ["ruff", "check"], "gates": ["a"], "timeout_minutes": 2 },
            "phases": [{
                "id": 1, "name": "p", "x-switchboard": { "test": ["phase"], "gates": ["b"] },
                "tasks": [
                    { "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "two", "gates": [] } },
                    { "id": "1.2", "phase": 1, "description": "d" }
                ]
            }]
        }))
        .unwrap();
        let phase = &plan.phases[0];

        let (first, second) = (of(&plan, phase, &phase.tasks[0]), of(&plan, phase, &phase.tasks[1]));

        assert_eq!((first.agent.as_deref(), first.gates), (Some("two"), vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((second.agent.as_deref(), second.gates.len()), (Some("one"), 2));
        assert_eq!(second.test, Some(CommandLine::Argv(vec!["phase".to_owned()])));
        assert_eq!(second.lint.unwrap().argv(), ["ruff", "check"]);
        assert_eq!((second.build.unwrap().argv(), second.timeout_ms), (vec!["make".to_owned()], Some(120_000)));
    }
}
