use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn id(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

/// Returns a plan of two phases: 1.1 and 1.2, then 2.1, 2.2 and 2.3, each with changed fields.
fn plan(changes: &Value) -> Plan {
    let phase = |number: u64, ids: &[&str]| {
        let tasks: Vec<Value> = ids
            .iter()
            .map(|id| {
                let mut task = json!({ "id": id, "phase": number, "description": "Add a", "acceptance": "tests pass" });
                for (name, value) in changes[*id].as_object().into_iter().flatten() {
                    task[name] = value.clone();
                }
                task
            })
            .collect();
        json!({ "id": number, "name": "p", "tasks": tasks })
    };
    let phases = [phase(1, &["1.1", "1.2"]), phase(2, &["2.1", "2.2", "2.3"]), phase(3, &["3.1"])];
    serde_json::from_value(json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": phases })).unwrap()
}

fn problems(changes: &Value, phase: u64, done: &[&str], evidence: &[&str]) -> Vec<(String, String)> {
    let set = |ids: &[&str]| ids.iter().map(|text| id(text)).collect::<BTreeSet<_>>();
    let (done, evidence) = (set(done), set(evidence));
    let found = preflight(&plan(changes), phase, Known { done: &done, evidence: &evidence, of_wrap: &[] });
    assert!(found.iter().all(|problem| !problem.reason.is_empty() && !problem.remedy.is_empty()));
    found.into_iter().map(|one| (kebab(one.kind), one.task.map(|task| task.to_string()).unwrap_or_default())).collect()
}

fn both() -> [&'static str; 2] {
    ["1.1", "1.2"]
}

fn named(kind: &str, task: &str) -> (String, String) {
    (kind.to_owned(), task.to_owned())
}

/// Returns the kind in kebab case: `EarlierOpen` is `earlier-open`.
fn kebab(kind: impl std::fmt::Debug) -> String {
    let name = format!("{kind:?}");
    let letters = name.char_indices().map(|(at, c)| match c.is_uppercase() && at > 0 {
        true => format!("-{}", c.to_lowercase()),
        false => c.to_lowercase().to_string(),
    });
    letters.collect()
}

#[test]
fn a_phase_whose_plan_and_evidence_are_there_begins() {
    assert_eq!(problems(&json!({}), 1, &[], &[]), []);
    assert_eq!(problems(&json!({}), 2, &both(), &both()), []);
}

#[test]
fn a_phase_that_is_not_there_or_is_empty_is_named() {
    assert_eq!(problems(&json!({}), 7, &[], &[]), [named("unknown-phase", "")]);
    let mut empty = plan(&json!({}));
    empty.phases[0].tasks.clear();
    let none = BTreeSet::new();
    assert_eq!(
        preflight(&empty, 1, Known { done: &none, evidence: &none, of_wrap: &[] })[0].kind,
        ProblemKind::EmptyPhase
    );
}

#[test]
fn every_open_task_has_a_description_and_acceptance() {
    let changes = json!({ "1.1": { "description": " ", "acceptance": null }, "2.1": { "description": "-" }, "3.1": { "acceptance": "" } });

    let found = problems(&changes, 2, &both(), &both());

    assert_eq!(found, [named("description-missing", "2.1"), named("acceptance-missing", "3.1")]);
}

#[test]
fn dependencies_are_known_and_not_later() {
    let changes = json!({ "2.1": { "depends": ["2.9", "3.1", "2.1", "1.1"] } });

    let found = problems(&changes, 2, &both(), &both());

    assert_eq!(
        found,
        [named("unknown-dependency", "2.1"), named("later-dependency", "2.1"), named("unknown-dependency", "2.1")]
    );
}

#[test]
fn earlier_tasks_are_done_and_have_evidence() {
    assert_eq!(problems(&json!({}), 2, &["1.1"], &["1.1"]), [named("earlier-open", "1.2")]);
    assert_eq!(problems(&json!({}), 2, &both(), &["1.2"]), [named("evidence-missing", "1.1")]);
    assert_eq!(problems(&json!({ "1.2": { "status": "closed" } }), 2, &["1.1"], &["1.1"]), []);
    let completed = json!({ "1.2": { "status": "completed" } });
    assert_eq!(
        problems(&completed, 2, &["1.1"], &["1.1"]),
        [named("evidence-missing", "1.2")],
        "a status is no evidence"
    );
}

#[test]
fn a_done_task_of_the_phase_without_evidence_is_found_by_what_builds_on_it() {
    let changes = json!({ "2.2": { "depends": ["2.1"] } });

    assert_eq!(problems(&changes, 2, &["1.1", "1.2", "2.1"], &both()), [named("evidence-missing", "2.1")]);
}

#[test]
fn blockers_are_named_with_all_that_waits_and_stop_nothing_else() {
    let changes = json!({
        "2.1": { "status": "blocked", "blocked_reason": "no key" },
        "2.2": { "depends": ["2.3"] },
        "2.3": { "depends": ["2.1"] } });

    let found = problems(&changes, 2, &both(), &both());

    assert_eq!(found, [named("blocked", "2.1"), named("waits-for-blocked", "2.3"), named("waits-for-blocked", "2.2")]);
    assert!(!ProblemKind::Blocked.stops() && ProblemKind::EvidenceMissing.stops());
}

#[test]
fn roles_that_a_phase_requires_and_nobody_has_are_named_with_what_there_is() {
    let mut plan = plan(&json!({}));
    plan.phases[0].required_agents =
        Some(["coder", "s_reviewer", "Test Engineer", "docs", "reviwer"].map(str::to_owned).to_vec());
    let none = BTreeSet::new();

    let found = preflight(&plan, 1, Known { done: &none, evidence: &none, of_wrap: &[] });

    let found: Vec<_> = found.iter().map(|problem| (problem.kind, problem.remedy.as_str())).collect();
    let idle = (ProblemKind::IdleRole, "a team has: coder, reviewer, test_engineer, designer");
    assert_eq!(found, [idle, (ProblemKind::UnknownRole, "did you mean reviewer?")]);
    let wrapped = preflight(&plan, 1, Known { done: &none, evidence: &none, of_wrap: &RoleName::ALL });
    assert_eq!(wrapped.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [ProblemKind::UnknownRole]);
}

proptest! {
    #[test]
    fn a_plan_of_any_dependencies_is_judged(edges in proptest::collection::vec((0..6_usize, 0..7_usize), 0..12), blocked in 0..6_usize) {
        let ids = ["1.1", "1.2", "2.1", "2.2", "2.3", "3.1", "9.9"];
        let mut changes = json!({});
        for (from, to) in edges {
            let mut depends = changes[ids[from]]["depends"].as_array().cloned().unwrap_or_default();
            depends.push(json!(ids[to]));
            changes[ids[from]] = json!({ "depends": depends });
        }
        changes[ids[blocked]]["status"] = json!("blocked");

        let found = problems(&changes, 2, &both(), &both());

        let waits = found.iter().filter(|(kind, _)| kind == "waits-for-blocked");
        prop_assert!(waits.clone().count() <= 2 && waits.clone().collect::<BTreeSet<_>>().len() == waits.count());
    }
}
