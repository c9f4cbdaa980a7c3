//! The first thing a newcomer does.

use super::sandbox::{Sandbox, processes_naming};

#[test]
fn the_example_runs_to_its_end_and_leaves_nothing_behind() {
    let sandbox = Sandbox::empty();
    let temporary = sandbox.folder().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let temporary = temporary.display().to_string();
    let argv = ["env", &format!("TMPDIR={temporary}"), super::sandbox::BINARY, "run", "--example"];

    let done = sandbox.run(argv, &sandbox.root(), "").ends_with(0);

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
    assert!(processes_naming("switchboard-example-").iter().all(|pid| !is_below(*pid, &temporary)));
    for folder in ["home", "repo"] {
        let left: Vec<_> = std::fs::read_dir(sandbox.folder().join(folder)).unwrap().collect();
        assert!(left.is_empty(), "{folder}: {left:?}");
    }
    assert!(!sandbox.folder().join("state").exists() && !sandbox.folder().join("config").exists());
}

#[test]
fn the_story_of_the_example_is_json_when_that_is_asked_for() {
    let sandbox = Sandbox::empty();

    let done = sandbox.switchboard(&["run", "--example", "--json"]).ends_with(0);

    let lines: Vec<serde_json::Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let report = lines.iter().find_map(|line| line.get("report")).unwrap();
    assert_eq!((report["merged"].as_u64(), report["state"].as_str()), (Some(5), Some("succeeded")));
    std::fs::remove_dir_all(lines[0]["scratch"].as_str().unwrap()).unwrap();
}

fn is_below(pid: u32, folder: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(folder)
}
