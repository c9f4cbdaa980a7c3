//! The merge of the run's branch into the user's: automatic, after an approval, or by hand; a conflict changes nothing;
//! and unmerged work is archived when it is removed.

use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{Sandbox, within};

fn plan(sandbox: &Sandbox, settings: &Value, line: &str) -> String {
    let task =
        json!({ "id": "1.1", "phase": 1, "description": "do it", "x-switchboard": { "command": ["sh", "-c", line] } });
    sandbox.trusted_plan_with(settings, &json!([task]))
}

#[test]
fn a_plan_says_whether_its_branch_is_merged_at_the_end_and_a_flag_goes_before_it() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({ "auto_merge": "auto" }), "echo made > made.txt");
    sandbox.switchboard(&["run", &path, "--dry-run"]).ends_with(0).says("main itself moves when every task is merged");

    sandbox.switchboard(&["run", &path, "--auto-merge", "manual", "--yes"]).ends_with(0);
    assert!(!sandbox.root().join("made.txt").exists());
    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);
    assert_eq!(sandbox.read("made.txt"), "made\n");
}

#[test]
fn a_branch_that_is_to_be_confirmed_waits_for_a_yes_also_over_a_restart() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({ "auto_merge": "confirm" }), "echo made > made.txt");
    let before = sandbox.state_of_user();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let out = sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0).out;

    let need = sandbox.question();
    let ends = format!("may it be merged into main? switchboard approve {}", need["id"].as_str().unwrap());
    assert!(out.contains(&ends), "{out}");
    assert_eq!(need["kind"], "merge");
    assert!(need["title"].as_str().unwrap().contains("into main"), "{need}");
    sandbox.switchboard(&["restart"]).ends_with(0);
    assert_eq!((sandbox.question()["id"].clone(), sandbox.state_of_user()), (need["id"].clone(), before));
    sandbox.switchboard(&["approve", need["id"].as_str().unwrap()]).ends_with(0);
    let is_merged = || sandbox.root().join("made.txt").exists();
    assert!(within(Duration::from_secs(30), is_merged), "a yes merges");
    let is_recorded = || sandbox.call(&["get_run"])["is_merged"] == true;
    assert!(within(Duration::from_secs(30), is_recorded), "the merge is recorded");

    let path = plan(&sandbox, &json!({ "auto_merge": "confirm" }), "echo other > other.txt");
    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);
    let need = sandbox.question();
    sandbox.switchboard(&["deny", need["id"].as_str().unwrap()]).ends_with(0);
    sandbox.switchboard(&["restart"]).ends_with(0);
    assert!(!sandbox.root().join("other.txt").exists(), "a no leaves the branch as it is");
    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!(sandbox.read("other.txt"), "other\n");
}

#[test]
fn a_merge_that_a_yes_could_not_make_is_asked_about_again_with_the_reason() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({ "auto_merge": "confirm" }), "echo made > made.txt");
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);
    sandbox.write("made.txt", "mine\n");
    let first = sandbox.question();

    sandbox.switchboard(&["approve", first["id"].as_str().unwrap()]).ends_with(0);

    let is_again = || sandbox.call(&["list_needs"])["needs"][0]["id"].as_str().is_some_and(|id| first["id"] != id);
    assert!(within(Duration::from_secs(30), is_again), "a refused merge is not silent");
    let second = sandbox.question();
    assert!(second["title"].as_str().unwrap().starts_with("try again to merge"), "{second}");
    assert!(second["detail"].as_str().unwrap().contains("made.txt"), "{second}");
    assert_eq!(sandbox.read("made.txt"), "mine\n");
    std::fs::remove_file(sandbox.root().join("made.txt")).unwrap();
    sandbox.switchboard(&["approve", second["id"].as_str().unwrap()]).ends_with(0);
    let is_merged = || sandbox.root().join("made.txt").exists();
    assert!(within(Duration::from_secs(30), is_merged), "the second yes merges");
}

#[test]
fn a_merge_that_was_taken_back_stays_so_when_the_daemon_starts_again() {
    for auto_merge in ["confirm", "auto"] {
        let sandbox = Sandbox::new();
        let path = plan(&sandbox, &json!({ "auto_merge": auto_merge }), "echo made > made.txt");
        sandbox.switchboard(&["up", "--detach"]).ends_with(0);
        sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);
        if auto_merge == "confirm" {
            sandbox.switchboard(&["approve", sandbox.question()["id"].as_str().unwrap()]).ends_with(0);
        }
        let is_recorded = || sandbox.call(&["get_run"])["is_merged"] == true;
        assert!(within(Duration::from_secs(30), is_recorded), "{auto_merge}");
        sandbox.switchboard(&["merge", "--undo"]).ends_with(0);

        sandbox.switchboard(&["restart"]).ends_with(0);

        let path = plan(&sandbox, &json!({}), "echo other > other.txt");
        sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);
        assert!(!sandbox.root().join("made.txt").exists(), "{auto_merge}: merged again");
        assert_eq!(sandbox.call(&["list_needs"])["needs"], json!([]), "{auto_merge}");
    }
}

#[test]
fn a_merge_by_hand_withdraws_the_question() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({ "auto_merge": "confirm" }), "echo made > made.txt");
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);
    let need = sandbox.question();

    sandbox.switchboard(&["merge"]).ends_with(0);

    assert_eq!(sandbox.call(&["list_needs"])["needs"], json!([]));
    sandbox.switchboard(&["approve", need["id"].as_str().unwrap()]).ends_with(2).says("need.settled");
}

#[test]
fn a_conflict_with_the_users_branch_leaves_tree_and_index_as_they_were_and_the_merge_works_after_a_fix() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({}), "echo of the run > README.md; echo more > more.txt");
    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);
    sandbox.write("README.md", "of the user\n");
    sandbox.commit("the same line");
    sandbox.write("notes.txt", "not committed\n");
    let before = sandbox.state_of_user();

    let refused = sandbox.switchboard(&["merge", "--json"]).ends_with(1).failure();

    assert_eq!(refused["code"], "dispatch.merge-conflict");
    assert!(refused["what"].as_str().unwrap().contains("README.md"), "{refused}");
    assert_eq!(sandbox.state_of_user(), before);
    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&run["is_merged"], run["branch"].as_str().is_some()), (&json!(false), true));
    assert!(sandbox.git(&["branch", "--list", "switchboard/*"]).contains("switchboard/run_"), "its branch is kept");
    sandbox.git(&["revert", "--no-edit", "HEAD"]);
    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!((sandbox.read("README.md"), sandbox.read("more.txt")), ("of the run\n".to_owned(), "more\n".to_owned()));
    assert_eq!(sandbox.read("notes.txt"), "not committed\n");
}

#[test]
fn unmerged_work_is_archived_before_it_is_removed_and_can_be_restored() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({}), "echo half > half.txt; exit 3");
    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(1);
    let shown = sandbox.switchboard(&["show", "1.1", "--json"]).ends_with(0).json();
    let task = &shown["task"];
    let tree = std::path::PathBuf::from(task["worktree"].as_str().unwrap());
    assert!(tree.is_absolute() && task["worktree_bytes"].as_u64().unwrap() > 0, "{shown}");

    sandbox.switchboard(&["clean", "--unmerged", "--yes"]).ends_with(0).says("archived run_").says("/1.1");

    assert!(!tree.exists());
    sandbox.switchboard(&["clean", "--archived"]).ends_with(0).says("/1.1");
    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json()["run"].as_str().unwrap().to_owned();
    let name = format!("{run}/1.1");
    sandbox.switchboard(&["clean", "--restore", &name]).ends_with(0).says(&format!("restored/{name}"));
    assert_eq!(sandbox.git(&["show", &format!("restored/{name}:half.txt")]), "half\n");
    let refused = sandbox.switchboard(&["clean", "--restore", "nothing", "--json"]).ends_with(2).failure();
    assert_eq!(refused["where"], "restore");
}

#[test]
fn a_work_tree_with_a_repository_of_its_own_is_kept_until_that_is_gone() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({}), "echo half > half.txt; git init -q sub; echo new > sub/new.txt; exit 3");
    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(1);
    let shown = sandbox.switchboard(&["show", "1.1", "--json"]).ends_with(0).json();
    let tree = std::path::PathBuf::from(shown["task"]["worktree"].as_str().unwrap());

    for _ in 0..2 {
        let kept = sandbox.switchboard(&["clean", "--unmerged", "--yes", "--json"]).ends_with(1).failure();
        assert_eq!(kept["code"], "dispatch.nested-repository", "{kept}");
        assert!(kept["what"].as_str().unwrap().starts_with("sub"), "{kept}");
        assert_eq!(std::fs::read_to_string(tree.join("sub/new.txt")).unwrap(), "new\n");
    }

    std::fs::remove_dir_all(tree.join("sub")).unwrap();
    sandbox.switchboard(&["clean", "--unmerged", "--yes"]).ends_with(0).says("archived run_").says("/1.1");
    assert!(!tree.exists());
}

#[test]
fn a_change_that_is_nothing_but_a_repository_of_its_own_is_refused_with_its_path() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({ "attempts": 1 }), "git init -q sub; echo new > sub/new.txt");

    let done = sandbox.switchboard(&["run", &path, "--yes"]).ends_with(1).says("repositories of their own: sub");

    assert!(done.says("[dispatch.nested-repository]").out.contains("the files in sub"), "the next attempt is told");
}
