//! Slices with a branch of their own: their tasks are merged into it, and a landing merges it as a whole.

use serde_json::json;
use switchboard_protocol::run::way::CommandStep;

use super::*;

/// Returns a run of two slices of two tasks each, whose branches are merged as a whole, and a task of its own.
fn run() -> Run {
    let task = |id: &str, slice: serde_json::Value| json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": { "slice": slice } });
    let tasks = [("1.1", "a"), ("1.2", "a"), ("1.3", "b"), ("1.4", "b")].map(|(id, slice)| task(id, json!(slice)));
    let tasks: Vec<_> = tasks.into_iter().chain([task("1.5", serde_json::Value::Null)]).collect();
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
        "x-switchboard": { "max_workers": 8, "gates": ["-all"], "merge": "slice" },
        "phases": [{ "id": 1, "name": "p", "tasks": tasks }] });
    let expanded = crate::subtasks::expand(&crate::plan_json::parse(&plan.to_string()).unwrap()).unwrap();
    let prepared = crate::prepare::prepare(&expanded.plan, &std::collections::BTreeSet::new(), None);
    let limits = switchboard_protocol::run::TeamLimits::default();
    let compiled = crate::way::compile(&expanded, &prepared, &limits, crate::way::usual_attempts).unwrap();
    let opening = crate::prepare::Opening { plan_hash: "h", base: "b", max_workers: 8 };
    let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
    crate::prepare::opening(&expanded.plan, &compiled, opening).unwrap().into_iter().for_each(|event| run.tell(event));
    run
}

impl Run {
    fn landing_of(&self, task: &str) -> Option<String> {
        self.state.lands_with(&id(task)).map(ToString::to_string)
    }

    /// Returns the commands on branches that are to be carried out, each with its task.
    fn commands(&self) -> Vec<(String, CommandStep)> {
        let command = |effect: Effect| {
            let Effect::RunCommand { task, kind, .. } = effect else { return None };
            Some((task.to_string(), kind))
        };
        self.effects().into_iter().filter_map(command).collect()
    }

    fn merge_now(&mut self, task: &str, head: &str) {
        let TaskState::Passed { change } = self.view(task).state else { panic!("{:?}", self.view(task).state) };
        self.merge_onto(task, &change.commit, head);
    }
}

#[test]
fn a_task_of_a_slice_is_merged_into_the_branch_of_its_landing_and_a_landing_into_that_of_the_run() {
    let run = run();
    let landings: Vec<_> = run.state.task_ids().filter(|task| run.state.is_landing(task)).collect();
    let [first, second] = &landings[..] else { panic!("{landings:?}") };

    assert_eq!(["1.1", "1.2"].map(|task| run.landing_of(task)), [Some(first.to_string()), Some(first.to_string())]);
    assert_eq!(["1.3", "1.4"].map(|task| run.landing_of(task)), [Some(second.to_string()), Some(second.to_string())]);
    assert_eq!(landings.iter().map(|landing| run.landing_of(landing.as_str())).collect::<Vec<_>>(), [None, None]);
    assert_eq!((run.landing_of("1.5"), run.landing_of("9.9")), (None, None));
    assert!(!run.state.is_landing(&id("1.1")) && !run.state.is_landing(&id("9.9")));
    assert_eq!(run.starting(), ["1.1", "1.2", "1.3", "1.4", "1.5"], "no worker lands a slice");
}

#[test]
fn a_merge_into_one_branch_moves_the_head_of_no_other() {
    let mut run = run();
    let landing = run.landing_of("1.1").unwrap();
    ["1.1", "1.2", "1.3", "1.5"].iter().for_each(|task| run.pass_on(task, "b"));

    run.merge_now("1.1", "b");

    assert_eq!(run.commands(), [("1.2".to_owned(), CommandStep::Rebase)], "it follows its slice");
    run.rebase("1.2", "m-1.1");
    run.answer_checks("1.2", Verdict::Pass);
    run.merge_now("1.2", "m-1.1");
    assert_eq!(run.commands(), [(landing.clone(), CommandStep::Gather)], "its slice is complete");
    run.merge_now("1.3", "b");
    run.merge_now("1.5", "b");

    let (commit, tree, base) = ("whole".to_owned(), "t".to_owned(), "b".to_owned());
    let files_total = 2;
    let gathered = |attempt| RunEvent::ChangeCaptured {
        task: id(&landing),
        attempt,
        commit: commit.clone(),
        tree: tree.clone(),
        base: base.clone(),
        files: vec!["a".to_owned(); 2],
        files_total,
        lines: 1,
        left_out: Vec::new(),
    };
    run.refused(gathered(2));
    run.tell(gathered(1));
    run.answer_checks(&landing, Verdict::Pass);
    assert_eq!(run.commands(), [(landing.clone(), CommandStep::Rebase)], "the run's branch has moved");
    run.rebase(&landing, "m-1.5");
    run.answer_checks(&landing, Verdict::Pass);
    run.merge_now(&landing, "m-1.5");
    assert!(matches!(run.view(&landing).state, TaskState::Merged { .. }));
}

#[test]
fn a_conflict_while_a_slice_is_gathered_blocks_its_landing_at_once() {
    let mut run = run();
    let landing = run.landing_of("1.1").unwrap();
    run.pass_on("1.1", "b");
    run.merge_now("1.1", "b");
    run.pass_on("1.2", "m-1.1");
    run.merge_now("1.2", "m-1.1");

    run.tell(RunEvent::MergeConflicted { task: id(&landing), attempt: 1, files: vec!["a".to_owned()] });

    let TaskState::Blocked { reason } = run.view(&landing).state else { panic!("{:?}", run.view(&landing).state) };
    assert_eq!(reason, "merge conflict: a");
    run.tell(RunEvent::TaskRetryRequested { task: id(&landing), note: String::new() });
    assert_eq!(run.commands(), [(landing, CommandStep::Gather)]);
}
