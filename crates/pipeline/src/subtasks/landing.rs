//! Tasks that reach the run's branch together: with `merge` `slice` or `milestone`, the tasks of a group merge into the
//! group's own branch, and one more task, its *landing*, merges that branch into the run's. The landing has no worker:
//! its change is what the group has merged, and it goes through the gates and the merge like any change. If a task of a
//! group fails, the run's branch stays as it was.
//!
//! A group starts from the run's branch, and sees another group only after that has landed: if a task depends on one of
//! another group, all of its own group wait for the other's landing.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::{MergeBy, Plan, Task, TaskId, TaskSettings};

use super::{Expanded, Shape};
use crate::circle::circle;
use crate::prepare;

/// Maximum number of characters of a slice's name in the id of its landing.
const NAME: usize = 40;

/// Maximum number of tasks of a cycle that a refusal names.
const MAX_NAMED: usize = 20;

/// A group with a branch of its own.
struct GroupOfTasks {
    /// Index of its phase in the plan.
    phase: usize,
    /// The slice; `None` is the whole phase.
    slice: Option<String>,
    landing: TaskId,
    /// Tasks of the group that the run does.
    members: Vec<TaskId>,
}

/// Adds the landings that a plan requires.
///
/// # Errors
/// `plan.mode` if the id of a landing is taken, `plan.cycle` if groups wait for each other.
pub(super) fn add(source: &Plan, mut expanded: Expanded) -> Result<Expanded, Failure> {
    let by = source.switchboard.as_ref().and_then(|settings| settings.merge).unwrap_or_default();
    let groups = groups(source, by)?;
    if groups.is_empty() {
        return Ok(expanded);
    }
    let of_task: BTreeMap<&TaskId, usize> =
        groups.iter().enumerate().flat_map(|(at, group)| group.members.iter().map(move |task| (task, at))).collect();
    let waits = waits(source, &of_task);
    for phase in &mut expanded.plan.phases {
        for task in &mut phase.tasks {
            let whole = expanded.shapes.get(&task.id).and_then(|shape| shape.of.clone());
            let own = of_task.get(whole.as_ref().unwrap_or(&task.id)).copied();
            let others: BTreeSet<usize> = match own {
                Some(own) => waits.get(&own).cloned().unwrap_or_default(),
                None => task.depends.iter().filter_map(|on| of_task.get(on).copied()).collect(),
            };
            task.depends.extend(others.into_iter().map(|at| groups[at].landing.clone()));
            if let Some(at) = own.filter(|_| whole.is_none()) {
                expanded.shapes.entry(task.id.clone()).or_default().into = Some(groups[at].landing.clone());
            }
        }
    }
    for group in groups {
        let GroupOfTasks { phase, slice, landing, members } = group;
        let Some(phase) = expanded.plan.phases.get_mut(phase) else { continue };
        let what = slice.as_ref().map_or_else(|| format!("phase {}", phase.id), |name| format!("the slice {name}"));
        phase.tasks.push(Task {
            id: landing.clone(),
            phase: phase.id,
            status: switchboard_protocol::plan::TaskStatus::Pending,
            size: switchboard_protocol::plan::TaskSize::default(),
            description: format!("Merge {what} as a whole."),
            depends: members.clone(),
            acceptance: None,
            files_touched: Vec::new(),
            evidence_path: None,
            blocked_reason: None,
            switchboard: Some(TaskSettings { slice, attempts: Some(1), ..TaskSettings::default() }),
            extra: switchboard_protocol::plan::Extra::default(),
        });
        expanded.shapes.insert(landing, Shape { gathers: members, ..Shape::default() });
    }
    expect_order(&expanded)?;
    Ok(expanded)
}

/// Returns the groups that have something to merge.
fn groups(plan: &Plan, by: MergeBy) -> Result<Vec<GroupOfTasks>, Failure> {
    if by == MergeBy::Task {
        return Ok(Vec::new());
    }
    let left_out: BTreeSet<TaskId> =
        prepare::skipped(plan, &BTreeSet::new()).into_iter().map(|skipped| skipped.id).collect();
    let mut taken: BTreeSet<TaskId> = plan.tasks().map(|task| task.id.clone()).collect();
    let mut groups: Vec<GroupOfTasks> = Vec::new();
    for (at, phase) in plan.phases.iter().enumerate() {
        let mut of_phase: Vec<(Option<String>, Vec<&Task>)> = Vec::new();
        for task in phase.tasks.iter().filter(|task| !left_out.contains(&task.id)) {
            let slice = task.switchboard.as_ref().and_then(|settings| settings.slice.clone());
            let key = match by {
                MergeBy::Slice if slice.is_none() => continue,
                MergeBy::Slice => slice,
                MergeBy::Milestone | MergeBy::Task => None,
            };
            match of_phase.iter_mut().find(|(known, _)| *known == key) {
                Some((_, tasks)) => tasks.push(task),
                None => of_phase.push((key, vec![task])),
            }
        }
        for (slice, tasks) in of_phase {
            if tasks.iter().all(|task| task.is_report()) {
                continue;
            }
            let landing = landing(phase.id, slice.as_deref(), &mut taken)?;
            groups.push(GroupOfTasks {
                phase: at,
                slice,
                landing,
                members: tasks.iter().map(|task| task.id.clone()).collect(),
            });
        }
    }
    Ok(groups)
}

/// Returns the id of a landing, such as `1.slice-api`, which must be unused in the plan.
fn landing(phase: u64, slice: Option<&str>, taken: &mut BTreeSet<TaskId>) -> Result<TaskId, Failure> {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    let name = match slice {
        Some(slice) => format!("slice-{}", slice.chars().take(NAME).map(safe).collect::<String>()),
        None => "milestone".to_owned(),
    };
    let id = TaskId::new(format!("{phase}.{name}"));
    let id =
        id.map_err(|error| Failure::new("plan.mode", format!("phase {phase} can't be merged as a whole: {error}")))?;
    if taken.insert(id.clone()) {
        return Ok(id);
    }
    let what = format!("two things would be called {id}: the merge of a group as a whole, and a task or another group");
    Err(Failure::new("plan.mode", what).hint("rename the task or the slice, or leave x-switchboard.merge out"))
}

/// Returns the groups that each group waits for, because a task of it depends on one of theirs.
fn waits(plan: &Plan, of_task: &BTreeMap<&TaskId, usize>) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut waits: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for task in plan.tasks() {
        let Some(own) = of_task.get(&task.id) else { continue };
        let others = task.depends.iter().filter_map(|on| of_task.get(on)).filter(|other| *other != own);
        waits.entry(*own).or_default().extend(others);
    }
    waits
}

/// Rejects tasks that wait for each other through a landing, and names the cycle.
fn expect_order(expanded: &Expanded) -> Result<(), Failure> {
    let waits = expanded.plan.tasks().map(|task| (&task.id, task.depends.iter().collect())).collect();
    let Some(circle) = circle(&waits) else { return Ok(()) };
    let mut names: Vec<_> = circle.iter().map(|task| task.as_str()).collect();
    // Begins with a task of the plan, whose id is a number, not with a landing.
    let first = names.iter().enumerate().min_by_key(|(_, name)| **name).map_or(0, |(at, _)| at);
    names.rotate_left(first);
    names.extend(names.first().copied());
    if names.len() > MAX_NAMED {
        names.splice(MAX_NAMED / 2..names.len() - MAX_NAMED / 2, ["…"]);
    }
    let what = format!("tasks wait for each other through groups that merge as a whole: {}", names.join(" → "));
    Err(Failure::new("plan.cycle", what).hint("move a task, or leave x-switchboard.merge out"))
}

impl Shape {
    /// Returns true if the task is a landing.
    #[must_use]
    pub fn is_landing(&self) -> bool {
        !self.gathers.is_empty()
    }
}

/// Returns the landing into whose branch a task's change is merged; `None` is the run's branch.
#[must_use]
pub fn into<'a>(shapes: &'a BTreeMap<TaskId, Shape>, task: &TaskId) -> Option<&'a TaskId> {
    let shape = shapes.get(task)?;
    match &shape.of {
        Some(whole) => shapes.get(whole)?.into.as_ref(),
        None => shape.into.as_ref(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::subtasks::expand;

    fn plan(merge: &str, tasks: &Value) -> Plan {
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": { "merge": merge },
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] });
        crate::plan_json::parse(&plan.to_string()).unwrap()
    }

    fn task(id: &str, slice: &str, depends: &[&str]) -> Value {
        let settings = if slice.is_empty() { json!({}) } else { json!({ "slice": slice }) };
        json!({ "id": id, "phase": 1, "description": "d", "depends": depends, "x-switchboard": settings })
    }

    fn depends(expanded: &Expanded, id: &str) -> Vec<String> {
        let task = expanded.plan.tasks().find(|task| task.id.as_str() == id).unwrap();
        task.depends.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_slice_lands_after_its_tasks_and_another_that_needs_one_of_them_waits_for_its_landing() {
        let tasks = json!([
            task("1.1", "api", &[]),
            task("1.2", "api", &["1.1"]),
            task("1.3", "the page", &[]),
            task("1.4", "the page", &["1.2"]),
            task("1.5", "", &["1.1"])
        ]);
        let expanded = expand(&plan("slice", &tasks)).unwrap();

        assert_eq!(depends(&expanded, "1.slice-api"), ["1.1", "1.2"]);
        assert_eq!(depends(&expanded, "1.2"), ["1.1"]);
        assert_eq!(depends(&expanded, "1.3"), ["1.slice-api"], "its slice begins where the other has landed");
        assert_eq!(depends(&expanded, "1.5"), ["1.1", "1.slice-api"]);
        let of = |id: &str| into(&expanded.shapes, &TaskId::new(id).unwrap()).map(TaskId::as_str);
        assert_eq!(
            [of("1.1"), of("1.4"), of("1.5"), of("1.slice-api")],
            [Some("1.slice-api"), Some("1.slice-the-page"), None, None]
        );
    }

    #[test]
    fn a_milestone_has_one_landing_and_a_plan_that_merges_tasks_none() {
        let tasks = json!([task("1.1", "api", &[]), task("1.2", "", &[])]);

        assert_eq!(depends(&expand(&plan("milestone", &tasks)).unwrap(), "1.milestone"), ["1.1", "1.2"]);
        assert_eq!(expand(&plan("task", &tasks)).unwrap().plan.tasks().count(), 2);
    }

    #[test]
    fn slices_that_wait_for_each_other_and_ids_that_are_taken_are_refused() {
        let circle = json!([task("1.1", "a", &[]), task("1.2", "b", &["1.1"]), task("1.3", "a", &["1.2"])]);
        let failure = expand(&plan("slice", &circle)).unwrap_err();
        assert!(failure.code == "plan.cycle" && failure.what.contains("1.1 → 1.slice-b → 1.2 → 1.1"), "{failure:?}");

        let through = json!([task("1.1", "a", &[]), task("1.2", "", &["1.1"]), task("1.3", "a", &["1.2"])]);
        let failure = expand(&plan("slice", &through)).unwrap_err();
        assert!(failure.code == "plan.cycle" && failure.what.contains("1.2 → 1.slice-a → 1.3 → 1.2"), "{failure:?}");

        let taken = json!([task("1.1", "a b", &[]), task("1.2", "a-b", &[])]);
        assert_eq!(expand(&plan("slice", &taken)).unwrap_err().code, "plan.mode");
    }
}
