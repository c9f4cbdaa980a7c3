//! Other agents as a tool: launched over MCP and by a person, shown, and continued.

use serde_json::{Value, json};

use super::held_calls::{Client, runtime};
use super::sandbox::{Done, Sandbox};

/// Creates a repository with an agent that prints its task and its prompt, and fails while a file exists; and one that
/// once prints nothing.
fn with_speakers() -> Sandbox {
    let sandbox = Sandbox::new();
    let line = "echo ann on $SWITCHBOARD_TASK:; cat; test -e fails && exit 3; true";
    sandbox.settings(&format!(
        "[agents.ann]\ndriver = \"exec\"\ncommand = {}\nspends = false\n",
        json!(["sh", "-c", line])
    ));
    sandbox
}

fn call(sandbox: &Sandbox, request: &Value) -> Done {
    let fields = request.as_object().unwrap().iter().map(|(name, value)| format!("{name}:={value}"));
    let words = ["call", "subagent"].map(str::to_owned).into_iter().chain(fields).chain(["--json".to_owned()]);
    sandbox.switchboard(&words.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn reply(sandbox: &Sandbox, request: &Value) -> Value {
    call(sandbox, request).ends_with(0).json()
}

/// Returns the texts of a reply's results.
fn texts(reply: &Value) -> Vec<String> {
    let results = reply["results"].as_array().unwrap();
    results.iter().map(|result| result["text"].as_str().unwrap_or_default().to_owned()).collect()
}

fn statuses(reply: &Value) -> Vec<Value> {
    reply["results"].as_array().unwrap().iter().map(|result| result["status"].clone()).collect()
}

#[test]
fn an_agent_over_mcp_finds_the_tool_launches_once_a_person_agrees_sees_the_results_and_asks_on() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "played",
        &json!([
        { "task": "1.1", "steps": [{ "do": "say", "text": "It lies in src." }] },
        { "steps": [{ "do": "say", "text": "another" }] }]),
    );
    let launch = json!({ "agent": "played", "task": "Where is it?", "parent_trace": "We mend the parser." });

    runtime().block_on(async {
        let mut client = Client::open(&sandbox).await;
        client.ask(2, "find_tools", &json!({ "words": "subagent" })).await;
        assert!(client.line().await.to_string().contains("subagent"));
        client.ask(3, "subagent", &launch).await;
        let need = sandbox.question();
        assert_eq!(need["call"]["verb"], "subagent", "{need}");
        assert!(need["detail"].as_str().unwrap().contains("Where is it?"), "{need}");
        sandbox.switchboard(&["approve", need["id"].as_str().unwrap()]).ends_with(0);

        let launched = structured(&client.line().await);
        assert_eq!((&launched["mode"], &launched["state"]), (&json!("single"), &json!("succeeded")), "{launched}");
        assert!(texts(&launched)[0].ends_with("It lies in src.\n"), "{launched}");
        assert_eq!(launched["results"][0]["agent"], "played");

        let status = json!({ "action": "status", "run": launched["run"] });
        client.ask(4, "subagent", &status).await;
        assert_eq!(structured(&client.line().await), launched, "status asks nobody");
        client.ask(5, "start_run", &json!({ "plan": "{}" })).await;
        assert!(client.line().await.to_string().contains("policy.denied"));
        client.close().await;
    });
}

/// Returns the reply that an answer over MCP contains.
fn structured(answer: &Value) -> Value {
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{answer}"))
}

#[test]
fn results_stand_in_the_order_of_the_tasks_and_one_that_says_nothing_is_tried_once_more() {
    let sandbox = with_speakers();
    let marks = sandbox.folder().join("marks").display().to_string();
    let line = format!("cat > /dev/null; echo x >> {marks}; test $(wc -l < {marks}) = 1 || echo second word");
    let argv = json!(["sh", "-c", line]);
    sandbox.settings(&format!(
        "[agents.shy]\ndriver = \"exec\"\ncommand = {argv}\n[agents.mute]\ndriver = \"exec\"\ncommand = [\"true\"]\n"
    ));
    let task = |agent: &str, task: &str| json!({ "agent": agent, "task": task });
    let tasks = json!([task("shy", "first"), task("mute", "second"), task("ann", "third")]);

    let reply = reply(&sandbox, &json!({ "tasks": tasks, "isolation": "full" }));

    assert_eq!((&reply["mode"], &reply["state"]), (&json!("parallel"), &json!("failed")));
    assert_eq!(statuses(&reply), ["done", "blocked", "done"], "{reply}");
    assert_eq!(reply["results"][0]["text"], "second word\n");
    assert_eq!((&reply["results"][0]["attempts"], &reply["results"][1]["attempts"]), (&json!(2), &json!(2)));
    assert_eq!(reply["results"][1]["code"], "agent.failed", "{reply}");
    assert!(reply["results"][2]["text"].as_str().unwrap().contains("third"));
    assert!(reply["results"][2]["worker"].as_str().unwrap().starts_with("wrk_"), "{reply}");
}

#[test]
fn a_chain_goes_on_at_the_step_that_failed_and_a_follow_up_knows_what_was_said() {
    let sandbox = with_speakers();
    sandbox.write("fails", "");
    sandbox.commit("it fails");
    let mended = sandbox.folder().join("mended").display().to_string();
    let line = format!("echo ben:; cat; test -e {mended} || exit 3");
    sandbox.settings(&format!(
        "[agents.ben]\ndriver = \"exec\"\ncommand = {}\n[agents.sam]\ndriver = \"exec\"\ncommand = [\"cat\"]\n",
        json!(["sh", "-c", line])
    ));
    let chain = json!([{ "agent": "sam", "task": "one word" }, { "agent": "ben", "task": "on {previous}" }]);
    let failed = reply(&sandbox, &json!({ "chain": chain, "isolation": "full" }));
    assert_eq!(failed["mode"], "chain");
    assert_eq!(statuses(&failed), ["done", "blocked"], "{failed}");
    assert_eq!(failed["results"][1]["code"], "agent.failed", "{failed}");

    std::fs::write(&mended, "").unwrap();
    let resumed = reply(&sandbox, &json!({ "action": "resume", "run": failed["run"] }));
    assert_eq!(resumed["run"], failed["run"]);
    assert_eq!(statuses(&resumed), ["done", "done"], "{resumed}");
    assert_eq!(resumed["results"][0]["worker"], failed["results"][0]["worker"], "the first step is not done again");

    let follow_up =
        json!({ "action": "resume", "run": resumed["run"], "follow_up": "And in short?", "isolation": "full" });
    let followed = reply(&sandbox, &follow_up);
    assert_ne!(followed["run"], resumed["run"]);
    let text = &texts(&followed)[0];
    assert!(text.contains("And in short?") && text.contains("ben:") && text.contains("one word"), "{text}");
}

#[test]
fn a_debate_answers_with_all_turns_and_the_verdict() {
    let sandbox = with_speakers();
    let participants =
        json!([{ "agent": "ann", "task": "You are for tabs." }, { "agent": "ann", "task": "For spaces." }]);
    let debate = json!({ "topic": "Tabs or spaces?", "participants": participants, "rounds": 2, "verdict": "ann" });

    let reply = reply(&sandbox, &json!({ "debate": debate, "parent_trace": "A style guide.", "wait_ms": 110_000 }));

    assert_eq!((&reply["mode"], &reply["state"]), (&json!("debate"), &json!("succeeded")), "{reply}");
    let texts = texts(&reply);
    assert_eq!(texts.len(), 5);
    assert!(texts[0].contains("You are for tabs.") && texts[1].contains("For spaces."), "{texts:?}");
    assert!(texts.iter().all(|text| text.contains("A style guide.")), "all know what it belongs to");
    assert!(texts[4].contains("This was debated before"), "{}", texts[4]);
    let first = &sandbox.call(&["read_events", "kinds:=[\"run_configured\"]", "with_bodies:=true"])["events"][0];
    assert_eq!(first["body"], "A style guide.", "{first}");
    assert_eq!(sandbox.call(&["get_run"])["list"][0]["isolation"], "constrained");
}

#[test]
fn a_long_text_is_cut_in_its_middle_and_read_on_by_its_artifact() {
    let sandbox = Sandbox::new();
    let line = "echo begin; seq 1 20000; printf 'ü%.0s' $(seq 1 3000); echo end";
    sandbox.settings(&format!("[agents.long]\ndriver = \"exec\"\ncommand = {}\n", json!(["sh", "-c", line])));

    let reply = reply(&sandbox, &json!({ "agent": "long", "task": "count", "isolation": "full" }));

    let (text, elided) = (&texts(&reply)[0], reply["results"][0]["elided"].as_u64().unwrap());
    assert!(text.len() < 52_000 && text.starts_with("begin\n") && text.ends_with("end\n"), "{}", text.len());
    let artifact = reply["results"][0]["artifact"].as_str().unwrap();
    let shown = sandbox.call(&["show_task", &format!("task={artifact}"), "answer_from=0"]);
    let marker = text.lines().find(|line| line.starts_with("[… ")).unwrap().len() + 2;
    assert_eq!(shown["answer"]["bytes"].as_u64().unwrap(), (text.len() - marker) as u64 + elided);
}

#[test]
fn what_runs_longer_than_the_wait_is_answered_with_its_run_and_what_does_not_fit_is_refused() {
    let sandbox = with_speakers();
    sandbox.settings("[agents.slow]\ndriver = \"exec\"\ncommand = [\"sh\", \"-c\", \"cat; sleep 3\"]\n");
    let request = json!({ "agent": "slow", "task": "think", "isolation": "full", "wait_ms": 0 });

    let at_work = reply(&sandbox, &request);
    assert_eq!(at_work["state"], "running");
    assert!(at_work["next"].as_str().unwrap().contains("status"), "{at_work}");
    let early = call(&sandbox, &json!({ "action": "resume", "run": at_work["run"], "follow_up": "more" })).ends_with(1);
    assert_eq!(early.failure()["code"], "request.conflict");
    let over = reply(&sandbox, &json!({ "action": "status", "run": at_work["run"], "wait_ms": 60_000 }));
    assert_eq!(over["state"], "succeeded");

    for (request, place) in [
        (json!({}), "task"),
        (json!({ "task": "a", "chain": [{ "task": "b" }, { "task": "c" }] }), "chain"),
        (json!({ "task": "a", "wait_ms": 900_000 }), "wait_ms"),
        (json!({ "action": "status" }), "run"),
        (json!({ "task": "a", "agent": "ann", "parent_trace": "x".repeat(20_000) }), "parent_trace"),
    ] {
        let failure = call(&sandbox, &request).ends_with(2).failure();
        assert_eq!((&failure["code"], &failure["where"]), (&json!("request.bad-args"), &json!(place)), "{failure}");
    }
    let unknown = call(&sandbox, &json!({ "task": "a", "agent": "anne" })).ends_with(5).failure();
    assert!(unknown["hint"].as_str().unwrap().contains("ann"), "{unknown}");
}

#[test]
fn the_same_key_launches_once_and_a_worker_launches_nobody() {
    let sandbox = with_speakers();
    let args = ["call", "subagent", "--key", "k1", "agent=ann", "task=once", "isolation=full", "--json"];
    let first = sandbox.switchboard(&args).ends_with(0).json();
    let again = sandbox.switchboard(&args).ends_with(0).json();
    assert_eq!(first["run"], again["run"]);

    let nested = format!(
        "env -i HOME=$HOME XDG_STATE_HOME=$XDG_STATE_HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME PATH=$PATH {} -C {} --json call subagent agent=ann task=x 2>&1; true",
        super::sandbox::BINARY,
        sandbox.root().display()
    );
    sandbox.settings(&format!("[agents.nester]\ndriver = \"exec\"\ncommand = {}\n", json!(["sh", "-c", nested])));
    let refused = reply(&sandbox, &json!({ "agent": "nester", "task": "nest", "isolation": "full" }));
    let text = &texts(&refused)[0];
    assert!(text.contains("policy.denied") && text.contains("starts no other agents"), "{refused}");
}
