//! Settings with which a plan lowers what a change must pass. Only a person may set them: a model that plans would
//! otherwise choose what it is judged by.

use switchboard_protocol::answer::Answer;
use switchboard_protocol::plan::{Confirm, OnViolation, Plan};

use crate::plan_json;

/// Maximum number of settings that a refusal names.
const MAX_NAMED: usize = 5;

/// Returns what a model's plan lowers, as text for its author; `None` if the answer is no plan, or lowers nothing. Not part of
/// [`fault_of`](super::fault_of), which also judges the plans of persons.
#[must_use]
pub fn lowering_of(answer: &Answer) -> Option<String> {
    let Answer::PlanDraft(draft) = answer else { return None };
    // A plan that can't be read is refused for that.
    let plan = plan_json::parse(&draft.plan.to_string()).ok()?;
    let found = lowered(&plan);
    let all = found.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!found.is_empty()).then(|| {
        format!("the plan can't be used: it lowers what its changes must pass ({all}); only a person sets that, so leave it out")
    })
}

/// Settings that the plan, its phases and its tasks have alike: gates, confirmation, reaction to a violation of scope.
type Common<'a> = (Option<&'a Vec<String>>, Option<&'a Confirm>, Option<OnViolation>);

fn lowered(plan: &Plan) -> Vec<String> {
    let own = plan.switchboard.iter();
    let turbo = own.clone().filter(|own| own.turbo == Some(true)).map(|_| "turbo of the plan".to_owned());
    let whole = own.map(|own| ("the plan".to_owned(), (own.gates.as_ref(), own.confirm.as_ref(), own.on_violation)));
    let phases = plan.phases.iter().filter_map(|phase| {
        let own = phase.switchboard.as_ref()?;
        Some((format!("phase {}", phase.id), (own.gates.as_ref(), own.confirm.as_ref(), own.on_violation)))
    });
    let tasks = plan.tasks().filter_map(|task| {
        let own = task.switchboard.as_ref()?;
        Some((format!("task {}", task.id), (own.gates.as_ref(), own.confirm.as_ref(), own.on_violation)))
    });
    let all = whole.chain(phases).chain(tasks);
    turbo.chain(all.flat_map(|(place, settings)| lowered_at(&place, settings))).collect()
}

fn lowered_at(place: &str, (gates, confirm, on_violation): Common<'_>) -> Vec<String> {
    let gates = gates.into_iter().flatten().filter(|gate| gate.starts_with('-')).map(|gate| format!("gate {gate}"));
    let confirm = (confirm == Some(&Confirm::Always(false))).then(|| "confirm: false".to_owned());
    let warns = (on_violation == Some(OnViolation::Warn)).then(|| "on_violation: warn".to_owned());
    gates.chain(confirm).chain(warns).map(|what| format!("{what} of {place}")).collect()
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
            (json!({ "gates": ["-test_integrity"] }), none.clone(), none.clone(), "gate -test_integrity of the plan"),
            (json!({ "turbo": true }), none.clone(), none.clone(), "turbo of the plan"),
            (none.clone(), json!({ "confirm": false }), none.clone(), "confirm: false of phase 1"),
            (none.clone(), none.clone(), json!({ "on_violation": "warn" }), "on_violation: warn of task 1.1"),
            (none.clone(), none.clone(), json!({ "gates": ["lint", "-secretscan"] }), "gate -secretscan of task 1.1"),
        ] {
            let found = said(&of_plan, &of_phase, &of_task).unwrap_or_default();
            assert!(found.contains(says), "{says}: {found:?}");
        }
    }
}
