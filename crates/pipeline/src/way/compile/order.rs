//! Checks whether the units of a plan can be ordered.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::plan::{Plan, TaskId};

use super::check::{WayRefusal, WayRefusalCode};
use crate::prepare::groups::Group;

/// Returns refusals for tasks that wait for each other through a barrier. Cycles of dependencies alone are refused when
/// a plan is read.
pub(super) fn circles(plan: &Plan, groups: &[Group<'_>], eligible: &BTreeMap<&TaskId, ()>) -> Vec<WayRefusal> {
    let tasks: Vec<_> = plan.tasks().filter(|task| eligible.contains_key(&task.id)).collect();
    let numbers: BTreeMap<&TaskId, usize> = tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
    // Tasks are nodes, and so are groups; a group is done when its tasks are.
    let group = |at: usize| tasks.len() + at;
    let mut waits: Vec<Vec<usize>> = vec![Vec::new(); tasks.len() + groups.len()];
    for (at, task) in tasks.iter().enumerate() {
        waits[at].extend(task.depends.iter().filter_map(|on| numbers.get(on)));
    }
    for (at, members) in groups.iter().enumerate() {
        let members_at = members.tasks.iter().filter_map(|task| numbers.get(task).copied());
        for member in members_at {
            waits[group(at)].push(member);
            waits[member].extend(members.after.map(group));
        }
    }
    let stuck = left_over(&waits);
    let in_circle = tasks.iter().enumerate().filter(|(at, _)| stuck.contains(at)).map(|(_, task)| *task);
    let through_barrier = in_circle.filter_map(|task| {
        let home = phase_of(groups, &task.id)?;
        let later = task.depends.iter().find(|on| phase_of(groups, on).is_some_and(|other| other > home))?;
        Some((task, later))
    });
    let mut found: Vec<_> = through_barrier
        .map(|(task, later)| {
            refusal(
                Some(task.id.clone()),
                format!("it depends on {later}, which waits until its own phase or slice is merged"),
            )
        })
        .collect();
    if found.is_empty() && !stuck.is_empty() {
        found.push(refusal(None, "phases or slices wait for each other".to_owned()));
    }
    found
}

fn refusal(task: Option<TaskId>, reason: String) -> WayRefusal {
    let hint = "move the task, or set x-switchboard.barrier to false".to_owned();
    WayRefusal { code: WayRefusalCode::Circle, task, step: "start".to_owned(), reason, hint }
}

/// Returns the index of a task's innermost group.
fn phase_of(groups: &[Group<'_>], task: &TaskId) -> Option<usize> {
    groups.iter().rposition(|group| group.tasks.contains(&task))
}

/// Returns the nodes that can't be ordered.
fn left_over(waits: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut unmet: Vec<_> = waits.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); waits.len()];
    for (at, on) in waits.iter().enumerate() {
        on.iter().for_each(|on| dependents[*on].push(at));
    }
    let mut ready: Vec<_> = (0..waits.len()).filter(|at| unmet[*at] == 0).collect();
    let mut left: BTreeSet<_> = (0..waits.len()).collect();
    while let Some(at) = ready.pop() {
        left.remove(&at);
        for dependent in &dependents[at] {
            unmet[*dependent] -= 1;
            if unmet[*dependent] == 0 {
                ready.push(*dependent);
            }
        }
    }
    left
}
