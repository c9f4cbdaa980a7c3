//! Finds settings without effect in a run: those its workers can't apply, and agents without a task.

use std::collections::BTreeSet;

use switchboard_pipeline::effectless::{self, Work};
use switchboard_pipeline::settings::Settings;
use switchboard_pipeline::subtasks::WorkResult;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::plan::{Plan, Task};
use switchboard_protocol::verb::run::AgentChoice;

use crate::Error;
use crate::plan::{RunPart, RunPlan};

/// Checks the tasks of a run and returns a sentence for each setting that has no effect. `is_led` is true if a team
/// leads the run.
///
/// # Errors
/// `plan.no-effect` if the plan relies on the setting.
pub(crate) fn judge(
    plan: &Plan,
    run_plan: &RunPlan,
    parts: &[RunPart<'_>],
    is_led: bool,
) -> Result<Vec<String>, Error> {
    let mut given = Vec::new();
    for RunPart { task: id, choice, .. } in parts.iter().filter(|part| part.work.is_none()) {
        let (task, settings) = run_plan.settings(id)?;
        // A task that chooses among changes has no worker, and its candidates report the same. The same holds for a
        // landing.
        if run_plan.shape(id).is_none_or(|shape| shape.among.is_empty() && !shape.is_landing()) {
            given.push((task, settings, choice.clone()));
        }
    }
    let works: Vec<_> = given.iter().map(|(task, settings, choice)| work(run_plan, task, settings, choice)).collect();
    let mut notes = effectless::judge(&works)?;
    let assignees: BTreeSet<_> = given
        .iter()
        .filter(|(_, settings, _)| settings.command.is_none())
        .filter_map(|(_, settings, _)| run_plan.agent_name(settings))
        .map(|name| switchboard_protocol::id::fold(&name))
        .collect();
    let judges: BTreeSet<_> =
        parts.iter().filter(|part| part.work.is_some()).map(|part| part.choice.name.folded()).collect();
    let assignees = &assignees | &judges;
    if !given.is_empty() {
        notes.extend(effectless::idle_agents(plan, &assignees));
        notes.extend(
            run_plan
                .default_agent
                .as_ref()
                .filter(|name| !judges.contains(&name.folded()))
                .and_then(|name| idle(name, &given)),
        );
    }
    let has_minutes = plan.switchboard.as_ref().is_some_and(|settings| settings.setup_minutes.is_some());
    if has_minutes && run_plan.setup.is_empty() {
        notes.push("setup_minutes has no effect: nothing is set up in new work trees".to_owned());
    }
    Ok(notes.into_iter().chain(effectless::of_plan(plan, is_led)).collect())
}

fn work<'a>(run_plan: &RunPlan, task: &'a Task, settings: &'a Settings, choice: &'a AgentChoice) -> Work<'a> {
    let result = run_plan.shape(&task.id).map(|shape| shape.result).unwrap_or_default();
    Work {
        task,
        settings,
        driver: &choice.driver,
        permissions: choice.permissions,
        attempts: settings.attempts.unwrap_or_else(|| run_plan.attempts(settings)),
        is_unjudged: matches!(result, WorkResult::Report | WorkResult::Draft),
        timeout: run_plan.timeout,
    }
}

/// Returns a note about an agent meant for tasks that name none, if there is no such task.
fn idle(name: &AgentName, given: &[(Task, Settings, AgentChoice)]) -> Option<String> {
    let takes_one = given.iter().any(|(_, settings, choice)| {
        settings.command.is_none() && (settings.agent.is_none() || choice.name.folded() == name.folded())
    });
    let why = "each names another one, or has a command";
    (!takes_one).then(|| format!("the agent {name} does no task of the run: {why}"))
}
