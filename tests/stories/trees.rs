//! Work trees that were removed, locked, moved or replaced while their task waits to be retried.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::sandbox::{Sandbox, within};

/// Maximum wait for an expected state.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run whose only task has failed, with its work tree; another attempt succeeds.
struct Failed {
    sandbox: Sandbox,
    tree: PathBuf,
}

// === impl Failed ===

impl Failed {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let mended = sandbox.folder().join("mended").display().to_string();
        let line = format!("test -e {mended} || exit 3; echo done > done");
        let plan = sandbox.trusted_plan(
            &json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", line] } }]),
        );
        sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);
        std::fs::write(&mended, "").unwrap();
        let listed = sandbox.git(&["worktree", "list", "--porcelain"]);
        let ours = listed.split("\n\n").find(|entry| entry.contains("branch refs/heads/switchboard-task/")).unwrap();
        let tree = PathBuf::from(ours.lines().next().unwrap().strip_prefix("worktree ").unwrap());
        Self { sandbox, tree }
    }

    fn run(&self) -> serde_json::Value {
        self.sandbox.switchboard(&["show", "--json"]).ends_with(0).json()
    }

    /// Retries the task; returns how the run ended.
    fn retry(&self) -> String {
        let run = self.run()["run"].as_str().unwrap().to_owned();
        self.sandbox.switchboard(&["retry", &format!("{run}/1.1")]).ends_with(0);
        let state = || self.run()["state"].as_str().unwrap().to_owned();
        assert!(within(PATIENCE, || state() != "running"), "{}", self.run());
        state()
    }

    /// Asserts that the task is refused because of its tree, by code and words.
    #[track_caller]
    fn is_refused(&self, words: &str) {
        assert_eq!(self.retry(), "failed");
        let shown = self.run().to_string();
        assert!(shown.contains("dispatch.worktree") && shown.contains(words), "{words}: {shown}");
    }

    fn tree(&self) -> String {
        self.tree.display().to_string()
    }
}

#[test]
fn a_folder_for_work_trees_that_can_not_be_made_is_refused_before_the_run_starts() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", "echo a > a"] } }]));
    std::fs::write(sandbox.folder().join("file"), "").unwrap();
    std::os::unix::fs::symlink(sandbox.root().join(".git"), sandbox.folder().join("link")).unwrap();
    let in_git = sandbox.root().join(".git");
    let folders = [
        sandbox.folder().join("file/trees"),
        in_git.clone(),
        in_git.join("new/trees"),
        sandbox.folder().join("link/trees"),
    ];
    for folder in folders.map(|folder| folder.display().to_string()) {
        let refused = sandbox.switchboard(&["run", &plan, "--yes", "--worktrees", &folder, "--json"]);

        let failure = refused.ends_with(2).failure();
        assert_eq!((&failure["code"], &failure["where"]), (&json!("config.bad-value"), &json!(folder)), "{failure}");
    }
    assert!(!in_git.join("new").exists());
    assert_eq!(sandbox.call(&["get_status"])["runs"].as_array().map_or(0, Vec::len), 0, "no run was started");
}

#[test]
fn a_branch_that_leaves_no_room_for_those_of_a_run_is_refused_before_it_starts() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", "echo a > a"] } }]));
    sandbox.git(&["branch", "switchboard"]);

    for ask in ["--yes", "--dry-run"] {
        let failure = sandbox.switchboard(&["run", &plan, ask, "--json"]).ends_with(1).failure();
        assert_eq!(failure["code"], "dispatch.worktree", "{failure}");
        assert!(failure["hint"].as_str().unwrap().contains("git branch -m switchboard"), "{failure}");
    }

    sandbox.git(&["branch", "-m", "switchboard", "mine"]);
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
}

#[test]
fn a_task_whose_work_tree_was_removed_by_hand_is_tried_again_and_no_other_tree_is_forgotten() {
    let it = Failed::new();
    let other = it.sandbox.folder().join("usb-stick");
    it.sandbox.git(&["worktree", "add", "--quiet", "-b", "theirs", other.to_str().unwrap()]);
    std::fs::remove_dir_all(&other).unwrap();
    std::fs::remove_dir_all(&it.tree).unwrap();

    assert_eq!(it.retry(), "succeeded");

    assert!(it.sandbox.git(&["worktree", "list"]).contains("usb-stick"));
}

#[test]
fn a_work_tree_that_is_gone_and_locked_is_refused_until_it_is_unlocked() {
    let it = Failed::new();
    it.sandbox.git(&["worktree", "lock", "--reason", "mine", &it.tree()]);
    std::fs::remove_dir_all(&it.tree).unwrap();

    it.is_refused("git worktree unlock");

    it.sandbox.git(&["worktree", "unlock", &it.tree()]);
    assert_eq!(it.retry(), "succeeded");
}

#[test]
fn a_link_or_another_repository_in_the_place_of_a_work_tree_is_refused_and_left_alone() {
    let it = Failed::new();
    let aside = it.sandbox.folder().join("aside");
    std::fs::rename(&it.tree, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &it.tree).unwrap();
    it.is_refused("it is a symbolic link");
    assert!(aside.join("README.md").exists() && !aside.join("done").exists());

    // If git has no tree of ours any more, the files there are not ours.
    std::fs::remove_file(&it.tree).unwrap();
    it.sandbox.git(&["worktree", "prune"]);
    std::fs::create_dir(&it.tree).unwrap();
    it.sandbox.run(["git", "init", "--quiet"], &it.tree, "").ends_with(0);
    std::fs::write(it.tree.join("theirs"), "x").unwrap();
    it.is_refused("another repository");
    assert_eq!(std::fs::read_to_string(it.tree.join("theirs")).unwrap(), "x");

    std::fs::remove_dir_all(&it.tree).unwrap();
    assert_eq!(it.retry(), "succeeded");
}
