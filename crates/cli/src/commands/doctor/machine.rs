//! Checks the machine's requirements: git, and a kernel that can isolate agents.

use switchboard_process::env::Env;
use switchboard_process::git::Git;
use switchboard_process::sandbox::{self, Network, Support};
use switchboard_protocol::error::Failure;

use super::check_result::CheckResult;
use crate::context::Context;

pub(super) fn run_checks(context: &Context) -> Vec<CheckResult> {
    vec![git(), isolation(sandbox::supported()), home(context)]
}

fn git() -> CheckResult {
    match Git::find(Env::plain()) {
        Ok(_) => CheckResult::ok("git", "is there and new enough"),
        Err(error) => CheckResult::failure("git", &error.failure()),
    }
}

/// Checks whether the kernel can enforce the limits of constrained workers.
fn isolation(support: &Support) -> CheckResult {
    let gaps = support.gaps(Network::Own);
    let landlock = support.landlock;
    if gaps.is_empty() {
        return CheckResult::ok(
            "isolation",
            format!("constrained workers are enforced: Landlock {landlock} and name spaces"),
        );
    }
    let what = format!("constrained work is refused here (Landlock {landlock}): {}", gaps.join("; "));
    CheckResult::note("isolation", what).hint("switchboard explain isolation.unsupported")
}

fn home(context: &Context) -> CheckResult {
    match (context.environment.state_folder(), context.environment.config_folder()) {
        (Some(state), Some(config)) => {
            CheckResult::ok("folders", format!("state in {}, settings in {}", state.display(), config.display()))
        }
        _ => {
            let what = "neither HOME nor the XDG variables name a folder for state and settings";
            CheckResult::failure("folders", &Failure::new("config.bad-value", what).hint("set HOME"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::check_result::State;

    #[test]
    fn the_landlock_of_the_kernel_and_what_it_lacks_are_named() {
        let support = |landlock, why: Option<&str>| Support { landlock, no_namespaces: why.map(str::to_owned) };

        let (new, old, reserved) = (support(7, None), support(3, None), support(6, Some("Permission denied")));

        assert!(isolation(&new).what.contains("Landlock 7"));
        assert!(isolation(&old).what.contains("Linux 6.12"));
        assert!(isolation(&reserved).what.contains("Permission denied"));
        assert_eq!((isolation(&new).state, isolation(&old).state), (State::Ok, State::Note));
    }
}
