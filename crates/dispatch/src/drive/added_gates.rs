//! Gates that the agent which leads a run has added to those of its plan.

use switchboard_protocol::plan::{Plan, Task};

/// Adds gates to each task. What a task says about a gate takes precedence over its phase and plan.
pub(super) fn add_to(plan: &mut Plan, gates: &[String]) {
    if gates.is_empty() {
        return;
    }
    let tasks = plan.phases.iter_mut().flat_map(|phase| &mut phase.tasks);
    for Task { switchboard, .. } in tasks {
        let own = switchboard.get_or_insert_default().gates.get_or_insert_default();
        own.retain(|name| !gates.iter().any(|gate| name.strip_prefix('-') == Some(gate)));
        own.extend(gates.iter().filter(|gate| !own.contains(gate)).cloned().collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn gates_are_added_once_to_each_task_and_end_that_one_is_left_out() {
        let task = |id: &str, settings: serde_json::Value| json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": settings });
        let tasks = [
            task("1.1", json!({})),
            task("1.2", json!({ "gates": ["lint", "-sast", "-sbom"] })),
            task("1.3", json!({ "gates": ["sast"] })),
        ];
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
            "phases": [{ "id": 1, "name": "p", "tasks": tasks }] });
        let mut plan: Plan = serde_json::from_value(plan).unwrap();
        let gates = |plan: &Plan| {
            plan.tasks()
                .map(|task| task.switchboard.clone().and_then(|own| own.gates).unwrap_or_default())
                .collect::<Vec<_>>()
        };

        add_to(&mut plan, &["lint".to_owned(), "sast".to_owned()]);

        assert_eq!(gates(&plan), [vec!["lint", "sast"], vec!["lint", "-sbom", "sast"], vec!["sast", "lint"]]);
        let before = plan.clone();
        add_to(&mut plan, &[]);
        assert_eq!(plan, before);
    }
}
