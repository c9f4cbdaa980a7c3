//! Tasks that result in a report, and whom their answers are passed on to.

use serde_json::json;
use switchboard_protocol::run::Answered;

use super::*;

/// Returns a run of a report, a change, a chain that depends on both, and a task that depends on the chain.
fn run() -> Run {
    let task = |id: &str, depends: &[&str], settings: serde_json::Value| json!({ "id": id, "phase": 1, "description": "d", "depends": depends, "x-switchboard": settings });
    let chain = json!({ "chain": [{ "prompt": "1" }, { "prompt": "2" }] });
    let tasks = [
        task("1.1", &[], json!({ "result": "report" })),
        task("1.2", &[], json!({})),
        task("1.3", &["1.1", "1.2"], chain),
        task("1.4", &["1.3"], json!({})),
    ];
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
        "x-switchboard": { "max_workers": 4, "gates": ["-all"] },
        "phases": [{ "id": 1, "name": "p", "tasks": tasks }] });
    let expanded = crate::subtasks::expand(&crate::plan_json::parse(&plan.to_string()).unwrap()).unwrap();
    let prepared = crate::prepare::prepare(&expanded.plan, &std::collections::BTreeSet::new(), None);
    let limits = switchboard_protocol::run::TeamLimits::default();
    let compiled = crate::way::compile(&expanded, &prepared, &limits, crate::way::usual_attempts).unwrap();
    let opening = crate::prepare::Opening { plan_hash: "h", base: "b", max_workers: 4 };
    let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
    crate::prepare::opening(&expanded.plan, &compiled, opening).unwrap().into_iter().for_each(|event| run.tell(event));
    run
}

impl Run {
    /// Returns the tasks whose answers the next worker of a task gets.
    fn gets(&self, task: &str) -> Vec<(String, bool)> {
        let answers = self.effects().into_iter().find_map(|effect| {
            let Effect::StartWorker { task: of, answers, .. } = effect else { return None };
            (of == id(task)).then_some(answers)
        });
        let answered = |answered: Answered| (answered.task.to_string(), answered.worker.is_some());
        answers.unwrap_or_else(|| panic!("{task} doesn't begin")).into_iter().map(answered).collect()
    }
}

#[test]
fn a_report_is_done_with_the_turn_of_its_worker_and_merges_nothing() {
    let mut run = run();
    let roles: Vec<_> =
        run.state.starts().iter().map(|start| (start.work().role.to_string(), start.work().writes.len())).collect();
    assert_eq!(roles, [("explorer".to_owned(), 0), ("coder".to_owned(), 2)], "a report writes nothing");

    run.end_turn("1.1", TurnOutcome::Finished);

    assert_eq!(run.last, [RunEvent::TaskDone { task: id("1.1"), attempt: 1, of: None }]);
    assert_eq!(run.view("1.1").state, TaskState::Done { commit: String::new() });
    assert!(run.state.missing_steps(&id("1.1")).is_empty());
}

#[test]
fn a_worker_gets_the_reports_that_its_task_depends_on_and_the_answers_of_the_steps_before_its_own() {
    let mut run = run();
    run.end_turn("1.1", TurnOutcome::Finished);
    run.pass_on("1.2", "b");
    run.merge_onto("1.2", "c-1.2-1", "b");
    let steps: Vec<_> = run.starting();
    let [first] = &steps[..] else { panic!("{steps:?}") };
    let report = ("1.1".to_owned(), true);

    assert_eq!(run.gets(first), std::slice::from_ref(&report), "that of 1.2 is in the tree");
    run.pass_on(first, "m-1.2");
    assert_eq!(run.gets("1.3"), [(first.clone(), true), report]);
    run.pass_on("1.3", "m-1.2");
    run.merge_onto("1.3", "c-1.3-1", "m-1.2");
    assert_eq!(run.gets("1.4"), []);
}
