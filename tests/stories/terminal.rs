//! Output at a terminal: a live status, a pager, colours, a log that is followed, and what a merge contains.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Done, Sandbox, within};

/// Time limit of every wait here.
const SOON: Duration = Duration::from_secs(60);

/// Runs a command at a wide terminal made by `script`; standard output and standard error come as one text.
fn typed(sandbox: &Sandbox, line: &str) -> Done {
    typed_within(sandbox, 200, line)
}

/// Runs a command at a terminal with this many columns.
fn typed_within(sandbox: &Sandbox, columns: u16, line: &str) -> Done {
    let line = format!("stty cols {columns}; {line}");
    let argv =
        ["env", "--unset=NO_COLOR", "TERM=xterm", "script", "--quiet", "--return", "--command", &line, "/dev/null"];
    sandbox.run(argv, &sandbox.root(), "")
}

fn task(id: &str, depends: &[&str], line: &str) -> Value {
    json!({ "id": id, "phase": 1, "description": format!("do {id}"), "depends": depends,
        "x-switchboard": { "command": ["sh", "-c", line] } })
}

/// Starts a run in the background; returns its id.
fn started(sandbox: &Sandbox, tasks: &Value) -> String {
    let plan = std::fs::read_to_string(sandbox.trusted_plan(tasks)).unwrap();
    sandbox.call(&["start_run", &format!("plan={plan}")])["run"].as_str().unwrap().to_owned()
}

/// Waits until a task of the newest run is in a state.
#[track_caller]
fn is_in(sandbox: &Sandbox, id: &str, state: &str) {
    let state_of = || {
        let run = sandbox.call(&["get_run"]);
        let list = run["list"].as_array().unwrap().clone();
        list.iter().find(|task| task["id"] == id).map(|task| task["state"].clone())
    };
    assert!(within(SOON, || state_of() == Some(json!(state))), "{id} is {:?}", state_of());
}

/// Makes a line that waits for a file in the sandbox's folder.
fn until(sandbox: &Sandbox, name: &str) -> String {
    format!("while ! test -e {}; do sleep 0.05; done", sandbox.folder().join(name).display())
}

fn let_go(sandbox: &Sandbox, name: &str) {
    std::fs::write(sandbox.folder().join(name), "").unwrap();
}

#[test]
fn a_status_that_is_watched_is_drawn_again_and_names_the_tool_at_work() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "ada",
        &json!([{ "steps": [
            { "do": "shell", "argv": ["sh", "-c", until(&sandbox, "go")] },
            { "do": "write", "path": "a.txt", "content": "a\n" }] }]),
    );
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let argv = [BINARY, "run", &plan, "--agent", "ada", "--yes"];
    let run = Spawn::new(argv).cwd(sandbox.root()).env_only(sandbox.environment()).wall(SOON);
    let run = std::thread::spawn(move || run.output().unwrap());
    let at_work = || sandbox.switchboard(&["status"]).out;
    assert!(within(SOON, || at_work().contains("sh -c")), "the tool at work is not named: {}", at_work());

    let watched = typed(&sandbox, &format!("timeout --signal=INT 5 {BINARY} status --watch"));

    let_go(&sandbox, "go");
    run.join().unwrap();
    let drawn = watched.out.matches("\x1b[H\x1b[2J").count();
    assert!(drawn >= 2, "drawn once: {}", watched.out);
    assert!(watched.out.contains("1.1") && watched.out.contains("sh -c"), "{}", watched.out);
    let piped = sandbox.run(["timeout", "--signal=INT", "3", BINARY, "status", "--watch"], &sandbox.root(), "");
    assert!(!piped.out.contains('\x1b'), "{:?}", piped.out);
}

#[test]
fn a_diff_goes_through_the_pager_in_colour_and_a_refusal_is_red() {
    let mut sandbox = Sandbox::new();
    let refused = json!({ "id": "1.2", "phase": 1, "description": "fail",
        "x-switchboard": { "command": ["sh", "-c", "exit 3"] } });
    let plan = sandbox.trusted_plan(&json!([task("1.1", &[], "echo hello > hello.txt"), refused]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);
    sandbox.set("SWITCHBOARD_PAGER", "sed 's/^/PAGED /'");

    let diff = typed(&sandbox, &format!("{BINARY} diff")).ends_with(0).out;
    let report = typed(&sandbox, &format!("{BINARY} show 1.2")).ends_with(0).out;

    assert!(diff.contains("PAGED ") && diff.contains("\x1b[32m+hello"), "{diff:?}");
    assert!(report.contains("\x1b[31mrefused"), "{report:?}");
    let piped = sandbox.switchboard(&["diff"]).out;
    assert!(!piped.contains("PAGED") && !piped.contains('\x1b'), "{piped:?}");
}

#[test]
fn a_run_with_nothing_to_do_draws_no_bar_and_one_with_a_task_does() {
    let sandbox = Sandbox::new();
    let done = json!([{ "id": "1.1", "phase": 1, "description": "d", "status": "completed" }]);
    let nothing = sandbox.plan(&done);

    let none = typed(&sandbox, &format!("{BINARY} run {nothing} --yes"));
    let one = sandbox.trusted_plan(&json!([task("1.1", &[], "sleep 1; echo x > x")]));
    let one = typed(&sandbox, &format!("{BINARY} run {one} --yes"));

    assert!(!none.out.contains("0/0"), "{}", none.out);
    assert!(one.out.contains("0/1 merged"), "{}", one.out);
}

/// Returns whether a process is a command that follows a log.
fn follows(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("--follow")
}

#[test]
fn a_log_is_followed_while_its_task_is_at_work() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox, &json!([task("1.1", &[], &format!("{}; echo x > x", until(&sandbox, "go")))]));
    is_in(&sandbox, "1.1", "working");
    let argv = [BINARY, "log", &format!("{run}/1.1"), "--follow"];
    let spawn = Spawn::new(argv).cwd(sandbox.root()).env_only(sandbox.environment()).wall(SOON);

    let follower = std::thread::spawn(move || spawn.output().unwrap());
    let is_there = || sandbox.processes().iter().any(|pid| follows(*pid));
    assert!(within(SOON, is_there) && !follower.is_finished(), "it ended before the task did");
    let_go(&sandbox, "go");
    let said = follower.join().unwrap().stdout.text();

    let place = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words:?} is missing: {said}"));
    assert!(place("attempt 1") < place("merged "), "{said}");
}

#[test]
fn a_task_that_is_stopped_names_those_that_wait_for_it_in_vain() {
    let sandbox = Sandbox::new();
    let tasks =
        json!([task("1.1", &[], &until(&sandbox, "go")), task("1.2", &["1.1"], "true"), task("1.3", &[], "true")]);
    let run = started(&sandbox, &tasks);
    is_in(&sandbox, "1.1", "working");

    let stopped = sandbox.switchboard(&["stop", &format!("{run}/1.1")]).ends_with(0);

    let stopped = stopped.says("1.2 (waits for it in vain): do 1.2");
    assert!(!stopped.out.contains("1.3"), "{}", stopped.out);
    let_go(&sandbox, "go");
}

#[test]
fn names_come_before_ids_in_a_list_of_messages() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    let sent = sandbox.call(&["send_message", "recipient=ada", "payload=hello"]);

    let listed = sandbox.switchboard(&["messages"]).ends_with(0).out;

    let id = sent["id"].as_str().unwrap_or_else(|| panic!("{sent}"));
    let place = |words: &str| listed.find(words).unwrap_or_else(|| panic!("{words:?} is missing: {listed}"));
    assert!(place("-> ada") < place(id), "{listed}");
}

#[test]
fn links_that_lead_out_big_binaries_hooks_and_signing_are_said_before_and_at_a_merge() {
    let sandbox = Sandbox::new();
    let line = "ln -s /etc/passwd out; head -c 2000000 /dev/zero > big.bin";
    let plan = sandbox.trusted_plan(&json!([task("1.1", &[], line)]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    sandbox.git(&["config", "commit.gpgsign", "true"]);
    std::fs::write(sandbox.root().join(".git/hooks/pre-merge-commit"), "#!/bin/sh\nexit 1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.root().join(".git/hooks/pre-merge-commit"), mode).unwrap();

    let before = sandbox.switchboard(&["show"]).ends_with(0);
    let merged = sandbox.switchboard(&["merge"]).ends_with(0);

    for said in [before, merged.says("pre-merge-commit").says("commit.gpgSign is set")] {
        said.says("the link out leads").says("big.bin is no text and has 2.0 MB");
    }
}

#[test]
fn a_merge_in_a_copy_moves_the_branch_of_the_copy_alone() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&json!([task("1.1", &[], "echo x > x")]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    sandbox.switchboard(&["down"]).ends_with(0);
    let copy = sandbox.folder().join("copy");
    sandbox.run(["cp", "-r", "repo", "copy"], sandbox.folder(), "").ends_with(0);
    let before = sandbox.git(&["rev-parse", "main"]);

    // The copy's record is new, so it has no run; whatever it prints, the original stays unchanged.
    let merged = sandbox.run([BINARY, "merge", "--yes"], &copy, "");
    let again = sandbox.run([BINARY, "run", &plan, "--yes"], &copy, "").ends_with(0);
    let in_copy = sandbox.run([BINARY, "merge", "--yes"], &copy, "").ends_with(0);

    assert_ne!(merged.code, 0, "{}", merged.out);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), before);
    assert!(copy.join("x").exists() && !sandbox.root().join("x").exists(), "{} {}", again.out, in_copy.out);
    sandbox.run([BINARY, "down"], &copy, "").ends_with(0);
}

#[test]
fn the_doctor_says_of_each_thing_whether_it_is_well() {
    let sandbox = Sandbox::new();
    sandbox.settings("[agents.here]\ndriver = \"exec\"\ncommand = [\"true\"]\n");
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let token = sandbox.root().join(".switchboard/auth_token");
    let mode = |bits| std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(bits)).unwrap();

    let well = sandbox.switchboard(&["doctor", "--json"]).ends_with(0).json().to_string();
    mode(0o644);
    let ill = sandbox.switchboard(&["doctor"]);
    mode(0o600);

    for about in ["git", "state folder", "token", "disk", "agent"] {
        assert!(well.contains(&format!("\"{about}\"")), "nothing about {about}: {well}");
    }
    assert_ne!(ill.code, 0, "{}", ill.out);
    ill.says("BAD").says("is open to others");
}

/// Returns the lines of a table in a command's output: from its heading to the next empty line.
#[track_caller]
fn table<'a>(printed: &'a str, heading: &str) -> Vec<&'a str> {
    let lines: Vec<_> = printed.lines().map(|line| line.trim_end_matches('\r')).collect();
    let from = lines.iter().position(|line| line.starts_with(heading));
    let from = from.unwrap_or_else(|| panic!("no table begins with {heading:?}: {printed}"));
    lines[from..].iter().take_while(|line| !line.is_empty()).copied().collect()
}

#[test]
fn every_table_fits_a_terminal_of_80_columns_whatever_stands_in_it() {
    let mut sandbox = Sandbox::new();
    let agent = "an-agent-with-a-rather-long-name-that-goes-on-and-on-and-on";
    sandbox.script(agent, &json!([{ "steps": [{ "do": "write", "path": "a.txt", "content": "a\n" }] }]));
    let words = "more words than any terminal has room for, 日本語の説明も含まれている, and they go on for a while, and then on";
    let refused = json!({ "id": "1.2", "phase": 1, "description": words, "x-switchboard": { "command": ["sh", "-c", "exit 3"] } });
    let tasks = json!([{ "id": "1.1", "phase": 1, "description": words }, refused]);
    let plan = json!({ "schema_version": "1.0.0", "title": words, "swarm": "story",
        "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
    let plan = sandbox.plan_text(&plan.to_string());
    sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.switchboard(&["run", &plan, "--agent", agent, "--yes"]).ends_with(1);
    sandbox.call(&["register_agent", &format!("name={agent}-b"), "role=a-role-with-a-long-name-of-its-own"]);
    sandbox.call(&["reserve_files", &format!(r#"globs=["{}/**"]"#, "a-folder/".repeat(12).trim_end_matches('/'))]);
    sandbox.call(&[
        "set_team",
        "team=a-team-with-a-long-name-that-goes-on-and-on",
        &format!(r#"members=["{agent}-b"]"#),
    ]);
    sandbox.set("SWITCHBOARD_PAGER", "cat");

    for (command, heading) in [
        ("status", "RUN "),
        ("show", "TASK "),
        ("agents", "AGENT "),
        ("agents", "TEAM "),
        ("leases", "LEASE "),
        ("timeline", "# "),
        ("clean --unmerged", "RUN "),
        ("call", "VERB "),
        ("explain", "CODE "),
    ] {
        let printed = typed_within(&sandbox, 80, &format!("{BINARY} {command}")).out;

        let lines = table(&printed, heading);

        assert!(lines.len() > 1, "{command}: {printed}");
        for line in lines {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= 80, "{command}: {width} columns: {line}");
        }
    }
    let title = typed_within(&sandbox, 80, &format!("{BINARY} show")).out;
    let title = switchboard_protocol::text::cut(title.lines().next().unwrap().trim_end(), 1000);
    assert!(unicode_width::UnicodeWidthStr::width(title.as_str()) <= 80, "{title}");
    // In a pipe nothing is shortened.
    sandbox.switchboard(&["agents"]).ends_with(0).says(&format!("{agent}-b"));
}

#[test]
fn help_and_refusals_fit_a_terminal_of_80_columns() {
    let sandbox = Sandbox::new();
    let help = sandbox.switchboard(&["help"]).ends_with(0).out;
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let commands = commands.map_while(|line| line.strip_prefix("  ")).filter_map(|line| line.split(' ').next());
    let commands: Vec<_> = commands.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(commands.len() > 20, "{help}");
    let each = commands.iter().map(|name| format!("{BINARY} {name} --help")).collect::<Vec<_>>().join("; ");
    sandbox.write(
        "a-folder/with-a-name-that-takes-room/plan.json",
        r#"{ "schema_version": "1.0.0", "title": "A plan", "swrm": "typo" }"#,
    );
    let refusal = format!("{BINARY} run a-folder/with-a-name-that-takes-room/plan.json");

    // A terminal without rows has no width for clap.
    let printed = typed_within(&sandbox, 80, &format!("stty rows 24; {each}; {refusal}")).out;

    assert!(printed.contains("swrm"), "{printed}");
    for line in printed.lines() {
        let line = switchboard_protocol::text::cut(line.trim_end(), 1000);
        let width = unicode_width::UnicodeWidthStr::width(line.as_str());
        // A single word that is wider is not broken.
        let is_a_word = !line.trim().contains(' ');
        assert!(width <= 80 || is_a_word, "{width} columns: {line}");
    }
}
