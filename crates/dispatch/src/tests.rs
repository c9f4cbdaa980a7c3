//! Tests that need the plan of a run, which is private to this crate.

mod choices;
mod evidence;
mod fields;
mod plan_texts;
mod real_git;
mod repository;
mod rows;

use serde_json::{Value, json};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{TaskState, TaskView};

pub(crate) use self::repository::Repository;

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
