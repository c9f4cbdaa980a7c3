use serde_json::{Value, json};

use super::*;
use crate::plan_json;

fn plan(of_plan: &Value, of_task: &Value) -> Plan {
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": of_plan, "phases": [
        { "id": 1, "name": "n", "tasks": [{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": of_task }] }] });
    plan_json::parse(&plan.to_string()).unwrap()
}

fn acp() -> DriverSpec {
    DriverSpec::Acp { argv: vec!["agent".to_owned()] }
}

fn exec() -> DriverSpec {
    DriverSpec::Exec { argv: vec!["true".to_owned()] }
}

/// Returns the settings without effect of a plan's only task, each as `setting verdict`.
fn found(plan: &Plan, driver: &DriverSpec, is_unjudged: bool, timeout: WorkerTimeout) -> Vec<String> {
    let (phase, task) = (&plan.phases[0], &plan.phases[0].tasks[0]);
    let mut settings = crate::settings::of(plan, phase, task);
    settings.limit(timeout);
    let attempts = settings.attempts.unwrap_or(if matches!(driver, DriverSpec::Exec { .. }) { 1 } else { 5 });
    let permissions = Permissions::default();
    let work = Work { task, settings: &settings, driver, permissions, attempts, is_unjudged, timeout };
    effectless(&work).into_iter().map(|one| format!("{} {:?}", one.setting, one.is)).collect()
}

#[test]
fn every_setting_that_a_driver_can_not_heed_is_refused_or_named() {
    let none = json!({});
    let (ask, wrap, from) =
        (json!({ "permissions": "ask" }), json!({ "wrap_up_minutes": 3 }), json!({ "retry_from": "change" }));
    let on = json!({ "on_violation": "halt" });
    let once = json!({ "retry_from": "change", "attempts": 1 });
    let held = json!({ "on_violation": "halt", "scope": ["src"] });
    // Settings of the plan, settings of the task, findings with ACP, findings with a command.
    let cases: [(&Value, &Value, &[&str], &[&str]); 12] = [
        (&none, &none, &[], &[]),
        (&none, &ask, &[], &["permissions: ask Refused"]),
        (&ask, &none, &[], &["permissions: ask Noted"]),
        (&ask, &json!({ "permissions": "edits" }), &[], &[]),
        (&none, &wrap, &[], &["wrap_up_minutes Noted"]),
        (&wrap, &none, &[], &["wrap_up_minutes NotedWhereUnused"]),
        (&none, &from, &[], &["retry_from Noted"]),
        (&from, &none, &[], &["retry_from NotedWhereUnused"]),
        (&none, &once, &["retry_from Noted"], &["retry_from Noted"]),
        (&from, &json!({ "attempts": 1 }), &["retry_from NotedWhereUnused"], &["retry_from NotedWhereUnused"]),
        (&on, &none, &["on_violation NotedWhereUnused"], &["on_violation NotedWhereUnused"]),
        (&none, &held, &[], &[]),
    ];
    for (of_plan, of_task, with_acp, as_command) in cases {
        let plan = plan(of_plan, of_task);

        let of = |driver: DriverSpec| found(&plan, &driver, false, WorkerTimeout::default());

        assert_eq!(of(acp()), with_acp, "{of_plan} {of_task}");
        assert_eq!(of(exec()), as_command, "{of_plan} {of_task}");
    }
}

#[test]
fn a_soft_limit_of_the_run_and_settings_of_a_change_that_no_gate_judges_are_named() {
    let soft = WorkerTimeout { soft: Some(1000), hard: Some(2000) };
    let of_change = json!({ "author": "Ada <ada@example.org>", "scope": ["src"] });
    let (plain, of_change) = (plan(&json!({}), &json!({})), plan(&json!({ "on_violation": "warn" }), &of_change));

    assert_eq!(found(&plain, &exec(), false, soft), ["worker_timeout_ms.soft NotedWhereUnused"]);
    assert_eq!(found(&plain, &acp(), false, soft), Vec::<String>::new());
    assert_eq!(found(&of_change, &acp(), false, WorkerTimeout::default()), Vec::<String>::new());
    let unjudged = found(&of_change, &acp(), true, WorkerTimeout::default());
    assert_eq!(unjudged, ["on_violation NotedWhereUnused", "author Noted"]);
}

#[test]
fn what_a_plan_says_for_all_is_named_only_where_no_task_can_heed_it() {
    let plan = plan(&json!({ "wrap_up_minutes": 3 }), &json!({}));
    let (phase, task) = (&plan.phases[0], &plan.phases[0].tasks[0]);
    let settings = crate::settings::of(&plan, phase, task);
    let (command, agent) = (exec(), acp());
    let work = |driver| Work {
        task,
        settings: &settings,
        driver,
        permissions: Permissions::default(),
        attempts: 5,
        is_unjudged: false,
        timeout: WorkerTimeout::default(),
    };

    assert_eq!(judge(&[work(&agent), work(&command)]).unwrap(), Vec::<String>::new());
    let alone = judge(&[work(&command)]).unwrap();
    assert_eq!(alone, ["wrap_up_minutes has no effect on any task of the run: a command can't be told to finish"]);
}

#[test]
fn who_is_asked_nothing_although_a_task_says_so_is_a_refusal() {
    let plan = plan(&json!({}), &json!({ "permissions": "ask" }));
    let (phase, task) = (&plan.phases[0], &plan.phases[0].tasks[0]);
    let settings = crate::settings::of(&plan, phase, task);
    let driver = exec();
    let (permissions, timeout) = (Permissions::default(), WorkerTimeout::default());
    let work =
        Work { task, settings: &settings, driver: &driver, permissions, attempts: 1, is_unjudged: false, timeout };

    let failure = judge(&[work]).unwrap_err();

    assert_eq!(
        (failure.code.as_str(), failure.what.as_str()),
        ("plan.no-effect", "task 1.1 says permissions: ask: a command asks nobody")
    );
}

#[test]
fn fields_that_no_run_heeds_and_phases_that_are_said_to_be_done_are_named() {
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
        "execution_profile": { "parallelization_enabled": true, "max_concurrent_tasks": 2, "locked": true, "auto_proceed": true },
        "phases": [
            { "id": 1, "name": "n", "status": "completed", "type": "code", "required_agents": ["reviewer"], "tasks": [
                { "id": "1.1", "phase": 1, "description": "d", "status": "completed" }, { "id": "1.2", "phase": 1, "description": "d", "size": "large" }] }] });
    let plan = plan_json::parse(&plan.to_string()).unwrap();

    let said = of_plan(&plan, false);

    assert_eq!(
        said,
        [
            "execution_profile.locked, execution_profile.auto_proceed, type of a phase, required_agents of a phase, size of a task: \
             kept for other tools, no run heeds it",
            "phase 1 is marked as completed, and task 1.2 is not: it runs",
        ]
    );
}

#[test]
fn an_agent_of_the_plan_that_does_nothing_is_named() {
    let plan = plan(&json!({ "agent": "Ada" }), &json!({ "command": ["true"] }));

    assert_eq!(idle_agents(&plan, &["exec".to_owned()].into()).len(), 1);
    assert_eq!(idle_agents(&plan, &["ada".to_owned()].into()), Vec::<String>::new());
}

#[test]
fn a_security_review_without_a_team_is_refused() {
    let wanted = json!({ "always_security_review": true });
    let timeout = WorkerTimeout::default();
    let with_team = json!({ "always_security_review": true, "team": true });

    assert_eq!(found(&plan(&wanted, &json!({})), &acp(), false, timeout), ["always_security_review Refused"]);
    assert_eq!(found(&plan(&with_team, &json!({})), &acp(), false, timeout), Vec::<String>::new());
}
