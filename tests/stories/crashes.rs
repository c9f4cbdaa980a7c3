//! `kill -9` of the daemon at every named point of a run: `run --resume` completes it as if nothing had happened.

use std::time::Duration;

use serde_json::json;

use super::sandbox::{Sandbox, within};

/// Points at which the daemon of a test dies; `dispatch` has the same names.
const POINTS: [&str; 15] = [
    "run-recorded",
    "worker-intended",
    "worktree-made",
    "tree-set-up",
    "shim-spawned",
    "frame-recorded",
    "turn-ended",
    "change-committed",
    "change-captured",
    "gate-tree-made",
    "lint-fixed",
    "gates-judged",
    "merge-intended",
    "merge-done",
    "run-finished",
];

fn plan(sandbox: &Sandbox) -> String {
    let task = |id: &str, depends: &[&str], line: &str| {
        json!({ "id": id, "phase": 1, "description": format!("do {id}"),
        "depends": depends, "x-switchboard": { "command": ["sh", "-c", line] } })
    };
    // The plan's `lint_fix` removes the blank at the end.
    let tasks = json!([task("1.1", &[], "echo 'one ' >> one"), task("1.2", &["1.1"], "cat one one > two")]);
    let settings = json!({ "lint_fix": ["sh", "-c", "sed -i 's/ *$//' one two"] });
    sandbox.trusted_phases(&settings, &json!([{ "id": 1, "name": "P", "tasks": tasks }]))
}

#[track_caller]
fn survives(point: &str) {
    let mut sandbox = Sandbox::new();
    let plan = plan(&sandbox);
    let before = sandbox.state_of_user();
    sandbox.set("SWITCHBOARD_CRASH_AT", point);

    let crashed = sandbox.switchboard(&["run", &plan, "--yes"]);
    // A recorded start is answered again under its key, and the command continues with the next daemon. A recorded end
    // may be received before the daemon dies.
    if !["run-recorded", "run-finished"].contains(&point) {
        assert_ne!(crashed.code, 0, "{point}: the daemon did not die: {}", crashed.out);
    }

    sandbox.unset("SWITCHBOARD_CRASH_AT");
    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(sandbox.git(&["show", &format!("{branch}:two")]), "one\none\n", "{point}");
    assert_eq!(sandbox.git(&["rev-list", "--count", &format!("main..{branch}")]), "2\n", "{point}: merged twice");
    assert_eq!(sandbox.state_of_user(), before, "{point}");
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

macro_rules! survives {
    ($($name:ident $point:literal;)*) => {
        $(#[test]
        fn $name() {
            survives($point);
        })*

        #[test]
        fn every_point_is_tried() {
            assert_eq!(POINTS, [$($point),*]);
        }
    };
}

survives! {
    a_run_survives_a_crash_once_it_is_recorded "run-recorded";
    a_run_survives_a_crash_once_a_worker_is_intended "worker-intended";
    a_run_survives_a_crash_once_a_work_tree_is_made "worktree-made";
    a_run_survives_a_crash_once_a_tree_is_set_up "tree-set-up";
    a_run_survives_a_crash_once_a_shim_is_spawned "shim-spawned";
    a_run_survives_a_crash_once_a_frame_is_recorded "frame-recorded";
    a_run_survives_a_crash_once_a_turn_has_ended "turn-ended";
    a_run_survives_a_crash_once_a_change_is_committed "change-committed";
    a_run_survives_a_crash_once_a_change_is_captured "change-captured";
    a_run_survives_a_crash_once_a_gate_tree_is_made "gate-tree-made";
    a_run_survives_a_crash_once_a_change_is_mended "lint-fixed";
    a_run_survives_a_crash_once_gates_have_judged "gates-judged";
    a_run_survives_a_crash_once_a_merge_is_intended "merge-intended";
    a_run_survives_a_crash_once_a_merge_is_done "merge-done";
    a_run_survives_a_crash_once_it_has_finished "run-finished";
}

#[test]
fn a_removal_that_a_crash_cut_short_is_recorded_as_such_and_can_be_made_again() {
    let mut sandbox = Sandbox::new();
    let plan = plan(&sandbox);
    sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0);
    sandbox.switchboard(&["down"]).ends_with(0);
    sandbox.set("SWITCHBOARD_CRASH_AT", "clean-intended");

    let crashed = sandbox.switchboard(&["clean", "--yes"]);

    assert_ne!(crashed.code, 0, "{}", crashed.out);
    let branches = sandbox.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/switchboard"]);
    assert_eq!(branches.lines().count(), 1);
    sandbox.unset("SWITCHBOARD_CRASH_AT");
    sandbox.switchboard(&["clean", "--yes"]).ends_with(0).says("removed 1");
    let events = sandbox.call(&["read_events", "limit=1000"]);
    let count = |kind: &str| {
        let events = events["events"].as_array().unwrap();
        events.iter().filter(|event| event["kind"] == kind).count()
    };
    assert!(count("run_clean_abandoned") > 0 && count("run_cleaned") == 1);
    assert_eq!(count("run_clean_intended"), count("run_clean_abandoned") + 1);
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

/// Points that the merge into the user's branch passes.
const OF_USER_BRANCH: [&str; 2] = ["user-merge-intended", "user-branch-moved"];

#[test]
fn a_merge_into_the_users_branch_that_a_crash_cut_short_completes_with_the_users_changes_as_they_were() {
    for point in OF_USER_BRANCH {
        let mut sandbox = Sandbox::new();
        let plan = plan(&sandbox);
        sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
        sandbox.switchboard(&["down"]).ends_with(0);
        sandbox.write("README.md", "not committed\n");
        sandbox.set("SWITCHBOARD_CRASH_AT", point);

        let crashed = sandbox.switchboard(&["merge"]);

        assert_ne!(crashed.code, 0, "{point}: the daemon did not die: {}", crashed.out);
        sandbox.unset("SWITCHBOARD_CRASH_AT");
        sandbox.switchboard(&["merge"]).ends_with(0);
        assert_eq!((sandbox.read("two"), sandbox.read("README.md")), ("one\none\n".into(), "not committed\n".into()));
        assert_eq!(sandbox.git(&["status", "--porcelain"]), " M README.md\n", "{point}");
        let events = sandbox.call(&["read_events", "kinds:=[\"run_merged\"]"]);
        assert_eq!(events["events"].as_array().unwrap().len(), 1, "{point}: {events}");
        sandbox.switchboard(&["merge", "--undo"]).ends_with(0);
        sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
    }
}

#[test]
fn a_merge_that_was_asked_for_is_made_by_the_next_daemon_where_the_last_one_died_before_it() {
    let mut sandbox = Sandbox::new();
    let plan = plan(&sandbox);
    sandbox.set("SWITCHBOARD_CRASH_AT", "run-finished");

    sandbox.switchboard(&["run", &plan, "--merge", "--yes"]);

    sandbox.unset("SWITCHBOARD_CRASH_AT");
    sandbox.switchboard(&["up", "--detach"]);
    assert!(within(Duration::from_secs(30), || sandbox.root().join("two").exists()), "nobody merges");
}

#[test]
fn a_merge_that_waits_for_a_yes_is_asked_about_once_though_the_daemon_dies() {
    let mut sandbox = Sandbox::new();
    let plan = plan(&sandbox);
    sandbox.set("SWITCHBOARD_CRASH_AT", "merge-asked");

    sandbox.switchboard(&["run", &plan, "--auto-merge", "confirm", "--yes"]);

    sandbox.unset("SWITCHBOARD_CRASH_AT");
    // The dying daemon may still answer.
    let is_asked = || sandbox.switchboard(&["call", "list_needs"]).out.contains("\"kind\":\"merge\"");
    assert!(within(Duration::from_secs(30), is_asked), "nobody asks");
    let needs = sandbox.call(&["list_needs"]);
    assert_eq!(needs["needs"].as_array().unwrap().len(), 1, "{needs}");
    let need = needs["needs"][0]["id"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["restart"]).ends_with(0);
    assert_eq!(sandbox.call(&["list_needs"])["needs"][0]["id"], need.as_str());
}
