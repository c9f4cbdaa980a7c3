//! Settings that can't be applied: they are refused where safety depends on them, and else reported before the run
//! starts.

use serde_json::{Value, json};

use super::sandbox::{Done, Sandbox};

fn plan(sandbox: &Sandbox, settings: &Value, tasks: &[Value]) -> String {
    let task = |(at, own): (usize, &Value)| json!({ "id": format!("1.{}", at + 1), "phase": 1, "description": "d", "x-switchboard": own });
    let tasks: Vec<_> = tasks.iter().enumerate().map(task).collect();
    sandbox.trusted_plan_with(settings, &json!(tasks))
}

fn tried(sandbox: &Sandbox, settings: &Value, tasks: &[Value], more: &[&str]) -> Done {
    let plan = plan(sandbox, settings, tasks);
    sandbox.switchboard(&[&["run", &plan, "--dry-run", "--json"], more].concat())
}

fn notes(done: &Done) -> String {
    done.json()["notes"].to_string()
}

#[test]
fn who_is_asked_nothing_although_the_task_says_so_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.settings("[agents.mine]\ndriver = \"exec\"\ncommand = [\"true\"]\nspends = false\n");
    let ask = json!({ "permissions": "ask" });

    let by_command = json!({ "permissions": "ask", "command": ["true"] });
    let by_agent = json!({ "permissions": "ask", "agent": "mine" });
    for task in [by_command, by_agent] {
        let refused = tried(&sandbox, &json!({}), std::slice::from_ref(&task), &[]).ends_with(2).failure();
        assert_eq!(refused["code"], "plan.no-effect", "{task}: {refused}");
    }
    let noted = tried(&sandbox, &ask, &[json!({ "command": ["true"] })], &[]).ends_with(0);
    assert!(notes(&noted).contains("permissions: ask has no effect on task 1.1"), "{}", notes(&noted));
}

#[test]
fn what_a_command_can_not_heed_is_said_before_it_runs() {
    let sandbox = Sandbox::new();
    let command = |more: Value| {
        let mut task = json!({ "command": ["sh", "-c", "echo x > x"] });
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    let cases = [
        (json!({}), command(json!({ "wrap_up_minutes": 3 })), "wrap_up_minutes has no effect on task 1.1"),
        (
            json!({}),
            command(json!({ "retry_from": "change" })),
            "retry_from has no effect on task 1.1: it is tried once",
        ),
        (json!({ "on_violation": "halt" }), command(json!({})), "on_violation has no effect on any task of the run"),
        (json!({ "setup": [], "setup_minutes": 3 }), command(json!({})), "setup_minutes has no effect"),
        (json!({ "agent": "claude" }), command(json!({})), "the agent claude of the plan does no task"),
    ];
    for (settings, task, says) in cases {
        let noted = tried(&sandbox, &settings, std::slice::from_ref(&task), &[]).ends_with(0);
        assert!(notes(&noted).contains(says), "{settings} {task}: {}", notes(&noted));
    }
    let soft = tried(&sandbox, &json!({}), &[command(json!({}))], &["--wrap-up", "1m"]).ends_with(0);
    assert!(notes(&soft).contains("worker_timeout_ms.soft has no effect"), "{}", notes(&soft));
    let plain = tried(&sandbox, &json!({}), &[command(json!({}))], &[]).ends_with(0);
    assert!(!notes(&plain).contains("no effect"), "{}", notes(&plain));
}

#[test]
fn an_agent_that_would_do_no_task_is_refused_with_or_without_a_model() {
    let sandbox = Sandbox::new();
    for name in ["ada", "ben"] {
        sandbox.script(name, &json!([{ "steps": [] }]));
    }
    let (command, of_ben) = (json!({ "command": ["true"] }), json!({ "agent": "ben" }));

    for more in [&["--agent", "ada"][..], &["--agent", "ada", "--model", "m"]] {
        for tasks in [vec![command.clone()], vec![of_ben.clone(), command.clone()]] {
            let refused = tried(&sandbox, &json!({}), &tasks, more).ends_with(2).failure();
            assert!(refused["what"].as_str().unwrap().contains("--agent ada would do no task"), "{refused}");
        }
    }
    tried(&sandbox, &json!({}), &[of_ben.clone(), json!({})], &["--agent", "ada"]).ends_with(0);
    tried(&sandbox, &json!({}), &[of_ben], &["--agent", "ben"]).ends_with(0);
}

#[test]
fn settings_for_constrained_workers_are_named_where_an_agent_is_not_constrained() {
    let sandbox = Sandbox::new();
    let agent = |name: &str, isolation: &str| {
        format!(
            "[agents.{name}]\ndriver = \"acp\"\ncommand = [\"cat\"]\nspends = false\nisolation = \"{isolation}\"\n\
             read = [\"/opt\"]\nhome = [\".own\"]\nnetwork = [\"example.com:443\"]\nfour_tools = true\n"
        )
    };
    sandbox.settings(&agent("wide", "full"));
    sandbox.settings(&agent("held", "constrained"));
    let noted = |agent: &str, more: &[&str]| {
        notes(&tried(&sandbox, &json!({}), &[json!({ "agent": agent })], more).ends_with(0))
    };

    let words =
        "wide is not constrained, so that these of its settings have no effect: four_tools, home, network, read";
    assert!(noted("wide", &[]).contains(words), "{}", noted("wide", &[]));
    for (agent, more) in [("wide", &["--isolation", "constrained", "--unenforced"][..]), ("held", &["--unenforced"])] {
        let noted = noted(agent, more);
        assert!(!noted.contains("no effect"), "{agent}: {noted}");
    }
}

#[test]
fn a_command_that_says_that_it_spends_wants_a_yes() {
    let sandbox = Sandbox::new();
    sandbox.settings("[agents.dear]\ndriver = \"exec\"\ncommand = [\"true\"]\nspends = true\n");
    sandbox.settings("[agents.unsaid]\ndriver = \"exec\"\ncommand = [\"true\"]\n");
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let run = |agent: &str| sandbox.switchboard(&["run", &plan, "--agent", agent, "--json"]);

    assert_eq!(run("dear").ends_with(4).failure()["code"], "agent.spends");
    assert_eq!(sandbox.call(&["get_status"])["runs"], json!([]));
    run("unsaid").ends_with(1);
}

#[test]
fn the_tasks_of_a_phase_that_is_put_away_are_left_out_and_fields_that_nobody_heeds_are_named() {
    let sandbox = Sandbox::new();
    let task = |id: &str, phase: u64| {
        json!({ "id": id, "phase": phase, "description": "d",
            "x-switchboard": { "command": ["sh", "-c", format!("echo x > {id}")] } })
    };
    let phase = |id: u64, status: &str| json!({ "id": id, "name": "P", "status": status, "tasks": [task(&format!("{id}.1"), id)] });
    let phases = [phase(1, "blocked"), phase(2, "closed"), phase(3, "completed"), phase(4, "pending")];
    let plan = json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story", "phases": phases,
        "execution_profile": { "parallelization_enabled": true, "max_concurrent_tasks": 2, "locked": true } });
    let plan = sandbox.plan_text(&plan.to_string());
    sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0);

    let preview = sandbox.switchboard(&["run", &plan, "--dry-run", "--json"]).ends_with(0);
    let run = sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0);

    let said = notes(&preview);
    assert!(said.contains("phase 3 is marked as completed, and task 3.1 is not: it runs"), "{said}");
    assert!(said.contains("execution_profile.locked: kept for other tools"), "{said}");
    let skipped = preview.json()["skipped"].to_string();
    assert!(
        skipped.contains("the plan marks phase 1 as blocked") && skipped.contains("phase 2 as closed"),
        "{skipped}"
    );
    run.says("2 of 2 tasks merged");
    assert_eq!(sandbox.read("3.1"), "x\n");
    assert!(sandbox.root().join("4.1").exists() && !sandbox.root().join("2.1").exists());
}
