//! Checks our files: secrets are readable only by the user, and there is enough disk space.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use switchboard_daemon::{FOLDER, RootPaths, policy_problem, unsafe_folder};

use super::check_result::CheckResult;

/// Free disk space in bytes below which a note is shown.
const ROOM: u64 = 512 << 20;

/// Folders of message files in `.switchboard/` (`docs/file-protocol.md`).
const MESSAGE_FOLDERS: [&str; 4] = ["archive", "inbox", "outbox", "sessions"];

pub(super) fn run_checks(fix: bool, place: &RootPaths) -> Vec<CheckResult> {
    let mut looks = vec![room(place)];
    looks.extend(private("state folder", &place.state, 0o700, fix));
    match unsafe_folder(&place.project) {
        // Nothing in it is fixed: that would change the target of a link.
        Some(failure) => looks.push(CheckResult::failure("folder", &failure)),
        None => {
            looks.extend(token(fix, place));
            looks.extend(ignored(fix, place));
            looks.extend(message_folders(place));
            looks.extend(housekeeping(place));
        }
    }
    looks
}

/// Checks the copy of the token in the work tree; the next daemon replaces a link.
fn token(fix: bool, place: &RootPaths) -> Option<CheckResult> {
    let path = place.project.join("auth_token");
    let is_ours = |found: &PathBuf| place.repo.root().join(found) == path;
    if place.repo.tracked_named(["auth_token"]).is_ok_and(|tracked| tracked.iter().any(is_ours)) {
        let what = format!("git tracks {}: the next commit of it publishes the token", path.display());
        let hint = format!("git rm --cached {FOLDER}/auth_token, then: switchboard token rotate");
        return Some(CheckResult::bad("token", what).hint(&hint));
    }
    if path.is_symlink() { None } else { private("token", &path, 0o600, fix) }
}

/// Checks the folders of message files, which a repository may bring as links.
fn message_folders(place: &RootPaths) -> Option<CheckResult> {
    let is_other = |name: &&str| fs::symlink_metadata(place.project.join(name)).is_ok_and(|found| !found.is_dir());
    let others: Vec<_> = MESSAGE_FOLDERS.into_iter().filter(is_other).collect();
    let what = format!("no message file is read or written: no folder, but a link or a file, is {}", others.join(", "));
    let remedy = format!("remove it from {}; it is made anew", place.project.display());
    (!others.is_empty()).then(|| CheckResult::bad("message files", what).hint(&remedy))
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
    if !place.project.is_dir() || file.is_symlink() || file.exists() {
        return None;
    }
    let look = CheckResult::bad("ignore file", format!("{} is missing", file.display()));
    Some(look.fix(fix, || fs::write(file, "*\n")))
}

/// Checks the policy for message files, whose mistakes the daemon only writes to its log.
fn housekeeping(place: &RootPaths) -> Option<CheckResult> {
    let path = place.project.join("housekeeping.policy.json");
    let problem = policy_problem(&fs::read(&path).ok()?)?;
    Some(CheckResult::bad("housekeeping", format!("{}: {problem}", path.display())).hint("correct it, or remove it"))
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
