//! Records what runs of a few plans start, check and commit, as snapshots.
//! `INSTA_UPDATE=always cargo test -p switchboard-dispatch traces` accepts the new ones.

use switchboard_protocol::id::AgentName;
use switchboard_protocol::modes::OptionalSteps;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::verb::run::RoleChoice;

use super::super::{modes, trace};
use super::recorded::Names;
use super::seat::led;
use super::*;

/// Fields of a worker that differ between the roles of a run that a team leads.
const OF_ROLES: [&str; 4] = ["agent", "attempt", "model", "prompt"];

/// Returns the trace of a plan with one task for the agents `ann` and `ben`.
#[track_caller]
fn traced(plan: &Value, task: &Value) -> String {
    let mut whole = json!({ "id": "1.1", "phase": 1, "description": "do it", "acceptance": "it is done" });
    whole.as_object_mut().unwrap().extend(task.as_object().unwrap().clone());
    let plan = json!({
        "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": plan,
        "phases": [{ "id": 1, "name": "one", "tasks": [whole] }],
    });
    let lines = trace::trace(&plan.to_string(), &["ann", "ben"].map(trace::agent)).unwrap();
    Names::default().shorten(&lines.join("\n"))
}

#[test]
fn a_task_with_every_command_and_limit_is_carried_out_as_recorded() {
    let plan = json!({
        "build": ["make"], "test": ["make", "test"], "lint": ["make", "lint"], "lint_fix": ["make", "tidy"],
        "setup": ["make", "deps"], "setup_minutes": 3, "ports": 2, "budget": 2.5,
    });
    let task = json!({ "files_touched": ["t/1.1", "old/1.1"], "x-switchboard": {
        "isolation": "constrained", "hosts": ["api.example.com:443"], "model": "m", "permissions": "ask",
        "author": "Ada <ada@example.org>", "timeout_minutes": 7, "wrap_up_minutes": 2, "gates": ["lint", "pre_check_batch"],
        "outputs": ["t/1.1"] } });

    insta::assert_snapshot!(traced(&plan, &task));
}

#[test]
fn a_task_of_a_team_with_commands_is_carried_out_as_recorded() {
    let plan = json!({ "team": true, "always_security_review": true, "test": ["make", "test"], "ports": 0 });
    let task = json!({ "files_touched": ["t/1.1", "old/1.1"] });

    insta::assert_snapshot!(traced(&plan, &task));
}

#[test]
fn a_change_outside_of_what_its_task_may_write_is_judged_as_recorded() {
    let task = json!({ "files_touched": ["t/1.1"], "x-switchboard": { "attempts": 1, "on_violation": "halt" } });

    insta::assert_snapshot!(traced(&json!({ "ports": 0 }), &task));
}

/// Returns a worker of a trace with those of its fields that differ between roles.
fn shortened(worker: &str) -> String {
    let mut is_kept = true;
    let is_field = |line: &str| line.starts_with("    ") && !line[4..].starts_with([' ', ')', ']', '}']);
    let kept = worker.lines().filter(|line| {
        if is_field(line) {
            is_kept = OF_ROLES.iter().any(|field| line[4..].starts_with(&format!("{field}:")));
        }
        is_kept || !line.starts_with(' ')
    });
    // The lines of a prompt, so that a change of one shows.
    kept.collect::<Vec<_>>().join("\n").replace("\\n", "\n      ")
}

#[test]
fn each_role_of_a_run_that_a_team_leads_is_asked_as_recorded() {
    let role = |role: RoleName, agent: Option<&str>, model: Option<&str>| {
        let agent = agent.map(|agent| AgentName::new(agent).unwrap());
        let instructions = format!("Text of the user for the {}.", role.as_str());
        RoleChoice { agent, model: model.map(str::to_owned), instructions, ..RoleChoice::new(role.id()) }
    };
    let roles = vec![
        role(RoleName::Explorer, Some("ben"), Some("small")),
        role(RoleName::Reviewer, Some("ben"), None),
        role(RoleName::Docs, Some("ben"), Some("large")),
    ];
    with_stage(SimSpec { people: 1000, phases: 1, ..SimSpec::kind() }, async |stage, daemon, request| {
        let steps = OptionalSteps { specify: true, hallucination: true, ..OptionalSteps::default() };
        let request = StartRunRequest { roles: roles.clone(), merge: false, ..led(request, steps) };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        let mut live = daemon.live_runs();
        while !people::look_away(stage, &mut live).await {
            modes::answer(stage, daemon).await.unwrap();
        }

        assert_eq!(daemon.state_of(&run).unwrap(), "succeeded");
        let trace = lock(&stage.trace);
        let workers = trace.iter().filter(|line| line.starts_with("worker ")).map(|worker| shortened(worker));
        insta::assert_snapshot!(Names::default().shorten(&workers.collect::<Vec<_>>().join("\n")));
    });
}
