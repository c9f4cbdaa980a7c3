//! Agents that report success without having done the work.

use serde_json::json;

use super::sandbox::Sandbox;

#[test]
fn an_agent_that_says_done_and_changed_nothing_is_not_done() {
    let sandbox = Sandbox::new();
    sandbox.script("liar", &json!([{ "steps": [{ "do": "lie", "text": "All done." }] }]));
    let plan =
        sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "liar" } }]));

    let done = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);

    let done = done.says("changed nothing, so it is not done").says("0 of 1 tasks merged");
    let done = done.says("the same refusal twice: nothing changed").says("it told of no edit and no command");
    assert_eq!(done.out.matches("starts (a script)").count(), 2, "{}", done.out);
}

#[test]
fn a_failure_that_repeats_itself_ends_early_each_attempt_has_a_clean_tree_and_the_first_refusal_stays() {
    for (retry_from, left) in [("clean", ""), ("change", "bad.txt\n")] {
        let sandbox = Sandbox::new();
        let seen = sandbox.folder().join("seen").display().to_string();
        let line = format!(
            "n=$(($(cat {seen} 2>/dev/null || echo 0) + 1)); echo $n > {seen}; ls *.txt > {seen}.$n 2>/dev/null; \
             case $n in 1) echo bad > bad.txt;; *) echo half > half.txt; echo 'no such model' >&2; exit 3;; esac"
        );
        let command = json!(["sh", "-c", line]);
        sandbox.settings(&format!(
            "[agents.worker]\ndriver = \"exec\"\ncommand = {command}\nspends = false\nattempts = 5\n"
        ));
        let settings = json!({ "test": "test ! -e bad.txt", "retry_from": retry_from });
        let plan = sandbox.trusted_plan_with(&settings, &json!([{ "id": "1.1", "phase": 1, "description": "d" }]));

        sandbox.switchboard(&["run", &plan, "--agent", "worker", "--yes"]).ends_with(1);

        let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
        let task = &report["list"][0];
        assert_eq!((&task["state"], &task["attempts"]), (&json!("blocked"), &json!(3)), "{report}");
        let refusals = task["refusals"].as_array().unwrap();
        assert!(refusals[0].as_str().unwrap().contains("test_runner"), "{report}");
        assert!(refusals[1].as_str().unwrap().contains("no such model"), "{report}");
        assert_eq!(
            refusals.last().unwrap(),
            "blocked: the same refusal twice",
            "what the lines above say is not repeated"
        );
        let found = |attempt: u32| std::fs::read_to_string(format!("{seen}.{attempt}")).unwrap();
        assert_eq!(found(2), left, "{retry_from}");
        assert!(retry_from == "change" || found(3).is_empty(), "{}", found(3));
    }
}

#[test]
fn a_command_that_ends_with_0_after_a_refused_write_is_not_done() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
        "x-switchboard": { "command": ["sh", "-c", "echo x > /proc/version || true"] } }]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1).says("changed nothing, so it is not done");
}

#[test]
fn a_blocked_task_takes_its_dependents_along_and_nobody_else() {
    let sandbox = Sandbox::new();
    let task = |id: &str, depends: &[&str], line: &str| {
        json!({ "id": id, "phase": 1, "description": "d",
        "depends": depends, "x-switchboard": { "command": ["sh", "-c", line] } })
    };
    let plan = sandbox.trusted_plan(&json!([
        task("1.1", &[], "exit 3"),
        task("1.2", &["1.1"], "echo 2 > two"),
        task("1.3", &[], "echo 3 > three"),
    ]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let states: Vec<_> = run["list"].as_array().unwrap().iter().map(|task| task["state"].clone()).collect();
    assert_eq!(states, ["blocked", "dep_failed", "merged"]);
}

#[test]
fn a_change_with_a_secret_in_it_is_refused_without_showing_the_secret() {
    let sandbox = Sandbox::new();
    let secret = ["AKIA", "Q3EGXWRDZ5MHT2LN"].concat();
    let steps =
        json!([{ "do": "write", "path": "key.txt", "content": format!("{{{{attempt}}}}: key = \"{secret}\"\n") }]);
    sandbox.script("leaky", &json!([{ "steps": steps }]));
    let plan =
        sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "leaky" } }]));

    let done = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(3).says("secretscan failed");

    let shown = sandbox.switchboard(&["show", "1.1", "--json"]).ends_with(0).out;
    let events = sandbox.switchboard(&["call", "read_events", "limit=1000", "with_bodies=true"]).ends_with(0).out;
    for text in [done.out, done.err, shown, events] {
        assert!(!text.contains(&secret), "{text}");
    }
}

#[test]
fn an_agent_that_can_write_nothing_and_says_nothing_of_it_is_found_out_by_what_its_tool_told() {
    let sandbox = Sandbox::new();
    let script = sandbox.folder().join("read-only.sh");
    // As codex-acp 2.6 does on a read-only file system: the error is only in the terminal's output, and the turn ends
    // well.
    let told = json!({ "terminal_output_delta": { "data": "bwrap: Can't mkdir /w/.agents: Read-only file system\n" } });
    let update = |update: serde_json::Value| json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } });
    let call = update(json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "printf hello > hello.txt",
        "kind": "execute", "status": "in_progress" }));
    let failed =
        update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed", "_meta": told }));
    let says =
        update(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "DONE." } }));
    let answer = |id: u32, result: serde_json::Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let lines = [
        vec![answer(1, json!({ "protocolVersion": 1 }))],
        vec![answer(2, json!({ "sessionId": "s" }))],
        vec![call, failed, says, answer(3, json!({ "stopReason": "end_turn" }))],
    ];
    let mut text = "#!/bin/sh\n".to_owned();
    for (step, lines) in lines.iter().enumerate() {
        let file = sandbox.folder().join(format!("answer-{step}"));
        std::fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        text.push_str(&format!("read -r line; cat {}\n", file.display()));
    }
    std::fs::write(&script, text + "read -r line\n").unwrap();
    let command = json!(["sh", script]);
    sandbox.settings(&format!("[agents.one]\ndriver = \"acp\"\ncommand = {command}\nspends = false\n"));
    let task = |more: serde_json::Value| {
        let mut own = json!({ "agent": "one" });
        own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": own }]))
    };

    let done = sandbox.switchboard(&["run", &task(json!({})), "--yes"]).ends_with(1);

    let why = "printf hello > hello.txt: bwrap: Can't mkdir /w/.agents: Read-only file system";
    let done = done.says(&format!("could not: {why}")).says("no file had changed; it could not");
    assert_eq!(
        done.out.matches(" starts, attempt").count(),
        2,
        "the same failure is not tried five times: {}",
        done.out
    );
    sandbox.switchboard(&["log", "1.1"]).ends_with(0).says("failed").says("Read-only file system");
    sandbox.switchboard(&["show", "1.1"]).ends_with(0).says("Read-only file system");

    // It may print nothing at all.
    std::fs::write(sandbox.folder().join("answer-2"), format!("{}\n", lines[2][3])).unwrap();
    let done = sandbox.switchboard(&["run", &task(json!({ "permissions": "ask" })), "--yes"]).ends_with(1);
    done.says("it may change nothing without asking (permissions: ask), and it asked nobody");
}
