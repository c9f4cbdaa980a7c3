//! Messages of refused leases.

use switchboard_pipeline::lease::{BadGlob, Conflict, MAX_HELD, MAX_OF_HOLDER, Refused, Unusable};
use switchboard_protocol::error::Failure;
use switchboard_protocol::lease::{LeaseId, Resource};
use switchboard_protocol::text::listed;

use crate::Error;

/// Maximum number of globs of a lease named in a refusal.
const GLOBS_SHOWN: usize = 5;

pub(super) fn unfit(error: BadGlob) -> Error {
    let failure = Failure::new("lease.unsafe-glob", error.to_string());
    Error::Refused(failure.hint("say paths from the repository's root, such as src/** or docs/guide.md"))
}

pub(super) fn unusable(why: Unusable, id: &LeaseId) -> Failure {
    match why {
        Unusable::Lost => lost(id),
        Unusable::Foreign => Failure::new("lease.not-yours", format!("{id} is somebody else's")),
    }
}

pub(super) fn lost(id: &LeaseId) -> Failure {
    let failure = Failure::new("lease.lost", format!("{id} is over, or the token is that of an earlier lease"));
    failure.hint("stop writing, then reserve again")
}

pub(super) fn of(refused: Refused) -> Failure {
    match refused {
        Refused::Overlap(conflicts) => overlap(&conflicts),
        Refused::HolderLimit => {
            let failure = Failure::new("lease.limit", format!("you would hold more than {MAX_OF_HOLDER} globs"));
            failure.hint("release_files gives some back; a folder counts as one")
        }
        Refused::BookLimit => {
            let failure = Failure::new("lease.limit", format!("all agents would hold more than {MAX_HELD} globs"));
            failure.hint("wait until some are released; list_leases shows them")
        }
    }
}

fn overlap(conflicts: &[Conflict]) -> Failure {
    let lines: Vec<_> = conflicts.iter().map(line).collect();
    let (what, holder) = conflicts.first().map_or((String::new(), ""), |first| {
        (format!("{}: {}", first.wanted, line(first)), first.lease.holder.as_str())
    });
    let mut failure = Failure::new("lease.conflict", what);
    failure.cause = lines.into_iter().skip(1).collect();
    failure.hint(format!("write to {holder} with send_message, or reserve again when the time is up"))
}

/// Returns a line such as `held by ada for 59 min 3 s: exclusive on src/**, docs (tests)`.
fn line(conflict: &Conflict) -> String {
    let lease = &conflict.lease;
    let on = match &lease.resource {
        Resource::Files(globs) => listed(globs, GLOBS_SHOWN),
        Resource::Unit(unit) => format!("unit {unit}"),
        Resource::Terminal(agent) => agent.to_string(),
    };
    let why = if lease.reason.is_empty() { String::new() } else { format!(" ({})", lease.reason) };
    format!("held by {} for {}: {} on {on}{why}", lease.holder, for_how_long(lease.left_ms), lease.mode.as_str())
}

fn for_how_long(ms: u64) -> String {
    match ms.div_ceil(1_000) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}
