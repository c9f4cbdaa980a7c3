//! Where a run starts, where its work trees are, and what happens if another run already works on a unit.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Sandbox, within};

fn task(id: &str, line: &str) -> Value {
    json!({ "id": id, "phase": 1, "description": format!("do {id}"), "x-switchboard": { "command": ["sh", "-c", line] } })
}

#[test]
fn a_run_starts_at_a_branch_and_is_merged_into_it_while_another_one_is_checked_out() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "release"]);
    sandbox.write("later.txt", "only on main\n");
    sandbox.commit("later");
    let plan = sandbox.trusted_plan(&json!([task("1.1", "test ! -e later.txt && echo made > made.txt")]));
    let main = sandbox.git(&["rev-parse", "main"]);
    let before = sandbox.state_of_user();

    let shown = sandbox.switchboard(&["run", &plan, "--base", "release", "--merge", "--dry-run", "--yes"]).ends_with(0);
    shown.says("from        release at").says("release itself moves when every task is merged");
    sandbox.switchboard(&["run", &plan, "--base", "release", "--yes", "--merge"]).ends_with(0);

    assert_eq!(sandbox.git(&["show", "release:made.txt"]), "made\n");
    assert_eq!((sandbox.git(&["rev-parse", "main"]), sandbox.state_of_user()), (main, before));
}

#[test]
fn a_run_starts_at_a_commit_and_a_name_that_is_not_there_is_refused_with_the_near_one() {
    let sandbox = Sandbox::new();
    let first = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.git(&["branch", "release"]);
    sandbox.write("later.txt", "later\n");
    sandbox.commit("later");
    let plan = sandbox.trusted_plan(&json!([task("1.1", "test ! -e later.txt && echo made > made.txt")]));

    for base in ["HEAD~1", &first[..9]] {
        let reply = sandbox.switchboard(&["run", &plan, "--base", base, "--dry-run", "--json"]).ends_with(0).json();
        assert_eq!((&reply["base"], &reply["target"]), (&json!(first), &json!("main")), "{base}");
    }
    sandbox.switchboard(&["run", &plan, "--base", "HEAD~1", "--yes", "--merge"]).ends_with(0);
    assert_eq!((sandbox.read("made.txt"), sandbox.read("later.txt")), ("made\n".to_owned(), "later\n".to_owned()));

    let refused =
        sandbox.switchboard(&["run", &plan, "--base", "relaese", "--dry-run", "--json"]).ends_with(2).failure();
    assert_eq!((&refused["code"], &refused["where"]), (&json!("git.unknown-revision"), &json!("base")));
    assert_eq!(refused["hint"], "did you mean release?");
}

#[test]
fn work_trees_lie_where_flag_environment_and_settings_say_in_this_order_and_the_origin_is_shown() {
    let mut sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&json!([task("1.1", "pwd > where.txt")]));
    let at = |name: &str| sandbox.folder().canonicalize().unwrap().join(name).display().to_string();
    let (of_flag, of_variable, of_user, of_project) = (at("flag"), at("variable"), at("user"), at("project"));
    let shown = |sandbox: &Sandbox, more: &[&str]| {
        sandbox.switchboard(&[&["run", &plan, "--dry-run"], more].concat()).ends_with(0).out
    };

    sandbox.write(".switchboard/config.toml", &format!("[worktrees]\nfolder = \"{of_project}\"\n"));
    assert!(!shown(&sandbox, &[]).contains(&of_project), "a repository's folder counts once it is trusted");
    sandbox.switchboard(&["trust", "--yes"]).ends_with(0);
    assert!(shown(&sandbox, &[]).contains(&format!("work trees  {of_project} (from ")));
    sandbox.settings(&format!("[worktrees]\nfolder = \"{of_user}\"\n"));
    assert!(shown(&sandbox, &[]).contains(&format!("work trees  {of_user} (from ")));
    assert!(shown(&sandbox, &[]).contains("config/switchboard/config.toml)"));
    sandbox.set("SWITCHBOARD_WORKTREES", &of_variable);
    assert!(shown(&sandbox, &[]).contains(&format!("work trees  {of_variable} (from SWITCHBOARD_WORKTREES)")));
    let flag = ["--worktrees", of_flag.as_str()];
    assert!(shown(&sandbox, &flag).contains(&format!("work trees  {of_flag} (from --worktrees)")));
    sandbox.switchboard(&["run", &plan, "--yes", "--merge", flag[0], flag[1]]).ends_with(0);

    assert!(sandbox.read("where.txt").starts_with(&of_flag), "{}", sandbox.read("where.txt"));
}

#[test]
fn a_request_names_the_work_tree_that_its_run_belongs_to() {
    let sandbox = Sandbox::new();
    let second = sandbox.folder().canonicalize().unwrap().join("second").display().to_string();
    sandbox.git(&["worktree", "add", "--quiet", "-b", "second", &second]);
    let plan = json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story", "phases": [{ "id": 1, "name": "P",
        "tasks": [{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "a" } }] }] });
    let agent = json!([{ "name": "a", "driver": { "driver": "exec", "argv": ["true"] } }]);
    let call = |base: &str| {
        let (plan, agents) = (format!("plan:={}", json!(plan.to_string())), format!("agents:={agent}"));
        let base = format!("base_path={base}");
        sandbox.switchboard(&["call", "start_run", &plan, &agents, "dry_run:=true", &base, "--json"])
    };

    assert_eq!(call(&second).ends_with(0).json()["target"], "second");
    assert_eq!(call("second").ends_with(2).failure()["where"], "base_path");
    let elsewhere = sandbox.folder().join("home").display().to_string();
    assert_eq!(call(&elsewhere).ends_with(2).failure()["code"], "git.not-a-repository");
}

#[test]
fn the_command_of_a_run_that_is_at_work_already_follows_it_to_its_end() {
    let sandbox = Sandbox::new();
    let plan = waiting(&sandbox, "as it was");
    let first = sandbox.run_aside(&[&plan, "--yes"]);
    let works = || sandbox.switchboard(&["show", "--json"]).out.contains("\"working\"");
    assert!(within(Duration::from_secs(30), works), "the task does not start");
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();

    let said = sandbox.folder().join("said");
    let line = format!("{BINARY} run {plan} --yes > {}", said.display());
    let spawn = Spawn::new(["sh", "-c", &line]).cwd(sandbox.root()).env_only(sandbox.environment());
    let second = std::thread::spawn(move || spawn.wall(Duration::from_secs(60)).output().unwrap());
    let says = |words: &str| std::fs::read_to_string(&said).is_ok_and(|text| text.contains(words));
    let follows = || says(&format!("{run} does this already: following it"));
    assert!(within(Duration::from_secs(30), follows), "it does not say that it follows the run");
    std::fs::write(sandbox.folder().join("go"), "").unwrap();

    assert!(second.join().unwrap().succeeded());
    assert!(says("2 of 2 tasks merged"));
    first.join().unwrap().ends_with(0).says("2 of 2 tasks merged");
}

/// Makes a plan whose tasks wait for a file, with this text.
fn waiting(sandbox: &Sandbox, description: &str) -> String {
    let go = sandbox.folder().join("go").display().to_string();
    let line = format!("while [ ! -e {go} ]; do sleep 0.05; done; echo $SWITCHBOARD_TASK > $SWITCHBOARD_TASK.txt");
    let mut tasks = json!([task("1.1", &line), task("1.2", &line)]);
    tasks[0]["description"] = json!(description);
    sandbox.trusted_plan(&tasks)
}

#[test]
fn two_runs_never_work_on_the_same_unit_also_of_an_edited_plan_and_the_same_start_is_the_same_run() {
    let sandbox = Sandbox::new();
    let plan = waiting(&sandbox, "as it was");
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let start = |plan: &str, more: &str| {
        let text = std::fs::read_to_string(plan).unwrap();
        let text = format!("plan:={}", json!(text));
        let mut words = vec!["call", "start_run", &text, "--json"];
        words.extend((!more.is_empty()).then_some(more));
        sandbox.switchboard(&words)
    };
    let first = start(&plan, "").ends_with(0).json();
    let works = || sandbox.switchboard(&["show", "--json"]).out.contains("\"working\"");
    assert!(within(Duration::from_secs(30), works), "the task does not start");

    let again = start(&plan, "").ends_with(0).json();
    assert_eq!((&again["run"], &again["already"]), (&first["run"], &json!(true)));
    assert_eq!(start(&plan, "max_workers:=1").ends_with(1).failure()["code"], "dispatch.already-running");
    let dry = start(&plan, "dry_run:=true").ends_with(0).json();
    let codes: Vec<_> = dry["skipped"].as_array().unwrap().iter().map(|skipped| skipped["code"].clone()).collect();
    assert_eq!(codes, ["already-running", "already-running"], "{dry}");
    let edited = waiting(&sandbox, "edited meanwhile");
    let refused = start(&edited, "").ends_with(1).failure();
    assert_eq!(refused["code"], "dispatch.already-running");
    assert!(refused["what"].as_str().unwrap().contains(first["run"].as_str().unwrap()), "{refused}");
    // A daemon that dies loses no claim.
    sandbox.switchboard(&["restart"]).ends_with(0);
    assert_eq!(start(&edited, "").ends_with(1).failure()["code"], "dispatch.already-running");

    // A unit that a run has given up is free for another run, and then no longer for the first.
    let run = first["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["stop", &format!("{run}/1.1")]).ends_with(0);
    let stopped = || sandbox.call(&["get_run", &format!("run={run}")])["list"][0]["state"] == "stopped";
    assert!(within(Duration::from_secs(30), stopped), "the task does not stop");
    let second = start(&edited, "scope:={\"task\": \"1.1\"}").ends_with(0).json();
    assert_ne!(second["run"], first["run"]);
    let refused = sandbox.switchboard(&["retry", &format!("{run}/1.1"), "--json"]).ends_with(1).failure();
    assert_eq!(refused["code"], "dispatch.already-running");
    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    sandbox.switchboard(&["run", "--resume", second["run"].as_str().unwrap()]).ends_with(0);
    // Once that run has ended, the unit is free again.
    sandbox.switchboard(&["retry", &format!("{run}/1.1")]).ends_with(0);
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0).says("2 of 2 tasks merged");
}
