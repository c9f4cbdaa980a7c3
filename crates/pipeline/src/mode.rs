//! Applies the mode of a request to a plan, and defines which modes each part of a plan supports.
//!
//! | scope | `single` | `parallel` | `debate` | `chain` |
//! |---|---|---|---|---|
//! | job | one task | up to 8 tasks | 2 to 8 participants | 2 to 16 steps |
//! | task | as its plan says, one worker at a time | where several work on it | where its plan says `debate` | where its plan says `chain` |
//! | phase, slice, plan | one worker at a time | side by side | where plan or phase says `debate`: before its tasks | one task after the other |
//!
//! Isolation and coordination combine with every row.

mod debated;

use switchboard_protocol::error::Failure;
use switchboard_protocol::job::{JOB_WORKERS, MAX_SHARED, MIN_SHARED, Mode};
use switchboard_protocol::plan::{BestOf, Plan, Task, TaskId, TaskSettings};
use switchboard_protocol::run::way::UnitId;

/// A request for a mode.
#[derive(Debug, Clone, Copy)]
pub struct ModeRequest<'a> {
    /// Part of the plan; `None` is the whole plan.
    pub unit: Option<&'a UnitId>,
    /// Requested mode; `None` takes that of the plan.
    pub mode: Option<Mode>,
    /// True if the request has a job instead of a plan.
    pub is_job: bool,
}

/// A plan in a mode.
#[derive(Debug, Clone, PartialEq)]
pub struct InMode {
    /// The plan.
    pub plan: Plan,
    /// Maximum number of concurrent workers if the request names none.
    pub max_workers: Option<u32>,
}

/// Returns the plan as it runs in the requested mode.
///
/// # Errors
/// `request.bad-args` at `mode` if this part of the plan doesn't support it.
pub fn in_mode(plan: Plan, asked: &ModeRequest<'_>) -> Result<InMode, Failure> {
    let unlimited = |plan| Ok(InMode { plan, max_workers: None });
    if asked.is_job {
        return Ok(InMode { plan, max_workers: Some(JOB_WORKERS) });
    }
    let Some(mode) = asked.mode else { return unlimited(plan) };
    if let Some(UnitId::Task(id)) = asked.unit {
        fits_task(&plan, id, mode)?;
        let max_workers = (mode == Mode::Single).then_some(1);
        return Ok(InMode { plan, max_workers });
    }
    match mode {
        Mode::Single => Ok(InMode { plan, max_workers: Some(1) }),
        Mode::Parallel => unlimited(plan),
        Mode::Chain => Ok(InMode { plan: chained(plan), max_workers: Some(1) }),
        Mode::Debate => unlimited(debated::debated(plan, asked.unit)?),
    }
}

/// Checks whether a task supports a mode; its plan decides, because it names the participants.
fn fits_task(plan: &Plan, id: &TaskId, mode: Mode) -> Result<(), Failure> {
    let none = TaskSettings::default();
    let task: Option<&Task> = plan.tasks().find(|task| task.id == *id);
    let settings = task.and_then(|task| task.switchboard.as_ref()).unwrap_or(&none);
    let (fits, wanted) = match mode {
        Mode::Single => (true, ""),
        Mode::Parallel => (settings.best_of.is_some() || settings.debate.is_some(), "best_of or debate"),
        Mode::Debate => (settings.debate.is_some(), "debate"),
        Mode::Chain => (settings.chain.is_some(), "chain"),
    };
    if fits {
        return Ok(());
    }
    let what = format!("task {id} can't be done in the mode {}: its plan doesn't say who takes part", mode.as_str());
    Err(refusal(&what).hint(format!("say x-switchboard.{wanted} in the task")))
}

/// Assigns several workers to each task that has no other participants in the plan; the gates choose among the results.
///
/// # Errors
/// `request.bad-args` at `best_of` if it is not 2 to 8, or if no task is left for it.
pub fn with_best_of(mut plan: Plan, count: u32) -> Result<Plan, Failure> {
    let refused = |what: &str| Err(Failure::new("request.bad-args", what).at("best_of"));
    if !(MIN_SHARED..=MAX_SHARED).contains(&count) {
        return refused(&format!("{MIN_SHARED} to {MAX_SHARED} workers can try the same task"));
    }
    let mut found = false;
    for task in plan.phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        let settings = task.switchboard.get_or_insert_default();
        let is_shared = settings.chain.is_some() || settings.debate.is_some() || settings.best_of.is_some();
        if is_shared || settings.is_report() {
            continue;
        }
        settings.best_of = Some(BestOf::Count(count));
        found = true;
    }
    if found { Ok(plan) } else { refused("no task is left for it: all are reports, or several work on them already") }
}

/// Makes every task wait for the one before it in the plan, so that the first failure ends the run.
fn chained(mut plan: Plan) -> Plan {
    let mut before: Option<TaskId> = None;
    for task in plan.phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        if let Some(before) = before.filter(|before| !task.depends.contains(before)) {
            task.depends.push(before);
        }
        before = Some(task.id.clone());
    }
    plan
}

fn refusal(what: &str) -> Failure {
    Failure::new("request.bad-args", what).at("mode")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchboard_protocol::job::{Job, JobTask};

    use super::*;

    fn plan(settings: &Value) -> Plan {
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [
            { "id": 1, "name": "one", "tasks": [
                { "id": "1.1", "phase": 1, "description": "d", "x-switchboard": settings },
                { "id": "1.2", "phase": 1, "description": "d", "x-switchboard": { "slice": "api" } } ] },
            { "id": 2, "name": "two", "tasks": [{ "id": "2.1", "phase": 2, "description": "d", "depends": ["1.2"] }] } ] });
        crate::plan_json::parse(&plan.to_string()).unwrap()
    }

    fn task() -> UnitId {
        UnitId::Task(TaskId::new("1.1").unwrap())
    }

    /// Checks a combination; a refusal returns the name of the field.
    fn verdict(scope: Option<&UnitId>, mode: Mode, settings: &Value) -> Result<InMode, String> {
        let asked = ModeRequest { unit: scope, mode: Some(mode), is_job: false };
        in_mode(plan(settings), &asked).map_err(|failure| {
            assert!(failure.code == "request.bad-args" && !failure.hint.is_empty(), "{failure:?}");
            failure.place
        })
    }

    #[test]
    fn a_debate_about_a_phase_comes_before_its_tasks_and_each_of_them_waits_for_it() {
        let mut plan = plan(&json!({}));
        let debate = json!({ "participants": [{ "agent": "a" }, { "agent": "b" }] });
        plan.switchboard.get_or_insert_default().debate = Some(serde_json::from_value(debate).unwrap());
        let asked = ModeRequest { unit: Some(&UnitId::Phase(1)), mode: Some(Mode::Debate), is_job: false };

        let plan = in_mode(UnitId::Phase(1).of_plan(&plan), &asked).unwrap().plan;

        let first = plan.tasks().next().unwrap();
        assert_eq!(first.id.as_str(), "1.debate");
        assert!(first.description.contains("phase 1 of the plan") && first.description.contains("- 1.2: d"));
        assert!(plan.tasks().skip(1).all(|task| task.depends == [first.id.clone()]));
        let shapes = crate::subtasks::expand(&plan).unwrap().shapes;
        let told = &shapes[&TaskId::new("1.1").unwrap()].told;
        assert_eq!(*told, crate::subtasks::PromptSource::Informed { reports: vec![first.id.clone()] });
    }

    #[test]
    fn a_debate_comes_into_the_first_phase_that_has_something_to_do() {
        let debate = json!({ "participants": [{ "agent": "a" }, { "agent": "b" }] });
        let of = |statuses: [&str; 3]| {
            let mut plan = plan(&json!({}));
            plan.switchboard.get_or_insert_default().debate = Some(serde_json::from_value(debate.clone()).unwrap());
            let status = |word: &str| serde_json::from_value(json!(word)).unwrap();
            (plan.phases[0].status, plan.phases[1].status) = (status(statuses[0]), status(statuses[1]));
            plan.phases[0].tasks[0].status = serde_json::from_value(json!(statuses[2])).unwrap();
            in_mode(plan, &ModeRequest { unit: None, mode: Some(Mode::Debate), is_job: false }).map(|found| found.plan)
        };

        let closed = of(["closed", "pending", "pending"]).unwrap();
        let (first, second) = (&closed.phases[0].tasks, &closed.phases[1].tasks);
        assert_eq!(second[0].id.as_str(), "2.debate");
        assert!(!second[0].description.contains("1.1: d") && second[0].description.contains("2.1: d"));
        assert!(first.iter().all(|task| task.depends.is_empty()), "{first:?}");
        assert!(second[1].depends.contains(&second[0].id));
        let prepared = crate::prepare::prepare(&closed, &std::collections::BTreeSet::new(), None);
        assert_eq!(prepared.eligible, [second[0].id.clone(), second[1].id.clone()]);
        let plan = of(["in_progress", "pending", "completed"]).unwrap();
        assert_eq!(plan.phases[0].tasks[0].id.as_str(), "1.debate");
        assert!(plan.phases[0].tasks[1].depends.is_empty(), "a task that is done waits for nothing");
        // Task 2.1 depends on a task of the blocked phase.
        let failure = of(["blocked", "pending", "pending"]).unwrap_err();
        assert!(failure.place == "mode" && failure.what.contains("nothing to debate"), "{failure:?}");
    }

    #[test]
    fn each_task_that_nobody_shares_is_tried_by_as_many_as_are_asked_for() {
        let of = |settings: &Value, count| {
            with_best_of(plan(settings), count).map(|plan| {
                let count = |task: &Task| task.switchboard.as_ref().and_then(|own| own.best_of.clone());
                plan.tasks().map(count).collect::<Vec<_>>()
            })
        };

        let three = Some(BestOf::Count(3));
        assert_eq!(of(&json!({ "result": "report" }), 3).unwrap(), [None, three.clone(), three]);
        for count in [0, 1, 9] {
            assert_eq!(of(&json!({}), count).unwrap_err().place, "best_of");
        }
    }

    #[test]
    fn each_mode_of_each_scope_works_or_is_refused_with_the_field() {
        let phase = UnitId::Phase(1);
        let slice = UnitId::Slice { phase: 1, name: "api".to_owned() };
        let (mut works, mut refused) = (0, 0);
        for mode in Mode::ALL {
            for scope in [&phase, &slice, &task()] {
                match verdict(Some(scope), mode, &json!({})) {
                    Ok(_) => works += 1,
                    Err(field) => {
                        assert_eq!(field, "mode");
                        let is_task = scope.task().is_some();
                        assert!(mode == Mode::Debate || (is_task && mode != Mode::Single), "{scope} {mode:?}");
                        refused += 1;
                    }
                }
            }
            let count = if mode == Mode::Single { 1 } else { 2 };
            let tasks = vec![JobTask { task: "do".to_owned(), ..JobTask::default() }; count];
            let topic = (mode == Mode::Debate).then(|| tasks[0].clone());
            assert_eq!(Job { tasks, topic, ..Job::default() }.unsupported_field(mode), None);
            works += 1;
        }
        assert_eq!((works, refused), (11, 5));
    }

    #[test]
    fn a_job_that_says_nothing_or_too_much_is_refused_with_the_field() {
        let task = |text: &str| JobTask { task: text.to_owned(), ..JobTask::default() };
        let jobs = |texts: &[&str]| Job { tasks: texts.iter().map(|text| task(text)).collect(), ..Job::default() };
        let debate = |topic: &str| Job { topic: Some(task(topic)), ..jobs(&["", ""]) };
        let field = |job: &Job, mode| job.unsupported_field(mode).map(|(field, _)| field);

        assert_eq!(field(&jobs(&[" \n"]), Mode::Single), Some("job.tasks"));
        assert_eq!(field(&jobs(&["a", ""]), Mode::Chain), Some("job.tasks"));
        assert_eq!(field(&debate("why"), Mode::Debate), None, "a participant may take no position");
        assert_eq!(field(&debate(" "), Mode::Debate), Some("job.topic"));
        for rounds in [0, 6] {
            assert_eq!(field(&Job { rounds: Some(rounds), ..debate("why") }, Mode::Debate), Some("job.rounds"));
        }
        for attempts in [0, 21] {
            assert_eq!(field(&Job { attempts: Some(attempts), ..jobs(&["a"]) }, Mode::Single), Some("job.attempts"));
        }
        for quorum in [0, 3] {
            assert_eq!(field(&Job { quorum: Some(quorum), ..debate("why") }, Mode::Debate), Some("job.quorum"));
        }
    }

    #[test]
    fn a_task_is_done_in_the_modes_that_its_plan_provides_for() {
        let debate = json!({ "debate": { "participants": [{ "agent": "a" }, { "agent": "b" }] } });
        let chain = json!({ "chain": [{ "prompt": "a" }, { "prompt": "b" }] });

        for (settings, modes) in [
            (debate, [Mode::Debate, Mode::Parallel, Mode::Single].as_slice()),
            (chain, [Mode::Chain, Mode::Single].as_slice()),
            (json!({ "best_of": 3 }), [Mode::Parallel, Mode::Single].as_slice()),
        ] {
            for mode in Mode::ALL {
                let found = verdict(Some(&task()), mode, &settings);

                assert_eq!(found.is_ok(), modes.contains(&mode), "{settings} {mode:?}");
            }
        }
    }

    #[test]
    fn a_chain_of_tasks_has_one_order_and_one_worker() {
        let chained = verdict(None, Mode::Chain, &json!({})).unwrap();

        let edges: Vec<_> =
            chained.plan.tasks().map(|task| task.depends.iter().map(TaskId::as_str).collect::<Vec<_>>()).collect();
        assert_eq!(edges, [vec![], vec!["1.1"], vec!["1.2"]]);
        assert_eq!(chained.max_workers, Some(1));
        assert_eq!(verdict(None, Mode::Single, &json!({})).unwrap().max_workers, Some(1));
        assert_eq!(verdict(None, Mode::Parallel, &json!({})).unwrap().max_workers, None);
    }

    #[test]
    fn every_job_makes_a_plan_that_can_be_read() {
        let task =
            |text: &str| JobTask { task: text.to_owned(), agent: Some("a".to_owned()), model: Some("m".to_owned()) };
        for mode in Mode::ALL {
            let tasks: Vec<_> =
                ["one \"quoted\"", "{previous}"].map(task)[..if mode == Mode::Single { 1 } else { 2 }].to_vec();
            let (topic, rounds) = if mode == Mode::Debate { (Some(task("topic")), Some(3)) } else { (None, None) };
            let job = Job { tasks, topic, rounds, attempts: Some(2), ..Job::default() };

            let plan = crate::plan_json::parse(&job.plan(mode)).unwrap();

            let expanded = crate::subtasks::expand(&plan).unwrap();
            let expected = match mode {
                Mode::Single => 1,
                Mode::Parallel => 2,
                Mode::Chain => 2,
                Mode::Debate => 7,
            };
            assert_eq!(expanded.plan.tasks().count(), expected, "{mode:?}");
        }
    }
}
