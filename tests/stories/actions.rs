//! Actions that workers request of their project: for their own task only, while they have it, and once.

use serde_json::{Value, json};

use super::sandbox::{BINARY, Sandbox};

/// Makes a trusted plan whose one task is a constrained shell line.
fn constrained(sandbox: &Sandbox, line: &str) -> String {
    sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": {
        "command": ["sh", "-c", line], "isolation": "constrained", "attempts": 2 } }]))
}

/// Makes a shell line that changes something and ends its answer with a block.
fn ending_with(block: &str) -> String {
    format!("echo x > x.txt; printf '%s\\n' done '```switchboard' '{block}' '```'")
}

const BLOCK: &str = r#"[{"report_step": {"state": "done", "note": "it works"}}, {"propose_task": {"description": "document it", "files": ["README.md"], "after": ["1.1"]}}]"#;

fn acted(sandbox: &Sandbox) -> Vec<Value> {
    let page = sandbox.call(&["read_events", "limit=1000", "with_bodies=true"]);
    let events = page["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "worker_acted");
    events.cloned().collect()
}

#[test]
fn a_constrained_command_asks_by_its_output_and_each_action_is_applied_once() {
    let sandbox = Sandbox::new();
    let plan = constrained(&sandbox, &ending_with(BLOCK));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("proposes: document it");

    let acted = acted(&sandbox);
    let indexes: Vec<_> = acted.iter().map(|event| event["facts"]["index"].clone()).collect();
    assert_eq!(indexes, [1, 2], "{acted:?}");
    sandbox.switchboard(&["show", "1.1"]).ends_with(0).says("done: it works").says("1 task");
    sandbox.switchboard(&["log", "1.1"]).ends_with(0).says("document it").says("files: README.md").says("after: 1.1");
}

#[test]
fn a_crash_around_the_end_of_the_turn_applies_no_action_twice_and_loses_none() {
    for point in ["frame-recorded", "turn-ended"] {
        let mut sandbox = Sandbox::new();
        let plan = constrained(&sandbox, &ending_with(BLOCK));
        sandbox.set("SWITCHBOARD_CRASH_AT", point);
        let crashed = sandbox.switchboard(&["run", &plan, "--yes"]);
        assert_ne!(crashed.code, 0, "{point}: the daemon did not die: {}", crashed.out);
        sandbox.unset("SWITCHBOARD_CRASH_AT");

        sandbox.switchboard(&["run", "--resume"]).ends_with(0);

        assert_eq!(acted(&sandbox).len(), 2, "{point}");
    }
}

#[test]
fn an_output_that_does_not_fit_refuses_the_attempt_and_the_next_one_is_told() {
    let sandbox = Sandbox::new();
    let bad = ending_with(r#"[{"report_step": {"state": "finished", "note": "x"}}]"#);
    let line = format!("case $SWITCHBOARD_ATTEMPT in 1) {bad};; *) cat > told.txt; {};; esac", ending_with(BLOCK));
    let plan = constrained(&sandbox, &line);

    sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0);

    assert!(sandbox.read("told.txt").contains("agent.bad-output"), "{}", sandbox.read("told.txt"));
    assert!(sandbox.read("told.txt").contains("action 1 (report_step): unknown variant `finished`"));
    assert_eq!(acted(&sandbox).len(), 2, "nothing of the first attempt");
}

#[test]
fn what_the_policy_refuses_is_not_applied() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".switchboard/policy.rego",
        "package switchboard.project\nimport rego.v1\ndeny contains \"no proposals\" if input.verb == \"propose_task\"\n",
    );
    let plan = constrained(&sandbox, &ending_with(BLOCK));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1).says("no proposals");

    assert_eq!(acted(&sandbox), [] as [Value; 0]);
}

#[test]
fn a_worker_reports_on_its_own_task_by_a_tool_and_on_no_other_and_a_full_worker_s_block_is_text() {
    let sandbox = Sandbox::new();
    let call = |args: &str| {
        let line = format!("{BINARY} call report_step --json {args} >> ../refused.txt 2>&1; test $? -ne 0");
        json!({ "do": "shell", "argv": ["sh", "-c", line] })
    };
    sandbox.script(
        "ada",
        &json!([{ "steps": [
            { "do": "mcp", "tool": "report_step", "args": { "state": "working", "note": "half" } },
            call("state=done note=x task=1.2"),
            call("state=done note=x attempt=7"),
            { "do": "write", "path": "x.txt", "content": "x\n" },
            { "do": "say", "text": format!("```switchboard\n{BLOCK}\n```") },
        ] }]),
    );
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));

    sandbox.switchboard(&["run", &plan, "--agent", "ada", "--yes"]).ends_with(0);

    let acted = acted(&sandbox);
    assert_eq!(acted.len(), 1, "{acted:?}");
    assert_eq!(acted[0]["facts"]["action"], json!({ "report_step": { "state": "working", "note": "half" } }));
    let found = sandbox.run(["find", ".", "-name", "refused.txt"], sandbox.folder(), "").ends_with(0).out;
    let refused = std::fs::read_to_string(sandbox.folder().join(found.trim())).unwrap();
    assert!(refused.contains("policy.denied") && refused.contains("dispatch.stale-worker"), "{refused}");
    let person = sandbox.switchboard(&["call", "report_step", "state=done", "note=x", "--json"]).ends_with(1);
    assert_eq!(person.failure()["code"], "dispatch.stale-worker");
}
