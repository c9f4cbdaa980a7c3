//! Invalid plans and repositories: each gets a code, a position and a remedy, and nothing is started.

use std::fs;

use serde_json::json;

use super::sandbox::{BINARY, Done, Sandbox};

fn run(sandbox: &Sandbox, plan: &str) -> Done {
    sandbox.switchboard(&["run", plan, "--yes", "--json"])
}

/// Runs a plan that must be refused, and asserts that nothing was started.
#[track_caller]
fn refused(sandbox: &Sandbox, plan: &str, code: &str, words: &[&str]) {
    let before = sandbox.state_of_user();

    let done = run(sandbox, plan);

    let failure = done.failure();
    assert_eq!(failure["code"], code, "{failure}");
    for words in words {
        assert!(failure.to_string().contains(words), "{words:?} is not in {failure}");
    }
    assert_eq!(sandbox.state_of_user(), before);
    assert_eq!(sandbox.call(&["get_status"])["runs"], json!([]));
}

#[test]
fn a_plan_that_does_not_parse_is_refused_with_its_line() {
    let sandbox = Sandbox::new();

    let plan = sandbox.plan_text("{\n  \"schema_version\": \"1.0.0\",\n  \"title\": oops\n}");

    refused(&sandbox, &plan, "plan.syntax", &["plan.json:3"]);
}

#[test]
fn plans_that_make_no_sense_are_refused_by_name() {
    let sandbox = Sandbox::new();
    let task = |id: &str, depends: &[&str]| {
        json!({ "id": id, "phase": 1, "description": "d", "depends": depends,
        "x-switchboard": { "command": ["true"] } })
    };

    for (tasks, code, words) in [
        (json!([task("1.1", &["1.2"]), task("1.2", &["1.1"])]), "plan.cycle", vec!["1.1", "1.2"]),
        (json!([task("1.1", &["9.9"])]), "plan.unknown-dependency", vec!["1.1", "9.9"]),
        (json!([task("1.1", &[]), task("1.1", &[])]), "plan.duplicate-task", vec!["1.1"]),
        (json!([]), "plan.empty", vec![]),
        (json!([{ "id": "../x", "phase": 1, "description": "d" }]), "plan.unsafe-id", vec!["../x"]),
        (json!([{ "id": "1.1", "phase": 1 }]), "plan.schema", vec!["description"]),
    ] {
        let plan = sandbox.plan(&tasks);

        refused(&sandbox, &plan, code, &words);
    }
}

#[test]
fn a_worker_reads_the_lines_below_its_task_of_a_plan_md_and_what_nobody_reads_is_named() {
    let sandbox = Sandbox::new();
    let command = r#"{"of":"1.1","set":{"x-switchboard":{"command":["sh","-c","cat > told.txt"]}}}"#;
    let text = format!(
        "# A plan\n\n## Phase 1: Write\n- [ ] 1.1: Write it\n<!-- switchboard task {command} -->\n  \
        - Files: told.txt\n  - greet the reader\n\n## Notes\n- [ ] write more\n"
    );
    let path = sandbox.folder().join("plan.md");
    fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    sandbox.switchboard(&["trust", &path, "--yes"]).ends_with(0);

    let done = sandbox.switchboard(&["run", &path, "--merge", "--yes"]).ends_with(0);

    done.says("plan.md:10: this task is in no phase, and is not run");
    assert!(sandbox.read("told.txt").contains("Write it\n- greet the reader"), "{}", sandbox.read("told.txt"));
}

#[test]
fn a_plan_file_with_nothing_in_it_is_an_empty_plan_whatever_it_is_called() {
    let sandbox = Sandbox::new();
    // A readable plan beside it is not used in its place.
    sandbox.write("plan.md", "# A plan\n\n## Phase 1: Write\n- [ ] 1.1: Write it\n");
    sandbox.commit("a plan");

    for text in ["", " \n\t\r\n", "\u{feff}", "\u{feff}\n"] {
        for name in ["plan.json", "PLAN.JSON", "empty.md", "plan.toml", "plan"] {
            let file = sandbox.folder().join(name);
            fs::write(&file, text).unwrap();
            let file = file.display().to_string();

            for command in [&["run", &file, "--yes", "--json"][..], &["run", "--auto", &file, "--yes", "--json"]] {
                let failure = sandbox.switchboard(command).ends_with(2).failure();
                assert_eq!(failure["code"], "plan.empty", "{text:?} in {name}: {failure}");
                assert_eq!(failure["where"], file, "{failure}");
            }
            let failure = sandbox.switchboard(&["trust", &file, "--yes", "--json"]).ends_with(2).failure();
            assert_eq!(failure["code"], "plan.empty", "{text:?} in {name}: {failure}");
        }
    }
    let asked = sandbox.switchboard(&["call", "start_run", "plan=", "--json"]).ends_with(2).failure();
    assert_eq!(asked["code"], "plan.empty", "{asked}");
    assert_eq!(sandbox.call(&["get_status"])["runs"], json!([]));
}

#[test]
fn what_is_no_plan_file_is_named_by_run_and_by_trust_alike() {
    let sandbox = Sandbox::new();
    let plan = |name: &str, bytes: &[u8]| {
        let file = sandbox.folder().join(name);
        fs::write(&file, bytes).unwrap();
        file.display().to_string()
    };
    let folder = sandbox.folder().join("folder.json").display().to_string();
    fs::create_dir(&folder).unwrap();
    let large = plan("large.json", &vec![b' '; (4 << 20) + 1]);

    for (file, code, words) in [
        (folder.clone(), "io.denied", "name the plan's file in this folder"),
        (plan("utf16.json", b"\xff\xfe{\0}\0"), "plan.syntax", "utf16.json:1"),
        (plan("latin.md", b"## Phase 1: A\n- [ ] 1.1: \xe9t\xe9\n"), "plan.syntax", "latin.md:2"),
        (plan("null.json", b"null"), "plan.schema", "expected an object"),
        (plan("list.json", b"[]"), "plan.schema", "expected an object"),
        (plan("half.json", b"{ \"schema_version\": "), "plan.syntax", "ends too early"),
        (plan("words.md", b"Do the thing.\n"), "plan.syntax", "## Phase 1"),
        (large, "plan.schema", "a plan has at most"),
    ] {
        for command in [&["run", &file, "--yes", "--json"][..], &["trust", &file, "--yes", "--json"]] {
            let failure = sandbox.switchboard(command).failure();
            assert_eq!(failure["code"], code, "{command:?}: {failure}");
            assert!(failure.to_string().contains(words), "{command:?}: {failure}");
        }
    }
    // A byte order mark before a good plan is ignored, and a pipe is accepted like a file.
    let good = json!({ "schema_version": "1.0.0", "title": "T", "swarm": "s", "phases": [{ "id": 1, "name": "P",
        "tasks": [{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["true"] } }] }] });
    let marked = plan("marked.json", format!("\u{feff}{good}").as_bytes());
    let line = format!("{BINARY} run <(cat {marked}) --dry-run && {BINARY} run {marked} --dry-run");
    sandbox.run(["bash", "-c", &line], &sandbox.root(), "").ends_with(0).says("1.1");
}

#[test]
fn settings_without_a_word_are_none_and_a_folder_in_their_place_is_named() {
    let sandbox = Sandbox::new();
    let file = sandbox.folder().join("config/switchboard/config.toml");
    for text in ["", " \n\n", "\u{feff}", "# only a comment\n", "\u{feff}[checks]\nexclude = [\"vendor/**\"]\n"] {
        sandbox.settings("");
        fs::write(&file, text).unwrap();
        sandbox.switchboard(&["doctor"]).ends_with(0);
    }
    for text in [&b"\xff\xfe[\0"[..], b"[agents", b"\0"] {
        fs::write(&file, text).unwrap();
        let done = sandbox.switchboard(&["doctor"]).ends_with(1);
        done.says("config.toml");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();

    sandbox.switchboard(&["doctor"]).ends_with(1).says("the settings can't be read").says("config.toml");
}

#[test]
fn a_missing_plan_is_named() {
    let sandbox = Sandbox::new();

    let done = sandbox.switchboard(&["run", "nowhere.json", "--json"]);

    assert_eq!((done.code, done.failure()["where"].as_str()), (1, Some("nowhere.json")));
}

#[test]
fn words_and_slips_in_place_of_a_plans_file_are_told_what_was_meant() {
    let sandbox = Sandbox::new();
    sandbox.write("plan.json", "{}");

    sandbox.switchboard(&["run", "plna.json"]).ends_with(1).says("did you mean plan.json?");
    sandbox.switchboard(&["run", "nothing.like"]).ends_with(1).says("a plan is a plan.json or plan.md");
    sandbox.switchboard(&["run", "Print one.json"]).ends_with(1).says("--team").says("switchboard dispatch");
    // Several words are a request, which a team would plan.
    sandbox.switchboard(&["run", "Print one", "--dry-run"]).ends_with(5).says("nobody is named for the role architect");
}

#[test]
fn a_folder_without_a_repository_a_commit_or_a_branch_is_refused_and_one_that_lost_its_commit() {
    let sandbox = Sandbox::empty();
    let plan = sandbox
        .plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["true"] } }]));
    sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0);

    assert_eq!(run(&sandbox, &plan).ends_with(2).failure()["code"], "git.not-a-repository");

    sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
    assert_eq!(run(&sandbox, &plan).ends_with(2).failure()["code"], "git.no-commits");

    sandbox.write("a", "a");
    sandbox.commit("start");
    sandbox.git(&["switch", "--quiet", "--detach"]);
    assert_eq!(run(&sandbox, &plan).ends_with(2).failure()["code"], "git.detached");

    sandbox.git(&["switch", "--quiet", "main"]);
    let objects = sandbox.root().join(".git/objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::create_dir(&objects).unwrap();
    assert_eq!(run(&sandbox, &plan).ends_with(1).failure()["code"], "git.damaged");
}

#[test]
fn files_of_the_user_that_are_in_the_way_are_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
        "files_touched": ["src/lib.rs"], "x-switchboard": { "command": ["touch", "x"] } }]));
    sandbox.write("src/lib.rs", "// mine\n");

    refused(&sandbox, &plan, "dispatch.dirty", &["src/lib.rs"]);
}

#[test]
fn a_state_folder_that_can_not_be_used_is_named_once_with_the_variable_that_moves_it() {
    let mut sandbox = Sandbox::new();
    sandbox.write("file", "x");
    let file = sandbox.root().join("file").display().to_string();
    sandbox.set("XDG_STATE_HOME", &file);

    let failure = sandbox.switchboard(&["status", "--json"]).ends_with(1).failure();

    assert_eq!(failure["code"], "io.denied");
    assert!(failure["where"].as_str().unwrap().starts_with(&file), "{failure}");
    assert!(!failure["what"].as_str().unwrap().contains(&file), "{failure}");
    assert!(failure["hint"].as_str().unwrap().contains("XDG_STATE_HOME="), "{failure}");
    for name in ["HOME", "XDG_STATE_HOME"] {
        sandbox.unset(name);
    }
    sandbox.switchboard(&["status"]).ends_with(2).says("set HOME");
}

#[test]
fn output_that_can_not_be_written_is_a_failure_and_a_reader_that_has_enough_is_not() {
    let sandbox = Sandbox::new();
    let to = |line: &str| sandbox.run(["sh", "-c", &line.replace("switchboard", BINARY)], &sandbox.root(), "");

    for command in ["schema plan", "status --json", "completions bash", "explain", "doctor"] {
        let done = to(&format!("switchboard {command} > /dev/full")).ends_with(1);
        assert!(done.err.contains("io.disk-full"), "{command}: {}", done.err);
    }
    let done = to("{ switchboard schema plan; echo $? >&2; } | true").ends_with(0);
    assert_eq!(done.err, "0\n");
}

#[test]
fn wrong_words_on_the_command_line_end_with_2() {
    let sandbox = Sandbox::new();

    sandbox.switchboard(&["run"]).ends_with(2);
    sandbox.switchboard(&["no-such-command"]).ends_with(2);
    for (slip, meant) in [("rnu", "run"), ("stauts", "status"), ("mrege", "merge"), ("doctr", "doctor")] {
        sandbox.switchboard(&[slip]).ends_with(2).says(&format!("'{meant}'"));
    }
    sandbox.switchboard(&["call", "send_mesage"]).ends_with(2).says("send_message");
    sandbox.switchboard(&["show", "run_nobody"]).ends_with(2).says("dispatch.unknown-run");
}

#[test]
fn instructions_that_would_fill_an_agents_context_are_refused_before_it_starts() {
    let sandbox = Sandbox::new();
    let text = "x".repeat(33 << 10);
    sandbox.settings(&format!(
        "[agents.mine]\ndriver = \"exec\"\ncommand = [\"true\"]\nspends = false\ninstructions = \"{text}\"\n"
    ));
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));

    let done = sandbox.switchboard(&["run", &plan, "--agent", "mine", "--yes"]).ends_with(2);

    done.says("config.bad-value").says("33792 bytes, 32768 are allowed");
}
