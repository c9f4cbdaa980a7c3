//! Settings with which a plan lowers what a change must pass. Only a person may set them: a model that plans would
//! otherwise choose what it is judged by.

use switchboard_protocol::answer::Answer;
use switchboard_protocol::plan::{Confirm, OnViolation, Plan};

use crate::plan_json;

/// Returns what a model's plan lowers, as text for its author; `None` if the answer is no plan, or lowers nothing.
#[must_use]
pub fn lowering_of(answer: &Answer) -> Option<String> {
    let Answer::PlanDraft(draft) = answer else { return None };
    // A plan that can't be read is refused for that.
    let plan = plan_json::parse(&draft.plan.to_string()).ok()?;
    let found = lowered(&plan);
    let more = found.get(1).map(|_| format!(", as do {} more", found.len() - 1)).unwrap_or_default();
    let first = found.first()?;
    Some(format!(
        "the plan can't be used: {first} lowers what its changes must pass{more}; only a person sets that, so leave it out"
    ))
}

fn lowered(plan: &Plan) -> Vec<String> {
    let own = plan.switchboard.iter().flat_map(|own| {
        let turbo = (own.turbo == Some(true)).then(|| "turbo".to_owned());
        of("the plan", own.gates.as_deref(), own.confirm.as_ref(), own.on_violation).into_iter().chain(turbo)
    });
    let of_phases = plan.phases.iter().flat_map(|phase| {
        let own = phase.switchboard.as_ref();
        let place = format!("phase {}", phase.id);
        own.map(|own| of(&place, own.gates.as_deref(), own.confirm.as_ref(), own.on_violation)).unwrap_or_default()
    });
    let of_tasks = plan.tasks().flat_map(|task| {
        let own = task.switchboard.as_ref();
        let place = format!("task {}", task.id);
        own.map(|own| of(&place, own.gates.as_deref(), own.confirm.as_ref(), own.on_violation)).unwrap_or_default()
    });
    own.chain(of_phases).chain(of_tasks).collect()
}

fn of(
    place: &str,
    gates: Option<&[String]>,
    confirm: Option<&Confirm>,
    on_violation: Option<OnViolation>,
) -> Vec<String> {
    let gates = gates.unwrap_or_default().iter().filter(|gate| gate.starts_with('-'));
    let confirm = (confirm == Some(&Confirm::Always(false))).then(|| "confirm: false".to_owned());
    let warns = (on_violation == Some(OnViolation::Warn)).then(|| "on_violation: warn".to_owned());
    let all = gates.map(|gate| format!("the gate {gate}")).chain(confirm).chain(warns);
    all.map(|what| format!("{what} of {place}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchboard_protocol::answer::PlanDraft;

    use super::*;

    fn said(of_plan: &Value, of_phase: &Value, of_task: &Value) -> Option<String> {
        let plan = json!({
            "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": of_plan,
            "phases": [{ "id": 1, "name": "p", "status": "pending", "x-switchboard": of_phase, "tasks": [{
                "id": "1.1", "phase": 1, "status": "pending", "size": "small", "description": "d", "depends": [],
                "files_touched": ["a.rs"], "x-switchboard": of_task,
            }] }],
        });
        lowering_of(&Answer::PlanDraft(PlanDraft { plan }))
    }

    #[test]
    fn a_models_plan_may_raise_what_its_changes_must_pass_and_not_lower_it() {
        let none = json!({});
        assert_eq!(
            said(&json!({ "gates": ["lint"], "always_security_review": true, "turbo": false }), &none, &none),
            None
        );
        assert_eq!(said(&none, &none, &json!({ "confirm": true, "on_violation": "halt" })), None);

        for (of_plan, of_phase, of_task, says) in [
            (
                json!({ "gates": ["-test_integrity"] }),
                none.clone(),
                none.clone(),
                "the gate -test_integrity of the plan",
            ),
            (json!({ "turbo": true }), none.clone(), none.clone(), "turbo"),
            (none.clone(), json!({ "confirm": false }), none.clone(), "confirm: false of phase 1"),
            (none.clone(), none.clone(), json!({ "on_violation": "warn" }), "on_violation: warn of task 1.1"),
            (
                none.clone(),
                none.clone(),
                json!({ "gates": ["lint", "-secretscan"] }),
                "the gate -secretscan of task 1.1",
            ),
        ] {
            let found = said(&of_plan, &of_phase, &of_task).unwrap_or_default();
            assert!(found.contains(says), "{says}: {found:?}");
        }
    }
}
