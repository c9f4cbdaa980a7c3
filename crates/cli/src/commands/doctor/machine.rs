//! What the machine must have: git, and a kernel that can hold agents.

use switchboard_process::env::Env;
use switchboard_process::git::Git;
use switchboard_protocol::error::Failure;

use super::look::Look;
use crate::context::Context;

/// First kernel with Landlock, which constrained agents need.
const LANDLOCK: (u32, u32) = (5, 13);

pub(super) fn looks(context: &Context) -> Vec<Look> {
    vec![git(), kernel(), home(context)]
}

fn git() -> Look {
    match Git::find(Env::plain()) {
        Ok(_) => Look::ok("git", "is there and new enough"),
        Err(error) => Look::failure("git", &error.failure()),
    }
}

fn kernel() -> Look {
    let Ok(release) = std::fs::read_to_string("/proc/sys/kernel/osrelease") else {
        return Look::note("kernel", "is not Linux: constrained agents can't be enforced here");
    };
    let release = release.trim();
    if version(release) >= LANDLOCK {
        return Look::ok("kernel", release);
    }
    Look::note("kernel", format!("{release} has no Landlock: constrained agents can't be enforced here"))
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn home(context: &Context) -> Look {
    match (context.environment.state_folder(), context.environment.config_folder()) {
        (Some(state), Some(config)) => {
            Look::ok("folders", format!("state in {}, settings in {}", state.display(), config.display()))
        }
        _ => {
            let what = "neither HOME nor the XDG variables name a folder for state and settings";
            Look::failure("folders", &Failure::new("config.bad-value", what).hint("set HOME"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_compare_by_number() {
        assert!(version("5.9.16-arch1") < LANDLOCK);
        assert!(version("5.13.0") >= LANDLOCK);
        assert!(version("6.1.0-13-amd64") >= LANDLOCK);
    }
}
