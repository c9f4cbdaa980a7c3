//! A run of a part of a plan: a phase, a slice, or one task.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::plan::{PhaseStatus, Plan, Task, TaskId, TaskStatus};
use switchboard_protocol::run::way::UnitId;

/// Maximum number of tasks that a refusal names.
const MAX_NAMED: usize = 10;

/// A part of a plan that a run carries out.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The plan reduced to the part. Tasks outside of it that its tasks depend on are done.
    pub plan: Plan,
    /// Notes for a person, one sentence each.
    pub notes: Vec<String>,
}

/// Extracts a part of a plan.
///
/// # Errors
/// `plan.unknown-scope` with a close match if the plan has no such part, `plan.scope-depends` if a task of it depends
/// on one outside of it that the plan does not mark as done.
pub fn part(plan: &Plan, unit: &UnitId) -> Result<Part, Failure> {
    let mut only = unit.of_plan(plan);
    if only.phases.is_empty() {
        return Err(unknown(plan, unit));
    }
    let inside: BTreeMap<TaskId, ()> = only.tasks().map(|task| (task.id.clone(), ())).collect();
    // Tasks that are done or set aside are not waited for.
    let done = plan.phases.iter().flat_map(|phase| {
        let is_closed = phase.status == PhaseStatus::Closed;
        let is_done =
            move |task: &&Task| is_closed || matches!(task.status, TaskStatus::Completed | TaskStatus::Closed);
        phase.tasks.iter().filter(is_done).map(|task| &task.id)
    });
    let done: BTreeSet<&TaskId> = done.collect();
    let is_done = |id: &TaskId| done.contains(id);
    let mut open = Vec::new();
    for task in only.phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        let id = task.id.clone();
        task.depends.retain(|on| {
            let is_inside = inside.contains_key(on);
            if !is_inside && !is_done(on) {
                open.push(format!("task {id} depends on {on}"));
            }
            is_inside
        });
    }
    if !open.is_empty() {
        let what = format!("{unit} waits for tasks outside of it that are not done: {}", open[0]);
        let mut failure = Failure::new("plan.scope-depends", what)
            .hint("run them first and mark them as completed in the plan, or run more of it");
        open.truncate(MAX_NAMED);
        failure.cause = open;
        return Err(failure);
    }
    let left = plan.tasks().count() - inside.len();
    let mut notes = vec![format!("only {unit}: {left} tasks of the plan are left out")];
    notes.extend(earlier(plan, &only));
    Ok(Part { plan: only, notes })
}

/// A phase, or a slice of any phase, by the name that a call uses for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Group {
    /// `phase:2` or `milestone:2`.
    Phase(u64),
    /// `slice:NAME`.
    Slice(String),
}

// === impl Group ===

impl Group {
    /// Reads the name of a group; `None` if it is none. The id of a task never is.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("phase" | "milestone", id) => id.parse().ok().map(Self::Phase),
            ("slice", name) => Some(Self::Slice(name.to_owned())),
            _ => None,
        }
    }

    /// Returns the tasks of a plan that belong to it.
    pub fn tasks<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a Task> {
        let all = plan.phases.iter().flat_map(|phase| phase.tasks.iter().map(|task| (phase.id, task)));
        let is_in = |(phase, task): &(u64, &Task)| match self {
            Self::Phase(id) => phase == id,
            Self::Slice(name) => task.switchboard.as_ref().and_then(|settings| settings.slice.as_ref()) == Some(name),
        };
        all.filter(is_in).map(|(_, task)| task)
    }
}

/// Returns the tasks of each slice of a plan.
#[must_use]
pub fn slices(plan: &Plan) -> BTreeMap<String, Vec<TaskId>> {
    let mut slices = BTreeMap::<String, Vec<TaskId>>::new();
    for task in plan.tasks() {
        if let Some(slice) = task.switchboard.as_ref().and_then(|settings| settings.slice.clone()) {
            slices.entry(slice).or_default().push(task.id.clone());
        }
    }
    slices
}

/// Returns a note if a phase begins before the phases before it have ended.
fn earlier(plan: &Plan, only: &Plan) -> Option<String> {
    let first = only.phases.iter().map(|phase| phase.id).min()?;
    let is_barrier = plan.switchboard.as_ref().and_then(|settings| settings.barrier) != Some(false);
    let is_open = |status: TaskStatus| !matches!(status, TaskStatus::Completed | TaskStatus::Closed);
    let before = plan.phases.iter().filter(|phase| phase.id < first).flat_map(|phase| &phase.tasks);
    let open = before.filter(|task| is_open(task.status)).count();
    (is_barrier && open > 0).then(|| format!("{open} tasks of earlier phases are not marked as done"))
}

fn unknown(plan: &Plan, unit: &UnitId) -> Failure {
    let failure = Failure::new("plan.unknown-scope", format!("the plan has no {}", named(unit)));
    let slices = slices(plan);
    let near = match unit {
        UnitId::Task(id) => {
            near_matches(id.as_str(), plan.tasks().map(|task| task.id.as_str())).first().map(ToString::to_string)
        }
        UnitId::Slice { name, .. } => {
            near_matches(name, slices.keys().map(String::as_str)).first().map(ToString::to_string)
        }
        UnitId::Phase(_) => None,
    };
    match (near, unit) {
        (Some(near), _) => failure.hint(format!("did you mean {near}?")),
        (None, UnitId::Slice { .. }) if slices.is_empty() => failure.hint("no task says `x-switchboard.slice`"),
        (None, _) => {
            let phases: Vec<_> = plan.phases.iter().map(|phase| phase.id.to_string()).collect();
            failure.hint(format!("its phases are {}", phases.join(", ")))
        }
    }
}

fn named(unit: &UnitId) -> String {
    match unit {
        UnitId::Task(id) => format!("task {id}"),
        UnitId::Slice { .. } | UnitId::Phase(_) => unit.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan() -> Plan {
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [
            { "id": 1, "name": "one", "tasks": [
                { "id": "1.1", "phase": 1, "description": "d", "status": "completed" },
                { "id": "1.2", "phase": 1, "description": "d", "depends": ["1.1"], "x-switchboard": { "slice": "api" } },
                { "id": "1.3", "phase": 1, "description": "d", "depends": ["1.2"], "x-switchboard": { "slice": "api" } } ] },
            { "id": 2, "name": "two", "tasks": [{ "id": "2.1", "phase": 2, "description": "d", "depends": ["1.3"] },
                { "id": "2.2", "phase": 2, "description": "d" }] } ] });
        crate::plan_json::parse(&plan.to_string()).unwrap()
    }

    fn slice(name: &str) -> UnitId {
        UnitId::Slice { phase: 1, name: name.to_owned() }
    }

    fn task(id: &str) -> UnitId {
        UnitId::Task(TaskId::new(id).unwrap())
    }

    #[test]
    fn a_part_keeps_its_own_dependencies_and_forgets_those_that_are_done() {
        let part = part(&plan(), &slice("api")).unwrap();

        let edges: Vec<_> = part.plan.tasks().map(|task| (task.id.to_string(), task.depends.len())).collect();
        assert_eq!(edges, [("1.2".to_owned(), 0), ("1.3".to_owned(), 1)]);
        assert_eq!(part.notes, ["only slice api of phase 1: 3 tasks of the plan are left out"]);
    }

    #[test]
    fn what_waits_for_work_outside_of_the_part_is_refused_with_its_names() {
        for unit in [task("1.3"), task("2.1"), UnitId::Phase(2)] {
            let failure = part(&plan(), &unit).unwrap_err();

            assert_eq!((failure.code.as_str(), failure.cause.len()), ("plan.scope-depends", 1), "{failure:?}");
        }
        let alone = part(&plan(), &task("2.2")).unwrap();
        assert!(alone.notes[1].contains("2 tasks of earlier phases"), "{:?}", alone.notes);
    }

    #[test]
    fn a_phase_and_a_slice_have_names_that_no_task_has() {
        let plan = plan();
        let tasks = |name| {
            let group = Group::parse(name)?;
            Some(group.tasks(&plan).map(|task| task.id.as_str().to_owned()).collect::<Vec<_>>())
        };

        assert_eq!(tasks("phase:2").unwrap(), ["2.1", "2.2"]);
        assert_eq!(tasks("milestone:2"), tasks("phase:2"));
        assert_eq!(tasks("slice:api").unwrap(), ["1.2", "1.3"]);
        assert_eq!(tasks("slice:apj"), Some(Vec::new()));
        for none in ["1.2", "phase:x", "phase", "task:1.2"] {
            assert_eq!(tasks(none), None, "{none}");
        }
    }

    #[test]
    fn a_part_that_does_not_exist_is_refused_with_the_near_match() {
        let hint = |unit: &UnitId| {
            let failure = part(&plan(), unit).unwrap_err();
            assert_eq!(failure.code, "plan.unknown-scope");
            failure.hint
        };

        assert_eq!(hint(&slice("apj")), "did you mean api?");
        assert_eq!(slices(&plan())["api"].iter().map(TaskId::as_str).collect::<Vec<_>>(), ["1.2", "1.3"]);
        assert_eq!(hint(&UnitId::Phase(7)), "its phases are 1, 2");
        assert!(hint(&task("1.22")).starts_with("did you mean 1.2"));
    }
}
