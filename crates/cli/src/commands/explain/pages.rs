//! The pages of `docs/errors/`, embedded: one for each code.

macro_rules! pages {
    ($($code:literal)*) => {
        /// All pages, each with its code.
        const PAGES: &[(&str, &str)] =
            &[$(($code, include_str!(concat!("../../../../../docs/errors/", $code, ".md")))),*];
    };
}

pages! {
    "agent.ambiguous"
    "agent.bad-definition"
    "agent.bad-output"
    "agent.denied"
    "agent.failed"
    "agent.login"
    "agent.loop"
    "agent.missing"
    "agent.no-model"
    "agent.protocol"
    "agent.quota"
    "agent.rate-limited"
    "agent.spawn"
    "agent.spends"
    "agent.timeout"
    "agent.unavailable"
    "agent.unknown"
    "agent.unmanaged"
    "auth.bad-code"
    "auth.bad-signature"
    "auth.bad-token"
    "auth.foreign-host"
    "auth.foreign-origin"
    "auth.replayed"
    "auth.stale"
    "auth.too-many-tries"
    "bus.already-acked"
    "bus.already-replied"
    "bus.ambiguous-recipient"
    "bus.cooldown"
    "bus.cursor-ahead"
    "bus.cursor-expired"
    "bus.dead-process"
    "bus.empty-team"
    "bus.inbox-full"
    "bus.lease-lost"
    "bus.name-taken"
    "bus.no-responder"
    "bus.not-registered"
    "bus.not-yours"
    "bus.payload-too-large"
    "bus.phase-gate"
    "bus.recipient-closed"
    "bus.recipient-locked"
    "bus.reserved-name"
    "bus.settled"
    "bus.stale-epoch"
    "bus.timed-out"
    "bus.too-many-teams"
    "bus.unknown-message"
    "bus.unknown-recipient"
    "bus.unknown-team"
    "check.bad-base"
    "check.bad-baseline"
    "check.channel"
    "check.command"
    "check.foreign-hook"
    "check.outside-root"
    "check.path-missing"
    "check.time-limit"
    "check.too-many-files"
    "check.unreadable"
    "config.bad-value"
    "config.moved-repository"
    "config.syntax"
    "config.untrusted"
    "daemon.not-running"
    "daemon.other-version"
    "daemon.running"
    "daemon.unreachable"
    "dispatch.already-running"
    "dispatch.budget"
    "dispatch.cannot-undo"
    "dispatch.dirty"
    "dispatch.merge-conflict"
    "dispatch.nested-repository"
    "dispatch.no-answer"
    "dispatch.no-change"
    "dispatch.no-ports"
    "dispatch.no-worker"
    "dispatch.not-finished"
    "dispatch.older-run"
    "dispatch.partial"
    "dispatch.setup"
    "dispatch.stale-worker"
    "dispatch.stuck"
    "dispatch.unknown-run"
    "dispatch.unknown-task"
    "dispatch.worktree"
    "file.denied"
    "file.expired"
    "file.held"
    "file.malformed"
    "file.too-large"
    "file.unsafe"
    "file.wrong-folder"
    "gate.not-configured"
    "gate.refused"
    "git.bare"
    "git.damaged"
    "git.detached"
    "git.failed"
    "git.missing"
    "git.no-commits"
    "git.not-a-repository"
    "git.other-repository"
    "git.unknown-revision"
    "internal.bug"
    "io.denied"
    "io.disk-full"
    "io.foreign-owner"
    "io.unsafe-folder"
    "isolation.network"
    "isolation.opens-state"
    "isolation.tools"
    "isolation.unsupported"
    "lease.conflict"
    "lease.limit"
    "lease.lost"
    "lease.not-yours"
    "lease.unsafe-glob"
    "need.expired"
    "need.settled"
    "need.unknown"
    "plan.cycle"
    "plan.duplicate-task"
    "plan.empty"
    "plan.missing-input"
    "plan.mode"
    "plan.no-agent"
    "plan.no-effect"
    "plan.not-ready"
    "plan.schema"
    "plan.scope-depends"
    "plan.syntax"
    "plan.task-size"
    "plan.unknown-dependency"
    "plan.unknown-field"
    "plan.unknown-gate"
    "plan.unknown-scope"
    "plan.unsafe-id"
    "plan.unsafe-path"
    "policy.denied"
    "policy.invalid"
    "request.bad-args"
    "request.conflict"
    "request.malformed"
    "request.too-large"
    "request.unknown-verb"
    "role.bad-file"
    "role.disabled"
    "seat.no-ceiling"
    "seat.not-earned"
    "seat.not-open"
    "seat.not-yours"
    "seat.taken"
    "store.busy"
    "store.conflict"
    "store.corrupt"
    "store.fatal"
    "store.locked"
    "store.network-file-system"
    "store.too-large"
    "worker.halted"
    "worker.lost"
}

/// Returns the page of a code.
pub(super) fn page(code: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == code).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use switchboard_protocol::error::TABLE;

    use super::*;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let codes: BTreeSet<_> = TABLE.iter().map(|row| row.code.to_owned()).collect();
        let embedded: BTreeSet<_> = PAGES.iter().map(|(code, _)| (*code).to_owned()).collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let files: BTreeSet<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap().trim_end_matches(".md").to_owned())
            .collect();

        assert_eq!(codes, embedded);
        assert_eq!(codes, files);
    }

    #[test]
    fn every_page_says_cause_remedy_and_an_example() {
        for row in TABLE {
            let text = page(row.code).unwrap();
            assert!(text.starts_with(&format!("# {}: {}\n", row.code, row.title)), "{}", row.code);
            for part in ["\n## Cause\n", "\n## What to do\n", "\n## Example\n", "\n    "] {
                assert!(text.contains(part), "{} lacks {part:?}", row.code);
            }
        }
    }
}
