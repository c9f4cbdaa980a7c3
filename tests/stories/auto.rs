//! `run --auto`: the loop over the units of a plan.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::sandbox::Sandbox;

/// Makes a task whose command is this line.
fn task(id: &str, line: &str) -> Value {
    let phase: u64 = id[..1].parse().unwrap();
    json!({ "id": id, "phase": phase, "description": format!("do {id}"), "x-switchboard": { "command": ["sh", "-c", line] } })
}

/// Makes a trusted plan with these tasks in two phases.
fn two_phases(sandbox: &Sandbox, first: &Value, second: &Value) -> String {
    let phase = |id: u64, tasks: &Value| json!({ "id": id, "name": "P", "tasks": tasks });
    sandbox.trusted_phases(&json!({}), &json!([phase(1, first), phase(2, second)]))
}

fn runs(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.call(&["get_status"])["runs"].as_array().unwrap().clone()
}

/// Returns the entries of the newest run.
fn timeline(sandbox: &Sandbox) -> Vec<Value> {
    let out = sandbox.switchboard(&["timeline", "--json"]).ends_with(0).out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn phases_run_one_after_the_other_each_on_what_the_one_before_merged_and_nothing_is_done_twice() {
    let sandbox = Sandbox::new();
    let second = task("2.1", "cat one && echo two > two");
    let plan = two_phases(&sandbox, &json!([task("1.1", "echo one > one")]), &json!([second]));

    let shown = sandbox.switchboard(&["run", "--auto", &plan, "--dry-run"]).ends_with(0);
    assert!(shown.out.contains("phase 1 is next") && runs(&sandbox).is_empty(), "{}", shown.out);
    sandbox.switchboard(&["run", "--auto", &plan, "--yes"]).ends_with(0).says("the plan is done, 2 tasks merged");

    let found = runs(&sandbox);
    assert_eq!((found.len(), &found[0]["merged"], &found[1]["merged"]), (2, &json!(1), &json!(1)), "{found:?}");
    let entries = timeline(&sandbox);
    let (turn, run) = (&entries[0], &entries[1]);
    assert_eq!((&turn["what"], &turn["turn"], &run["what"]), (&json!("loop_turn"), &json!(2), &json!("run")));
    assert_eq!(run["caused_by"]["entry"], turn["id"], "{run}");
    assert!(turn["detail"].as_str().unwrap().contains("phase 2 is next"), "{turn}");
    sandbox.switchboard(&["run", "--auto", &plan, "--yes"]).ends_with(0).says("the plan is done");
    assert_eq!(runs(&sandbox).len(), 2);
    let branch = found[0]["branch"].as_str().unwrap();
    assert_eq!(sandbox.git(&["show", &format!("{branch}:one")]).trim(), "one");
    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!((sandbox.read("one"), sandbox.read("two")), ("one\n".to_owned(), "two\n".to_owned()));
    sandbox.switchboard(&["run", "--auto", &plan, "--yes"]).ends_with(0).says("the plan is done");
}

#[test]
fn a_plan_that_is_done_on_a_branch_of_its_own_is_merged_where_that_was_asked_for_and_named_elsewhere() {
    let sandbox = Sandbox::new();
    let plan = two_phases(&sandbox, &json!([task("1.1", "echo one > one")]), &json!([task("2.1", "echo two > two")]));
    sandbox.switchboard(&["run", "--auto", &plan, "--yes"]).ends_with(0);
    let run = runs(&sandbox)[0]["run"].as_str().unwrap().to_owned();

    let named = format!("take it over: switchboard merge {run}");
    sandbox.switchboard(&["run", "--auto", &plan, "--yes"]).ends_with(0).says(&named);
    sandbox.switchboard(&["run", "--auto", &plan, "--merge", "--dry-run"]).ends_with(0).says(&named);
    assert!(!sandbox.root().join("two").exists());
    sandbox.switchboard(&["run", "--auto", &plan, "--merge", "--yes"]).ends_with(0).says("main moved");
    assert_eq!((sandbox.read("one"), sandbox.read("two")), ("one\n".to_owned(), "two\n".to_owned()));
    let again = sandbox.switchboard(&["run", "--auto", &plan, "--merge", "--yes"]).ends_with(0);
    assert!(!again.out.contains("main moved") && !again.out.contains("take it over"), "{}", again.out);
}

#[test]
fn a_unit_that_fails_with_the_same_words_is_tried_three_times_and_then_a_person_is_asked_who_can_go_on() {
    let sandbox = Sandbox::new();
    let (count, mended): (PathBuf, PathBuf) = (sandbox.folder().join("count"), sandbox.folder().join("mended"));
    let line = format!(
        "echo x >> {}; test -e {} || {{ echo broken >&2; exit 3; }}; echo one > one",
        count.display(),
        mended.display()
    );
    let plan = two_phases(&sandbox, &json!([task("1.1", &line)]), &json!([task("2.1", "echo two > two")]));
    let tried = || std::fs::read_to_string(&count).unwrap().lines().count();

    let stuck = sandbox.switchboard(&["run", "--auto", &plan, "--yes"]).ends_with(4);

    assert!(stuck.err.contains("dispatch.stuck"), "{}", stuck.err);
    assert_eq!((tried(), runs(&sandbox).len()), (3, 2));
    sandbox.switchboard(&["run", "--auto", &plan, "--yes"]).ends_with(4);
    assert_eq!(tried(), 3, "a loop that is started again without anything mended spends nothing");
    std::fs::write(&mended, "").unwrap();
    let run = runs(&sandbox)[0]["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["retry", &run]).ends_with(0);
    sandbox.switchboard(&["run", "--auto", &plan, "--yes"]).ends_with(0).says("the plan is done, 2 tasks merged");
    assert_eq!(tried(), 4);
}

#[test]
fn a_part_of_the_plan_is_the_only_unit_and_flags_that_have_no_meaning_beside_it_are_refused() {
    let sandbox = Sandbox::new();
    let plan = two_phases(&sandbox, &json!([task("1.1", "echo one > one")]), &json!([task("2.1", "echo two > two")]));

    sandbox.switchboard(&["run", "--auto", &plan, "--phase", "1", "--merge", "--yes"]).ends_with(0);

    assert_eq!((runs(&sandbox).len(), sandbox.read("one").as_str()), (1, "one\n"));
    sandbox.switchboard(&["run", "--auto", &plan, "--phase", "7", "--yes"]).ends_with(2).says("plan.unknown-scope");
    for refused in [["--resume", "--auto"], ["--example", "--auto"], ["--team", "--auto"]] {
        sandbox.switchboard(&[&["run"], &refused[..]].concat()).ends_with(2);
    }
}

#[test]
fn a_loop_that_is_begun_at_another_branch_goes_on_there_and_leaves_the_one_that_is_checked_out() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "release"]);
    sandbox.write("later.txt", "only on main\n");
    sandbox.commit("later");
    let first = task("1.1", "test ! -e later.txt && echo one > one");
    let plan = two_phases(&sandbox, &json!([first]), &json!([task("2.1", "cat one && echo two > two")]));
    let auto = |more: &[&str]| sandbox.switchboard(&[&["run", "--auto", &plan, "--yes"], more].concat());
    let before = sandbox.state_of_user();

    auto(&["--base", "release", "--merge"]).ends_with(0).says("the plan is done, 2 tasks merged");

    assert_eq!(sandbox.git(&["show", "release:two"]), "two\n");
    assert_eq!(sandbox.state_of_user(), before);
    auto(&["--base", "release"]).ends_with(0).says("the plan is done");
    assert_eq!(runs(&sandbox).len(), 2, "nothing is done twice");
    let refused = auto(&["--base", "relaese", "--json"]).ends_with(2).failure();
    assert_eq!((&refused["code"], &refused["hint"]), (&json!("git.unknown-revision"), &json!("did you mean release?")));
    // Units done for the release branch are not in main, and don't count as done there.
    let main = auto(&["--dry-run"]).ends_with(0).out;
    assert!(main.contains("phase 1 is next"), "{main}");
}

#[test]
fn a_loop_that_is_begun_at_a_commit_goes_on_with_what_it_has_merged_from_there() {
    let sandbox = Sandbox::new();
    let commit = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.write("later.txt", "only on main\n");
    sandbox.commit("later");
    let first = task("1.1", "test ! -e later.txt && echo one > one");
    let second = task("2.1", "test ! -e later.txt && cat one && echo two > two");
    let plan = two_phases(&sandbox, &json!([first]), &json!([second]));

    let auto = || sandbox.switchboard(&["run", "--auto", &plan, "--base", &commit, "--yes"]);
    auto().ends_with(0).says("the plan is done, 2 tasks merged");
    auto().ends_with(0).says("the plan is done");

    assert_eq!(runs(&sandbox).len(), 2);
    let branch = runs(&sandbox)[0]["branch"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.git(&["rev-list", "--count", &format!("{commit}..{branch}")]), "2\n");
}
