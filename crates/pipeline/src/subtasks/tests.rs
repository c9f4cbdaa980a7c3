use serde_json::{Value, json};

use super::*;
use crate::plan_json;

fn plan(settings: &Value) -> Plan {
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [{ "id": 1, "name": "p", "tasks": [
        { "id": "1.0", "phase": 1, "description": "before" },
        { "id": "1.1", "phase": 1, "description": "do it", "depends": ["1.0"], "x-switchboard": settings },
        { "id": "1.2", "phase": 1, "description": "after", "depends": ["1.1"] },
    ] }] });
    plan_json::parse(&plan.to_string()).unwrap()
}

fn expanded(settings: &Value) -> Expanded {
    expand(&plan(settings)).unwrap()
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

/// Returns each task with its dependencies.
fn edges(expanded: &Expanded) -> Vec<String> {
    let edge = |task: &Task| {
        let on: Vec<_> = task.depends.iter().map(TaskId::as_str).collect();
        format!("{} <- {}", task.id, on.join(" "))
    };
    expanded.plan.tasks().map(edge).collect()
}

#[test]
fn a_designer_prepares_what_a_team_changes_of_an_interface_and_its_task_is_told() {
    let task = |id: &str, file: &str, own: serde_json::Value| json!({ "id": id, "phase": 1, "description": "Show the day ticket", "files_touched": [file], "x-switchboard": own });
    let plan = |team: bool, required: &[&str]| -> Plan {
        serde_json::from_value(
            json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": { "team": team },
            "phases": [{ "id": 1, "name": "one", "required_agents": required, "tasks": [
                task("1.1", "src/Ticket.tsx", json!({})), task("1.2", "src/fare.rs", json!({})),
                task("1.3", "src/x.css", json!({ "command": ["make"] })) ] }] }),
        )
        .unwrap()
    };
    let ids = |plan: &Plan| {
        let expanded = expand(plan).unwrap();
        (expanded.plan.tasks().map(|task| task.id.to_string()).collect::<Vec<_>>(), expanded)
    };

    let (tasks, expanded) = ids(&plan(true, &[]));
    assert_eq!(tasks, ["1.1.design", "1.1", "1.2", "1.3"]);
    let design = TaskId::new("1.1.design").unwrap();
    let whole = expanded.plan.tasks().find(|task| task.id.as_str() == "1.1").unwrap();
    assert_eq!(whole.depends, std::slice::from_ref(&design));
    assert_eq!(expanded.shapes[&whole.id].told, PromptSource::Informed { reports: vec![design.clone()] });
    let shape = &expanded.shapes[&design];
    let asks = shape.asks.unwrap();
    assert_eq!((asks.role, asks.answer, shape.result), (RoleName::Designer, AnswerKind::Design, WorkResult::Report));

    assert_eq!(ids(&plan(false, &[])).0, ["1.1", "1.2", "1.3"]);
    assert_eq!(
        ids(&plan(true, &["designer"])).0,
        ["1.1.design", "1.1", "1.2.design", "1.2", "1.3"],
        "its phase says so"
    );
}

#[test]
fn a_plan_without_modes_stays_as_it_is() {
    let plan = plan(&json!({ "agent": "claude" }));

    let expanded = expand(&plan).unwrap();

    assert_eq!((&expanded.plan, expanded.shapes.len()), (&plan, 0));
}

#[test]
fn a_chain_is_a_row_of_drafts_before_its_task() {
    let expanded = expanded(&json!({ "agent": "claude", "model": "m", "chain": [
        { "prompt": "plan {task}" }, { "agent": "codex", "prompt": "build on {previous}" }, { "prompt": "check" }
    ] }));

    assert_eq!(
        edges(&expanded),
        ["1.0 <- ", "1.1.s1 <- 1.0", "1.1.s2 <- 1.0 1.1.s1", "1.1 <- 1.0 1.1.s2", "1.2 <- 1.1"]
    );
    let shape = |text: &str| &expanded.shapes[&id(text)];
    assert_eq!((shape("1.1.s1").result, shape("1.1").result), (WorkResult::Draft, WorkResult::Merged));
    assert_eq!((&shape("1.1.s2").begins_on, &shape("1.1").begins_on), (&Some(id("1.1.s1")), &Some(id("1.1.s2"))));
    let plan = &expanded.plan;
    let settings = |at: usize| plan.phases[0].tasks[at].switchboard.clone().unwrap();
    assert_eq!((settings(1).agent.as_deref(), settings(1).model.as_deref()), (Some("claude"), Some("m")));
    assert_eq!((settings(2).agent.as_deref(), settings(2).model), (Some("codex"), None), "a model is one agent's");
    assert_eq!(expanded.notes.len(), 1, "the third step is not shown what the second said: {:?}", expanded.notes);
}

#[test]
fn candidates_stand_beside_each_other_and_one_is_enough() {
    let expanded = expanded(&json!({ "best_of": ["claude", "codex"] }));

    assert_eq!(edges(&expanded)[1..4], ["1.1.c1 <- 1.0", "1.1.c2 <- 1.0", "1.1 <- 1.0 1.1.c1 1.1.c2"]);
    let whole = &expanded.shapes[&id("1.1")];
    assert_eq!(whole.quorums, [Quorum { of: vec![id("1.1.c1"), id("1.1.c2")], least: 1 }]);
    assert_eq!(whole.among, [id("1.1.c1"), id("1.1.c2")]);
}

#[test]
fn a_turn_knows_the_round_before_and_who_is_silent_twice_is_not_asked_again() {
    let participants = json!([{ "agent": "claude" }, { "agent": "claude", "prompt": "You are against it." }]);
    let expanded = expanded(&json!({ "debate": { "participants": participants, "rounds": 3 } }));

    assert_eq!(edges(&expanded)[1], "1.1.r1.p1 <- 1.0");
    assert_eq!(edges(&expanded)[4], "1.1.r2.p2 <- 1.0 1.1.r1.p1 1.1.r1.p2");
    assert_eq!(edges(&expanded)[7], "1.1 <- 1.0 1.1.r3.p1 1.1.r3.p2");
    let quorums = |text: &str| expanded.shapes[&id(text)].quorums.clone();
    assert_eq!(quorums("1.1.r1.p1"), []);
    assert_eq!(quorums("1.1.r2.p2").len(), 1);
    assert_eq!(quorums("1.1.r3.p2")[1], Quorum { of: vec![id("1.1.r2.p2"), id("1.1.r1.p2")], least: 1 });
    let turn = |text: &str| {
        prompt(&expanded.shapes[&id(text)], "", |task| (task != &id("1.1.r1.p1")).then(|| format!("I am {task}")))
    };
    assert!(!turn("1.1.r1.p2").contains("I am"), "{}", turn("1.1.r1.p2"));
    let second = turn("1.1.r2.p2");
    assert!(second.contains("You are claude-2. You are against it.\n"), "{second}");
    assert!(second.contains("--- claude: no reply\n--- claude-2 (you):\nI am 1.1.r1.p2\n---\n"), "{second}");
    assert!(!turn("1.1.r2.p1").contains("1.1.r2"), "nobody knows what is said in the same round");
    assert!(turn("1.1").contains("--- round 3, claude-2:\nI am 1.1.r3.p2\n"), "{}", turn("1.1"));
}

#[test]
fn what_a_step_said_is_inserted_as_it_is() {
    let said = format!("$& \\1 {{previous}} {{step:1}} {{task}} ü {}", "x".repeat(1 << 20));
    let expanded =
        expanded(&json!({ "chain": [{ "prompt": "one" }, { "prompt": "[{previous}] [{step:1}] {task} {other}" }] }));

    let told = prompt(&expanded.shapes[&id("1.1")], "", |_| Some(said.clone()));

    assert_eq!(told, format!("[{said}] [{said}] do it {{other}}"));
}

#[test]
fn settings_that_do_not_go_together_are_refused_all_at_once() {
    let refused = |settings: Value| expand(&plan(&settings)).unwrap_err();
    for settings in [
        json!({ "best_of": 2, "chain": [{ "prompt": "a" }, { "prompt": "b" }] }),
        json!({ "best_of": 2, "result": "report" }),
        json!({ "best_of": ["a", "b"], "command": "make" }),
        json!({ "best_of": ["a", "b"], "model": "m" }),
        json!({ "best_of": ["a", "b"], "agent": "c" }),
        json!({ "result": "report", "gates": ["lint"] }),
        json!({ "result": "report", "scope": ["src/**"] }),
        json!({ "chain": [{ "prompt": "{previous}" }, { "prompt": "b" }] }),
        json!({ "chain": [{ "prompt": "a" }, { "prompt": "{step:2}" }] }),
        json!({ "chain": [{ "prompt": "a" }, { "prompt": "{step:x}" }] }),
        json!({ "debate": { "participants": [{}, {}], "quorum": 3 } }),
    ] {
        assert_eq!(refused(settings.clone()).code, "plan.mode", "{settings}");
    }
    let mut taken = plan(&json!({ "best_of": 2 }));
    taken.phases[0].tasks[2].id = id("1.1.c2");
    let failure = expand(&taken).unwrap_err();
    assert!(failure.what.contains("1.1.c2"), "{failure:?}");
}
