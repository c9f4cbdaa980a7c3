//! Tests that need the plan of a run, which is private to this crate.

mod choices;
mod evidence;
mod fields;
mod plan_texts;
mod read_back;
mod real_git;
mod repository;
mod roles;
mod rows;

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_protocol::finding::{CommandKind, CommandRun, Finding};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{TaskState, TaskView};

pub(crate) use self::repository::Repository;

/// Returns true once a condition holds; false if it does not within 30 seconds.
pub(crate) async fn comes(condition: impl Fn() -> bool) -> bool {
    for _ in 0..3_000 {
        if condition() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Returns a run of a plan with one phase of these tasks.
pub(crate) fn run_plan(tasks: &Value) -> crate::plan::RunPlan {
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
        "phases": [{ "id": 1, "name": "one", "tasks": tasks }] });
    let plan = switchboard_pipeline::plan_json::parse(&plan.to_string()).unwrap();
    fields::run_plan(switchboard_pipeline::subtasks::expand(&plan).unwrap())
}

/// Returns the view of a task with only its state.
pub(crate) fn view(id: &str, state: TaskState) -> TaskView {
    TaskView {
        task: TaskId::new(id).unwrap(),
        state,
        attempt: 1,
        losses: 0,
        stopping: false,
        paused: None,
        not_started: None,
        gates: Vec::new(),
        pending_gates: Vec::new(),
        steps: Vec::new(),
        step: None,
        refusals: Vec::new(),
    }
}

/// Returns a new finding that blocks, with these fields in place of the usual ones.
pub(crate) fn finding(line: u32, more: Value) -> Finding {
    let mut finding = json!({
        "check": "secretscan", "rule": "rule", "severity": "medium", "message": "bad", "remedy": "mend it",
        "path": "a.rs", "span": {"start_line": line, "start_column": 1, "end_line": line, "end_column": 2},
        "fingerprint": "0".repeat(32), "is_new": true, "blocks": true,
    });
    let fields = finding.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    serde_json::from_value(finding).unwrap()
}

/// Returns a run of a test command with this exit code.
pub(crate) fn command_run(exit_code: Option<i32>) -> CommandRun {
    CommandRun {
        kind: CommandKind::Test,
        argv: vec!["make".to_owned(), "test".to_owned()],
        cwd: ".".to_owned(),
        exit_code,
        ending: "ended".to_owned(),
        duration_ms: 1,
        stdout: "é".repeat(400),
        stderr: "said\n".to_owned(),
        memory: "not limited".to_owned(),
        tests: None,
    }
}
