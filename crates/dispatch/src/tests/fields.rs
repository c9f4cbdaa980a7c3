//! Tests every field of a plan, as its JSON Schema lists them. A key that does not exist and a value of a wrong type
//! are refused. Two plans that differ in one field alone have another forecast, way, prompt or refusal, or start
//! another worker. A new field has to be added here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use switchboard_pipeline::mode::{ModeRequest, in_mode};
use switchboard_pipeline::{plan_json, prepare::prepare, subtasks, way};
use switchboard_protocol::id::RunId;
use switchboard_protocol::job::Mode;
use switchboard_protocol::plan::{SCHEMA, Task};
use switchboard_protocol::run::{TeamLimits, WorkerTimeout};

use crate::plan::{RunPlan, TaskPositions};
use crate::prompt::{self, Previous};
use crate::simulate::trace;

/// Fields that other tools read and write, and fields that only apply to a team: they are kept unchanged, and nothing
/// here depends on them. `auto_proceed` and `required_agents` apply to runs led by a team, which the stories test.
const OF_OTHERS: [&str; 14] = [
    "Plan.schema_version",
    "Plan.swarm",
    "Plan.current_phase",
    "Plan.migration_status",
    "Plan.specMtime",
    "Plan.specHash",
    "ExecutionProfile.council_parallel",
    "ExecutionProfile.locked",
    "ExecutionProfile.auto_proceed",
    "Phase.required_agents",
    "Phase.type",
    "Task.size",
    "Task.evidence_path",
    "Task.blocked_reason",
];

/// Fields that hold other objects of this list, or that only repeat a position.
const STRUCTURE: [&str; 8] = [
    "Plan.phases",
    "Plan.execution_profile",
    "Plan.x-switchboard",
    "Phase.tasks",
    "Phase.x-switchboard",
    "Phase.id",
    "Task.x-switchboard",
    "Task.phase",
];

/// Fields that neither forecast, way nor prompt show: they determine how the worker of a task is started, its tree set
/// up, its change judged and committed, and what all runs may cost.
const OF_START: [&str; 16] = [
    "agent",
    "always_security_review",
    "author",
    "budget",
    "command",
    "hosts",
    "isolation",
    "model",
    "on_violation",
    "permissions",
    "ports",
    "setup",
    "setup_minutes",
    "timeout_minutes",
    "turbo",
    "wrap_up_minutes",
];

/// Position of each object in the plan of this test.
const PLACES: [(&str, &str); 10] = [
    ("Plan", ""),
    ("ExecutionProfile", "/execution_profile"),
    ("PlanSettings", "/x-switchboard"),
    ("Phase", "/phases/1"),
    ("PhaseSettings", "/phases/0/x-switchboard"),
    ("Task", "/phases/0/tasks/1"),
    ("TaskSettings", "/phases/0/tasks/1/x-switchboard"),
    ("AskSettings", "/phases/1/tasks/1/x-switchboard/asks"),
    ("DebateSettings", "/phases/1/tasks/0/x-switchboard/debate"),
    ("WorkerSettings", "/phases/1/tasks/0/x-switchboard/debate/participants/0"),
];

fn plan() -> Value {
    json!({
        "schema_version": "1.0.0", "title": "t", "swarm": "s",
        "execution_profile": { "parallelization_enabled": true, "max_concurrent_tasks": 8 },
        "x-switchboard": {},
        "phases": [
            { "id": 1, "name": "one", "x-switchboard": {}, "tasks": [
                { "id": "1.1", "phase": 1, "description": "first", "acceptance": "it is" },
                { "id": "1.2", "phase": 1, "description": "second", "acceptance": "it is", "x-switchboard": {} },
                { "id": "1.3", "phase": 1, "description": "third", "acceptance": "it is", "x-switchboard": { "slice": "later" } } ] },
            { "id": 2, "name": "two", "tasks": [{ "id": "2.1", "phase": 2, "description": "last", "acceptance": "it is", "x-switchboard": {
                "debate": { "participants": [{ "agent": "a" }, { "agent": "b" }] } } },
                { "id": "2.2", "phase": 2, "description": "asked", "x-switchboard": {
                    "result": "report", "asks": { "role": "explorer", "answer": "reality" } } }] }
        ]
    })
}

/// Returns a value for a field that differs from the one in the plan above.
fn another(field: &str) -> Option<Value> {
    let (_, name) = field.split_once('.')?;
    Some(match (field, name) {
        ("Task.id", _) => json!("1.9"),
        ("Task.status", _) => json!("completed"),
        ("Phase.status", _) => json!("closed"),
        ("Task.depends", _) => json!(["1.1"]),
        ("Task.files_touched", _) => json!(["src/a.rs"]),
        ("ExecutionProfile.parallelization_enabled", _) => json!(false),
        ("ExecutionProfile.max_concurrent_tasks", _) => json!(3),
        ("AskSettings.role", _) => json!("sme"),
        ("AskSettings.answer", _) => json!("guidance"),
        ("TaskSettings.asks", _) => json!({ "role": "explorer", "answer": "reality" }),
        ("DebateSettings.participants", _) => json!([{ "agent": "a" }, { "agent": "c" }]),
        ("DebateSettings.rounds", _) => json!(3),
        ("DebateSettings.quorum", _) => json!(2),
        (_, "title" | "name" | "description" | "acceptance" | "agent" | "slice" | "model" | "prompt") => json!("other"),
        (_, "gates") => json!(["-syntax_check"]),
        (_, "test" | "build" | "lint" | "lint_fix" | "setup" | "command") => json!(["make", "other"]),
        (_, "setup_minutes" | "round_minutes" | "timeout_minutes" | "wrap_up_minutes" | "ports" | "attempts") => {
            json!(7)
        }
        (_, "max_workers") => json!(2),
        (_, "budget") => json!(2.5),
        (_, "barrier") => json!(false),
        (_, "team" | "always_security_review" | "turbo") => json!(true),
        (_, "unknown_writes") => json!("judged"),
        (_, "merge") => json!("slice"),
        (_, "auto_merge") => json!("confirm"),
        (_, "scope" | "exclude" | "reads" | "inputs" | "outputs") => json!(["docs/**"]),
        (_, "on_violation") => json!("warn"),
        (_, "author") => json!("Ada <ada@example.org>"),
        (_, "permissions") => json!("ask"),
        (_, "retry_from") => json!("change"),
        (_, "confirm") => json!("does it read well?"),
        (_, "isolation") => json!("constrained"),
        (_, "hosts") => json!(["api.example.com:443"]),
        (_, "result") => json!("report"),
        (_, "chain") => json!([{ "prompt": "one" }, { "prompt": "two" }]),
        (_, "debate") => json!({ "participants": [{ "agent": "a" }, { "agent": "b" }] }),
        (_, "best_of") => json!(3),
        _ => return None,
    })
}

fn with(place: &str, name: &str, value: Value) -> Value {
    put(plan(), place, name, value)
}

fn put(mut plan: Value, place: &str, name: &str, value: Value) -> Value {
    let object =
        plan.pointer_mut(place).and_then(Value::as_object_mut).expect("the plan of this test has every object");
    object.insert(name.to_owned(), value);
    plan
}

fn object<'a>(schema: &'a Value, name: &str) -> &'a Value {
    if name == "Plan" { schema } else { &schema["$defs"][name] }
}

/// Returns every field as `Object.field`, with the position of its object.
fn fields() -> Vec<(String, &'static str)> {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let all = PLACES.iter().flat_map(|(object_name, place)| {
        let names = object(&schema, object_name)["properties"].as_object().expect("an object has fields").keys();
        names.map(|name| (format!("{object_name}.{name}"), *place)).collect::<Vec<_>>()
    });
    all.collect()
}

/// Returns the results of a plan before a worker starts: its forecast, its ways, and the prompts of its workers; or why
/// it is refused.
fn outcome(plan: &Value) -> String {
    let plan = match plan_json::parse(&plan.to_string()) {
        Ok(plan) => plan,
        Err(error) => return format!("refused: {error:?}"),
    };
    let debated = in_mode(plan.clone(), &ModeRequest { unit: None, mode: Some(Mode::Debate), is_job: false });
    let at_end = plan.switchboard.as_ref().and_then(|settings| settings.auto_merge);
    let expanded = match subtasks::expand(&plan) {
        Ok(expanded) => expanded,
        Err(failure) => return format!("refused: {failure:?}"),
    };
    let prepared = prepare(&expanded.plan, &BTreeSet::new(), None);
    let compiled =
        way::compile(&expanded, &prepared, &TeamLimits::default(), |settings| settings.attempts.unwrap_or(5));
    format!("{debated:?} {at_end:?} {:?} {prepared:?} {compiled:?}", prompts(expanded))
}

/// Returns the prompts of the first worker of each task.
fn prompts(expanded: subtasks::Expanded) -> Vec<String> {
    let plan = run_plan(expanded);
    let first = |task: &Task| {
        let shape = plan.shape(&task.id).cloned().unwrap_or_default();
        let none = Previous {
            role: String::new(),
            retry: None,
            work: subtasks::prompt(&shape, &task.description, |_| None),
            result: shape.result,
            is_proposal: shape.is_proposal,
            refusals: &[],
            has_change: false,
            denied: Vec::new(),
            allowed: Vec::new(),
            advice: String::new(),
            notes: Vec::new(),
            has_tools: true,
            may_ask: false,
            plan_state: String::new(),
        };
        prompt::first(&plan, task, 1, "", &none, &[])
    };
    plan.plan.tasks().map(first).collect()
}

pub(crate) fn run_plan(expanded: subtasks::Expanded) -> RunPlan {
    RunPlan {
        roles: std::collections::BTreeMap::new(),
        run: RunId::from_bits(1),
        positions: TaskPositions::of(&expanded.plan),
        plan: expanded.plan,
        shapes: expanded.shapes,
        base: String::new(),
        branch: String::new(),
        worktrees: "/trees".into(),
        default_agent: None,
        agents: BTreeMap::new(),
        renewed_env: std::sync::Mutex::default(),
        merge: false,
        confirms_merge: false,
        setup: Vec::new(),
        timeout: WorkerTimeout::default(),
        limits: TeamLimits::default(),
        isolation: None,
        unenforced: false,
        coordination: switchboard_protocol::job::Coordination::Managed,
        tree: String::new(),
        parent_trace: String::new(),
    }
}

/// Returns what a run of a plan does, according to its simulation: the specs of its workers, the set-ups of its trees,
/// the authors of its commits, the input and verdicts of its gates, and its budget; or why it is refused.
fn carried_out(plan: &Value) -> Vec<String> {
    let agents = ["ann", "a", "b", "c", "other"].map(trace::agent);
    trace::trace(&plan.to_string(), &agents).unwrap_or_else(|refused| vec![refused])
}

/// Returns further settings that a field needs to have an effect: hosts need constrained workers, a limit needs a
/// set-up, declared files need a change outside of them, a soft limit needs a hard one.
fn further_settings(name: &str) -> Value {
    match name {
        "hosts" => json!({ "isolation": "constrained" }),
        "setup_minutes" => json!({ "setup": ["make", "deps"] }),
        "on_violation" => json!({ "scope": ["docs"] }),
        "always_security_review" | "turbo" => json!({ "team": true }),
        _ => json!({}),
    }
}

/// Returns the object to which these settings are added.
fn beside_place(name: &str, place: &'static str) -> &'static str {
    if name == "on_violation" { "/phases/0/tasks/1/x-switchboard" } else { place }
}

#[test]
fn every_object_that_a_plan_may_hold_is_in_this_test() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let objects = schema["$defs"].as_object().unwrap().iter().filter(|(_, def)| def["properties"].is_object());
    let missing: Vec<_> =
        objects.map(|(name, _)| name.as_str()).filter(|name| !PLACES.iter().any(|(known, _)| known == name)).collect();

    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn a_key_that_does_not_exist_is_refused_in_x_switchboard_and_named_elsewhere() {
    for (object, place) in PLACES {
        let plan = with(place, "zz_unknown", json!(1));

        let parsed = plan_json::parse(&plan.to_string());

        if object.ends_with("Settings") {
            let error = format!("{:?}", parsed.unwrap_err());
            assert!(error.contains("zz_unknown"), "{object}: {error}");
        } else {
            let named = plan_json::unknown_fields(&parsed.unwrap());
            assert!(format!("{named:?}").contains("zz_unknown"), "{object}: {named:?}");
        }
    }
}

#[test]
fn a_value_of_a_wrong_type_is_refused_with_its_place() {
    for (field, place) in fields() {
        let (_, name) = field.split_once('.').unwrap();
        // Only object fields accept an object, and these accept no number.
        let wrong = if STRUCTURE.contains(&field.as_str()) { json!("no") } else { json!({ "no": 1 }) };
        let plan = with(place, name, wrong);

        let error = plan_json::parse(&plan.to_string()).err().map(|error| format!("{error:?}"));

        assert!(error.as_ref().is_some_and(|error| error.contains(name)), "{field}: {error:?}");
    }
}

#[test]
fn two_plans_that_differ_in_one_field_are_carried_out_differently() {
    let before = outcome(&plan());
    let mut failed = Vec::new();
    for (field, place) in fields() {
        let (_, name) = field.split_once('.').unwrap();
        if OF_OTHERS.contains(&field.as_str()) || STRUCTURE.contains(&field.as_str()) || OF_START.contains(&name) {
            continue;
        }
        let value = another(&field).unwrap_or_else(|| panic!("{field} is new: say here what it could be"));
        if outcome(&with(place, name, value)) == before {
            failed.push(field);
        }
    }
    assert_eq!(failed, Vec::<String>::new(), "they make no difference");
}

#[test]
fn a_field_that_says_how_work_is_started_shows_in_what_a_run_starts() {
    let mut failed = Vec::new();
    for (field, place) in fields() {
        let (_, name) = field.split_once('.').unwrap();
        if !OF_START.contains(&name) {
            continue;
        }
        let mut base = plan();
        for (name, value) in further_settings(name).as_object().unwrap() {
            base = put(base, beside_place(&field[field.find('.').unwrap() + 1..], place), name, value.clone());
        }
        let value = if name == "hosts" { json!([]) } else { another(&field).unwrap() };
        let before = carried_out(&base);
        let after = carried_out(&put(base, place, name, value));
        assert!(before.len() > 10, "{field}: the plan is not carried out: {before:?}");
        if before == after {
            failed.push(field);
        }
    }
    assert_eq!(failed, Vec::<String>::new(), "they make no difference");
}

#[test]
fn a_field_of_other_tools_changes_nothing_that_a_run_does() {
    let before = carried_out(&plan());

    for (name, value) in [("swarm", json!("another")), ("specHash", json!("ab")), ("current_phase", json!(2))] {
        assert_eq!(carried_out(&with("", name, value)), before, "{name}");
    }
    let profile = [("locked", json!(true)), ("council_parallel", json!(false))];
    for (name, value) in profile {
        assert_eq!(carried_out(&with("/execution_profile", name, value)), before, "{name}");
    }
}
