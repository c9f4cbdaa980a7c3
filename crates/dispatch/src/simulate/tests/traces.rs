//! Records what runs of a few plans start, check and commit, as snapshots.
//! `INSTA_UPDATE=always cargo test -p switchboard-dispatch traces` accepts the new ones.

use super::super::trace;
use super::recorded::Names;
use super::*;

/// Returns the trace of a plan with one task for the agents `ann` and `ben`.
#[track_caller]
fn traced(plan: &Value, task: &Value) -> String {
    let mut whole = json!({ "id": "1.1", "phase": 1, "description": "do it", "acceptance": "it is done" });
    whole.as_object_mut().unwrap().extend(task.as_object().unwrap().clone());
    let plan = json!({
        "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": plan,
        "phases": [{ "id": 1, "name": "one", "tasks": [whole] }],
    });
    let lines = trace::trace(&plan.to_string(), &["ann", "ben"].map(trace::agent)).unwrap();
    Names::default().shorten(&lines.join("\n"))
}

#[test]
fn a_task_with_every_command_and_limit_is_carried_out_as_recorded() {
    let plan = json!({
        "build": ["make"], "test": ["make", "test"], "lint": ["make", "lint"], "lint_fix": ["make", "tidy"],
        "setup": ["make", "deps"], "setup_minutes": 3, "ports": 2, "budget": 2.5,
    });
    let task = json!({ "files_touched": ["t/1.1", "old/1.1"], "x-switchboard": {
        "isolation": "constrained", "hosts": ["api.example.com:443"], "model": "m", "permissions": "ask",
        "author": "Ada <ada@example.org>", "timeout_minutes": 7, "wrap_up_minutes": 2, "gates": ["lint", "pre_check_batch"],
        "outputs": ["t/1.1"] } });

    insta::assert_snapshot!(traced(&plan, &task));
}

#[test]
fn a_task_of_a_team_with_commands_is_carried_out_as_recorded() {
    let plan = json!({ "team": true, "always_security_review": true, "test": ["make", "test"], "ports": 0 });
    let task = json!({ "files_touched": ["t/1.1", "old/1.1"] });

    insta::assert_snapshot!(traced(&plan, &task));
}

#[test]
fn a_change_outside_of_what_its_task_may_write_is_judged_as_recorded() {
    let task = json!({ "files_touched": ["t/1.1"], "x-switchboard": { "attempts": 1, "on_violation": "halt" } });

    insta::assert_snapshot!(traced(&json!({ "ports": 0 }), &task));
}
