//! Tests the choice of a task's agent and how it is started, and the notes about a plan.

use serde_json::{Value, json};
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::run::{MAX_ATTEMPTS, MAX_COMMAND_ATTEMPTS, SetupCommand, StepWork};
use switchboard_protocol::verb::run::{AgentChoice, InheritedEnv, RoleChoice};

use super::run_plan;
use crate::plan::{self, RunPlan};
use switchboard_protocol::plan::TaskId;

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

fn acp(agent: &str) -> AgentChoice {
    AgentChoice::new(name(agent), DriverSpec::Acp { argv: vec![agent.to_owned()] })
}

/// Returns a run of one task with these settings, whose user has an agent `ann`, and one `run` that is a command.
fn plan(settings: &Value) -> RunPlan {
    let mut plan = run_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": settings }]));
    let command = AgentChoice::new(name("run"), DriverSpec::Exec { argv: vec!["run".to_owned()] });
    plan.agents = [acp("ann"), command].map(|choice| (choice.name.folded(), choice)).into();
    plan
}

fn choice(plan: &RunPlan) -> Result<AgentChoice, String> {
    let (_, settings) = plan.settings(&id("1.1")).unwrap();
    plan.choice(&id("1.1"), &settings).map_err(|failure| failure.code.to_string())
}

#[test]
fn a_task_is_done_by_its_own_agent_else_by_the_runs_else_by_nobody() {
    let own = plan(&json!({ "agent": "Ann" }));
    let mut of_run = plan(&json!({}));
    let nobody = choice(&of_run);
    of_run.default_agent = Some(name("run"));

    assert_eq!(choice(&own).unwrap().name, name("ann"));
    assert_eq!(choice(&of_run).unwrap().name, name("run"));
    assert_eq!(nobody.unwrap_err(), "plan.no-agent");
    assert_eq!(choice(&plan(&json!({ "agent": "bob" }))).unwrap_err(), "agent.unknown");
}

#[test]
fn variables_of_a_persons_command_go_to_their_own_agent_also_under_the_name_of_a_definition() {
    let own = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    let given = |agent: &AgentChoice, pairs| InheritedEnv {
        agent: agent.name.clone(),
        driver: agent.driver.clone(),
        env: own(pairs),
    };
    let mut plan = plan(&json!({ "agent": "ann" }));
    let scout = AgentChoice { name: name("scout"), ..acp("ann") };
    plan.agents.insert("scout".to_owned(), scout);
    plan.agents.insert("ann".to_owned(), AgentChoice { env: own(&[("KEY", "old"), ("KEPT", "k")]), ..acp("ann") });
    let env_of = |plan: &RunPlan, agent: &str| {
        plan.all_agents().into_iter().find(|choice| choice.name == name(agent)).unwrap().env
    };

    assert!(plan.renew_env(&[given(&acp("ann"), &[("KEY", "new")]), given(&acp("bob"), &[("OTHER", "o")])]));

    assert_eq!(choice(&plan).unwrap().env, own(&[("KEPT", "k"), ("KEY", "new")]));
    assert_eq!(env_of(&plan, "scout"), own(&[("KEY", "new")]));
    assert_eq!(env_of(&plan, "run"), own(&[]));
    assert!(!plan.renew_env(&[given(&acp("ann"), &[("KEY", "new")])]), "nothing has changed");
}

#[test]
fn a_command_works_by_itself_or_under_the_agent_that_its_task_names() {
    let mut alone = plan(&json!({ "command": ["make", "it"] }));
    // The default agent is for tasks without a command.
    alone.default_agent = Some(name("ann"));
    let named = choice(&plan(&json!({ "command": ["make", "it"], "agent": "ann" }))).unwrap();
    let alone = choice(&alone).unwrap();

    let argv = DriverSpec::Exec { argv: vec!["make".to_owned(), "it".to_owned()] };
    assert_eq!((alone.name, alone.driver), (name("exec"), argv.clone()));
    assert_eq!((named.name, named.driver), (name("ann"), argv));
}

#[test]
fn a_command_is_tried_once_and_an_agent_as_often_as_its_settings_say() {
    let attempts = |settings: Value| {
        let plan = plan(&settings);
        let (_, settings) = plan.settings(&id("1.1")).unwrap();
        plan.attempts(&settings)
    };
    let mut patient = plan(&json!({ "agent": "ann" }));
    patient.agents.insert("ann".to_owned(), AgentChoice { attempts: Some(9), ..acp("ann") });
    let (_, settings) = patient.settings(&id("1.1")).unwrap();

    assert_eq!(attempts(json!({ "agent": "ann" })), MAX_ATTEMPTS);
    assert_eq!(attempts(json!({ "agent": "run" })), MAX_COMMAND_ATTEMPTS);
    assert_eq!(attempts(json!({ "command": ["x"] })), MAX_COMMAND_ATTEMPTS);
    assert_eq!(patient.attempts(&settings), 9);
}

#[test]
fn who_judges_is_named_by_the_role_else_by_the_run_else_by_the_task() {
    let role: RoleId = RoleId::new("reviewer").unwrap();
    let mut run = plan(&json!({ "agent": "ann" }));
    let (_, settings) = run.settings(&id("1.1")).unwrap();
    let chosen = |run: &RunPlan| run.choice_in_role(&settings, &role);

    let of_task = chosen(&run).unwrap();
    run.default_agent = Some(name("run"));
    let of_run = chosen(&run).unwrap();
    let named = RoleChoice { agent: Some(name("ann")), model: Some("m".to_owned()), ..RoleChoice::new(role.clone()) };
    run.roles.insert(role.clone(), named);
    let of_role = chosen(&run).unwrap();

    assert_eq!((of_task.name, of_task.model, of_task.model_first), (name("ann"), None, false));
    assert_eq!(of_run.name, name("run"));
    assert_eq!((of_role.name, of_role.model.as_deref(), of_role.model_first), (name("ann"), Some("m"), true));
}

#[test]
fn a_command_does_not_judge_and_a_judge_that_is_not_configured_is_refused() {
    let role: RoleId = RoleId::new("reviewer").unwrap();
    let refused = |settings: Value| {
        let run = plan(&settings);
        let (_, settings) = run.settings(&id("1.1")).unwrap();
        run.choice_in_role(&settings, &role).unwrap_err()
    };

    let of_command = refused(json!({ "agent": "ann", "command": ["make"] }));
    let unknown = refused(json!({ "agent": "bob" }));

    assert_eq!(of_command.code, "plan.no-agent");
    assert!(of_command.hint.contains("--role reviewer=AGENT"), "{}", of_command.hint);
    assert_eq!(unknown.code, "agent.unknown");
}

#[test]
fn a_step_that_judges_is_the_roles_and_the_makers_is_the_tasks() {
    let mut run = plan(&json!({ "agent": "ann" }));
    run.default_agent = Some(name("run"));
    let (_, settings) = run.settings(&id("1.1")).unwrap();
    let work =
        |answer| StepWork { role: RoleId::new("reviewer").unwrap(), writes: Vec::new(), answer, input: Digest::ZERO };
    let judges = work(Some(switchboard_protocol::answer::AnswerKind::Review));

    let of = |work: &StepWork| run.choice_of(&id("1.1"), &settings, work).unwrap().name;
    let (tasks, steps) = ([id("1.1")], [(id("1.1"), judges.clone())]);
    let parts = run.parts(&tasks, &steps).unwrap();

    assert_eq!((of(&work(None)), of(&judges)), (name("ann"), name("run")));
    let names: Vec<_> = parts.iter().map(|part| (part.work.is_some(), part.choice.name.clone())).collect();
    assert_eq!(names, [(false, name("ann")), (true, name("run"))]);
}

#[test]
fn a_worker_is_held_as_the_request_says_else_as_tightly_as_plan_or_agent_say() {
    let constrained = AgentChoice { isolation: Isolation::Constrained, ..acp("ann") };
    let held = |run: &RunPlan, choice: &AgentChoice| {
        let (_, settings) = run.settings(&id("1.1")).unwrap();
        run.isolation(&settings, choice)
    };
    let free = plan(&json!({}));
    let planned = plan(&json!({ "isolation": "constrained" }));
    let requested = RunPlan { isolation: Some(Isolation::Full), ..plan(&json!({ "isolation": "constrained" })) };

    assert_eq!(held(&free, &acp("ann")), Isolation::Full);
    assert_eq!(held(&free, &constrained), Isolation::Constrained);
    assert_eq!(held(&planned, &acp("ann")), Isolation::Constrained);
    assert_eq!(held(&requested, &constrained), Isolation::Full);
}

#[test]
fn agents_without_a_task_and_a_limit_for_nothing_are_named_at_the_start() {
    let tasks = json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "ann" } }]);
    let of_plan = read(&json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
        "x-switchboard": { "agent": "bea", "setup_minutes": 5 }, "phases": [{ "id": 1, "name": "one", "tasks": tasks }] }));
    let mut run = plan(&json!({ "agent": "ann" }));
    run.default_agent = Some(name("run"));
    let ids = [id("1.1")];
    let notes = |run: &RunPlan| {
        let parts = run.parts(&ids, &[]).unwrap();
        crate::ineffective_settings::judge(&of_plan, run, &parts, false).unwrap()
    };
    let idle = [
        "the agent bea of the plan does no task of the run: each names another one, or has a command",
        "the agent run does no task of the run: each names another one, or has a command",
    ];

    let limit = "setup_minutes has no effect: nothing is set up in new work trees";
    assert_eq!(notes(&run), [idle[0], idle[1], limit]);
    run.setup = vec![SetupCommand { argv: vec!["make".to_owned()], lock: None }];
    assert_eq!(notes(&run), idle);
}

/// Returns a plan of one task without settings.
fn plain() -> Value {
    json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [
        { "id": 1, "name": "one", "tasks": [{ "id": "1.1", "phase": 1, "description": "d" }] }] })
}

fn read(plan: &Value) -> switchboard_protocol::plan::Plan {
    plan::read(&plan.to_string(), "plan.json").unwrap()
}

#[test]
fn a_plan_is_read_by_its_name_or_by_what_it_begins_with() {
    assert!(plan::read(&format!(" {}", plain()), "notes").is_ok(), "it begins like JSON");
    assert_eq!(plan::read("# Plan", "plan.JSON").unwrap_err().code, "plan.syntax");
    assert_eq!(plan::read("no phase here", "plan.md").unwrap_err().code, "plan.syntax");
    let written = plan::read("## Phase 1: One\n- [ ] 1.1: do it\n", "plan.md").unwrap();
    assert_eq!(written.tasks().count(), 1);
}

#[test]
fn lines_of_a_plan_md_that_nothing_reads_are_named_up_to_a_limit() {
    let notes = |lines: usize, source: &str| {
        let text = format!("## Phase 1: One\n- [ ] 1.1: do it\n{}", "Well.\n".repeat(lines));
        plan::read_with_notes(&text, source).unwrap().1
    };

    assert_eq!(notes(0, "plan.md").len(), 0);
    assert_eq!(notes(1, "a.md"), ["a.md:3: \"Well.\": it stands outside of any task, and no agent reads it"]);
    assert_eq!((notes(20, "").len(), notes(20, "")[0].starts_with("plan.md:3: ")), (20, true));
    assert_eq!(notes(23, "a.md")[20], "3 more such lines of a.md");
}

#[test]
fn unknown_fields_of_a_plan_are_named_up_to_a_limit() {
    let with = |unknown: usize| {
        let mut plan = plain();
        (0..unknown).for_each(|n| plan[format!("zz{n}")] = json!(1));
        plan::ignored(&read(&plan))
    };

    assert_eq!(with(0).len(), 0);
    assert_eq!(with(20).len(), 20);
    let many = with(23);
    assert_eq!(many.len(), 21);
    assert!(many[0].contains("zz") && many[20].starts_with("3 more fields"), "{many:?}");
}

#[test]
fn every_command_and_widening_of_a_plan_is_shown_and_changes_its_pin() {
    let shown = |at: &str, value: Value| {
        let mut plan = plain();
        plan.pointer_mut(at).unwrap()["x-switchboard"] = value;
        plan::commands(&read(&plan))
    };
    let (whole, phase, task) = ("", "/phases/0", "/phases/0/tasks/0");
    let worker = json!({ "prompt": "go on", "command": ["play"] });
    let debate = json!({ "participants": [worker, { "agent": "a" }] });
    let cases = [
        (shown(whole, json!({ "setup": ["make"] })), 1),
        (shown(whole, json!({ "setup": [] })), 0),
        (shown(whole, json!({ "build": ["b"], "lint": ["l"], "test": ["t"] })), 3),
        (shown(whole, json!({ "permissions": "all" })), 1),
        (shown(whole, json!({ "auto_merge": "auto" })), 1),
        (shown(whole, json!({ "auto_merge": "confirm" })), 0),
        (shown(phase, json!({ "test": ["t"], "permissions": "all" })), 2),
        (shown(task, json!({ "command": ["c"], "test": ["t"], "permissions": "all" })), 3),
        (shown(task, json!({ "chain": [worker, worker] })), 2),
        (shown(task, json!({ "debate": debate })), 1),
    ];

    let none = plan::commands_digest(&plan::commands(&read(&plain())));
    for (found, count) in cases {
        assert_eq!(found.len(), count, "{found:?}");
        assert_eq!(plan::commands_digest(&found) == none, count == 0, "{found:?}");
    }
}

#[test]
fn a_role_sets_the_model_and_the_temperature_of_a_teams_agents_and_of_judges() {
    let coder = RoleId::new("coder").unwrap();
    let set = RoleChoice {
        model: Some("m".to_owned()),
        temperature: Some("0.2".to_owned()),
        ..RoleChoice::new(coder.clone())
    };
    let of = |settings: Value, team: bool, answer| {
        let mut run = plan(&settings);
        run.roles.insert(coder.clone(), set.clone());
        let (_, mut settings) = run.settings(&id("1.1")).unwrap();
        settings.team = team;
        let work = StepWork { role: coder.clone(), writes: Vec::new(), answer, input: Digest::ZERO };
        let model = run.models(&acp("ann"), &settings, &work).after(0).map(str::to_owned);
        (model, run.temperature(&settings, &work).map(str::to_owned))
    };
    let (both, neither) = ((Some("m".to_owned()), Some("0.2".to_owned())), (None, None));
    let judges = Some(switchboard_protocol::answer::AnswerKind::Review);

    assert_eq!(of(json!({}), true, None), both);
    assert_eq!(of(json!({}), false, judges), both);
    assert_eq!(of(json!({}), false, None), neither, "without a team");
    assert_eq!(of(json!({ "command": ["make"] }), true, None), neither, "a command has no model");
}

#[test]
fn the_instructions_of_a_role_replace_the_shipped_ones_unless_they_are_empty() {
    let coder = RoleId::new("coder").unwrap();
    let mut run = plan(&json!({}));
    let shipped = run.role_text(&coder).to_owned();
    let mut with = |instructions: &str| {
        let choice = RoleChoice { instructions: instructions.to_owned(), ..RoleChoice::new(coder.clone()) };
        run.roles.insert(coder.clone(), choice);
        run.role_text(&coder).to_owned()
    };

    assert!(!shipped.is_empty());
    assert_eq!((with("be brief"), with("")), ("be brief".to_owned(), shipped));
}

#[test]
fn agents_with_the_same_program_and_different_variables_are_not_taken_for_one() {
    let given = |agent: &str, key: &str| InheritedEnv {
        agent: name(agent),
        driver: acp("ann").driver,
        env: vec![("KEY".to_owned(), key.to_owned())],
    };
    let scout = AgentChoice { name: name("scout"), ..acp("ann") };
    let renewed = |given: &[InheritedEnv]| plan::renewed_env(&scout, given);

    assert_eq!(renewed(&[given("ann", "a"), given("bob", "a")]), Some(given("ann", "a").env));
    assert_eq!(renewed(&[given("ann", "a"), given("bob", "b")]), None);
    assert_eq!(renewed(&[given("ann", "a"), given("scout", "b")]), Some(given("scout", "b").env));
}
