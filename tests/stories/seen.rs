//! What a person sees: logs, diffs, a preview of what is not trusted yet, and what runs have left.

use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{Sandbox, within};

/// Makes a run with a task that is merged at its second attempt, and one that is blocked.
fn half_done() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.script(
        "ada",
        &json!([
            { "attempt": 1, "steps": [{ "do": "lie", "text": "I leave it at that." }] },
            { "steps": [
                { "do": "write", "path": "hello.txt", "content": "hello\n" }, { "do": "say", "text": "Now it is there." }
            ] },
        ]),
    );
    let plan = json!([
        { "id": "1.1", "phase": 1, "description": "say hello" },
        { "id": "1.2", "phase": 1, "description": "fail", "x-switchboard": { "command": ["sh", "-c", "echo half > half.txt; exit 3"] } },
    ]);
    let plan = sandbox.trusted_plan(&plan);
    sandbox.switchboard(&["run", &plan, "--agent", "ada", "--yes"]).ends_with(1);
    sandbox
}

#[test]
fn the_log_of_a_task_reads_like_a_story_and_has_its_attempts_one_by_one() {
    let sandbox = half_done();

    let log = sandbox.switchboard(&["log", "1.1"]).ends_with(0).out;
    let place = |words: &str| log.find(words).unwrap_or_else(|| panic!("{words:?} is missing: {log}"));
    assert!(place("attempt 1: ada (a script) starts") < place("turn 1 begins"), "{log}");
    assert!(place("nothing was changed") < place("attempt 2: ada"), "{log}");
    assert!(place("attempt 2: ada") < place("Now it is there."), "{log}");
    assert!(place("gate secretscan passed") < place("merged "), "{log}");
    assert!(!log.contains("jsonrpc") && !log.contains("not configured"), "{log}");

    let second = sandbox.switchboard(&["log", "1.1", "--attempt", "2"]).ends_with(0).out;
    assert!(second.contains("Now it is there.") && !second.contains("attempt 1"), "{second}");
    sandbox.switchboard(&["log", "1.1", "--attempt", "7"]).ends_with(2).says("no attempt 7");
    sandbox.switchboard(&["log", "1.1", "--raw"]).ends_with(0).says("jsonrpc");
    sandbox.switchboard(&["log", "1.1", "--follow"]).ends_with(0).says("merged ");
    sandbox.switchboard(&["log", "1.2"]).ends_with(0).says("exit code 3");
}

#[test]
fn a_diff_is_of_a_task_or_of_all_that_a_run_has_merged() {
    let sandbox = half_done();

    sandbox.switchboard(&["diff", "1.1"]).ends_with(0).says("+hello");
    let run = sandbox.switchboard(&["diff"]).ends_with(0).says("+hello").out;

    assert!(run.starts_with("diff --git") && !run.contains('\x1b'), "{run}");
    let id = sandbox.switchboard(&["show", "--json"]).json()["run"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.switchboard(&["diff", &id]).ends_with(0).out, run);
}

#[test]
fn what_failed_runs_left_is_listed_then_removed_and_unmerged_work_only_by_its_own_flag() {
    let sandbox = half_done();
    let ours = ["refs/heads/switchboard", "refs/heads/switchboard-task"];
    let branches = || sandbox.git(&[&["for-each-ref", "--format=%(refname:short)"], &ours[..]].concat());
    // The run's branch and that of the blocked task; that of the merged one is removed shortly after the run's end.
    assert!(within(Duration::from_secs(10), || branches().lines().count() == 2), "{}", branches());

    let listed = sandbox.switchboard(&["clean"]).ends_with(0).out;
    assert!(listed.contains("not merged into main") && listed.contains("1.2"), "{listed}");
    assert!(listed.contains("--unmerged"), "{listed}");
    assert_eq!(branches().lines().count(), 2);

    sandbox.switchboard(&["merge", "--partial"]).ends_with(0);
    sandbox.switchboard(&["clean"]).ends_with(4).says("nothing was removed");
    sandbox.switchboard(&["clean", "--yes"]).ends_with(0).says("removed 1");
    assert!(branches().starts_with("switchboard-task/"), "{}", branches());

    sandbox.switchboard(&["clean", "--unmerged", "--yes"]).ends_with(0).says("removed 1");
    assert_eq!(branches(), "");
    sandbox.switchboard(&["log", "1.2"]).ends_with(0).says("what it left was removed").says("switchboard-task/");
    let events = sandbox.call(&["read_events", "limit=1000"]);
    let of = |kind: &str| {
        let events = events["events"].as_array().unwrap().iter().filter(|event| event["kind"] == kind);
        events.map(|event| event["facts"].clone()).collect::<Vec<_>>()
    };
    let removed = of("run_cleaned");
    assert_eq!((of("run_clean_intended").len(), removed.len()), (2, 2));
    assert!(removed[0]["branch"].as_str().unwrap().starts_with("switchboard/run_"), "{removed:?}");
    assert!(removed[0]["task"].is_null() && removed[1]["task"] == "1.2", "{removed:?}");
    assert!(removed[1]["bytes"].as_u64().unwrap() > 0 && removed[1]["commit"].as_str().unwrap().len() == 40);
    sandbox.switchboard(&["clean"]).ends_with(0).says("left nothing behind");
}

#[test]
fn a_removal_that_is_repeated_under_its_key_gets_the_first_answer() {
    let sandbox = half_done();
    let clean = || sandbox.call(&["--key", "once", "clean_runs", "remove=true", "unmerged=true"]);

    let (first, again) = (clean(), clean());

    assert!(first["left"].as_array().unwrap().iter().all(|left| left["removed"] == true), "{first}");
    assert_eq!(first, again);
    assert_eq!(sandbox.call(&["clean_runs"])["left"], json!([]));
}

#[test]
fn a_dry_run_shows_what_is_not_trusted_with_every_character_visible() {
    let sandbox = Sandbox::new();
    let line = "echo hi\u{1b}[2K\r# rm -rf";
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
        "x-switchboard": { "command": ["sh", "-c", line] } }]));

    let shown = sandbox.switchboard(&["run", &plan, "--dry-run"]).ends_with(0);

    let shown = shown.says(r#"sh -c "echo hi\u{1b}[2K\r# rm -rf""#).says("not trusted yet");
    assert!(!shown.out.contains('\x1b'), "{:?}", shown.out);
    assert_eq!(sandbox.call(&["get_status"])["runs"], json!([]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(4);
}

#[test]
fn a_run_that_costs_money_is_not_started_unasked() {
    let sandbox = Sandbox::new();
    sandbox.settings("[agents.dear]\ndriver = \"acp\"\ncommand = [\"true\"]\n");
    sandbox.settings("[agents.free]\ndriver = \"exec\"\ncommand = [\"true\"]\nspends = false\n");
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));

    let refused = sandbox.switchboard(&["run", &plan, "--agent", "dear", "--json"]).ends_with(4).failure();
    assert_eq!(refused["code"], "agent.spends");
    sandbox.switchboard(&["run", &plan, "--agent", "dear", "--dry-run"]).ends_with(0);
    assert_eq!(sandbox.call(&["get_status"])["runs"], Value::Array(Vec::new()));
    sandbox.switchboard(&["run", &plan, "--agent", "free"]).ends_with(1).says("changed nothing");
}

#[test]
fn a_known_agent_that_the_users_settings_call_free_runs_unasked_and_a_repository_can_not_say_so() {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.folder().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/true", bin.join("opencode")).unwrap();
    sandbox.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let run = |sandbox: &Sandbox| sandbox.switchboard(&["run", &plan, "--agent", "opencode", "--json"]);
    let free = "[agents.opencode]\nspends = false\n";

    sandbox.write(".switchboard/config.toml", free);
    sandbox.switchboard(&["trust", "--yes"]);
    assert_eq!(run(&sandbox).ends_with(4).failure()["code"], "agent.spends");

    sandbox.settings(free);
    run(&sandbox).ends_with(1);
    assert_eq!(sandbox.call(&["get_status"])["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_not_configured_is_said_once_and_times_are_local() {
    let mut sandbox = half_done();
    sandbox.set("TZ", "Pacific/Kiritimati");

    let report = sandbox.switchboard(&["show"]).ends_with(0).out;
    assert_eq!(report.matches("build_check not configured").count(), 1, "{report}");
    let here = sandbox.switchboard(&["log", "1.1"]).ends_with(0).out;
    sandbox.set("TZ", "UTC");
    let there = sandbox.switchboard(&["log", "1.1"]).ends_with(0).out;
    assert_ne!(here.lines().next(), there.lines().next());
}

#[test]
fn a_task_at_work_says_that_it_waits_and_what_it_cost_and_whoever_follows_late_knows_the_agent() {
    let sandbox = Sandbox::new();
    let steps = json!([
        { "do": "cost", "usd": 0.0123 }, { "do": "ask_permission", "title": "write it" },
        { "do": "shell", "argv": ["true"] }, { "do": "write", "path": "x", "content": "x\n" },
    ]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let run = sandbox.run_aside(&[&plan, "--agent", "ada", "--yes"]);
    let waits = || sandbox.switchboard(&["show"]).out.contains("waiting for you");
    assert!(within(Duration::from_secs(30), waits), "{}", sandbox.switchboard(&["show"]).out);
    sandbox.switchboard(&["status"]).ends_with(0).says("waiting for you");

    let late = sandbox.run_aside(&["--resume"]);
    let need = sandbox.call(&["list_needs"])["needs"][0]["id"].as_str().unwrap().to_owned();
    assert!(within(Duration::from_secs(10), || sandbox.processes().len() > 3));
    sandbox.switchboard(&["approve", &need]).ends_with(0);

    // Costs of a turn are reported at intervals, and at its end.
    run.join().unwrap().ends_with(0).says("used: $0.0123");
    sandbox.switchboard(&["status"]).ends_with(0).says("$0.0123");
    let late = late.join().unwrap().ends_with(0);
    assert!(late.out.contains("1.1   ada      says that it is done"), "{}", late.out);
    sandbox.switchboard(&["show", "1.1"]).ends_with(0).says("used      $0.0123");
    sandbox.switchboard(&["log", "1.1"]).ends_with(0).says("asks you for a permission").says("used $0.0123");
}

#[test]
fn a_worker_that_is_not_heard_of_is_called_silent_and_not_before() {
    let mut sandbox = Sandbox::new();
    let go = sandbox.folder().join("go");
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done", go.display());
    let steps =
        json!([{ "do": "shell", "argv": ["sh", "-c", wait] }, { "do": "write", "path": "x", "content": "x\n" }]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let run = sandbox.run_aside(&[&plan, "--agent", "ada", "--yes"]);
    let uses_a_tool = || {
        sandbox.call(&["get_status"])["runs"] != json!([]) && sandbox.switchboard(&["show"]).out.contains("sh -c while")
    };
    assert!(within(Duration::from_secs(30), uses_a_tool), "{}", sandbox.switchboard(&["show"]).out);
    let soon = sandbox.switchboard(&["show"]).ends_with(0).out;
    assert!(!soon.contains("silent"), "{soon}");

    sandbox.set("SWITCHBOARD_SILENT_MS", "1000");
    let is_silent = || sandbox.switchboard(&["show"]).out.contains("silent for");
    assert!(within(Duration::from_secs(30), is_silent), "{}", sandbox.switchboard(&["show"]).out);
    sandbox.switchboard(&["status"]).ends_with(0).says("silent for");
    sandbox.switchboard(&["show", "1.1"]).ends_with(0).says("state     silent for");
    std::fs::write(&go, "").unwrap();

    run.join().unwrap().ends_with(0);
    let over = sandbox.switchboard(&["show"]).ends_with(0).out;
    assert!(!over.contains("silent"), "{over}");
}

#[test]
fn the_doctor_shakes_hands_with_each_agent_if_asked() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", "/usr/bin:/bin");
    sandbox.script("ada", &json!([]));
    sandbox.settings(
        "[agents.broken]\ndriver = \"acp\"\ncommand = [\"sh\", \"-c\", \"echo no such model >&2; exit 1\"]\n",
    );

    let plain = sandbox.switchboard(&["doctor"]);
    assert!(!plain.out.contains("opens a session"), "{}", plain.out);

    let done = sandbox.switchboard(&["doctor", "--agents"]).ends_with(1);
    done.says("ada").says("opens a session").says("broken").says("no such model");
}
