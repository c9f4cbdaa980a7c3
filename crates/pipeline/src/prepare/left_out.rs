//! Determines the tasks that a run of a plan leaves out, and why.

use std::collections::{BTreeSet, HashMap};

use switchboard_protocol::plan::{PhaseStatus, Plan, Task, TaskId, TaskStatus};
use switchboard_protocol::run::{SkipCode, Skipped};

/// Returns the tasks that a run of the plan leaves out, each with the reason.
#[must_use]
pub fn skipped(plan: &Plan, finished: &BTreeSet<TaskId>) -> Vec<Skipped> {
    let mut skipped = Vec::new();
    leave_out(plan, finished, &mut skipped);
    skipped
}

/// Returns all tasks in their natural order.
fn sorted(plan: &Plan) -> Vec<&Task> {
    let mut tasks: Vec<_> = plan.tasks().collect();
    tasks.sort_by(|a, b| a.id.cmp(&b.id));
    tasks
}

/// Returns the position of each task in a list. The map is only looked up, never iterated, so its order doesn't matter.
pub(super) fn numbers<'a>(tasks: &[&'a Task]) -> HashMap<&'a TaskId, usize> {
    tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect()
}

/// Leaves out tasks that are done, parked, or depend on a parked task. A parked phase parks its tasks.
pub(super) fn leave_out<'a>(plan: &'a Plan, finished: &BTreeSet<TaskId>, skipped: &mut Vec<Skipped>) -> Vec<&'a Task> {
    let tasks = sorted(plan);
    let of_phases = parked_by_phase(plan);
    let mut parked = Vec::new();
    let mut left_out = vec![false; tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        let of_phase = || of_phases.get(&task.id).cloned();
        let Some((code, detail, met)) = standing(task, finished).or_else(of_phase) else { continue };
        left_out[at] = true;
        skipped.push(Skipped { id: task.id.clone(), code, detail });
        if !met {
            parked.push(at);
        }
    }
    let dependents = dependents(&tasks);
    while let Some(root) = parked.pop() {
        for at in &dependents[root] {
            if std::mem::replace(&mut left_out[*at], true) {
                continue;
            }
            let detail = format!("depends on {}, which the run leaves out", tasks[root].id);
            skipped.push(Skipped { id: tasks[*at].id.clone(), code: SkipCode::DepUnmet, detail });
            parked.push(*at);
        }
    }
    skipped.sort_by(|a, b| a.id.cmp(&b.id));
    tasks.into_iter().zip(left_out).filter(|(_, left_out)| !left_out).map(|(task, _)| task).collect()
}

/// Returns why a task is left out by its own status, and whether tasks that depend on it may run.
fn standing(task: &Task, finished: &BTreeSet<TaskId>) -> Option<(SkipCode, String, bool)> {
    if finished.contains(&task.id) {
        return Some((SkipCode::Complete, "an earlier run has merged it".to_owned(), true));
    }
    match task.status {
        TaskStatus::Pending | TaskStatus::InProgress => None,
        TaskStatus::Completed => Some((SkipCode::Complete, "the plan marks it as completed".to_owned(), true)),
        TaskStatus::Closed => Some((SkipCode::Parked, "the plan marks it as closed".to_owned(), true)),
        TaskStatus::Blocked => {
            let reason = task.blocked_reason.as_deref().unwrap_or("no reason given");
            Some((SkipCode::Parked, format!("the plan marks it as blocked: {reason}"), false))
        }
    }
}

/// Returns why tasks are left out because their phase is parked, and whether tasks that depend on them may run.
fn parked_by_phase(plan: &Plan) -> HashMap<&TaskId, (SkipCode, String, bool)> {
    let parked = plan.phases.iter().filter_map(|phase| {
        let (word, met) = parked_as(phase.status)?;
        let why = (SkipCode::Parked, format!("the plan marks phase {} as {word}", phase.id), met);
        Some(phase.tasks.iter().map(move |task| (&task.id, why.clone())))
    });
    parked.flatten().collect()
}

/// Returns the word for a parked phase, and whether tasks that depend on its tasks may run; `None` if the phase can
/// run.
const fn parked_as(status: PhaseStatus) -> Option<(&'static str, bool)> {
    match status {
        PhaseStatus::Pending | PhaseStatus::InProgress | PhaseStatus::Complete | PhaseStatus::Completed => None,
        PhaseStatus::Blocked => Some(("blocked", false)),
        PhaseStatus::Closed => Some(("closed", true)),
    }
}

/// Returns, for each task, the tasks that depend on it, each once.
pub(super) fn dependents(tasks: &[&Task]) -> Vec<Vec<usize>> {
    let numbers = numbers(tasks);
    let mut dependents = vec![Vec::new(); tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        let depends: BTreeSet<_> = task.depends.iter().filter_map(|on| numbers.get(on).copied()).collect();
        depends.into_iter().for_each(|on: usize| dependents[on].push(at));
    }
    dependents
}
