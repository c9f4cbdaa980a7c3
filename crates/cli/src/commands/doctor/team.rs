//! Checks the agents that are available here.

use switchboard_agents::catalog;

use super::check_result::CheckResult;
use crate::available::Available;
use crate::context::Context;

pub(super) fn run_checks(context: &Context) -> Vec<CheckResult> {
    let available = match Available::read(context) {
        Ok(available) => available,
        Err(failure) => return vec![CheckResult::failure("settings", &failure)],
    };
    let candidates = available.candidates(context);
    let mut looks = Vec::new();
    for candidate in &candidates {
        let costs = if candidate.spends { "; its runs cost money" } else { "" };
        looks.push(CheckResult::ok("agent", format!("{} ({}){costs}", candidate.name, candidate.origin)));
    }
    for known in catalog::ALL {
        if candidates.iter().all(|candidate| candidate.name != known.name) {
            let program = known.argv.first().copied().unwrap_or_default();
            looks.push(
                CheckResult::note("agent", format!("{}: {program} is not on PATH", known.name)).hint(known.install),
            );
        }
    }
    looks
}
