//! Computes what a run of a plan would do, and the events that open it.

mod forecast;
pub(crate) mod groups;
mod left_out;
mod opening;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::plan::{Plan, Task, TaskId, UnknownWrites};
use switchboard_protocol::run::Prepared;

pub use left_out::skipped;
pub use opening::{Opening, opening};

use left_out::{dependents, leave_out, numbers};

use crate::paths::{ClaimIndex, Claims};
use crate::settings;

/// Maximum number of pairs in [`Prepared::conflicts`].
pub const MAX_CONFLICTS: usize = 1_000;

/// Computes what a run would do: which tasks run, in which order and in parallel with which, and which don't run and
/// why. `finished` are tasks that earlier runs merged; `workers` is the flag. Expects a plan that `plan_json::parse`
/// accepted.
#[must_use]
pub fn prepare(plan: &Plan, finished: &BTreeSet<TaskId>, workers: Option<u32>) -> Prepared {
    let mut skipped = Vec::new();
    let tasks = leave_out(plan, finished, &mut skipped);
    let mut nodes = Nodes::new(Some(plan), tasks.clone());
    let mut order = order::topological(&nodes);
    if order.len() < nodes.len() {
        // A barrier makes tasks wait for each other; `way::compile` reports it. All tasks must be kept until then.
        nodes = Nodes::new(None, tasks);
        order = order::topological(&nodes);
    }
    let max_workers = settings::max_workers(plan, workers);
    let forecast = forecast::forecast(&nodes, max_workers as usize);
    Prepared {
        max_workers,
        eligible: order.iter().filter_map(|at| nodes.id(*at)).cloned().collect(),
        conflicts: forecast.conflicts,
        skipped,
        deferred: forecast.deferred,
        waves: forecast.waves,
        cut: forecast.cut,
    }
}

/// As [`prepare`], for a run that doesn't keep apart tasks that write the same files: such pairs are listed, but no task
/// waits for them.
#[must_use]
pub fn prepare_together(plan: &Plan, finished: &BTreeSet<TaskId>, workers: Option<u32>) -> Prepared {
    let mut undeclared = plan.clone();
    undeclared.switchboard.get_or_insert_default().unknown_writes = Some(UnknownWrites::Judged);
    for task in undeclared.phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        task.files_touched.clear();
        if let Some(settings) = &mut task.switchboard {
            (settings.reads, settings.inputs, settings.outputs) = (None, None, None);
        }
    }
    let Prepared { conflicts, cut, .. } = prepare(plan, finished, workers);
    let together = prepare(&undeclared, finished, workers);
    Prepared { conflicts, cut: cut || together.cut, ..together }
}

/// The tasks of a run, numbered in their natural order, followed by its phases and slices. A group is a node that is
/// done as soon as its tasks are.
struct Nodes<'a> {
    tasks: Vec<&'a Task>,
    depends: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
    claims: Vec<Claims>,
    index: ClaimIndex,
}

impl<'a> Nodes<'a> {
    /// Creates the nodes of a plan's tasks, with the barriers of its phases and slices unless `plan` is `None`.
    fn new(plan: Option<&'a Plan>, tasks: Vec<&'a Task>) -> Self {
        let mut dependents = dependents(&tasks);
        if let Some(plan) = plan {
            add_barriers(plan, &tasks, &mut dependents);
        }
        let mut depends = vec![Vec::new(); dependents.len()];
        for (on, waiting) in dependents.iter().enumerate() {
            waiting.iter().for_each(|at| depends[*at].push(on));
        }
        let mut claims: Vec<_> = tasks.iter().map(|task| claims(plan, task)).collect();
        claims.resize(dependents.len(), Claims::default());
        let mut index = ClaimIndex::default();
        claims.iter().enumerate().for_each(|(at, claims)| index.insert(claims, at));
        Self { tasks, depends, dependents, claims, index }
    }

    fn len(&self) -> usize {
        self.dependents.len()
    }

    /// Returns the id of the task, or `None` for a group.
    fn id(&self, at: usize) -> Option<&'a TaskId> {
        self.tasks.get(at).map(|task| &task.id)
    }

    fn is_group(&self, at: usize) -> bool {
        at >= self.tasks.len()
    }

    fn rivals(&self, at: usize) -> BTreeSet<usize> {
        self.index.rivals(&self.claims[at], at)
    }
}

/// Adds a node for each group that another one waits for: the node waits for its tasks, and the tasks of the other
/// group wait for the node.
fn add_barriers(plan: &Plan, tasks: &[&Task], dependents: &mut Vec<Vec<usize>>) {
    let numbers = numbers(tasks);
    let groups = groups::groups(plan, |id| numbers.contains_key(id));
    let members = |at: usize| groups[at].tasks.iter().filter_map(|task| numbers.get(task).copied());
    let mut nodes = BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        let Some(before) = group.after else { continue };
        let node = *nodes.entry(before).or_insert_with(|| {
            dependents.push(Vec::new());
            dependents.len() - 1
        });
        if dependents[node].is_empty() {
            members(before).for_each(|member| dependents[member].push(node));
        }
        dependents[node].extend(members(at));
    }
}

/// Returns the paths that a task is assumed to write and read, as far as they are certain.
fn claims(plan: Option<&Plan>, task: &Task) -> Claims {
    let writes = plan.map_or_else(|| task.files_touched.clone(), |plan| settings::writes(plan, task));
    Claims::of_safe(&writes, &settings::reads(task))
}

#[cfg(test)]
mod tests;
