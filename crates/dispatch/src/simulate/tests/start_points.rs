//! Tests where a run may start and where its work trees lie.

use std::path::Path;

use super::steering::{failed, read};
use super::*;
use crate::config::NamedFolder;

async fn start(daemon: &Dispatch, request: &StartRunRequest, change: Value) -> Result<String, Failure> {
    let mut facts = json!(request);
    facts.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    let answer = daemon.start_run(read(facts), &people::ann().unwrap(), None).await;
    failed(answer).map(|reply| reply.worktrees)
}

#[test]
fn a_run_starts_in_a_work_tree_of_the_user_that_is_named_by_its_path() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        let dry = async |path: &str| start(daemon, &request, json!({ "base_path": path, "dry_run": true })).await;
        refused(dry("src").await, "request.bad-args", "the folder src is not an absolute path");
        assert!(dry("/repo").await.is_ok());

        let head = lock(&stage.repo).branch(repo::MAIN).unwrap();
        lock(&stage.repo).branches.insert("switchboard-task/1.1".to_owned(), head);
        lock(&stage.repo).head = "switchboard-task/1.1".to_owned();

        refused(dry("/repo").await, "request.bad-args", "which nobody but its worker works in");
    });
}

#[test]
fn the_folder_for_work_trees_is_an_absolute_one_that_can_be_made_outside_of_gits() {
    with_daemon(async |daemon, request| {
        let home = tempfile::tempdir().unwrap();
        let (file, git) = (home.path().join("file"), home.path().join("repo.git"));
        std::fs::write(&file, "x").unwrap();
        // A folder with this name alone makes its parent no folder of git's.
        for folder in [git.join("objects"), git.join("refs"), home.path().join("refs")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
        let start = async |folder: &Path| start(daemon, &request, json!({ "worktrees": folder })).await;

        refused(start(Path::new("trees")).await, "config.bad-value", "must be an absolute path");
        refused(start(&file.join("trees")).await, "config.bad-value", "can't be made: ");
        refused(start(&git.join("trees/new")).await, "config.bad-value", "lies in a folder of git's own");
        assert!(daemon.world.store.read(&Query::table(RUNS)).unwrap().is_empty());
        let trees = home.path().join("trees/new");
        assert!(start(&trees).await.unwrap().starts_with(trees.to_str().unwrap()) && trees.is_dir());
    });
}

#[test]
fn the_folder_for_work_trees_is_that_of_the_settings_where_the_request_names_none() {
    let home = tempfile::tempdir().unwrap();
    let (trees, named) = (home.path().join("trees"), home.path().join("config.toml"));
    let folder: NamedFolder = (trees.clone(), named.clone());
    let change = |config: &mut Config, _: &mut Ports| {
        config.named_worktrees = ReadWorktrees(Arc::new(move || Ok(Some(folder.clone()))));
    };
    with_changed(SimSpec::kind(), change, async |_, daemon, request| {
        let reply = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap();

        assert_eq!(reply.worktrees_from, named.to_str().unwrap());
        assert!(reply.worktrees.starts_with(trees.to_str().unwrap()) && trees.is_dir(), "{reply:?}");
    });
}

#[test]
fn the_trees_of_a_run_are_set_up_as_the_lock_files_of_the_repository_say() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        lock(&stage.repo).commit_file(repo::MAIN, "package-lock.json");

        let reply = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap();

        let run = reply.run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let setup = &daemon.plan_of(&run).unwrap().setup;
        assert!(setup.len() == 1 && setup[0].argv[0] == "npm", "{setup:?}");
        assert!(reply.notes.iter().any(|note| note.contains("(package-lock.json)")), "{:?}", reply.notes);
        assert!(!lock(&stage.set_up).is_empty() || setup[0].lock.is_some());
    });
}

#[test]
fn a_run_whose_tasks_touch_uncommitted_changes_of_the_user_is_refused_with_the_first_of_them() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        let files: Vec<_> = (1..=12).map(|number| format!("t/1.{number}")).collect();
        let task = json!({ "id": "1.1", "phase": 1, "description": "d", "acceptance": "a", "files_touched": files });
        let plan = json!({ "schema_version": "1.0.0", "title": "Dirty", "swarm": "sim",
            "phases": [{ "id": 1, "name": "one", "tasks": [task] }] });
        let with = async |dirty: &[&str]| {
            lock(&stage.repo).dirty = dirty.iter().map(Into::into).collect();
            start(daemon, &request, json!({ "plan": plan.to_string(), "dry_run": true })).await
        };

        refused(with(&["README", "t/1.2"]).await, "dispatch.dirty", "in a file that the plan touches: t/1.2\"");
        let all: Vec<_> = files.iter().map(String::as_str).collect();
        let many = with(&all).await;
        assert!(many.as_ref().is_err_and(|failure| !failure.what.contains(all[10])), "{many:?}");
        refused(many, "dispatch.dirty", "in 12 files that the plan touches: t/1.1, t/1.2, ");
        assert!(with(&["README"]).await.is_ok());
    });
}
