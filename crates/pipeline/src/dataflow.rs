//! Derives the order of tasks from their inputs and outputs: a task waits for the tasks that produce its inputs.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::{PhaseStatus, Plan, Task, TaskId, TaskSettings, TaskStatus};
use switchboard_protocol::run::DerivedEdge;

use crate::paths::{PathIndex, Pattern};

/// Maximum number of edges that the inputs of a plan may add.
pub(crate) const MAX_DERIVED: usize = 100_000;

/// Maximum number of inputs that a refusal names.
const MAX_NAMED: usize = 10;

/// Files of a commit, relative to the repository's root.
#[derive(Debug, Clone, Default)]
pub struct Files(Vec<String>);

impl Files {
    /// Sorts the given files.
    #[must_use]
    pub fn new(mut files: Vec<String>) -> Self {
        files.sort_unstable();
        Self(files)
    }

    /// Returns true if one of the files lies in a declared path.
    fn has_any(&self, pattern: &Pattern) -> bool {
        let stem = pattern.stem();
        let from = self.0.partition_point(|file| *file < stem);
        self.0[from..].iter().take_while(|file| file.starts_with(&stem)).any(|file| pattern.covers(file))
    }
}

/// Returns the edges that follow from the inputs of a plan and that its tasks don't declare, ordered by the waiting
/// task. Returns at most one more than [`MAX_DERIVED`].
#[must_use]
pub fn derived(plan: &Plan) -> Vec<DerivedEdge> {
    let tasks: Vec<_> = plan.tasks().collect();
    let index = producers(&tasks);
    let mut edges = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        let mut on: BTreeMap<usize, &str> = BTreeMap::new();
        for (text, pattern) in inputs(task) {
            for producer in index.rivals(&[pattern], at) {
                on.entry(producer).or_insert(text);
            }
        }
        let is_declared = |id: &TaskId| task.depends.contains(id);
        let new = on.into_iter().filter(|(producer, _)| !is_declared(&tasks[*producer].id));
        let edge = |(producer, path): (usize, &str)| DerivedEdge {
            task: task.id.clone(),
            on: tasks[producer].id.clone(),
            path: path.to_owned(),
        };
        edges.extend(new.map(edge).take(MAX_DERIVED + 1 - edges.len()));
    }
    edges
}

/// Adds the derived edges to the dependencies of the tasks, and returns these edges.
#[must_use]
pub fn resolve(mut plan: Plan) -> (Plan, Vec<DerivedEdge>) {
    let edges = derived(&plan);
    let mut on: BTreeMap<&TaskId, Vec<TaskId>> = BTreeMap::new();
    edges.iter().for_each(|edge| on.entry(&edge.task).or_default().push(edge.on.clone()));
    for task in plan.phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        task.depends.extend(on.remove(&task.id).into_iter().flatten());
    }
    (plan, edges)
}

/// Returns true if any task of the plan names inputs.
#[must_use]
pub fn has_inputs(plan: &Plan) -> bool {
    plan.tasks().any(|task| inputs(task).next().is_some())
}

/// Checks that each input of a task that is not done is an output of another task, or a file of the repository.
///
/// # Errors
/// `plan.missing-input` with the inputs that are neither.
pub fn check_inputs(plan: &Plan, files: &Files) -> Result<(), Failure> {
    // A task of a closed phase produces nothing any more.
    let phases = plan.phases.iter().filter(|phase| phase.status != PhaseStatus::Closed);
    let tasks = phases.flat_map(|phase| phase.tasks.iter().filter(|task| task.status != TaskStatus::Closed));
    let tasks: Vec<_> = tasks.collect();
    let index = producers(&tasks);
    let open = plan.phases.iter().flat_map(|phase| phase.tasks.iter().filter(|task| phase.may_do(task)));
    let open: BTreeSet<_> = open.map(|task| &task.id).collect();
    let is_open = |task: &Task| open.contains(&task.id);
    let mut missing = Vec::new();
    for (at, task) in tasks.iter().enumerate().filter(|(_, task)| is_open(task)) {
        for (text, pattern) in inputs(task) {
            let is_made = !index.rivals(std::slice::from_ref(&pattern), at).is_empty();
            if !is_made && !files.has_any(&pattern) {
                missing.push(format!(
                    "task {} needs {text}, which no other task makes and the repository does not have",
                    task.id
                ));
            }
        }
    }
    let Some(first) = missing.first() else { return Ok(()) };
    let mut failure = Failure::new("plan.missing-input", first.clone())
        .at("x-switchboard.inputs")
        .hint("name it in the `outputs` of the task that makes it, or commit it first");
    missing.truncate(MAX_NAMED);
    failure.cause = missing;
    Err(failure)
}

/// Returns the declared outputs that are missing from a commit's files.
#[must_use]
pub fn missing_outputs<'a>(outputs: &'a [String], files: &Files) -> Vec<&'a str> {
    let is_missing = |output: &&String| Pattern::parse(output).is_ok_and(|pattern| !files.has_any(&pattern));
    outputs.iter().filter(is_missing).map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Indexes the outputs of the tasks by path; the value is the position of the task in the list.
fn producers(tasks: &[&Task]) -> PathIndex {
    let mut index = PathIndex::default();
    for (at, task) in tasks.iter().enumerate() {
        let outputs = settings(task).and_then(|settings| settings.outputs.as_deref()).unwrap_or_default();
        let outputs = outputs.iter().filter_map(|text| Pattern::parse(text).ok());
        outputs.for_each(|pattern| index.insert(&pattern, at));
    }
    index
}

fn inputs(task: &Task) -> impl Iterator<Item = (&str, Pattern)> {
    let inputs = settings(task).and_then(|settings| settings.inputs.as_deref()).unwrap_or_default();
    inputs.iter().filter_map(|text| Some((text.as_str(), Pattern::parse(text).ok()?)))
}

fn settings(task: &Task) -> Option<&TaskSettings> {
    task.switchboard.as_ref()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A task: id, dependencies, inputs and outputs.
    type Spec<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str]);

    fn plan(tasks: &[Spec<'_>]) -> Plan {
        let task = |(id, depends, inputs, outputs): &Spec<'_>| {
            json!({ "id": id, "phase": 1, "description": "d", "depends": depends,
                "x-switchboard": { "inputs": inputs, "outputs": outputs } })
        };
        let tasks: Vec<Value> = tasks.iter().map(task).collect();
        serde_json::from_value(json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [
            { "id": 1, "name": "p", "tasks": tasks }] }))
        .unwrap()
    }

    fn edges(plan: &Plan) -> Vec<String> {
        derived(plan).iter().map(|edge| format!("{} on {} by {}", edge.task, edge.on, edge.path)).collect()
    }

    fn files(files: &[&str]) -> Files {
        Files::new(files.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_task_waits_for_those_that_make_what_it_needs() {
        let plan = plan(&[
            ("1.1", &[], &["api/schema.json", "gen/a.rs"], &[]),
            ("1.2", &[], &[], &["./api//schema.json"]),
            ("1.3", &["1.2"], &["api"], &["gen"]),
            ("1.4", &[], &["x.txt"], &["x.txt"]),
        ]);

        let expected = ["1.1 on 1.2 by api/schema.json", "1.1 on 1.3 by gen/a.rs"];
        assert_eq!(edges(&plan), expected, "1.3 says it itself, 1.4 does not wait for itself");
        let (resolved, _) = resolve(plan);
        let depends: Vec<_> =
            resolved.tasks().map(|task| task.depends.iter().map(TaskId::as_str).collect::<Vec<_>>()).collect();
        assert_eq!(depends, [vec!["1.2", "1.3"], vec![], vec!["1.2"], vec![]]);
        assert!(edges(&resolved).is_empty(), "what is declared is not derived again");
    }

    #[test]
    fn one_of_several_reasons_to_wait_is_named() {
        let plan = plan(&[("1.1", &[], &["a", "b"], &[]), ("1.2", &[], &[], &["b", "a"])]);

        assert_eq!(edges(&plan), ["1.1 on 1.2 by a"]);
    }

    #[test]
    fn an_input_is_made_by_another_task_or_stands_in_the_repository() {
        let plan = plan(&[
            ("1.1", &[], &["src/*.rs", "gen/x.rs"], &[]),
            ("1.2", &[], &["own.txt", "docs"], &["gen", "own.txt"]),
        ]);
        let check = |files: &[&str]| check_inputs(&plan, &self::files(files));

        assert!(has_inputs(&plan));
        assert_eq!(check(&["src/a.rs", "own.txt", "docs/a.md"]), Ok(()));
        let failure = check(&["src/a/b.txt", "doc"]).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.cause.len()), ("plan.missing-input", 3), "{failure:?}");
        assert!(failure.what.starts_with("task 1.1 needs src/*.rs"), "{failure:?}");
    }

    #[test]
    fn what_is_done_needs_nothing_and_what_is_closed_makes_nothing() {
        let mut plan = plan(&[("1.1", &[], &["a"], &[]), ("1.2", &[], &[], &["a"])]);
        assert_eq!(check_inputs(&plan, &files(&[])), Ok(()));

        plan.phases[0].tasks[1].status = TaskStatus::Closed;
        assert!(check_inputs(&plan, &files(&[])).is_err());
        plan.phases[0].tasks[0].status = TaskStatus::Completed;
        assert_eq!(check_inputs(&plan, &files(&[])), Ok(()));
    }

    #[test]
    fn names_outputs_that_a_commit_does_not_have() {
        let outputs = ["a.txt", "gen", "x/*.rs", "a.txt"].map(str::to_owned);

        assert_eq!(missing_outputs(&outputs, &files(&["x/y/z.rs", "gen/b"])), ["a.txt", "x/*.rs"]);
        assert!(missing_outputs(&outputs, &files(&["gen/b", "x/z.rs", "a.txt"])).is_empty());
    }
}
