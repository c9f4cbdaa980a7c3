//! Commands about commands: help, explanations, completions, pipes.

use super::sandbox::{BINARY, Sandbox};

#[test]
fn every_code_is_explained_and_a_misspelt_one_gets_a_near_one() {
    let sandbox = Sandbox::empty();

    let list = sandbox.switchboard(&["explain", "--json"]).ends_with(0).out;
    for line in list.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        sandbox.switchboard(&["explain", row["code"].as_str().unwrap()]).ends_with(0).says("## What to do");
    }

    sandbox.switchboard(&["explain", "plan.cycel"]).ends_with(2).says("plan.cycle");
}

#[test]
fn completions_are_printed_for_every_shell() {
    let sandbox = Sandbox::empty();

    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        sandbox.switchboard(&["completions", shell]).ends_with(0).says("switchboard");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_reason_to_panic() {
    let sandbox = Sandbox::new();
    let line = format!("{BINARY} call | head -n 1; {BINARY} explain | true; {BINARY} --help | true");

    let done = sandbox.run(["sh", "-c", &line], &sandbox.root(), "").ends_with(0);

    assert!(!done.err.contains("panicked"), "{}", done.err);
}

#[test]
fn nothing_is_coloured_in_a_pipe() {
    let sandbox = Sandbox::new();

    for args in [&["status"][..], &["doctor"], &["run", "nowhere.json"]] {
        let done = sandbox.switchboard(args);

        assert!(!done.out.contains('\u{1b}') && !done.err.contains('\u{1b}'), "{done:?}");
    }
}

#[test]
fn a_second_daemon_names_the_first_and_down_is_no_error_where_none_runs() {
    let sandbox = Sandbox::new();
    sandbox.switchboard(&["down"]).ends_with(0);
    let first = sandbox.switchboard(&["up", "--detach", "--json"]).ends_with(0).json();

    for args in [&["up", "--json"][..], &["up", "--detach", "--json"]] {
        let failure = sandbox.switchboard(args).ends_with(1).failure();
        assert_eq!(failure["code"], "daemon.running");
        assert!(failure["what"].as_str().unwrap().contains(&first["pid"].to_string()), "{failure}");
    }

    let again = sandbox.switchboard(&["restart", "--json"]).ends_with(0).json();
    assert_eq!(again["ended"]["pid"], first["pid"]);
    assert_ne!(again["status"]["pid"], first["pid"]);
}

#[test]
fn down_ends_a_daemon_that_is_still_being_started() {
    use std::time::Duration;
    let sandbox = Sandbox::new();
    // The first daemon creates the state folder.
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.switchboard(&["down"]).ends_with(0);
    let states = sandbox.folder().join("state/switchboard");
    let lock = std::fs::read_dir(states).unwrap().map(|entry| entry.unwrap().path().join("start.lock"));
    let lock = lock.into_iter().find(|lock| lock.exists()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let guard = runtime.enter();

    for _ in 0..5 {
        let status = switchboard_process::spawn::Spawn::new([super::sandbox::BINARY, "status"]);
        let mut status = status.cwd(sandbox.root()).env_only(sandbox.environment()).piped().unwrap();
        let is_starting = || switchboard_process::lock::holder(&lock).unwrap().is_some();
        assert!(super::sandbox::within(Duration::from_secs(20), is_starting), "nothing was started");

        sandbox.switchboard(&["down"]).ends_with(0).says("has ended");

        runtime.block_on(status.wait());
        assert_eq!(sandbox.processes(), Vec::<u32>::new());
    }
    drop(guard);
}

#[test]
fn the_doctor_mends_what_a_killed_daemon_leaves_and_an_open_token() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let pid = sandbox.call(&["get_status"])["pid"].as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let token = sandbox.root().join(".switchboard/auth_token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();

    sandbox.switchboard(&["doctor"]).ends_with(1).says("is open to others");
    sandbox.switchboard(&["doctor", "--fix"]).ends_with(0).says("fixed");

    sandbox.switchboard(&["doctor"]).ends_with(0);
    assert_eq!(token.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!sandbox.root().join(".switchboard/server_info.json").exists());
}

#[test]
fn a_wrong_token_is_refused_with_its_code() {
    let mut sandbox = Sandbox::new();
    sandbox.switchboard(&["status"]).ends_with(0);
    sandbox.set("SWITCHBOARD_TOKEN", "wrong");

    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    for args in [&["status", "--json"][..], &["mcp", "--json"]] {
        let done = sandbox.switchboard_with(args, ping).ends_with(2);
        assert_eq!(done.failure()["code"], "auth.bad-token");
    }

    sandbox.unset("SWITCHBOARD_TOKEN");
}

#[test]
fn what_the_daemon_writes_into_the_work_tree_is_ignored_by_git() {
    let sandbox = Sandbox::new();

    sandbox.switchboard(&["status"]).ends_with(0);

    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}
