//! `switchboard check`, which needs no daemon.

use serde_json::Value;

use super::sandbox::Sandbox;

#[test]
fn new_findings_refuse_and_those_that_the_base_had_do_not() {
    let sandbox = Sandbox::new();
    sandbox.write("old.py", "def broken(:\n");
    sandbox.commit("broken before");
    sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(0);

    sandbox.write("src/lib.rs", "pub fn one( -> u32 { 1 }\n");
    sandbox.write("key.txt", &format!("key = \"{}\"\n", ["AKIA", "Q3EGXWRDZ5MHT2LN"].concat()));

    let done = sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(3).says("src/lib.rs").says("key.txt");
    assert!(!done.out.contains("Q3EGXWRDZ5MHT2LN") && !done.out.contains("old.py:"), "{}", done.out);
}

#[test]
fn a_base_or_a_path_that_is_not_there_is_refused_by_its_code() {
    let sandbox = Sandbox::new();

    let done = sandbox.switchboard(&["check", "--base", "nowhere", "--json"]).ends_with(2);
    assert_eq!(done.failure()["code"], "check.bad-base");
    sandbox.switchboard(&["check", "missing.rs", "--base", "HEAD", "--json"]).ends_with(2).says("check.path-missing");
    sandbox.switchboard(&["check", "/etc/passwd", "--base", "HEAD", "--json"]).ends_with(2).says("check.outside-root");
}

/// Commits settings of the repository that exclude `vendor/`; returns their path.
fn leaves_out_vendor(sandbox: &Sandbox) -> std::path::PathBuf {
    let settings = sandbox.root().join(".switchboard/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "[checks]\nexclude = [\"vendor/\"]\n").unwrap();
    sandbox.git(&["add", "--force", ".switchboard/config.toml"]);
    sandbox.commit("settings");
    settings
}

#[test]
fn excluded_files_are_counted_and_named_and_a_change_cannot_exclude_itself() {
    let sandbox = Sandbox::new();
    let settings = leaves_out_vendor(&sandbox);
    sandbox.write("vendor/a.py", "def broken(:\n");
    sandbox.write("gen/b.py", "def broken(:\n");
    sandbox.write("c.py", "x = 1\n");

    sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(3).says("gen/b.py:1").says("excluded: 1");
    let done = sandbox.switchboard(&["check", "--base", "HEAD", "--exclude", "gen/"]).ends_with(0).says("excluded: 2");
    assert!(done.out.contains("excluded by `gen/`: gen/b.py"), "{}", done.out);
    assert!(done.out.contains("excluded by `vendor/`: vendor/a.py"), "{}", done.out);
    let all = sandbox.switchboard(&["check", "--base", "HEAD", "--exclude", "*", "--json"]).ends_with(0).json();
    assert_eq!((all["verdict"].as_str(), all["reports"][0]["excluded"].as_u64()), (Some("skip"), Some(3)));
    sandbox.switchboard(&["syntax_check", "--base", "HEAD"]).ends_with(3).says("excluded: 1");

    std::fs::write(&settings, "[checks]\nexclude = [\"vendor/\", \"gen/\"]\n").unwrap();
    sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(3).says("gen/b.py:1");
    sandbox.git(&["commit", "--quiet", "--message=gen is left out, too", "--", ".switchboard/config.toml"]);
    sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(0).says("excluded: 2");
    sandbox.switchboard(&["check", "--base", "HEAD", "--exclude", "{a"]).ends_with(2).says("{a");
}

#[test]
fn a_gate_names_what_it_left_out() {
    let sandbox = Sandbox::new();
    leaves_out_vendor(&sandbox);
    let write = "mkdir vendor; echo 'def broken(:' > vendor/a.py; echo 'x = 1' > b.py";
    let plan = sandbox.trusted_plan(&serde_json::json!([{ "id": "1.1", "phase": 1, "description": "write it",
        "x-switchboard": { "command": ["sh", "-c", write], "gates": ["syntax_check"] } }]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");

    sandbox.switchboard(&["show", "1.1"]).ends_with(0).says("excluded: 1");
}

#[test]
fn only_what_is_staged_counts_when_that_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.go", "package main\nfunc main( {\n");

    sandbox.switchboard(&["check", "--staged"]).ends_with(0);
    sandbox.git(&["add", "broken.go"]);
    sandbox.switchboard(&["check", "--staged", "--only", "syntax_check"]).ends_with(3).says("broken.go");
    sandbox.switchboard(&["check", "--staged", "--only", "secretscan"]).ends_with(0);
}

#[test]
fn findings_are_json_and_sarif_on_request() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.ts", "const x = {;\n");

    let json = sandbox.switchboard(&["check", "--base", "HEAD", "--format", "json"]).ends_with(3).json();
    let sarif = sandbox.switchboard(&["check", "--base", "HEAD", "--format", "sarif"]).ends_with(3).json();

    assert_eq!(json["verdict"], "fail");
    assert_eq!((sarif["version"].as_str(), sarif["runs"][0]["results"].is_array()), (Some("2.1.0"), true));
}

#[test]
fn a_secret_that_was_committed_once_is_found_in_the_history_until_it_is_accepted() {
    let sandbox = Sandbox::new();
    let secret = ["AKIA", "Q3EGXWRDZ5MHT2LN"].concat();
    sandbox.write("conf/key.txt", &format!("key = \"{secret}\"\n"));
    sandbox.commit("a slip");
    let guilty = sandbox.git(&["rev-parse", "HEAD"]);
    std::fs::remove_file(sandbox.root().join("conf/key.txt")).unwrap();
    sandbox.commit("taken out");
    sandbox.switchboard(&["check"]).ends_with(0);

    let text = sandbox.switchboard(&["check", "--history"]).ends_with(3).says("conf/key.txt").says(&guilty[..10]);
    let sarif = sandbox.switchboard(&["check", "--history", "--format", "sarif"]).ends_with(3).json();
    sandbox.switchboard(&["check", "--history", "--write-baseline", "accepted.json"]).ends_with(0);

    assert_eq!(sarif["runs"][0]["results"][0]["properties"]["commit"], guilty.trim());
    assert!(!text.out.contains(&secret[4..]) && !sarif.to_string().contains(&secret[4..]));
    sandbox.switchboard(&["check", "--history", "--baseline", "accepted.json"]).ends_with(0).says("1 allowed");
    sandbox.switchboard(&["check", "--history", "--since", "HEAD"]).ends_with(0);
    let done = sandbox.switchboard(&["check", "--history", "--since", "nowhere", "--json"]).ends_with(2);
    assert_eq!(done.failure()["code"], "check.bad-base");
}

#[test]
fn requests_are_served_one_a_line_and_a_bad_one_spoils_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.rs", "fn (\n");
    let root = sandbox.root().display().to_string();
    let good = serde_json::json!({ "id": "1", "root": root, "base": { "rev": "HEAD" } }).to_string();

    let done = sandbox.switchboard_with(&["check", "--serve"], &format!("nonsense\n{good}\n")).ends_with(0);

    let replies: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies.len(), 2);
    assert_eq!((&replies[0]["verdict"], &replies[1]["verdict"]), (&"error".into(), &"fail".into()));
}

#[test]
fn the_repositorys_build_runs_only_on_request() {
    let sandbox = Sandbox::new();
    sandbox.write("package.json", r#"{ "scripts": { "build": "touch built" } }"#);
    sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(0);
    assert!(!sandbox.root().join("built").exists());

    sandbox.write("package.json", "{}");
    std::fs::remove_file(sandbox.root().join("package.json")).unwrap();
    sandbox.switchboard(&["check", "--build", "--json"]).ends_with(2).says("nothing here says how it is built");
}

#[test]
fn the_checks_and_their_rules_are_listed() {
    let sandbox = Sandbox::new();

    sandbox.switchboard(&["check", "--list"]).ends_with(0).says("secretscan").says("not in this version");
    let list = sandbox.switchboard(&["check", "--list", "--json"]).ends_with(0).json();

    let rules = |name: &str| {
        let checks = list.as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap()["rules"].as_array().unwrap().len()
    };
    assert!(rules("secretscan") >= 150 && rules("syntax_check") == 20);
    sandbox.switchboard(&["check", "--only", "sast_scan"]).ends_with(1).says("not available");
}

#[test]
fn findings_that_a_baseline_accepts_no_longer_refuse() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.rs", "fn f( {\n");

    let outside = sandbox.folder().join("accepted.json");
    let refused = sandbox.switchboard(&["check", "--write-baseline", outside.to_str().unwrap(), "--json"]).ends_with(2);
    assert_eq!((refused.failure()["code"].as_str().unwrap(), outside.exists()), ("check.bad-baseline", false));
    sandbox.switchboard(&["check", "--write-baseline", "accepted.json"]).ends_with(0).says("accepts 1 findings");
    sandbox.switchboard(&["check", "--baseline", "accepted.json"]).ends_with(0).says("1 allowed");

    sandbox.write("broken.rs", "\n\n\nfn f( {\n");
    sandbox.switchboard(&["check", "--baseline", "accepted.json"]).ends_with(0);
    sandbox.write("other.rs", "fn g( {\n");
    sandbox.switchboard(&["check", "--baseline", "accepted.json"]).ends_with(3).says("other.rs");
}

#[test]
fn what_was_found_once_is_remembered_and_stays_right_when_files_change() {
    let sandbox = Sandbox::new();
    sandbox.write("a.rs", "fn f( {\n");
    let plain = || {
        let mut reply = sandbox.switchboard(&["check", "--json"]).json();
        reply["duration_ms"] = Value::Null;
        reply["reports"].as_array_mut().unwrap().iter_mut().for_each(|report| report["duration_ms"] = Value::Null);
        reply
    };

    let first = plain();
    let second = plain();
    sandbox.write("a.rs", "fn f() {}\n");
    let third = plain();

    assert_eq!(first, second);
    assert_eq!((&first["verdict"], &third["verdict"]), (&"fail".into(), &"pass".into()));
    assert!(sandbox.folder().join("home/.cache/switchboard/checks.cache").is_file());
}

#[test]
fn the_hook_refuses_a_commit_and_a_foreign_hook_stays() {
    let sandbox = Sandbox::new();
    let commit = |sandbox: &Sandbox, args: &[&str]| {
        let who = ["git", "-c", "user.name=Person", "-c", "user.email=person@localhost", "commit", "-q", "-m", "x"];
        sandbox.run(who.iter().chain(args).copied(), &sandbox.root(), "").code
    };
    sandbox.switchboard(&["check", "--install-hook"]).ends_with(0).says("pre-commit");
    sandbox.write("broken.rs", "fn f( {\n");
    sandbox.git(&["add", "broken.rs"]);

    assert_ne!(commit(&sandbox, &[]), 0);
    sandbox.write("broken.rs", "fn f() {}\n");
    assert_ne!(commit(&sandbox, &[]), 0, "the index still holds the broken text");
    assert_eq!(commit(&sandbox, &["-a"]), 0, "git's index for `commit -a` is another one");

    sandbox.switchboard(&["check", "--install-hook"]).ends_with(0);
    std::fs::write(sandbox.root().join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n").unwrap();
    let done = sandbox.switchboard(&["check", "--install-hook", "--json"]).ends_with(2);
    assert_eq!(done.failure()["code"], "check.foreign-hook");
    assert_eq!(sandbox.read(".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n");
}

#[test]
fn the_hook_goes_where_the_repository_keeps_its_hooks_and_nowhere_shared() {
    let sandbox = Sandbox::new();

    sandbox.git(&["config", "core.hooksPath", "tools/hooks"]);
    sandbox.switchboard(&["check", "--install-hook"]).ends_with(0);
    assert!(sandbox.read("tools/hooks/pre-commit").contains("check --staged"));

    let shared = sandbox.folder().join("shared");
    std::fs::create_dir(&shared).unwrap();
    sandbox.git(&["config", "core.hooksPath", shared.to_str().unwrap()]);
    sandbox.switchboard(&["check", "--install-hook"]).ends_with(2).says("core.hooksPath");
    assert!(!shared.join("pre-commit").exists());
}

#[test]
fn without_a_network_every_check_says_the_same() {
    let sandbox = Sandbox::new();
    sandbox.write("src/lib.rs", "// TODO: more\npub fn one( -> u32 { 1 }\n");
    let alone = ["unshare", "--user", "--map-root-user", "--net", "--"];
    if sandbox.run(alone.iter().copied().chain(["true"]), &sandbox.root(), "").code != 0 {
        println!("skipped: this machine lets nobody cut the network off");
        return;
    }
    let without_times = |mut text: String| {
        while let Some(at) = text.find("duration_ms\":") {
            let digits = text[at + 13..].bytes().take_while(|byte| b" 0123456789".contains(byte)).count();
            text.replace_range(at..at + 13 + digits, "");
        }
        text
    };

    for args in [
        &["check", "--json", "--no-cache"][..],
        &["syntax_check", "--json"],
        &["secretscan", "--json"],
        &["placeholder_scan", "--json"],
        &["todo_extract", "--json"],
        &["build_check", "--json"],
        &["pre_check_batch", "--json"],
    ] {
        let with = sandbox.switchboard(args);
        let argv = alone.iter().copied().chain([super::sandbox::BINARY]).chain(args.iter().copied());
        let without = sandbox.run(argv, &sandbox.root(), "");
        assert_eq!((with.code, without_times(with.out)), (without.code, without_times(without.out)), "{args:?}");
    }
}

#[test]
fn no_evidence_log_or_prompt_holds_what_a_gate_refused() {
    let sandbox = Sandbox::new();
    let secret = ["Q3EGXWRD", "Z5MHT2LN"];
    let key = secret.concat();
    let line = format!(
        "echo 'key = \"AKIA{key}\"' > key.txt; echo 'fn f() {{ todo!(\"AKIA{key}\") }}' > f.rs; echo $SWITCHBOARD_ATTEMPT > n"
    );
    let plan = sandbox.trusted_plan(&serde_json::json!([{ "id": "1.1", "phase": 1, "description": "write it",
        "x-switchboard": {
            "command": ["sh", "-c", line],
            "test": ["sh", "-c", "cat key.txt; exit 1"],
            "gates": ["pre_check_batch", "placeholder_scan"],
        } }]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(3).says("secretscan failed");

    let state = std::path::PathBuf::from(sandbox.call(&["get_status"])["state_folder"].as_str().unwrap());
    let mut texts = vec![
        sandbox.call(&["check_gate_status", "task_id=1.1"]).to_string(),
        sandbox
            .switchboard(&["call", "read_events", "limit=1000", "kinds=[\"gate_reported\"]", "with_bodies=true"])
            .out,
        sandbox.switchboard(&["show", "1.1"]).out,
        std::fs::read_to_string(state.join("daemon.log")).unwrap_or_default(),
    ];
    for name in ["1.1/evidence.json", "1.1.json"] {
        texts.push(std::fs::read_to_string(evidence_file(&sandbox, name)).unwrap());
    }

    for text in &texts {
        assert!(!text.contains(secret[0]) && !text.contains(secret[1]), "{text}");
    }
    assert!(texts[4].contains("\"verdict\":\"fail\""), "{}", texts[4]);
    assert!(texts[4].contains("fn f() { todo!("), "the line of a placeholder is shown: {}", texts[4]);
}

#[test]
fn each_check_is_a_command_of_its_own_name() {
    let sandbox = Sandbox::new();
    sandbox.write("src/lib.rs", "// TODO: more\npub fn one( -> u32 { 1 }\n");
    sandbox.write("src/two.rs", "pub fn two() {\n    todo!()\n}\n");
    let token = ["ghp_", "q8Zr2LkT5vNw9XcB3mYd7HjF4sGp1A6oEu0R"].concat();
    sandbox.write("key.txt", &format!("token = {token}\n"));

    let syntax = sandbox.switchboard(&["syntax_check", "src/lib.rs", "--json"]).ends_with(3).json();
    let secrets = sandbox.switchboard(&["secretscan", "directory=.", "--json"]);
    let stubs = sandbox.switchboard(&["placeholder_scan", "src", "--json"]).ends_with(3).json();
    let notes = sandbox.switchboard(&["todo-extract", "--json", "tags=todo"]).ends_with(0).json();

    assert_eq!(syntax["files"][0]["path"], "src/lib.rs");
    assert_eq!(secrets.json()["findings"][0]["path"], "key.txt");
    assert!(!secrets.out.contains(&token[4..]), "{}", secrets.out);
    assert_eq!(stubs["findings"][0]["rule_id"], "placeholder/code-throw-todo");
    assert_eq!(notes["total"], 1);
    sandbox.switchboard(&["lint"]).ends_with(1).says("no linter is set up here");
    sandbox.switchboard(&["lint", "src"]).ends_with(2).says("takes no paths");
    sandbox.switchboard(&["syntax_check", "mode=maybe"]).ends_with(2).says("maybe");
    sandbox.switchboard(&["test_runner", "scope=all"]).ends_with(1).says("allow_full_suite");
    sandbox.switchboard(&["pre_check_batch"]).ends_with(0).says("did not look");
}

#[test]
fn a_check_by_its_verb_gives_the_same_answer_through_the_daemon() {
    let sandbox = Sandbox::new();
    sandbox.write("src/lib.rs", "pub fn one( -> u32 { 1 }\n");

    let called = sandbox.call(&["syntax_check", "changed_files=src/lib.rs"]);
    let direct = sandbox.switchboard(&["syntax_check", "src/lib.rs", "--json"]).ends_with(3).json();

    assert_eq!(called, direct);
    sandbox.switchboard(&["call", "syntax_check", "working_directory=../.."]).ends_with(2).says("check.outside-root");
    sandbox.write("package.json", r#"{ "scripts": { "build": "node --version" } }"#);
    assert_eq!(sandbox.call(&["build_check"])["runs"][0]["exit_code"], 0);
}

#[test]
fn gates_leave_evidence_that_agrees_with_the_run() {
    let sandbox = Sandbox::new();
    let test = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored'";
    let plan = sandbox.trusted_plan(&serde_json::json!([{ "id": "1.1", "phase": 1, "description": "write it",
        "x-switchboard": {
            "command": ["sh", "-c", "echo 'fn one() {}' > one.rs"],
            "test": ["sh", "-c", test],
            "gates": ["placeholder_scan", "pre_check_batch"],
        } }]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");

    let status = sandbox.call(&["check_gate_status", "task_id=1.1"]);
    let evidence = sandbox.call(&["evidence_check"]);

    assert_eq!(status["status"], "all_passed", "{status:#}");
    assert_eq!(status["not_configured"], serde_json::json!(["build_check"]));
    assert_eq!(status["passed_gates"].as_array().unwrap().len(), 6);
    assert_eq!((&status["secretscan_verdict"], &status["todo_scan"]["verdict"]), (&"pass".into(), &"pass".into()));
    assert_eq!(status["gates"]["syntax_check"]["agent"], "switchboard");
    assert_eq!((&evidence["completeness"], &evidence["gaps"]), (&1.0.into(), &serde_json::json!([])), "{evidence:#}");
    assert_eq!(evidence["requiredTypes"], serde_json::json!(["the gates of each task"]));
    let file = evidence_file(&sandbox, "1.1/evidence.json");
    let bundle: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let types: Vec<&str> =
        bundle["entries"].as_array().unwrap().iter().filter_map(|entry| entry["type"].as_str()).collect();
    assert_eq!(types, ["note", "syntax", "secretscan", "placeholder", "test", "secretscan"]);
    assert_eq!(bundle["entries"][4]["tests_passed"], 3);
    let record: Value = serde_json::from_slice(&std::fs::read(evidence_file(&sandbox, "1.1.json")).unwrap()).unwrap();
    assert_eq!((&record["taskId"], record["gates"].as_object().unwrap().len()), (&"1.1".into(), 6));
    assert_eq!(record["todo_scan"]["verdict"], "pass");

    std::fs::remove_file(&file).unwrap();
    let gaps = sandbox.call(&["evidence_check", "required_types=secretscan,syntax"]);
    assert_eq!(gaps["gaps"][0]["missing"], serde_json::json!(["secretscan", "syntax"]));
    assert_eq!(gaps["requiredTypes"], serde_json::json!(["secretscan", "syntax"]));
    assert_eq!(gaps["completeness"], 0.0);
}

/// In the tools that the format comes from, one part wrote the bundle and another the gate record, so that a reviewed
/// task could not be completed.
#[test]
fn upstream_956_and_929_the_bundle_and_the_gate_record_of_a_task_never_disagree() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&serde_json::json!([{ "id": "1.1", "phase": 1, "description": "write it",
        "x-switchboard": {
            "command": ["sh", "-c", "echo $SWITCHBOARD_ATTEMPT > state.txt; echo 'fn one() {}' > one.rs"],
            "test": ["sh", "-c", "grep -q 2 state.txt && echo 'test result: ok. 3 passed; 0 failed; 0 ignored'"],
            "attempts": 2,
        } }]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");

    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(evidence_file(&sandbox, name)).unwrap()).unwrap()
    };
    let (bundle, record) = (read("1.1/evidence.json"), read("1.1.json"));
    let of_last = |gate: &str| {
        let is_it = |entry: &&Value| entry["metadata"]["check"] == gate && entry["metadata"]["attempt"] == 2;
        bundle["entries"]
            .as_array()
            .unwrap()
            .iter()
            .filter(is_it)
            .map(|entry| entry["verdict"].clone())
            .collect::<Vec<_>>()
    };
    let passed: Vec<&str> = record["gates"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(passed, ["secretscan", "syntax_check", "test_integrity", "test_runner"]);
    assert_eq!(record["required_gates"], serde_json::json!(passed));
    for gate in passed {
        assert_eq!(of_last(gate), ["pass"], "{gate}: {bundle:#}");
    }
    let status = sandbox.call(&["check_gate_status", "task_id=1.1"]);
    assert_eq!((&status["status"], &status["passed_gates"]), (&"all_passed".into(), &record["required_gates"]));
}

#[test]
fn the_lint_that_the_plan_names_is_a_gate_and_a_part_of_the_batch() {
    let sandbox = Sandbox::new();
    let write = "echo \"$SWITCHBOARD_ATTEMPT\" > state.txt";
    let task = |id: &str, gate: &str| {
        serde_json::json!({ "id": id, "phase": 1, "description": "write it",
            "x-switchboard": { "command": ["sh", "-c", format!("mkdir -p {id}; cd {id}; {write}")], "gates": [gate] } })
    };
    let lint = "! grep -rl 1 */state.txt";
    let plan = sandbox.plan_text(
        &serde_json::json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story",
            "x-switchboard": { "lint": ["sh", "-c", lint], "max_workers": 1, "attempts": 2 },
            "phases": [{ "id": 1, "name": "P", "tasks": [task("1.1", "pre_check_batch"), task("1.2", "lint")] }] })
        .to_string(),
    );
    sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0).says("grep");

    let run = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("2 of 2 tasks merged");

    for gate in ["pre_check_batch failed", "lint failed"] {
        assert!(run.out.contains(gate), "{}", run.out);
    }
    let status = sandbox.call(&["check_gate_status", "task_id=1.1"]);
    assert_eq!(status["status"], "all_passed", "{status:#}");
}

#[test]
fn evidence_that_somebody_else_wrote_counts_for_nothing() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&serde_json::json!([{ "id": "1.1", "phase": 1, "description": "write it",
        "x-switchboard": { "command": ["sh", "-c", "echo 'fn one() {}' > one.rs"], "gates": ["-secretscan"] } }]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    let file = evidence_file(&sandbox, "1.1/evidence.json");
    let mut bundle: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let forged = &mut bundle["entries"][0];
    (forged["type"], forged["findings_count"], forged["skipped_files"]) = ("secretscan".into(), 0.into(), 0.into());
    (forged["files_scanned"], forged["metadata"]["check"]) = (1.into(), "secretscan".into());
    std::fs::write(&file, bundle.to_string()).unwrap();

    let status = sandbox.call(&["check_gate_status", "task_id=1.1"]);
    let evidence = sandbox.call(&["evidence_check", "required_types=secretscan"]);

    assert_eq!((&status["secretscan_verdict"], &status["status"]), (&"not_run".into(), &"all_passed".into()));
    assert_eq!(evidence["gaps"][0]["missing"], serde_json::json!(["secretscan"]));
}

fn evidence_file(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let state = std::path::PathBuf::from(sandbox.call(&["get_status"])["state_folder"].as_str().unwrap());
    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    state.join("runs").join(run["run"].as_str().unwrap()).join("evidence").join(name)
}
