//! The first commands of a new user.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::sandbox::{Sandbox, processes_naming};

#[test]
fn the_example_runs_to_its_end_and_leaves_nothing_behind() {
    let sandbox = Sandbox::empty();
    let temporary = temporary(&sandbox);

    let done = sandbox.switchboard(&["run", "--example"]).ends_with(0);

    for words in [
        "SCRIPTS that play agents",
        "secretscan failed",
        "AWS access key id",
        "syntax_check failed",
        "5 of 5 tasks merged",
        "1.2   ben (script)   2",
        "build_check not configured",
        "messages: 2 sent, 2 acknowledged",
        "hash chain verified",
        "its content doesn't match its hash",
        "switchboard show 1.2",
    ] {
        assert!(done.out.contains(words), "nobody says {words:?}: {}", done.out);
    }
    assert!(leaves_no_process(&temporary));
    for folder in ["home", "repo"] {
        let left: Vec<_> = std::fs::read_dir(sandbox.folder().join(folder)).unwrap().collect();
        assert!(left.is_empty(), "{folder}: {left:?}");
    }
    assert!(!sandbox.folder().join("state").exists() && !sandbox.folder().join("config").exists());
}

#[test]
fn the_example_without_git_says_what_to_install() {
    let mut sandbox = Sandbox::empty();
    sandbox.set("PATH", "/nowhere");

    sandbox.switchboard(&["run", "--example"]).ends_with(1).says("git.missing").says("install git");
}

#[test]
fn the_story_of_the_example_is_json_when_that_is_asked_for() {
    let sandbox = Sandbox::empty();

    let done = sandbox.switchboard(&["run", "--example", "--json"]).ends_with(0);

    let lines: Vec<serde_json::Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let report = lines.iter().find_map(|line| line.get("report")).unwrap();
    assert_eq!((report["merged"].as_u64(), report["state"].as_str()), (Some(5), Some("succeeded")));
    assert!(Path::new(lines[0]["scratch"].as_str().unwrap()).starts_with(temporary(&sandbox)));
}

#[test]
fn the_team_of_the_example_leads_a_request_to_its_end_and_stops_four_bad_changes() {
    let sandbox = Sandbox::empty();
    let temporary = temporary(&sandbox);

    let done = sandbox.switchboard(&["run", "--example", "team"]).ends_with(0);

    for words in [
        "ada, ben, cleo, dora, emil, fay, gus, hana and ines are SCRIPTS that play agents",
        "What may a day ticket cost at most?",
        "CRITIC-GATE: NEEDS_REVISION",
        "the briefing is left out: no earlier run",
        "impact passed",
        "alters nothing that others may call",
        "CRITIC-GATE: APPROVED",
        "the plan brings a command that you have not trusted",
        "the retrospective of phase 1 is written",
        "Ready for Phase 2?",
        "4 of 4 tasks merged",
        "hash chain verified",
        "its content doesn't match its hash",
        "no test is left",
        "tram.py is not in the task's files_touched",
        "rides of 180 and 250 cost 500 instead of 430",
        "ValueError: invalid literal for int() with base 10: '²'",
    ] {
        assert!(done.out.contains(words), "nobody says {words:?}: {}", done.out);
    }
    assert!(leaves_no_process(&temporary));
    let scratch = scratch(&temporary);
    assert!(done.out.contains(&scratch.display().to_string()), "{}", done.out);
    let events = record(&scratch);
    assert_eq!(
        refusals(&events),
        [
            ("1.1".to_owned(), 1, "test_integrity".to_owned()),
            ("1.2".to_owned(), 1, "scope".to_owned()),
            ("2.1".to_owned(), 1, "review".to_owned()),
            ("2.2".to_owned(), 1, "adversarial_tests".to_owned()),
        ]
        .into()
    );
    let of_kind = |kind: &str| events.iter().filter(|event| event["kind"] == kind).collect::<Vec<_>>();
    let is_docs = |event: &&Value| event["facts"]["task"].as_str().is_some_and(|task| task.starts_with("docs-"));
    let (docs, merged): (Vec<&Value>, Vec<&Value>) = of_kind("task_merged").into_iter().partition(is_docs);
    assert_eq!(docs.len(), 2, "the documentation of both phases");
    let attempts: BTreeSet<_> =
        merged.iter().map(|event| (event["facts"]["task"].as_str(), event["facts"]["attempt"].as_u64())).collect();
    assert_eq!(attempts, ["1.1", "1.2", "2.1", "2.2"].map(|task| (Some(task), Some(2))).into(), "{merged:#?}");
    let of_phase =
        |event: &Value, phase: &str| event["facts"]["task"].as_str().is_some_and(|task| task.starts_with(phase));
    let lsns = |events: Vec<&Value>, phase: &str| -> Vec<u64> {
        events.into_iter().filter(|event| of_phase(event, phase)).map(|event| event["lsn"].as_u64().unwrap()).collect()
    };
    let (last_merge, first_worker) =
        (lsns(merged.clone(), "1.").into_iter().max(), lsns(of_kind("worker_intended"), "2.").into_iter().min());
    assert!(last_merge.is_some() && last_merge < first_worker, "{last_merge:?}, {first_worker:?}");
    let repo = scratch.join("team");
    let receipt = |argv: &[&str]| sandbox.run(argv.iter().copied(), &repo, "").ends_with(0);
    assert_eq!(receipt(&["python3", "tram.py", "1", "30"]).out, "Tram ride: 2.50 EUR\n", "main is as it was");
    let led = of_kind("mode_stepped")[0]["subject"].as_str().unwrap().trim_start_matches("modes/").to_owned();
    receipt(&["git", "checkout", "--quiet", &format!("switchboard/{led}")]);
    assert!(receipt(&["cat", "README.md"]).out.contains("A day ticket"), "documented");
    assert_eq!(receipt(&["python3", "tram.py", "1", "30"]).out, "Tram ride, 1 zone: 1.80 EUR\n");
    receipt(&["python3", "-m", "unittest"]).says("Ran 21 tests");
}

#[test]
fn an_example_that_does_not_exist_is_refused_before_anything_is_written() {
    let sandbox = Sandbox::empty();
    let temporary = temporary(&sandbox);

    sandbox.switchboard(&["run", "--example", "taem"]).ends_with(2).says("did you mean team?");

    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

/// Returns the folder in which an example creates its scratch folder.
fn temporary(sandbox: &Sandbox) -> PathBuf {
    sandbox.folder().join("tmp")
}

/// Returns the only scratch folder.
fn scratch(temporary: &Path) -> PathBuf {
    let mut folders: Vec<_> = std::fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}

/// Returns the events of an example's record.
fn record(scratch: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(scratch.join("record.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|event| event["kind"].is_string()).collect()
}

/// Returns what refused changes: task, attempt, and the gate or step.
fn refusals(events: &[Value]) -> BTreeSet<(String, u64, String)> {
    let failed = events.iter().map(|event| &event["facts"]).filter(|facts| facts["verdict"] == "fail");
    let refusal = |facts: &Value| {
        let by = facts["gate"].as_str().or(facts["step"].as_str()).unwrap();
        (facts["task"].as_str().unwrap().to_owned(), facts["attempt"].as_u64().unwrap(), by.to_owned())
    };
    failed.map(refusal).collect()
}

fn leaves_no_process(temporary: &Path) -> bool {
    let temporary = temporary.display().to_string();
    processes_naming("switchboard-example-").iter().all(|pid| !is_below(*pid, &temporary))
}

fn is_below(pid: u32, folder: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(folder)
}
