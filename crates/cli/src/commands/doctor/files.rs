//! Checks our files: secrets are readable only by the user, and there is enough disk space.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use switchboard_daemon::RootPaths;

use super::check_result::CheckResult;

/// Free disk space in bytes below which a note is shown.
const ROOM: u64 = 512 << 20;

pub(super) fn run_checks(fix: bool, place: &RootPaths) -> Vec<CheckResult> {
    let token = place.project.join("auth_token");
    let mut looks = vec![room(place)];
    looks.extend(private("state folder", &place.state, 0o700, fix));
    looks.extend(private("token", &token, 0o600, fix));
    looks.extend(ignored(fix, place));
    looks
}

/// Checks a file or folder that only the user may read; a missing one is fine.
fn private(about: &'static str, path: &Path, mode: u32, fix: bool) -> Option<CheckResult> {
    let found = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    if found & 0o077 == 0 {
        return Some(CheckResult::ok(about, path.display().to_string()));
    }
    let look = CheckResult::bad(about, format!("{} is open to others (mode {found:o})", path.display()));
    Some(look.fix(fix, || fs::set_permissions(path, Permissions::from_mode(mode))))
}

/// Checks that git ignores our folder in the work tree.
fn ignored(fix: bool, place: &RootPaths) -> Option<CheckResult> {
    let file = place.project.join(".gitignore");
    if !place.project.is_dir() || file.exists() {
        return None;
    }
    let look = CheckResult::bad("ignore file", format!("{} is missing", file.display()));
    Some(look.fix(fix, || fs::write(file, "*\n")))
}

fn room(place: &RootPaths) -> CheckResult {
    match rustix::fs::statvfs(&place.state) {
        Ok(stat) => {
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            let what = format!("{} MB free for state and work trees", free / 1_000_000);
            if free < ROOM { CheckResult::bad("disk", what).hint("make room") } else { CheckResult::ok("disk", what) }
        }
        Err(error) => CheckResult::note("disk", format!("how much room is left can't be told: {error}")),
    }
}
