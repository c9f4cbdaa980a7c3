//! Checks that settings about undeclared files fit the other settings.

use switchboard_protocol::plan::{OnViolation, Plan};

use super::error::PlanError;
use crate::settings;

pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    for (p, phase) in plan.phases.iter().enumerate() {
        for (t, task) in phase.tasks.iter().enumerate() {
            let settings = settings::of(plan, phase, task);
            let pointer = || format!("/phases/{p}/tasks/{t}/x-switchboard/on_violation");
            let own = task.switchboard.as_ref().and_then(|own| own.on_violation);
            let declares = settings.scope.is_some() || !settings.files_touched.is_empty();
            if own.is_some() && !declares {
                let found = "neither of them";
                let error = PlanError::new("plan.schema", pointer(), "`scope` or `files_touched` beside it", found);
                return Err(error.hint("say which files the task may change"));
            }
            if settings.on_violation == OnViolation::Pause && settings.asks_nobody && declares {
                let found = "`pause`, which asks a person, and `confirm` is false";
                let error = PlanError::new("plan.schema", pointer(), "`refuse`, `warn` or `halt`", found);
                return Err(error.hint("leave `confirm` out, or choose `warn`"));
            }
        }
    }
    Ok(())
}
