//! Settings of a plan for gates, phases and agents, and what is refused before anything starts.

use serde_json::{Value, json};

use super::sandbox::Sandbox;

fn task(id: &str, line: &str, settings: &Value) -> Value {
    let mut own = json!({ "command": ["sh", "-c", line] });
    own.as_object_mut().unwrap().extend(settings.as_object().cloned().unwrap_or_default());
    let phase: u64 = id[..1].parse().unwrap();
    json!({ "id": id, "phase": phase, "description": format!("do {id}"), "x-switchboard": own })
}

fn phase(id: u64, tasks: &[Value]) -> Value {
    json!({ "id": id, "name": format!("P{id}"), "tasks": tasks })
}

#[test]
fn gates_that_do_not_exist_or_can_not_judge_refuse_the_run_before_a_worker_starts() {
    let sandbox = Sandbox::new();
    let tasks = [
        task("1.1", "touch started", &json!({ "gates": ["secretscam"] })),
        task("1.2", "touch started", &json!({ "gates": ["test_runner", "sast_scan"] })),
    ];
    let plan = sandbox.trusted_phases(&Value::Null, &json!([phase(1, &tasks)]));

    let refused = sandbox.switchboard(&["run", &plan, "--yes", "--json"]).ends_with(3).failure();

    assert_eq!(refused["code"], "gate.not-configured");
    let causes: Vec<_> = refused["cause"].as_array().unwrap().iter().map(|cause| cause.as_str().unwrap()).collect();
    assert_eq!(causes.len(), 3, "{causes:#?}");
    assert!(causes[0].contains("task 1.1, step secretscam") && causes[0].contains("did you mean secretscan?"));
    assert!(causes[1].contains("task 1.2, step test_runner") && causes[1].contains("no test command"));
    assert!(causes[2].contains("task 1.2, step sast_scan") && causes[2].contains("does not have it yet"));
    assert_eq!(sandbox.call(&["get_status"])["runs"], json!([]));
}

#[test]
fn an_unknown_gate_alone_is_a_wrong_plan() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_phases(
        &json!({ "gates": ["sintax_check"] }),
        &json!([phase(1, &[task("1.1", "touch a", &json!({}))])]),
    );

    sandbox
        .switchboard(&["run", &plan, "--dry-run"])
        .ends_with(2)
        .says("did you mean syntax_check?")
        .says("plan.unknown-gate");
}

#[test]
fn a_plan_adds_gates_and_leaving_a_default_out_is_said_and_shown() {
    let sandbox = Sandbox::new();
    let tasks =
        [task("1.1", "echo 'fn one() {}' > one.rs", &json!({ "gates": ["placeholder_scan", "-syntax_check"] }))];
    let plan = sandbox.trusted_phases(&Value::Null, &json!([phase(1, &tasks)]));
    let said = "gate syntax_check is left out: the plan says so (all tasks)";

    sandbox.switchboard(&["run", &plan, "--dry-run"]).ends_with(0).says(said);
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says(said).says("syntax_check skipped");

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let gates = run["list"][0]["gates"].as_array().unwrap();
    let verdicts: Vec<_> =
        gates.iter().map(|gate| (gate["gate"].as_str().unwrap(), gate["verdict"].as_str().unwrap())).collect();
    assert_eq!(
        verdicts,
        [
            ("syntax_check", "skipped"),
            ("secretscan", "pass"),
            ("test_integrity", "pass"),
            ("build_check", "not_configured"),
            ("test_runner", "not_configured"),
            ("placeholder_scan", "pass"),
        ]
    );
    let status = sandbox.call(&["check_gate_status", "task_id=1.1"]);
    assert_eq!((&status["status"], &status["skipped"]), (&json!("all_passed"), &json!(["syntax_check"])), "{status:#}");
    assert_eq!(status["passed_gates"], json!(["placeholder_scan", "secretscan", "test_integrity"]));
    assert_eq!(status["not_configured"], json!(["build_check", "test_runner"]));
}

#[test]
fn the_lint_of_a_plan_runs_as_a_gate_though_nobody_names_it() {
    let sandbox = Sandbox::new();
    let settings = json!({ "lint": ["sh", "-c", "grep -q tidy state.txt"], "attempts": 2 });
    let line = "if [ $SWITCHBOARD_ATTEMPT = 1 ]; then echo wild; else echo tidy; fi > state.txt";
    let plan = sandbox.trusted_phases(&settings, &json!([phase(1, &[task("1.1", line, &json!({}))])]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert!(run["list"][0]["refusals"][0].as_str().unwrap().contains("lint"), "{run:#}");
}

#[test]
fn what_a_linter_can_mend_becomes_part_of_the_change_before_its_gates_and_other_files_stay() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.root().join("other.txt"), "wild\n").unwrap();
    sandbox.commit("other");
    let fix = "sed -i s/wild/tidy/ state.txt other.txt; touch new.txt; echo 2 left >&2; exit 1";
    let settings =
        json!({ "lint": ["sh", "-c", "grep -q tidy state.txt"], "lint_fix": ["sh", "-c", fix], "attempts": 1 });
    let plan =
        sandbox.trusted_phases(&settings, &json!([phase(1, &[task("1.1", "echo wild > state.txt", &json!({}))])]));

    let run = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);

    let run = run.says("1 of 1 tasks merged").says("lint_fix mended 1 file: state.txt, lint_fix: exit 1: 2 left");
    run.says("left as they were: new.txt, other.txt");
    sandbox.switchboard(&["merge"]).ends_with(0);
    let text = |file: &str| std::fs::read_to_string(sandbox.root().join(file)).unwrap_or_default();
    assert_eq!(
        (text("state.txt").as_str(), text("other.txt").as_str(), text("new.txt").as_str()),
        ("tidy\n", "wild\n", "")
    );
    sandbox.switchboard(&["timeline"]).ends_with(0).says("1.1 lint_fix: 1 mended: state.txt");
    sandbox.switchboard(&["log", "1.1"]).ends_with(0).says("lint_fix mended 1 file");
}

#[test]
fn the_second_phase_waits_for_all_of_the_first() {
    let sandbox = Sandbox::new();
    let first = [task("1.1", "echo 1 > a.txt", &json!({})), task("1.2", "sleep 1; echo 2 > b.txt", &json!({}))];
    let second = [task("2.1", "test -f a.txt && test -f b.txt && echo 3 > c.txt", &json!({}))];
    let plan = sandbox.trusted_phases(&json!({ "max_workers": 3 }), &json!([phase(1, &first), phase(2, &second)]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("3 of 3 tasks merged");

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!(run["list"][2]["attempts"], 1);
}

#[test]
fn a_change_is_judged_again_on_the_tree_that_the_branch_will_have() {
    let sandbox = Sandbox::new();
    // Each change passes alone; together they don't.
    let settings = json!({ "max_workers": 2, "attempts": 2, "test": ["sh", "-c", "! { test -f a.txt && test -f b.txt && ! test -f both.txt; }"] });
    let tasks = [
        task("1.1", "echo 1 > a.txt", &json!({})),
        task(
            "1.2",
            "if [ $SWITCHBOARD_ATTEMPT = 1 ]; then sleep 2; echo 2 > b.txt; else echo 3 > both.txt; fi",
            &json!({}),
        ),
    ];
    let plan = sandbox.trusted_phases(&settings, &json!([phase(1, &tasks)]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("rebased, its gates judge it again");

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let second = &run["list"][1];
    assert_eq!((&second["state"], &second["attempts"]), (&json!("merged"), &json!(2)), "{run:#}");
    assert!(second["refusals"][0].as_str().unwrap().contains("test_runner"), "{run:#}");
}

#[test]
fn tasks_that_are_completed_need_no_agent() {
    let sandbox = Sandbox::new();
    let mut done = json!({ "id": "1.1", "phase": 1, "description": "done", "status": "completed" });
    done["x-switchboard"] = json!({ "agent": "somebody-who-is-not-there" });
    let tasks = [done, task("1.2", "echo 2 > b.txt", &json!({}))];
    let plan = sandbox.trusted_phases(&Value::Null, &json!([phase(1, &tasks)]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");
    let branch = sandbox.git(&["branch", "--list", "--format=%(refname:short)", "switchboard/*"]);
    let unit = format!("{}/1.1", branch.trim().trim_start_matches("switchboard/"));
    for (verb, key) in [("show_task", "task"), ("check_gate_status", "task_id")] {
        let refused = sandbox.switchboard(&["call", verb, &format!("{key}={unit}"), "--json"]).ends_with(2).failure();
        assert_eq!(refused["code"], "dispatch.unknown-task", "{refused}");
        assert!(refused["what"].as_str().unwrap().contains("leaves out task 1.1: "), "{refused}");
    }
}

#[test]
fn a_task_that_leaves_its_scope_is_refused_with_the_paths_and_does_not_merge() {
    let sandbox = Sandbox::new();
    let line = "mkdir -p .github/workflows && echo 'on: push' > .github/workflows/ci.yml && echo a > a.txt";
    let mut touched = task("1.2", "echo b > b.txt && echo c > c.txt", &json!({}));
    touched["files_touched"] = json!(["b.txt"]);
    let tasks = [task("1.1", line, &json!({ "scope": ["a.txt"] })), touched];
    let plan = sandbox.trusted_phases(&Value::Null, &json!([phase(1, &tasks)]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(3);

    let branch = sandbox.git(&["branch", "--list", "--format=%(refname:short)", "switchboard/*"]);
    let run = branch.trim().trim_start_matches("switchboard/").to_owned();
    let refused = sandbox.switchboard(&["show", &format!("{run}/1.1")]).ends_with(0);
    assert!(
        refused.out.contains(".github/workflows/ci.yml is not in the task's x-switchboard.scope"),
        "{}",
        refused.out
    );
    let refused = sandbox.switchboard(&["show", &format!("{run}/1.2")]).ends_with(0);
    assert!(refused.out.contains("c.txt is not in the task's files_touched"), "{}", refused.out);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", &format!("switchboard/{run}")]);
    assert!(!files.contains("ci.yml") && !files.contains("c.txt"), "{files}");
}

#[test]
fn what_a_change_touches_outside_of_its_files_is_warned_of_or_stops_the_run_as_the_plan_says() {
    let sandbox = Sandbox::new();
    let more = |id: &str, on: &str, extra: &Value| {
        let mut settings = json!({ "scope": [format!("{id}.txt")], "on_violation": on, "attempts": 1 });
        settings.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        task(id, &format!("echo {id} > {id}.txt; echo more > more-{id}.txt"), &settings)
    };
    let settings = json!({ "exclude": ["more-1.3.txt"] });
    let tasks = [more("1.1", "warn", &json!({})), more("1.3", "warn", &json!({}))];
    let warned = sandbox.trusted_phases(&settings, &json!([phase(1, &tasks)]));

    sandbox.switchboard(&["run", &warned, "--yes"]).ends_with(3);
    let shown = sandbox.switchboard(&["show", "1.1"]).ends_with(0);
    shown
        .says("scope passed with a warning")
        .says("more-1.1.txt is not in the task's x-switchboard.scope")
        .says("merged");
    sandbox.switchboard(&["show", "1.3"]).ends_with(0).says("blocked").says("without `exclude`");

    let tasks = [more("1.1", "halt", &json!({})), task("1.2", "echo 2 > 2.txt", &json!({}))];
    let halted = sandbox.trusted_phases(&json!({ "max_workers": 1 }), &json!([phase(1, &tasks)]));
    sandbox.switchboard(&["run", &halted, "--yes"]).ends_with(3);
    sandbox.switchboard(&["show", "1.1"]).ends_with(0).says("the run stops, as its plan says");
    sandbox.switchboard(&["show", "1.2"]).ends_with(0).says("stopped");
}

#[test]
fn a_misspelt_field_refuses_the_plan_and_one_of_another_tool_is_named() {
    let sandbox = Sandbox::new();
    let bad = plan_with(&sandbox, &json!({ "comand": ["true"] }));
    sandbox
        .switchboard(&["run", &bad, "--dry-run"])
        .ends_with(2)
        .says("plan.unknown-field")
        .says("did you mean \"command\"?");

    let mut other = task("1.1", "touch a", &json!({}));
    other["dependz"] = json!([]);
    let good = sandbox.trusted_phases(&Value::Null, &json!([phase(1, &[other])]));
    sandbox.switchboard(&["run", &good, "--dry-run"]).ends_with(0).says("dependz").says("did you mean \"depends\"?");
}

fn plan_with(sandbox: &Sandbox, settings: &Value) -> String {
    let task = json!({ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": settings });
    let plan = json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story",
        "phases": [phase(1, &[task])] });
    sandbox.plan_text(&plan.to_string())
}

#[test]
fn a_run_with_missing_tasks_is_merged_only_when_told_so_and_once() {
    let sandbox = Sandbox::new();
    let tasks = [task("1.1", "echo a > a.txt", &json!({})), task("1.2", "exit 3", &json!({}))];
    let plan = sandbox.trusted_phases(&Value::Null, &json!([phase(1, &tasks)]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);
    let before = sandbox.git(&["rev-parse", "HEAD"]);

    let refused = sandbox.switchboard(&["merge"]).ends_with(4).says("1 of 2 tasks").says("task 1.2 is missing");

    assert!(refused.err.contains("--partial"), "{}", refused.err);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
    sandbox.git(&["config", "commit.gpgSign", "true"]);
    sandbox.write(".git/hooks/post-merge", "#!/bin/sh\ntouch hook-ran\n");
    let hook = sandbox.root().join(".git/hooks/post-merge");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    sandbox
        .switchboard(&["merge", "--partial"])
        .ends_with(0)
        .says("a.txt")
        .says("the hook was not run: post-merge")
        .says("the commits are not signed");
    assert!(!sandbox.root().join("hook-ran").exists());
    sandbox.switchboard(&["merge", "--partial"]).ends_with(0).says("nothing to do");
    let again = sandbox.switchboard(&["merge"]).ends_with(0).says("nothing to do");
    assert!(again.out.contains("1 of 2 tasks"), "what is missing is still said: {}", again.out);
}

#[test]
fn a_run_that_has_gone_on_since_it_was_merged_in_part_is_merged_or_says_what_is_missing() {
    let sandbox = Sandbox::new();
    let until = |name: &str| format!("test -e {0} && echo {name} > {name}", sandbox.folder().join(name).display());
    let tasks = [
        task("1.1", "echo a > a", &json!({})),
        task("1.2", &until("b"), &json!({})),
        task("1.3", &until("c"), &json!({})),
    ];
    let plan = sandbox.trusted_phases(&Value::Null, &json!([phase(1, &tasks)]));
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);
    sandbox.switchboard(&["merge", "--partial"]).ends_with(0);
    sandbox.switchboard(&["merge"]).ends_with(0).says("nothing to do");
    let retry = |name: &str, code| {
        std::fs::write(sandbox.folder().join(name), "").unwrap();
        let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
        sandbox.switchboard(&["retry", &run]).ends_with(0);
        sandbox.switchboard(&["run", "--resume", "--yes"]).ends_with(code);
    };

    retry("b", 1);
    sandbox.switchboard(&["merge"]).ends_with(4).says("2 of 3 tasks").says("task 1.3 is missing");
    retry("c", 0);
    sandbox.switchboard(&["merge"]).ends_with(0).says("2 files changed");

    sandbox.switchboard(&["merge"]).ends_with(0).says("nothing to do");
    sandbox.switchboard(&["merge", "--undo"]).ends_with(0);
    sandbox.switchboard(&["merge"]).ends_with(0).says("2 files changed");
}
