//! What a run may cost, and pauses.

use std::time::Duration;

use serde_json::json;

use super::sandbox::{Sandbox, within};

/// A scripted agent that says that a task costs so much, and writes a file.
fn agent_that_costs(sandbox: &Sandbox, usd: f64) {
    let write = ["sh", "-c", "echo done > $SWITCHBOARD_TASK.txt"];
    let steps = json!([{ "do": "cost", "usd": usd }, { "do": "shell", "argv": write }]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
}

fn two_tasks(sandbox: &Sandbox) -> String {
    sandbox.plan(&json!([
        { "id": "1.1", "phase": 1, "description": "one" }, { "id": "1.2", "phase": 1, "description": "two" },
    ]))
}

#[test]
fn a_run_stops_spending_below_its_ceiling_and_goes_on_once_that_is_raised() {
    let sandbox = Sandbox::new();
    agent_that_costs(&sandbox, 0.6);
    let plan = two_tasks(&sandbox);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    let limits = ["--budget", "1", "--reserve", "0.6", "--max-workers", "1"];
    let done = sandbox.switchboard(&[&["run", &plan, "--agent", "ada", "--yes"], &limits[..]].concat());

    done.ends_with(4).says("what is left of the budget is less than a worker's reservation");
    let run = sandbox.call(&["get_run"]);
    assert_eq!((&run["merged"], &run["paused"], &run["state"]), (&json!(1), &json!("budget"), &json!("running")));
    sandbox.switchboard(&["resume"]).ends_with(1).says("raise the ceiling");
    sandbox.switchboard(&["budget"]).ends_with(0).says("$0.6000 of $1.00 spent, then it is paused");

    sandbox.switchboard(&["budget", "--budget", "5", "--yes"]).ends_with(0).says("$5.00");

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged").says("budget: $1.20 of $5.00");
}

#[test]
fn a_task_that_has_cost_its_ceiling_waits_until_that_is_raised() {
    let sandbox = Sandbox::new();
    agent_that_costs(&sandbox, 0.6);
    let plan = two_tasks(&sandbox);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    let limits = ["--budget", "9", "--task-budget", "0.5", "--reserve", "0"];
    let done = sandbox.switchboard(&[&["run", &plan, "--agent", "ada", "--yes"], &limits[..]].concat());

    done.ends_with(4).says("is paused: it has cost as much as a task may");
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let of = |task: usize| (report["list"][task]["state"].clone(), report["list"][task]["paused"].clone());
    assert_eq!([of(0), of(1)], [(); 2].map(|()| (json!("paused"), json!("budget"))), "{report}");
    let run = report["run"].as_str().unwrap();
    sandbox.switchboard(&["resume", &format!("{run}/1.1")]).ends_with(1).says("--task-budget");

    sandbox.switchboard(&["budget", "--budget", "9", "--task-budget", "2", "--yes"]).ends_with(0).says("at most $2.00");

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
    let more = ["budget", "--budget", "1", "--task-budget", "2", "--yes"];
    sandbox.switchboard(&more).ends_with(2).says("would never be reached");
}

#[test]
fn a_worker_that_tells_no_cost_counts_as_its_reservation() {
    let sandbox = Sandbox::new();
    let task =
        |id: &str| json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": { "command": ["touch", id] } });
    let plan = sandbox.trusted_plan(&json!([task("1.1"), task("1.2")]));
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    let limits = ["--budget", "1", "--reserve", "0.6", "--at-ceiling", "halt", "--max-workers", "1"];
    sandbox.switchboard(&[&["run", &plan, "--yes"], &limits[..]].concat()).ends_with(4);

    sandbox.switchboard(&["budget"]).ends_with(0).says("($0.6000 of it estimated").says("then it is stopped");
    sandbox.switchboard(&["budget", "--none", "--yes"]).ends_with(0).says("no ceiling");
    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
}

#[test]
fn a_budget_under_which_nothing_could_start_is_refused() {
    let sandbox = Sandbox::new();
    agent_that_costs(&sandbox, 0.6);
    let plan = two_tasks(&sandbox);
    let run = |limits: &[&str]| sandbox.switchboard(&[&["run", &plan, "--agent", "ada", "--yes"], limits].concat());

    run(&["--budget", "0"]).ends_with(2).says("dispatch.budget");
    run(&["--budget", "1", "--reserve", "2"]).ends_with(2).says("dispatch.budget");
    run(&["--budget", "1,5"]).ends_with(2).says("no amount in dollars");
    run(&["--reserve", "1"]).ends_with(2);
    assert_eq!(sandbox.call(&["get_status"])["runs"], json!([]));
}

#[test]
fn a_paused_run_ends_its_turns_and_neither_merges_nor_starts_until_it_is_resumed() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let waits = format!("while [ ! -e {go} ]; do sleep 0.05; done; echo done > done");
    let task = |id: &str, line: &str| json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", line] } });
    let plan = sandbox.trusted_plan(&json!([task("1.1", &waits), task("1.2", "echo two > two")]));
    let text = std::fs::read_to_string(plan).unwrap();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run =
        sandbox.call(&["start_run", &format!("plan={text}"), "max_workers=1"])["run"].as_str().unwrap().to_owned();
    let state = |task: usize| sandbox.call(&["get_run"])["list"][task]["state"].as_str().unwrap().to_owned();
    assert!(within(Duration::from_secs(30), || state(0) == "working"), "{}", state(0));

    sandbox.switchboard(&["pause", &run]).ends_with(0).says("is paused");
    std::fs::write(&go, "").unwrap();

    assert!(within(Duration::from_secs(30), || state(0) == "gating"), "{}", state(0));
    assert_eq!(sandbox.call(&["get_run"])["paused"], "requested");
    sandbox.switchboard(&["pause", &format!("{run}/1.2")]).ends_with(0);
    sandbox.switchboard(&["pause", &format!("{run}/1.9")]).ends_with(2).says("dispatch.unknown-task");
    sandbox.switchboard(&["resume", &run]).ends_with(0);
    assert!(within(Duration::from_secs(30), || state(0) == "merged"), "{}", state(0));
    assert_eq!(state(1), "paused");

    sandbox.switchboard(&["resume", &format!("{run}/1.2")]).ends_with(0);

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
    sandbox.switchboard(&["pause", &run]).ends_with(1).says("is over");
}

#[test]
fn tokens_without_a_price_are_counted_by_the_price_of_the_users_settings_and_called_an_estimate() {
    let sandbox = Sandbox::new();
    let write = ["sh", "-c", "echo done > $SWITCHBOARD_TASK.txt"];
    let told = json!({ "do": "tokens", "input": 100_000, "output": 20_000 });
    let steps = json!([told, told, { "do": "shell", "argv": write }]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    sandbox.settings("price = { input = 2.5, output = 10.0 }\n");
    let plan = two_tasks(&sandbox);

    let limits = ["--budget", "1", "--reserve", "0.5", "--max-workers", "1"];
    sandbox.switchboard(&[&["run", &plan, "--agent", "ada", "--yes"], &limits[..]].concat()).ends_with(4);

    // 200,000 tokens read at $2.50 and 40,000 written at $10 for a million of them.
    sandbox.switchboard(&["budget"]).ends_with(0).says("$0.9000 of $1.00 spent ($0.9000 of it estimated");
    sandbox.settings("[agents.wrong]\ndriver = \"acp\"\ncommand = [\"x\"]\nprice = { input = -1, output = 1 }\n");
    let wrong = sandbox.switchboard(&["run", &plan, "--agent", "ada", "--dry-run", "--json"]).ends_with(2);
    assert_eq!(wrong.failure()["code"], "config.bad-value");
}
