//! Costs and budgets of runs.

use std::time::Duration;

use serde_json::json;

use super::sandbox::{Sandbox, within};

/// Makes a scripted agent that reports this cost for a task, and writes a file.
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
    let refused = sandbox.switchboard(&["resume", "--json"]).ends_with(2).failure();
    let hint = refused["hint"].as_str().unwrap();
    assert!(refused["code"] == "dispatch.budget" && hint.contains("switchboard budget RUN --budget USD"), "{refused}");
    sandbox.switchboard(&["budget"]).ends_with(0).says("$0.6000 of $1.00 spent, then it is paused");

    sandbox.switchboard(&["budget", "--budget", "5", "--yes"]).ends_with(0).says("$5.00");

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged").says("budget: $1.20 of $5.00");
}

#[test]
fn four_workers_that_spend_in_small_steps_within_a_second_are_stopped_at_the_ceiling() {
    let sandbox = Sandbox::new();
    let cost = |usd: f64| json!({ "do": "cost", "usd": usd });
    let steps = json!([cost(0.1), cost(0.2), cost(0.3), { "do": "hang" }]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    let task = |id: &str| json!({ "id": id, "phase": 1, "description": "d" });
    let plan = sandbox.plan(&json!([task("1.1"), task("1.2"), task("1.3"), task("1.4")]));
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    let limits = ["--budget", "1", "--reserve", "0.25", "--max-workers", "4"];
    let done = sandbox.switchboard(&[&["run", &plan, "--agent", "ada", "--yes"], &limits[..]].concat());

    done.ends_with(4).says("100 % of the budget is spent");
    let spent = sandbox.call(&["get_run"])["total_micro_usd"].as_u64().unwrap();
    assert!((1_000_000..=1_200_000).contains(&spent), "{spent}");
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
    let refused = sandbox.switchboard(&["resume", &format!("{run}/1.1"), "--json"]).ends_with(2).failure();
    assert_eq!(refused["code"], "dispatch.budget");
    assert!(refused["hint"].as_str().unwrap().contains("switchboard budget RUN/1.1 --budget USD"), "{refused}");

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
fn a_run_that_was_stopped_at_its_ceiling_names_it_and_goes_on_with_a_higher_one() {
    let sandbox = Sandbox::new();
    let write = ["sh", "-c", "echo done > $SWITCHBOARD_TASK.txt"];
    let works_on = [json!({ "do": "cost", "usd": 0.6 }), json!({ "do": "sleep_ms", "ms": 60_000 })];
    let writes = [json!({ "do": "cost", "usd": 0.6 }), json!({ "do": "shell", "argv": write })];
    sandbox.script("ada", &json!([{ "task": "1.1", "attempt": 1, "steps": works_on }, { "steps": writes }]));
    let plan = two_tasks(&sandbox);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    let limits = ["--budget", "0.5", "--reserve", "0", "--at-ceiling", "halt", "--max-workers", "1"];
    let run = sandbox.switchboard(&[&["run", &plan, "--agent", "ada", "--yes"], &limits[..]].concat()).ends_with(1);

    run.says("was stopped: a ceiling of cost is reached").says("and raise its ceiling: switchboard budget run_");
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    sandbox.switchboard(&["retry", report["run"].as_str().unwrap()]).ends_with(0);
    sandbox.switchboard(&["budget", "--budget", "9", "--yes"]).ends_with(0);
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

#[test]
fn an_agent_is_told_to_finish_and_one_that_goes_on_is_ended_with_the_attempt() {
    let sandbox = Sandbox::new();
    let write = json!([{ "do": "shell", "argv": ["sh", "-c", "echo done > $SWITCHBOARD_TASK.txt"] }]);
    let hang = json!([{ "do": "hang" }]);
    let sections = json!([
        { "steps": hang },
        { "turn": 2, "task": "1.1", "steps": write },
        { "turn": 2, "task": "1.2", "steps": hang },
    ]);
    sandbox.script("ada", &sections);
    let one_attempt = json!({ "attempts": 1 });
    let plan = sandbox.plan(&json!([
        { "id": "1.1", "phase": 1, "description": "one" },
        { "id": "1.2", "phase": 1, "description": "two", "x-switchboard": one_attempt },
    ]));
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run = |limits: &[&str]| sandbox.switchboard(&[&["run", &plan, "--agent", "ada", "--yes"], limits].concat());

    run(&["--timeout", "10s", "--wrap-up", "10s"]).ends_with(2).says("worker_timeout_ms.soft");
    run(&["--timeout", "8s", "--wrap-up", "1s"]).ends_with(1).says("1 of 2 tasks merged");

    sandbox.switchboard(&["show", "1.2"]).says("the time limit passed: it was told to finish and went on");
}

#[test]
fn all_runs_of_a_day_stay_below_its_ceiling_until_the_user_raises_it() {
    let sandbox = Sandbox::new();
    agent_that_costs(&sandbox, 0.6);
    sandbox.settings("[limits]\nday = 1.0\n");
    let plan = two_tasks(&sandbox);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    let done = sandbox.switchboard(&["run", &plan, "--agent", "ada", "--max-workers", "1", "--yes"]);

    done.ends_with(4).says("paused: all runs of today");
    let run = sandbox.call(&["get_run"]);
    assert_eq!((&run["merged"], &run["paused"], &run["total_micro_usd"]), (&json!(1), &json!("day"), &json!(600_000)));
    let ceiling = json!({ "of": "day", "ceiling": 1_000_000, "spent": 600_000, "at_ceiling": "pause" });
    assert_eq!((&run["ceilings"], &run["is_budget_exceeded"]), (&json!([ceiling]), &json!(false)));
    sandbox.switchboard(&["down"]).ends_with(0);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.switchboard(&["budget"]).ends_with(0).says("all runs of today (UTC): $0.6000 of $1.00 spent");

    sandbox.change_settings("day = 1.0", "day = 9.0");

    sandbox.switchboard(&["resume"]).ends_with(0);
    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
    sandbox.change_settings("day = 9.0", "day = 0");
    sandbox.switchboard(&["run", &plan, "--agent", "ada", "--yes"]).ends_with(2).says("[limits]");
}

#[test]
fn all_runs_of_a_plan_stay_below_its_ceiling_until_a_person_raises_it() {
    let sandbox = Sandbox::new();
    agent_that_costs(&sandbox, 0.6);
    let plan = two_tasks(&sandbox);
    let limited = |budget: f64| {
        let mut text: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&plan).unwrap()).unwrap();
        text["x-switchboard"]["budget"] = json!(budget);
        std::fs::write(&plan, text.to_string()).unwrap();
    };
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run = ["run", &plan, "--agent", "ada", "--max-workers", "1", "--yes"];

    limited(0.0);
    sandbox.switchboard(&run).ends_with(2).says("x-switchboard/budget");
    limited(0.7);
    sandbox.switchboard(&[&run[..], &["--plan-budget", "0"]].concat()).ends_with(2).says("no worker could start");
    sandbox.switchboard(&run).ends_with(4).says("paused: all runs of this plan");

    let shown = sandbox.switchboard(&["budget", "--plan-budget", "5", "--yes"]);

    shown.ends_with(0).says("all runs of this plan: $0.6000 of $5.00 spent, then it is paused");
    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
    sandbox.switchboard(&run).ends_with(4);
    sandbox.switchboard(&["budget"]).says("all runs of this plan: $1.20 of $0.7000 spent, reached");
}

#[test]
fn no_more_workers_live_over_all_runs_than_the_settings_say() {
    let sandbox = Sandbox::new();
    let steps = json!([{ "do": "sleep_ms", "ms": 1500 }, { "do": "shell", "argv": ["sh", "-c", "echo done > $SWITCHBOARD_TASK.txt"] }]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    sandbox.settings("[limits]\nworkers = 1\n");
    let plan = two_tasks(&sandbox);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.switchboard(&["run", &plan, "--agent", "ada", "--yes"]));

        let waits = json!({ "for": "workers", "most": 1 });
        let has_waited = within(Duration::from_secs(30), || {
            let Some(run) = sandbox.call(&["get_status"])["runs"].as_array().and_then(|runs| runs.first().cloned())
            else {
                return false;
            };
            let list = sandbox.call(&["get_run", &format!("run={}", run["run"].as_str().unwrap())])["list"].clone();
            let state = |state: &str| list.as_array().unwrap().iter().filter(|task| task["state"] == state).count();
            assert!(state("working") + state("starting") <= 1, "{list}");
            list.as_array().unwrap().iter().any(|task| task["waits"] == waits)
        });

        assert!(has_waited);
        run.join().unwrap().ends_with(0).says("2 of 2 tasks merged");
    });
}

#[test]
fn a_rate_limit_spends_no_attempt_and_an_account_without_money_is_not_tried_again() {
    let sandbox = Sandbox::new();
    let limited = "if [ -e $0 ]; then exit 0; fi; touch $0; exit 1";
    let once = sandbox.folder().join("once").display().to_string();
    let write = json!({ "do": "shell", "argv": ["sh", "-c", "echo done > $SWITCHBOARD_TASK.txt"] });
    let gate = json!({ "do": "fail", "message": "429 Too Many Requests: retry after 1 s" });
    std::fs::write(sandbox.folder().join("limited.json"), json!({ "sections": [{ "steps": [gate] }] }).to_string())
        .unwrap();
    sandbox.script("ben", &json!([{ "steps": [write] }]));
    let binary = env!("CARGO_BIN_EXE_switchboard");
    let (limits, works) = (sandbox.folder().join("limited.json"), sandbox.folder().join("ben.json"));
    // The first worker meets a rate limit, the others don't.
    let line = format!(
        "if ( {limited} ); then exec {binary} script-agent {}; else exec {binary} script-agent {}; fi",
        works.display(),
        limits.display()
    );
    sandbox.settings(&format!(
        "[agents.ada]\ndriver = \"acp\"\ncommand = {}\nscripted = true\nspends = false\n",
        json!(["sh", "-c", line, once])
    ));
    sandbox.script("carl", &json!([{ "steps": [{ "do": "fail", "message": "Your credit balance is too low" }] }]));
    let task = |id: &str, agent: &str| json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": { "agent": agent } });
    let plan = sandbox.plan(&json!([task("1.1", "ada"), task("1.2", "carl")]));
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    let done = sandbox.switchboard(&["run", &plan, "--yes"]);

    done.ends_with(1).says("1.1 ").says("waits for a rate limit and goes on then").says("1 of 2 tasks merged");
    let list = sandbox.call(&["get_run"])["list"].clone();
    assert_eq!(
        (&list[0]["state"], &list[0]["attempts"], &list[0]["refusals"]),
        (&json!("merged"), &json!(1), &json!([]))
    );
    assert_eq!((&list[1]["state"], &list[1]["attempts"]), (&json!("blocked"), &json!(1)));
    assert!(list[1]["refusals"].to_string().contains("agent.quota"), "{list}");
}
