//! Checks all tasks together: ids, dependencies, and cycles of declared and derived dependencies.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use switchboard_protocol::error::near_matches;
use switchboard_protocol::plan::{Plan, Task, TaskId};
use switchboard_protocol::run::DerivedEdge;

use super::error::PlanError;
use crate::circle::circle;
use crate::dataflow::{self, MAX_DERIVED};

/// A task, its pointer, and what it waits for: its declared dependencies, then those derived from its inputs.
struct Node<'a> {
    task: &'a Task,
    pointer: String,
    waits: Vec<Wait<'a>>,
}

/// A dependency on a task, and the input that causes it.
#[derive(Clone, Copy)]
struct Wait<'a> {
    on: &'a TaskId,
    input: Option<&'a str>,
}

pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let mut nodes = index(plan)?;
    for node in nodes.values() {
        check_dependencies(node, &nodes)?;
        check_outputs(node)?;
    }
    let derived = dataflow::derived(plan);
    if derived.len() > MAX_DERIVED {
        let found = "more than 100000 pairs of an input and a task that makes it";
        let error = PlanError::new("plan.schema", "/phases", "at most 100000 derived dependencies", found);
        return Err(error.hint("name single files in `inputs` and `outputs`"));
    }
    for DerivedEdge { task, on, path } in &derived {
        if let Some(node) = nodes.get_mut(task) {
            node.waits.push(Wait { on, input: Some(path) });
        }
    }
    let waits = nodes.iter().map(|(id, node)| (*id, node.waits.iter().map(|wait| wait.on).collect())).collect();
    circle(&waits).map_or(Ok(()), |path| Err(cycle(&path, &nodes)))
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
            let waits = task.depends.iter().map(|on| Wait { on, input: None }).collect();
            nodes.insert(&task.id, Node { task, pointer, waits });
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

/// Rejects outputs of a task whose result is a report, because a report produces no files.
fn check_outputs(node: &Node<'_>) -> Result<(), PlanError> {
    let settings = node.task.switchboard.as_ref();
    let makes = settings.filter(|settings| settings.is_report());
    if makes.and_then(|settings| settings.outputs.as_ref()).is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let pointer = format!("{}/x-switchboard/outputs", node.pointer);
    let found = "outputs, and `result` is `report`";
    Err(PlanError::new("plan.schema", pointer, "no outputs of a task whose work tree is not kept", found))
}

fn cycle(path: &[&TaskId], nodes: &BTreeMap<&TaskId, Node<'_>>) -> PlanError {
    let next = path.iter().skip(1).chain(path.first());
    let edges: Vec<_> = path.iter().copied().zip(next.copied()).collect();
    // Declared dependencies come before derived ones.
    let input = |(from, to): &(&TaskId, &TaskId)| nodes[*from].waits.iter().find(|wait| wait.on == *to)?.input;
    let derived: Vec<_> = edges.iter().filter_map(|edge| Some((*edge, input(edge)?))).collect();
    let ids = path.iter().chain(path.first()).map(|id| id.as_str());
    let mut found = format!("{} (each depends on the next", ids.collect::<Vec<_>>().join(" → "));
    for ((from, to), input) in &derived {
        let _ = write!(found, "; {from} on {to} because {input} is an input of the one and an output of the other");
    }
    found.push(')');
    // Report the dependency that can be fixed: an input, if there is one.
    let (at, field, what) = match derived.first() {
        Some(((from, _), _)) => (Some(from), "x-switchboard/inputs", "inputs or dependencies"),
        None => (path.first(), "depends", "dependencies"),
    };
    let pointer = at.map(|id| format!("{}/{field}", nodes[*id].pointer)).unwrap_or_default();
    PlanError::new("plan.cycle", pointer, "dependencies without a circle", found)
        .hint(format!("remove one of these {what}"))
}
