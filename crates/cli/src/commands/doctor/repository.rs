//! Checks the repository, its daemon, and what both have left behind.

use switchboard_daemon::{Owner, RootPaths, ServerInfo};
use switchboard_process::git::Head;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::system::{GetStatus, GetStatusRequest, VerifyLog, VerifyLogReply, VerifyLogRequest};

use super::check_result::CheckResult;
use super::files;
use crate::context::Context;

pub(super) fn run_checks(fix: bool, no_daemon: bool, context: &Context) -> Vec<CheckResult> {
    let place = match context.place() {
        Ok(place) => place,
        Err(failure) => return vec![CheckResult::failure("repository", &failure)],
    };
    let mut looks = vec![head(&place)];
    looks.extend(files::run_checks(fix, &place));
    looks.extend(work_trees(fix, &place));
    looks.extend(daemon(fix, no_daemon, &place, context));
    looks
}

fn head(place: &RootPaths) -> CheckResult {
    match place.repo.head() {
        Ok(Head::Branch { name, commit }) => {
            CheckResult::ok("repository", format!("{} on {name} at {}", place.root.display(), commit.short()))
        }
        Ok(Head::Detached(commit)) => {
            let what = format!("HEAD is detached at {}: runs have no branch to merge into", commit.short());
            CheckResult::note("repository", what).hint("git switch -c NAME")
        }
        Ok(Head::Unborn { name }) => {
            let what = format!("{name} has no commit yet: runs have nothing to start from");
            CheckResult::note("repository", what).hint("git commit --allow-empty -m 'First commit'")
        }
        Err(error) => CheckResult::failure("repository", &error.failure()),
    }
}

/// Checks for work trees of ours that git still lists but whose folder is gone.
fn work_trees(fix: bool, place: &RootPaths) -> Option<CheckResult> {
    let base = place.state.join("worktrees");
    let listed = match place.repo.worktree_list() {
        Ok(listed) => listed,
        Err(error) => return Some(CheckResult::failure("work trees", &error.failure())),
    };
    let ours: Vec<_> = listed.iter().filter(|tree| tree.path.starts_with(&base)).collect();
    let gone = ours.iter().filter(|tree| !tree.path.is_dir()).count();
    if gone > 0 {
        let look = CheckResult::bad("work trees", format!("git lists {gone} of ours whose folder is gone"));
        return Some(look.fix(fix, || place.repo.worktree_prune(&base)));
    }
    (!ours.is_empty()).then(|| CheckResult::ok("work trees", format!("{} of ours", ours.len())))
}

fn daemon(fix: bool, no_daemon: bool, place: &RootPaths, context: &Context) -> Vec<CheckResult> {
    match Owner::of(place) {
        Ok(Some(owner)) if !no_daemon => running(&owner, context),
        Ok(Some(_)) => Vec::from_iter(record(place)),
        Ok(None) => [absent(fix, place)].into_iter().chain(record(place)).collect(),
        Err(error) => vec![CheckResult::failure("daemon", &Failure::from(error))],
    }
}

/// Checks for a server_info.json without a daemon, which a killed daemon leaves behind.
fn absent(fix: bool, place: &RootPaths) -> CheckResult {
    match ServerInfo::read(&place.project) {
        None => CheckResult::ok("daemon", "none runs; commands start one when they need it"),
        Some(info) => {
            let what = format!("process {} left its server_info.json behind when it was killed", info.pid);
            let file = place.project.join("server_info.json");
            // In a folder that is a link it is the file of somebody else.
            let is_safe = switchboard_daemon::unsafe_folder(&place.project).is_none();
            CheckResult::note("daemon", what).fix(fix && is_safe, || std::fs::remove_file(file))
        }
    }
}

/// Checks the record on disk; `None` if there is none yet.
fn record(place: &RootPaths) -> Option<CheckResult> {
    match switchboard_daemon::verify_store(place) {
        Ok(None) => None,
        Ok(Some(reply)) => Some(of_record(&reply)),
        Err(failure) => Some(CheckResult::failure("record", &failure)),
    }
}

fn of_record(reply: &VerifyLogReply) -> CheckResult {
    if reply.is_intact {
        return CheckResult::ok("record", format!("{} events, {}", reply.events, reply.summary));
    }
    CheckResult::bad("record", reply.summary.clone()).hint("switchboard explain store.corrupt")
}

fn running(owner: &Owner, context: &Context) -> Vec<CheckResult> {
    let mut client = match context.running_daemon() {
        Ok(client) => client,
        Err(failure) => {
            let what = format!("process {} does not answer: {failure}", owner.pid);
            return vec![
                CheckResult::bad("daemon", what).hint(&format!("end it (kill {}), then try again", owner.pid)),
            ];
        }
    };
    let status = match client.call::<GetStatus>(&GetStatusRequest {}) {
        Ok(status) => status,
        Err(failure) => return vec![CheckResult::failure("daemon", &failure)],
    };
    let ours = env!("CARGO_PKG_VERSION");
    let version = if status.version == ours {
        CheckResult::ok("daemon", format!("{} as process {}, {}", status.version, status.pid, status.http))
    } else {
        let what = format!("is {}, this command is {ours}", status.version);
        CheckResult::bad("daemon", what).hint("switchboard restart")
    };
    let record = match client.call::<VerifyLog>(&VerifyLogRequest {}) {
        Ok(reply) => of_record(&reply),
        Err(failure) => CheckResult::failure("record", &failure),
    };
    vec![version, record]
}
