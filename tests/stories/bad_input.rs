//! Plans and repositories that can't be worked with: each gets a code, a place and a remedy, and nothing happens.

use serde_json::json;

use super::sandbox::{Done, Sandbox};

fn run(sandbox: &Sandbox, plan: &str) -> Done {
    sandbox.switchboard(&["run", plan, "--yes", "--json"])
}

/// Runs a plan that must be refused; nothing may have started.
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
fn a_missing_plan_is_named() {
    let sandbox = Sandbox::new();

    let done = sandbox.switchboard(&["run", "nowhere.json", "--json"]);

    assert_eq!((done.code, done.failure()["where"].as_str()), (1, Some("nowhere.json")));
}

#[test]
fn a_folder_without_a_repository_a_commit_or_a_branch_is_refused() {
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
fn wrong_words_on_the_command_line_end_with_2() {
    let sandbox = Sandbox::new();

    sandbox.switchboard(&["run"]).ends_with(2);
    sandbox.switchboard(&["no-such-command"]).ends_with(2);
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
