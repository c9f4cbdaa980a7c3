//! What a run of a plan would do, and the events that begin it.

mod forecast;
mod opening;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use protocol::plan::{Plan, Task, TaskId, TaskStatus};
use protocol::run::{Prepared, SkipCode, Skipped};

pub use opening::{Opening, opening};

use crate::paths::{PathIndex, Pattern};
use crate::settings;

/// Most pairs in [`Prepared::conflicts`].
pub const MAX_CONFLICTS: usize = 1_000;

/// Says what a run would do: which tasks, in which order, side by side with which, and which not and why. `finished` are tasks
/// that earlier runs merged; `workers` is the flag. Expects a plan that `plan_json::parse` has accepted.
#[must_use]
pub fn prepare(plan: &Plan, finished: &BTreeSet<TaskId>, workers: Option<u32>) -> Prepared {
    let mut skipped = Vec::new();
    let tasks: BTreeMap<&TaskId, &Task> = plan.tasks().map(|task| (&task.id, task)).collect();
    let open = leave_out(&tasks, finished, &mut skipped);
    let nodes = Nodes::new(&open);
    let order = order::topological(&nodes);
    let max_workers = settings::max_workers(plan, workers);
    let forecast = forecast::forecast(&nodes, max_workers as usize);
    Prepared {
        max_workers,
        eligible: order.iter().map(|at| nodes.id(*at).clone()).collect(),
        conflicts: forecast.conflicts,
        skipped,
        deferred: forecast.deferred,
        waves: forecast.waves,
        cut: forecast.cut,
    }
}

/// Leaves out what is done, parked, or depends on what is parked.
fn leave_out<'a>(
    tasks: &BTreeMap<&'a TaskId, &'a Task>,
    finished: &BTreeSet<TaskId>,
    skipped: &mut Vec<Skipped>,
) -> BTreeMap<&'a TaskId, &'a Task> {
    let mut open = tasks.clone();
    let mut parked = Vec::new();
    for (id, task) in tasks {
        let Some((code, detail, met)) = standing(task, finished) else { continue };
        open.remove(id);
        skipped.push(Skipped { id: (*id).clone(), code, detail });
        if !met {
            parked.push(*id);
        }
    }
    let dependents = dependents(tasks);
    while let Some(root) = parked.pop() {
        for id in dependents.get(root).into_iter().flatten() {
            if open.remove(id).is_some() {
                let detail = format!("depends on {root}, which the run leaves out");
                skipped.push(Skipped { id: (*id).clone(), code: SkipCode::DepUnmet, detail });
                parked.push(id);
            }
        }
    }
    skipped.sort_by(|a, b| a.id.cmp(&b.id));
    open
}

/// Why a task is left out for its own sake, and whether those that depend on it may go on.
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

fn dependents<'a>(tasks: &BTreeMap<&'a TaskId, &'a Task>) -> BTreeMap<&'a TaskId, Vec<&'a TaskId>> {
    let mut dependents: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
    for task in tasks.values() {
        task.depends.iter().for_each(|on| dependents.entry(on).or_default().push(&task.id));
    }
    dependents
}

/// The tasks of a run, numbered in their natural order.
struct Nodes<'a> {
    tasks: Vec<&'a Task>,
    depends: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
    writes: Vec<Vec<Pattern>>,
    index: PathIndex,
}

impl<'a> Nodes<'a> {
    fn new(open: &BTreeMap<&'a TaskId, &'a Task>) -> Self {
        let numbers: BTreeMap<_, _> = open.keys().enumerate().map(|(at, id)| (*id, at)).collect();
        let tasks: Vec<_> = open.values().copied().collect();
        let mut nodes = Self {
            depends: vec![Vec::new(); tasks.len()],
            dependents: vec![Vec::new(); tasks.len()],
            writes: tasks.iter().map(|task| patterns(task)).collect(),
            index: PathIndex::default(),
            tasks,
        };
        for at in 0..nodes.tasks.len() {
            let depends: BTreeSet<_> =
                nodes.tasks[at].depends.iter().filter_map(|on| numbers.get(on).copied()).collect();
            depends.iter().for_each(|on| nodes.dependents[*on].push(at));
            nodes.depends[at] = depends.into_iter().collect();
            nodes.writes[at].iter().for_each(|pattern| nodes.index.insert(pattern, at));
        }
        nodes
    }

    fn len(&self) -> usize {
        self.tasks.len()
    }

    fn id(&self, at: usize) -> &'a TaskId {
        &self.tasks[at].id
    }

    fn rivals(&self, at: usize) -> BTreeSet<usize> {
        self.index.rivals(&self.writes[at], at)
    }
}

/// What a task declares to write, as far as it is safe to say.
fn patterns(task: &Task) -> Vec<Pattern> {
    task.files_touched.iter().filter_map(|text| Pattern::parse(text).ok()).collect()
}

#[cfg(test)]
mod tests;
