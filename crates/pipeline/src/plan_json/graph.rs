//! What only shows when all tasks are seen together: ids, dependencies, circles.

use std::collections::BTreeMap;

use switchboard_protocol::error::near_matches;
use switchboard_protocol::plan::{Plan, Task, TaskId};

use super::error::PlanError;

/// A task and where it stands.
struct Node<'a> {
    task: &'a Task,
    pointer: String,
}

pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let nodes = index(plan)?;
    for node in nodes.values() {
        check_dependencies(node, &nodes)?;
    }
    find_cycle(&nodes).map_or(Ok(()), |path| Err(cycle(&path, &nodes)))
}

fn index(plan: &Plan) -> Result<BTreeMap<&TaskId, Node<'_>>, PlanError> {
    let mut nodes: BTreeMap<&TaskId, Node<'_>> = BTreeMap::new();
    for (p, phase) in plan.phases.iter().enumerate() {
        for (t, task) in phase.tasks.iter().enumerate() {
            let pointer = format!("/phases/{p}/tasks/{t}");
            if let Some(first) = nodes.get(&task.id) {
                let found = format!("a second task {}, the first is {}", task.id, first.pointer);
                let error = PlanError::new("plan.duplicate-task", format!("{pointer}/id"), "an id of its own", found);
                return Err(error.hint("give one of them another id"));
            }
            nodes.insert(&task.id, Node { task, pointer });
        }
    }
    Ok(nodes)
}

fn check_dependencies(node: &Node<'_>, nodes: &BTreeMap<&TaskId, Node<'_>>) -> Result<(), PlanError> {
    let unknown = node.task.depends.iter().enumerate().find(|(_, on)| !nodes.contains_key(on));
    let Some((at, on)) = unknown else { return Ok(()) };
    let pointer = format!("{}/depends/{at}", node.pointer);
    let found = format!("{on}, on which task {} depends", node.task.id);
    let error = PlanError::new("plan.unknown-dependency", pointer, "the id of a task of this plan", found);
    let near = near_matches(on.as_str(), nodes.keys().map(|id| id.as_str()));
    Err(match near.first() {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("remove it, or add the task"),
    })
}

/// A circle of dependencies in order, the smallest id first.
fn find_cycle<'a>(nodes: &BTreeMap<&'a TaskId, Node<'a>>) -> Option<Vec<&'a TaskId>> {
    let mut done: BTreeMap<&TaskId, bool> = BTreeMap::new();
    for start in nodes.keys().copied() {
        // The way from `start`, each with the number of its dependencies that were followed.
        let mut way: Vec<(&TaskId, usize)> = vec![(start, 0)];
        if done.contains_key(start) {
            continue;
        }
        done.insert(start, false);
        while let Some((at, followed)) = way.last_mut() {
            let Some(next) = nodes[*at].task.depends.get(*followed) else {
                done.insert(at, true);
                way.pop();
                continue;
            };
            *followed += 1;
            match done.get(next) {
                Some(true) => {}
                Some(false) => return Some(circle(&way, next)),
                None => {
                    done.insert(next, false);
                    way.push((next, 0));
                }
            }
        }
    }
    None
}

fn circle<'a>(way: &[(&'a TaskId, usize)], back_to: &TaskId) -> Vec<&'a TaskId> {
    let begin = way.iter().position(|(id, _)| *id == back_to).unwrap_or(0);
    let mut circle: Vec<_> = way[begin..].iter().map(|(id, _)| *id).collect();
    let smallest = circle.iter().enumerate().min_by_key(|(_, id)| **id).map_or(0, |(at, _)| at);
    circle.rotate_left(smallest);
    circle
}

fn cycle(path: &[&TaskId], nodes: &BTreeMap<&TaskId, Node<'_>>) -> PlanError {
    let ids = path.iter().chain(path.first()).map(|id| id.as_str());
    let found = format!("{} (each depends on the next)", ids.collect::<Vec<_>>().join(" → "));
    let pointer = path.first().map(|id| format!("{}/depends", nodes[*id].pointer)).unwrap_or_default();
    PlanError::new("plan.cycle", pointer, "dependencies without a circle", found)
        .hint("remove one of these dependencies")
}
