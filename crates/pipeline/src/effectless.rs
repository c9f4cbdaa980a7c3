//! Finds settings without effect on the worker they apply to. A run refuses those that a person relies on, and reports
//! the others.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::permission::Permissions;
use switchboard_protocol::plan::{Phase, PhaseStatus, Plan, Task, TaskId, TaskSettings, TaskSize};
use switchboard_protocol::run::WorkerTimeout;
use switchboard_protocol::text;

use crate::settings::Settings;

/// Maximum number of tasks that a note names.
const MAX_NAMED: usize = 5;

/// A task of a run, with the facts that decide whether its settings have an effect.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// The task.
    pub task: &'a Task,
    /// Settings that apply to the task.
    pub settings: &'a Settings,
    /// Driver of the task's worker.
    pub driver: &'a DriverSpec,
    /// Permissions from the agent's settings, which apply if the plan names none.
    pub permissions: Permissions,
    /// Maximum number of attempts at the task.
    pub attempts: u32,
    /// True if the result is a report, or a draft of a chain: no gate judges it, and it is not merged.
    pub is_unjudged: bool,
    /// Time limits of the run.
    pub timeout: WorkerTimeout,
}

/// A setting without effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effectless {
    /// Name of the setting.
    pub setting: &'static str,
    /// Why it has no effect.
    pub why: &'static str,
    /// True if the task itself has the setting; false if it comes from its phase, plan, agent or run, which apply to
    /// several tasks.
    pub is_own: bool,
    /// Consequence for the run.
    pub is: Consequence,
}

/// How a run handles a setting without effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// The run refuses it, because a person relies on it.
    Refused,
    /// The run reports it.
    Noted,
    /// The run reports it if it has an effect on none of its tasks.
    NotedWhereUnused,
}

/// Returns the settings of a task that have no effect on it.
#[must_use]
pub fn effectless(work: &Work<'_>) -> Vec<Effectless> {
    let usual = TaskSettings::default();
    let own = work.task.switchboard.as_ref().unwrap_or(&usual);
    let settings = work.settings;
    let is_command = matches!(work.driver, DriverSpec::Exec { .. });
    let mut found = Vec::new();
    let mut add = |applies: bool, setting, why, is_own: bool, is| {
        found.extend(applies.then_some(Effectless { setting, why, is_own, is }));
    };
    let noted = |is_own: bool| if is_own { Consequence::Noted } else { Consequence::NotedWhereUnused };

    let asks = work.permissions.in_plan(settings.permissions) == Permissions::Ask;
    let is_own = own.permissions.is_some();
    let is = if is_own { Consequence::Refused } else { Consequence::Noted };
    add(is_command && asks, "permissions: ask", "a command asks nobody", is_own, is);

    let (soft, is_own) = match work.timeout.soft {
        Some(_) => ("worker_timeout_ms.soft", false),
        None => ("wrap_up_minutes", own.wrap_up_minutes.is_some()),
    };
    let why = "a command can't be told to finish";
    add(is_command && settings.wrap_up_ms.is_some(), soft, why, is_own, noted(is_own));

    let is_own = own.retry_from.is_some();
    let why = "it is tried once";
    add(settings.retry_from.is_some() && work.attempts == 1, "retry_from", why, is_own, noted(is_own));

    let is_own = own.on_violation.is_some();
    let (why, is_vain) = if work.is_unjudged {
        ("no gate judges it", true)
    } else {
        ("it declares neither scope, files_touched, outputs nor exclude", !settings.declares_files())
    };
    add(settings.says_on_violation && is_vain, "on_violation", why, is_own, noted(is_own));

    let is_vain = settings.always_security_review && !settings.team;
    add(is_vain, "always_security_review", "no team carries it out", false, Consequence::Refused);
    add(settings.turbo && !settings.team, "turbo", "no team carries it out", false, Consequence::Refused);

    add(settings.author.is_some() && work.is_unjudged, "author", "it makes no commit", true, Consequence::Noted);
    found
}

/// Judges the settings of all tasks of a run: refuses some, and returns a sentence for each of the others.
///
/// # Errors
/// `plan.no-effect` with every task and setting.
pub fn judge(works: &[Work<'_>]) -> Result<Vec<String>, Failure> {
    let mut tasks: BTreeMap<(&str, &str), Vec<&TaskId>> = BTreeMap::new();
    let mut unused: BTreeMap<(&str, &str), Vec<&TaskId>> = BTreeMap::new();
    let mut refused = Vec::new();
    for work in works {
        for Effectless { setting, why, is, .. } in effectless(work) {
            let id = &work.task.id;
            match is {
                Consequence::Refused => refused.push(format!("task {id} says {setting}: {why}")),
                Consequence::Noted => tasks.entry((setting, why)).or_default().push(id),
                Consequence::NotedWhereUnused => unused.entry((setting, why)).or_default().push(id),
            }
        }
    }
    if let Some(first) = refused.first() {
        let failure = Failure::new("plan.no-effect", first.clone());
        let hint = "leave it out; `permissions` wants an agent that speaks ACP, `always_security_review` and `turbo` want `team`";
        return Err(Failure { cause: refused, ..failure }.hint(hint));
    }
    let named = tasks.into_iter().map(|((setting, why), ids)| {
        format!(
            "{setting} has no effect on {}: {why}",
            listed(&ids.iter().map(ToString::to_string).collect::<Vec<_>>())
        )
    });
    // A setting that applies to many tasks is reported once, and only if it has an effect on none of them.
    let whole = unused.into_iter().filter(|(_, ids)| ids.len() == works.len());
    let whole = whole.map(|((setting, why), _)| format!("{setting} has no effect on any task of the run: {why}"));
    Ok(named.chain(whole).collect())
}

/// Returns a sentence for each plan field that has no effect in this run (`is_led`: a team leads it), and for each
/// phase whose status contradicts that of its tasks.
#[must_use]
pub fn of_plan(plan: &Plan, is_led: bool) -> Vec<String> {
    let profile = plan.execution_profile.as_ref();
    let is_team = plan.switchboard.as_ref().is_some_and(|settings| settings.team == Some(true));
    let says = |field: &'static str, is_said: bool| is_said.then_some(field);
    let unheeded: Vec<_> = [
        says("execution_profile.locked", profile.is_some_and(|profile| profile.locked)),
        says("execution_profile.council_parallel", profile.is_some_and(|profile| !profile.council_parallel)),
        says("execution_profile.auto_proceed", !is_led && profile.is_some_and(|profile| profile.auto_proceed)),
        says("type of a phase", plan.phases.iter().any(|phase| phase.kind.is_some())),
        says(
            "required_agents of a phase",
            !is_team && !is_led && plan.phases.iter().any(|phase| phase.required_agents.is_some()),
        ),
        says("size of a task", !is_team && !is_led && plan.tasks().any(|task| task.size != TaskSize::Small)),
        says("evidence_path of a task", plan.tasks().any(|task| task.evidence_path.is_some())),
    ]
    .into_iter()
    .flatten()
    .collect();
    let kept = format!("{}: kept for other tools, no run heeds it", unheeded.join(", "));
    let kept = (!unheeded.is_empty()).then_some(kept);
    kept.into_iter().chain(plan.phases.iter().filter_map(not_completed)).collect()
}

/// Returns a note about a phase that is marked as done while some of its tasks are not.
fn not_completed(phase: &Phase) -> Option<String> {
    let is_done = matches!(phase.status, PhaseStatus::Complete | PhaseStatus::Completed);
    let open: Vec<_> = phase.tasks.iter().filter(|task| phase.may_do(task)).map(|task| task.id.to_string()).collect();
    let has_one = open.len() == 1;
    (is_done && !open.is_empty()).then(|| {
        let (is, runs) = if has_one { ("is", "it runs") } else { ("are", "they run") };
        format!("phase {} is marked as completed, and {} {is} not: {runs}", phase.id, listed(&open))
    })
}

/// Returns a sentence for each agent that a plan or its phases name and that has no task in a run; `assignees` are the
/// agents of its tasks.
#[must_use]
pub fn idle_agents(plan: &Plan, assignees: &BTreeSet<String>) -> Vec<String> {
    let of_plan = plan.switchboard.as_ref().and_then(|settings| settings.agent.as_ref());
    let of_phases = plan.phases.iter().filter_map(|phase| phase.switchboard.as_ref()?.agent.as_ref());
    let idle: BTreeSet<_> = of_plan
        .into_iter()
        .chain(of_phases)
        .filter(|name| !assignees.contains(&switchboard_protocol::id::fold(name)))
        .collect();
    let sentence = |name: &&String| {
        format!("the agent {name} of the plan does no task of the run: each names another one, or has a command")
    };
    idle.iter().map(sentence).collect()
}

fn listed(ids: &[String]) -> String {
    let tasks = if ids.len() == 1 { "task" } else { "tasks" };
    format!("{tasks} {}", text::listed(ids, MAX_NAMED))
}

#[cfg(test)]
mod tests;
