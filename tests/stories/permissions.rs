//! What an agent may do without asking, and how a person answers its questions.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Done, Sandbox};

/// Makes a plan of one task whose agent asks whether it may edit `path`, and then writes `done`.
fn asking(sandbox: &Sandbox, path: &str, settings: &Value) -> String {
    let steps = json!([{ "do": "ask_permission", "title": format!("Edit {path}"), "path": path },
        { "do": "write", "path": "done", "content": "x\n" }]);
    sandbox.script("cautious", &json!([{ "steps": steps }]));
    let mut own = json!({ "agent": "cautious" });
    own.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": own }]))
}

fn needs(sandbox: &Sandbox) -> usize {
    sandbox.call(&["list_needs", "include_settled=true"])["needs"].as_array().unwrap().len()
}

#[test]
fn an_edit_inside_the_tasks_tree_is_not_asked_for_and_one_in_git_is() {
    let inside = Sandbox::new();
    let plan = asking(&inside, "src/new.rs", &json!({}));
    inside.switchboard(&["up", "--detach"]).ends_with(0);
    inside.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    assert_eq!(needs(&inside), 0);
    let events = inside.call(&["read_events", "limit=1000"]).to_string();
    assert!(events.contains("edits: src/new.rs"), "the record says which rule allowed it");

    let outside = Sandbox::new();
    let plan = asking(&outside, ".git/hooks/pre-commit", &json!({}));
    let done = run_at_terminal(&outside, &plan, &["n", "n"]);
    assert_eq!(done.code, 4, "{}", done.out);
    assert!(done.out.contains("ASKS YOU: Edit .git/hooks/pre-commit"), "{}", done.out);
}

#[test]
fn a_plan_does_not_allow_the_edits_that_the_users_settings_want_to_be_asked_for() {
    let sandbox = Sandbox::new();
    let plan = asking(&sandbox, "src/new.rs", &json!({ "permissions": "edits" }));
    sandbox.settings("permissions = \"ask\"\n");

    let done = run_at_terminal(&sandbox, &plan, &["n", "n"]);

    assert!(done.out.contains("ASKS YOU: Edit src/new.rs"), "{}", done.out);
}

#[test]
fn a_plan_that_allows_everything_wants_to_be_trusted() {
    let sandbox = Sandbox::new();
    let plan = asking(&sandbox, "/elsewhere", &json!({ "permissions": "all" }));
    let refused = sandbox.switchboard(&["run", &plan, "--yes", "--json"]);
    assert_eq!(refused.ends_with(4).failure()["code"], "config.untrusted");

    sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0).says("permissions all");

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");
}

#[test]
fn a_question_is_answered_in_place_at_the_terminal_with_its_diff_before_the_eyes() {
    let sandbox = Sandbox::new();
    let plan = asking(&sandbox, "src/new.rs", &json!({ "permissions": "ask" }));

    let done = run_at_terminal(&sandbox, &plan, &["y"]);

    assert_eq!(done.code, 0, "{}", done.out);
    assert!(done.out.contains("-old") && done.out.contains("+new"), "{}", done.out);
    assert!(done.out.contains("1 of 1 tasks merged"), "{}", done.out);
}

#[test]
fn a_task_that_was_denied_something_is_allowed_it_in_place() {
    let sandbox = Sandbox::new();
    let plan = asking(&sandbox, "src/new.rs", &json!({ "permissions": "ask" }));

    let done = run_at_terminal(&sandbox, &plan, &["n", "y"]);

    assert_eq!(done.code, 0, "{}", done.out);
    assert!(done.out.contains("waits for you: ") && done.out.contains("goes on"), "{}", done.out);
}

#[test]
fn an_agent_that_offers_no_model_is_not_run_with_another() {
    let sandbox = Sandbox::new();
    let plan = asking(&sandbox, "src/new.rs", &json!({}));

    let done = sandbox.switchboard(&["run", &plan, "--model", "gpt-9", "--yes"]).ends_with(1);

    let done = done.says("no way to choose the model \"gpt-9\"").says("[agent.no-model]");
    assert_eq!(done.out.matches("starts (a script)").count(), 1, "{}", done.out);
    let command = json!([{ "id": "1.1", "phase": 1, "description": "d",
        "x-switchboard": { "command": ["true"], "model": "gpt-9" } }]);
    let plan = sandbox.trusted_plan(&command);
    let refused = sandbox.switchboard(&["run", &plan, "--yes", "--json"]).ends_with(2);
    assert_eq!(refused.failure()["code"], "agent.no-model");
}

#[test]
fn an_agent_that_offers_no_model_is_told_it_by_the_argument_or_variable_of_its_settings() {
    let sandbox = Sandbox::new();
    let told = sandbox.folder().join("told");
    let steps = json!([{ "do": "write", "path": "done", "content": "x\n" }]);
    let script = sandbox.folder().join("s.json");
    std::fs::write(&script, json!({ "sections": [{ "steps": steps }] }).to_string()).unwrap();
    let line = format!("echo \"$* $MODEL\" > {}; exec {BINARY} script-agent {}", told.display(), script.display());
    let command = json!(["sh", "-c", line, "agent"]);
    sandbox.settings(&format!(
        "[agents.flagged]\ndriver = \"acp\"\ncommand = {command}\nscripted = true\nspends = false\n\
         model_args = [\"--model\", \"{{model}}\"]\nmodel_env = {{ MODEL = \"my-{{model}}\" }}\n"
    ));
    let own = json!({ "agent": "flagged", "model": "small-1" });
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": own }]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");

    assert_eq!(std::fs::read_to_string(&told).unwrap(), "--model small-1 my-small-1\n");
    sandbox.switchboard(&["run", &plan, "--yes", "--model", "big-1"]).ends_with(0);
    assert_eq!(std::fs::read_to_string(&told).unwrap(), "--model big-1 my-big-1\n");
}

/// Runs a plan at a terminal, and types an answer at each question.
fn run_at_terminal(sandbox: &Sandbox, plan: &str, answers: &[&str]) -> Done {
    let out = sandbox.folder().join("terminal.log");
    let line = format!(
        "(n=0; for answer in {answers}; do n=$((n+1)); i=0; \
         while [ $i -lt 300 ] && [ $(grep -c 'y / n' {out}) -lt $n ]; do i=$((i+1)); sleep 0.1; done; \
         echo $answer; done; sleep 30) \
         | script --quiet --return --flush --command '{BINARY} run {plan} --yes' {out}",
        answers = answers.join(" "),
        out = out.display()
    );
    std::fs::write(&out, "").unwrap();
    let argv = ["env", "-u", "CI", "bash", "-c", &format!("{line} & wait $!")];
    let spawn = Spawn::new(argv).cwd(sandbox.root()).env_only(sandbox.environment()).wall(Duration::from_secs(120));
    let output = spawn.output().unwrap();
    let code = output.exit.code().unwrap_or(-1);
    Done { code, out: std::fs::read_to_string(&out).unwrap_or_default(), err: output.stderr.text() }
}
