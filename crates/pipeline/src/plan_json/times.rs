//! Checks that the time limits of a plan fit together: an agent is asked to finish before its time is over.

use switchboard_protocol::frame::DEFAULT_TIMEOUT_MS;
use switchboard_protocol::plan::Plan;

use super::error::PlanError;

/// Default time limit of an attempt in minutes.
const DEFAULT_MINUTES: u64 = DEFAULT_TIMEOUT_MS / 60_000;

pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let all = plan.switchboard.as_ref();
    let planned = all.and_then(|settings| settings.timeout_minutes);
    check_pair("", all.and_then(|settings| settings.wrap_up_minutes), planned)?;
    for (p, phase) in plan.phases.iter().enumerate() {
        for (t, task) in phase.tasks.iter().enumerate() {
            let Some(own) = &task.switchboard else { continue };
            let pointer = format!("/phases/{p}/tasks/{t}");
            check_pair(&pointer, own.wrap_up_minutes, own.timeout_minutes.or(planned))?;
        }
    }
    Ok(())
}

fn check_pair(pointer: &str, soft: Option<u32>, hard: Option<u32>) -> Result<(), PlanError> {
    let hard = hard.map_or(DEFAULT_MINUTES, u64::from);
    let Some(soft) = soft.filter(|soft| u64::from(*soft) >= hard) else { return Ok(()) };
    let expected = format!("less than the {hard} minutes that an attempt has in all (`timeout_minutes`)");
    let error =
        PlanError::new("plan.schema", format!("{pointer}/x-switchboard/wrap_up_minutes"), expected, soft.to_string());
    Err(error.hint("leave it out, or raise `timeout_minutes`"))
}
