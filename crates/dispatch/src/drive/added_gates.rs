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
