//! Plans whose tasks reach the run's branch together: by slice, or by milestone.

use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{Sandbox, within};

/// Maximum wait for an expected state.
const PATIENCE: Duration = Duration::from_secs(60);

fn task(id: &str, slice: &str, depends: &[&str], line: &str) -> Value {
    let mut settings = json!({ "command": ["sh", "-c", line] });
    if !slice.is_empty() {
        settings["slice"] = json!(slice);
    }
    json!({ "id": id, "phase": 1, "description": format!("do {id}"), "depends": depends, "x-switchboard": settings })
}

/// Returns the subjects of the commits of the last run's branch that the user's lacks, oldest first.
fn subjects(sandbox: &Sandbox) -> Vec<String> {
    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let range = format!("main..{}", run["branch"].as_str().unwrap());
    sandbox.git(&["log", "--reverse", "--topo-order", "--format=%s", &range]).lines().map(str::to_owned).collect()
}

#[test]
fn a_slice_begins_where_the_milestone_stands_sees_no_other_and_lands_as_a_whole_once_the_gates_let_its_tree_pass() {
    let sandbox = Sandbox::new();
    let tasks = json!([
        task("1.1", "api", &[], "echo one > api1.txt"),
        task("1.2", "api", &["1.1"], "test -e api1.txt && test ! -e page.txt && echo two > api2.txt"),
        task("1.3", "page", &[], "echo page > page.txt"),
        task("1.4", "site", &["1.1"], "test -e api2.txt && echo site > site.txt"),
    ]);
    let path = sandbox.trusted_plan_with(&json!({ "merge": "slice", "max_workers": 3 }), &tasks);

    let shown = sandbox.switchboard(&["run", &path, "--dry-run"]).ends_with(0);
    shown.says("1.slice-api").says("1.slice-page");
    sandbox.switchboard(&["run", &path, "--yes", "--merge"]).ends_with(0);

    assert_eq!(sandbox.read("site.txt"), "site\n");
    let events = sandbox.call(&["read_events", "kinds:=[\"task_merged\"]"]);
    let merged: Vec<_> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["facts"]["task"].as_str().unwrap().to_owned())
        .collect();
    let place = |task: &str| merged.iter().position(|other| other == task).unwrap();
    assert!(place("1.2") < place("1.slice-api") && place("1.slice-api") < place("1.4"), "{merged:?}");
    assert_eq!(sandbox.git(&["branch", "--list", "switchboard-task/*"]), "", "branches of tasks and slices are gone");
}

#[test]
fn two_slices_of_a_milestone_run_at_the_same_time_and_both_land_and_leave_no_tree_and_no_branch() {
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.folder().join(name).display().to_string();
    // Each waits until the other has begun: run one after the other they would never end.
    let meet = |own: &str, other: &str| {
        let (own_mark, other_mark) = (at(own), at(other));
        format!(
            "touch {own_mark}; i=0; while [ ! -e {other_mark} ]; do i=$((i+1)); [ $i -lt 600 ] || exit 9; sleep 0.05; done; echo {own} > {own}.txt"
        )
    };
    let tasks = json!([task("1.1", "api", &[], &meet("api", "page")), task("1.2", "page", &[], &meet("page", "api"))]);
    let path = sandbox.trusted_plan_with(&json!({ "merge": "slice", "max_workers": 2 }), &tasks);

    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let files = sandbox.git(&["ls-tree", "--name-only", run["branch"].as_str().unwrap()]);
    assert!(files.contains("api.txt") && files.contains("page.txt"), "{files}");
    let claims = sandbox.call(&["read_events", "kinds:=[\"worker_equipped\"]"]);
    let trees: std::collections::BTreeSet<_> =
        claims["events"].as_array().unwrap().iter().map(|event| event["facts"]["worktree"].to_string()).collect();
    assert_eq!(trees.len(), 2, "each has a tree of its own: {claims}");
    // The command ends with the run, whose trees are removed then.
    let trees = || sandbox.git(&["worktree", "list"]);
    assert!(within(PATIENCE, || trees().lines().count() == 1), "{}", trees());
    assert_eq!(sandbox.git(&["branch", "--list", "switchboard-task/*"]), "");
}

#[test]
fn a_slice_of_which_a_task_fails_leaves_the_runs_branch_as_it_was_and_lands_after_a_retry() {
    let sandbox = Sandbox::new();
    let mended = sandbox.folder().join("mended").display().to_string();
    let tasks = json!([
        task("1.1", "api", &[], "echo one > api1.txt"),
        task("1.2", "api", &["1.1"], &format!("test -e {mended} && echo two > api2.txt")),
        task("1.3", "page", &[], "echo page > page.txt"),
    ]);
    let path = sandbox.trusted_plan_with(&json!({ "merge": "slice" }), &tasks);

    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(1);

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let branch = run["branch"].as_str().unwrap().to_owned();
    let files = sandbox.git(&["ls-tree", "--name-only", &branch]);
    assert!(files.contains("page.txt") && !files.contains("api1.txt"), "{files}");
    let of_slice = format!("switchboard-task/{}/1.slice-api", run["run"].as_str().unwrap());
    assert!(sandbox.git(&["ls-tree", "--name-only", &of_slice]).contains("api1.txt"));
    std::fs::write(&mended, "").unwrap();
    sandbox.switchboard(&["retry", "1.2"]).ends_with(0);
    sandbox.switchboard(&["run", "--resume"]).ends_with(0);
    assert!(sandbox.git(&["ls-tree", "--name-only", &branch]).contains("api2.txt"));
}

#[test]
fn the_gates_judge_the_merged_tree_before_the_runs_branch_advances() {
    let sandbox = Sandbox::new();
    // Each slice passes by itself; both together don't.
    let tasks = json!([task("1.1", "a", &[], "echo a > a.txt"), task("1.2", "b", &[], "echo b > b.txt")]);
    let settings = json!({ "merge": "slice", "test": "test ! -e a.txt || test ! -e b.txt" });
    let path = sandbox.trusted_plan_with(&settings, &tasks);

    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(3).says("test_runner");

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let files = sandbox.git(&["ls-tree", "--name-only", run["branch"].as_str().unwrap()]);
    assert!(files.contains("a.txt") != files.contains("b.txt"), "{files}");
}

#[test]
fn a_milestone_lands_with_the_commits_of_its_tasks() {
    let sandbox = Sandbox::new();
    let tasks = json!([task("1.1", "", &[], "echo a > a.txt"), task("1.2", "", &[], "echo b > b.txt")]);
    let path = sandbox.trusted_plan_with(&json!({ "merge": "milestone" }), &tasks);

    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0).says("1.milestone");

    let mut subjects = subjects(&sandbox);
    subjects.sort();
    assert_eq!(subjects, ["1.1: do 1.1", "1.2: do 1.2"]);
}

#[test]
fn slices_that_wait_for_each_other_are_refused_with_their_circle() {
    let sandbox = Sandbox::new();
    let tasks =
        json!([task("1.1", "a", &[], "true"), task("1.2", "b", &["1.1"], "true"), task("1.3", "a", &["1.2"], "true")]);
    let path = sandbox.trusted_plan_with(&json!({ "merge": "slice" }), &tasks);

    let failure = sandbox.switchboard(&["run", &path, "--dry-run", "--json"]).ends_with(2).failure();

    assert_eq!(failure["code"], "plan.cycle");
    assert!(failure["what"].as_str().unwrap().contains("1.1 → 1.slice-b → 1.2 → 1.1"), "{failure}");
}
