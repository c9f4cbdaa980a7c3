//! Error codes: every failure that a user can see has a code here and a page in `docs/errors/`.

use serde::{Deserialize, Serialize};

/// Exit code of a process that ends with a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// 1: the work failed.
    Failed = 1,
    /// 2: the call was wrong.
    Usage = 2,
    /// 3: a gate refused.
    Gate = 3,
    /// 4: a person is needed.
    Person = 4,
    /// 5: an agent is missing.
    Agent = 5,
}

impl Exit {
    /// Returns the exit code for several failures: the first of 4, 5, 3, 1, 2 that is among them.
    #[must_use]
    pub fn of_many(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let rank = |exit: &Self| match exit {
            Self::Person => 0,
            Self::Agent => 1,
            Self::Gate => 2,
            Self::Failed => 3,
            Self::Usage => 4,
        };
        all.into_iter().min_by_key(rank)
    }
}

/// A row of the table of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Name of the code, `area.kebab-words`.
    pub code: &'static str,
    /// Exit code for the failure.
    pub exit: Exit,
    /// One-line title for lists; the code's page has the details.
    pub title: &'static str,
    /// Other spellings that clients send and expect.
    pub aliases: &'static [&'static str],
}

macro_rules! codes {
    ($($code:literal $exit:ident $title:literal $([$($alias:literal),*])?;)*) => {
        /// All codes, sorted.
        pub const TABLE: &[Code] = &[$(Code { code: $code, exit: Exit::$exit, title: $title, aliases: &[$($($alias),*)?] }),*];
    };
}

codes! {
    "agent.ambiguous" Person "several agents could do it and none was named";
    "agent.bad-definition" Usage "the file that defines an agent can't be used";
    "agent.bad-output" Failed "the requests at the end of an agent's answer can't be read";
    "agent.denied" Person "a person denied what an agent asked for, and the agent changed nothing";
    "agent.failed" Failed "the agent gave up, or its command failed";
    "agent.login" Failed "the agent needs a login first";
    "agent.loop" Failed "an agent delegates the same work again and again";
    "agent.missing" Agent "the agent's program is not on PATH";
    "agent.no-model" Usage "the agent does not offer the model, or no choice of models";
    "agent.protocol" Failed "the agent broke its own protocol";
    "agent.quota" Failed "the agent's account has no money or quota left";
    "agent.rate-limited" Failed "the agent's service limits the rate of requests";
    "agent.spawn" Failed "the agent's process could not be started";
    "agent.spends" Person "the run costs money and needs approval";
    "agent.timeout" Failed "the agent was silent or working for too long";
    "agent.unavailable" Failed "an agent's model can't be reached at the moment";
    "agent.unknown" Agent "no agent of this name is configured";
    "agent.unmanaged" Usage "a worker may not start a daemon or a run";
    "auth.bad-code" Usage "the one-time code is wrong, was used or is too old";
    "auth.bad-signature" Usage "the signature of a message is not valid";
    "auth.bad-token" Usage "the token is missing or wrong";
    "auth.foreign-host" Usage "the request names another host";
    "auth.foreign-origin" Usage "the request comes from another origin";
    "auth.replayed" Usage "the signature was already used";
    "auth.stale" Usage "a signature is too old or from the future";
    "auth.too-many-tries" Usage "too many wrong one-time codes";
    "bus.already-acked" Usage "the message was already acknowledged";
    "bus.already-replied" Usage "the request was already answered";
    "bus.ambiguous-recipient" Usage "the address fits several agents";
    "bus.cooldown" Failed "the same message was sent to this agent a moment ago";
    "bus.cursor-ahead" Usage "the cursor lies beyond the end of the feed";
    "bus.cursor-expired" Usage "the cursor belongs to another record";
    "bus.dead-process" Usage "no process with this pid runs";
    "bus.empty-team" Usage "no member of the team fits";
    "bus.inbox-full" Failed "the recipient's inbox is full";
    "bus.lease-lost" Failed "the lease on the message has ended or belongs to another delivery";
    "bus.name-taken" Usage "another agent has this name";
    "bus.no-responder" Failed "the agent that was asked has left";
    "bus.not-registered" Usage "you are not on the roster";
    "bus.not-yours" Usage "the message is addressed to another agent";
    "bus.payload-too-large" Usage "the payload is over the limit";
    "bus.phase-gate" Gate "the dispatch lacks the plan that its phase needs" ["PHASE-GATE BLOCKED"];
    "bus.recipient-closed" Failed "the agent has left and takes no mail";
    "bus.recipient-locked" Failed "another agent has reserved the recipient" ["workflow-locked"];
    "bus.reserved-name" Usage "the name belongs to the system";
    "bus.settled" Usage "the message is settled";
    "bus.stale-epoch" Failed "a newer registration of this agent took over";
    "bus.timed-out" Failed "no answer came in time";
    "bus.too-many-teams" Usage "the maximum number of teams is reached";
    "bus.unknown-message" Usage "there is no such message";
    "bus.unknown-recipient" Usage "no agent of this name is registered";
    "bus.unknown-team" Usage "there is no team of this name";
    "check.bad-base" Usage "the base revision does not exist";
    "check.bad-baseline" Usage "the file of accepted findings can't be used";
    "check.channel" Failed "the process that checks files can't be reached";
    "check.command" Failed "the command of a check could not run";
    "check.foreign-hook" Usage "another program's hook is already installed";
    "check.outside-root" Usage "the path lies outside the work tree";
    "check.path-missing" Usage "a path to be checked does not exist";
    "check.time-limit" Failed "a check did not end in time";
    "check.too-many-files" Usage "there are more files than one check accepts";
    "check.unreadable" Failed "a file could not be read";
    "config.bad-value" Usage "a setting has a value that can't be used";
    "config.moved-repository" Person "the repository may have been moved or copied";
    "config.syntax" Usage "a settings file does not parse";
    "config.untrusted" Person "commands that came with this repository are off until you trust them";
    "daemon.not-running" Failed "no daemon runs for this repository";
    "daemon.other-version" Failed "the daemon is of another version";
    "daemon.running" Failed "a daemon already runs for this repository";
    "daemon.unreachable" Failed "the daemon does not answer";
    "dispatch.already-running" Failed "this plan already runs";
    "dispatch.budget" Usage "the budget is too small to start a worker";
    "dispatch.cannot-undo" Person "a merge can't be undone without losing work";
    "dispatch.dirty" Person "the merge would change files that you have changed";
    "dispatch.merge-conflict" Failed "the merge would conflict";
    "dispatch.nested-repository" Failed "a change holds a git repository of its own, or files in a submodule";
    "dispatch.no-answer" Failed "no worker of the task has given an answer";
    "dispatch.no-change" Failed "the worker changed nothing";
    "dispatch.no-ports" Failed "no TCP ports are left for a work tree";
    "dispatch.no-worker" Usage "there is no such worker";
    "dispatch.not-finished" Usage "the run is not finished";
    "dispatch.older-run" Failed "the run was recorded by an older version and can't be read any more";
    "dispatch.partial" Person "not all tasks of the run are done";
    "dispatch.setup" Failed "a work tree could not be set up";
    "dispatch.stale-worker" Failed "the worker no longer has its task";
    "dispatch.stuck" Person "the loop over a plan makes no progress";
    "dispatch.unknown-run" Usage "there is no such run";
    "dispatch.unknown-task" Usage "the run has no such task";
    "dispatch.worktree" Failed "a work tree could not be made";
    "file.denied" Person "a person denied a message, or nobody approved it in time";
    "file.expired" Failed "a message file was too old";
    "file.held" Person "a message waits for a person's approval";
    "file.malformed" Usage "a message file does not parse";
    "file.too-large" Usage "a message file is over the limit";
    "file.unsafe" Usage "an entry in a message folder is not a plain file";
    "file.wrong-folder" Usage "a message file is in another agent's folder";
    "gate.not-configured" Gate "a required gate can't judge";
    "gate.refused" Gate "a gate refused the change";
    "git.bare" Usage "the repository has no work tree";
    "git.damaged" Failed "the repository has lost a commit";
    "git.detached" Usage "HEAD is detached";
    "git.failed" Failed "git failed";
    "git.missing" Failed "git is missing or too old";
    "git.no-commits" Usage "the repository has no commit yet";
    "git.not-a-repository" Usage "this folder is not in a git repository";
    "git.other-repository" Usage "the folder belongs to another repository";
    "git.unknown-revision" Usage "the repository has no such branch, tag or commit";
    "internal.bug" Failed "something happened that should not be possible";
    "io.denied" Failed "a file could not be read or written";
    "io.disk-full" Failed "the disk is full";
    "io.foreign-owner" Usage "the repository belongs to another user";
    "io.unsafe-folder" Failed ".switchboard was not made by Switchboard";
    "isolation.network" Usage "the hosts that an agent lists can't be allowed individually";
    "isolation.opens-state" Usage "a sandbox would open the project's state";
    "isolation.tools" Usage "the agent can't be limited to the four tools of constrained work";
    "isolation.unsupported" Failed "this machine can't enforce constrained work";
    "lease.conflict" Failed "another agent holds the lease";
    "lease.limit" Failed "the maximum number of leases is reached";
    "lease.lost" Failed "the lease has ended or belongs to another agent";
    "lease.not-yours" Usage "the lease belongs to another agent";
    "lease.unsafe-glob" Usage "a path or glob can't be reserved";
    "need.expired" Person "nobody approved the change in time";
    "need.settled" Usage "the question was already answered";
    "need.unknown" Usage "there is no such question";
    "plan.cycle" Usage "tasks depend on each other in a cycle";
    "plan.duplicate-task" Usage "two tasks have one id";
    "plan.empty" Usage "the plan has no tasks";
    "plan.missing-input" Usage "a task needs a file that no other task makes and the repository does not have";
    "plan.mode" Usage "the settings of a task's workers contradict each other";
    "plan.no-agent" Agent "no agent is named for a task";
    "plan.no-effect" Usage "a protective setting of a task would have no effect";
    "plan.not-ready" Usage "a phase of a team's plan can't begin yet";
    "plan.schema" Usage "a field of the plan has the wrong shape";
    "plan.scope-depends" Usage "a part of a plan depends on tasks outside it that are not done";
    "plan.syntax" Usage "the plan does not parse";
    "plan.task-size" Usage "a task is too large or too vague for a team";
    "plan.unknown-dependency" Usage "a task depends on one that does not exist";
    "plan.unknown-field" Usage "a plan has a field that does not exist";
    "plan.unknown-gate" Usage "a plan names a gate that does not exist";
    "plan.unknown-scope" Usage "the plan has no such phase, slice or task";
    "plan.unsafe-id" Usage "an id can't be used as a name";
    "plan.unsafe-path" Usage "a path leaves the repository";
    "policy.denied" Person "the policy does not allow it";
    "policy.invalid" Failed "the policy does not load";
    "request.bad-args" Usage "an argument is missing or has the wrong shape";
    "request.conflict" Failed "the key was used before with other arguments";
    "request.malformed" Usage "the line is not JSON-RPC";
    "request.too-large" Usage "the body is over the limit";
    "request.unknown-verb" Usage "there is no such verb";
    "role.bad-file" Usage "a role file can't be used";
    "role.disabled" Usage "a run needs a role that is disabled";
    "seat.no-ceiling" Usage "the run has no cost ceiling, which a leading agent needs";
    "seat.not-earned" Gate "the task has not earned the status" ["INVALID_TASK_STATE_TRANSITION"];
    "seat.not-open" Failed "the step can't begin yet, or the leader may not begin it";
    "seat.not-yours" Usage "the caller does not have the architect's seat";
    "seat.taken" Failed "another agent has the architect's seat";
    "store.busy" Failed "the store can't accept this at the moment";
    "store.conflict" Failed "the subject was changed by somebody else first";
    "store.corrupt" Failed "the record does not verify";
    "store.fatal" Failed "the disk refused a write; the daemon must be restarted";
    "store.locked" Failed "another process owns the store";
    "store.network-file-system" Failed "the state folder lies on a network file system";
    "store.too-large" Usage "an event is over the limit";
    "worker.halted" Failed "a worker of a team was stopped at a limit of its role";
    "worker.lost" Failed "the worker ended unexpectedly";
}

/// Looks a code up by its name or by an alias.
#[must_use]
pub fn find(code: &str) -> Option<&'static Code> {
    TABLE.iter().find(|row| row.code == code || row.aliases.contains(&code))
}

/// Returns the codes nearest to a misspelt one, at most three.
#[must_use]
pub fn near(code: &str) -> Vec<&'static str> {
    near_matches(code, TABLE.iter().map(|row| row.code))
}

/// Returns the candidates nearest to a misspelt word, at most three, best first: similar ones, and for words of three letters and more
/// those with one letter wrong, missing or extra, or with two letters swapped.
pub fn near_matches<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    nearest(word, candidates.into_iter().collect())
}

/// The part of [`near_matches`] that is compiled once.
fn nearest<'a>(word: &str, candidates: Vec<&'a str>) -> Vec<&'a str> {
    let folded = crate::id::fold(word);
    let is_slip = |other: &str| folded.chars().count() > 2 && strsim::osa_distance(&folded, other) <= 1;
    let score = |candidate: &'a str| {
        let other = crate::id::fold(candidate);
        let score = strsim::jaro_winkler(&folded, &other);
        (score > 0.75 || is_slip(&other)).then_some((score, candidate))
    };
    let mut scored: Vec<_> = candidates.into_iter().filter_map(score).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// A failure as every face shows it: `{code, what, where, hint, cause[]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema, thiserror::Error)]
#[error("{what} [{code}]")]
pub struct Failure {
    /// A code of [`TABLE`].
    pub code: String,
    /// What failed, and on what.
    pub what: String,
    /// Location of the failure, if it has one: file, line, id or address.
    #[serde(rename = "where", default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// What to do about it, preferably one command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// Causes of the failure, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cause: Vec<String>,
}

impl Failure {
    /// Makes a failure. Debug builds panic at a code that is not in the table.
    #[must_use]
    pub fn new(code: &'static str, what: impl Into<String>) -> Self {
        debug_assert!(find(code).is_some(), "{code} is not in the table of codes");
        Self { code: code.to_owned(), what: what.into(), place: String::new(), hint: String::new(), cause: Vec::new() }
    }

    /// Sets the location.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds the causes of an error, outermost first.
    #[must_use]
    pub fn because(mut self, error: &(dyn std::error::Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            self.cause.push(error.to_string());
            next = error.source();
        }
        self
    }

    /// Returns the exit code of the failure.
    #[must_use]
    pub fn exit(&self) -> Exit {
        find(&self.code).map_or(Exit::Failed, |row| row.exit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_one_letter_is_near_in_short_words_too() {
        let team = ["ada", "ben", "reviewer"];

        assert_eq!(near_matches("bne", team), ["ben"]);
        assert_eq!(near_matches("Bean", team), ["ben"]);
        assert_eq!(near_matches("reviwer", team), ["reviewer"]);
        assert!(near_matches("zoe", team).is_empty());
        assert!(near_matches("b", ["a", "c"]).is_empty(), "every letter would be near every other one");
    }

    #[test]
    fn codes_are_sorted_unique_and_of_one_form() {
        for pair in TABLE.windows(2) {
            assert!(pair[0].code < pair[1].code, "{} before {}", pair[0].code, pair[1].code);
        }
        for row in TABLE {
            let (area, words) = row.code.split_once('.').expect("area.words");
            assert!(area.chars().all(|c| c.is_ascii_lowercase()), "{}", row.code);
            assert!(words.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", row.code);
        }
    }

    #[test]
    fn a_person_comes_before_a_missing_agent_before_a_gate() {
        assert_eq!(Exit::of_many([Exit::Failed, Exit::Gate, Exit::Person]), Some(Exit::Person));
        assert_eq!(Exit::of_many([Exit::Failed, Exit::Gate, Exit::Agent]), Some(Exit::Agent));
        assert_eq!(Exit::of_many([Exit::Failed, Exit::Gate]), Some(Exit::Gate));
        assert_eq!(Exit::of_many([]), None);
    }

    #[test]
    fn names_codes_near_a_misspelt_one() {
        assert!(near("plan.cycel").contains(&"plan.cycle"));
        assert!(near("zzzzzz").is_empty());
    }

    #[test]
    fn shows_as_one_object_without_empty_fields() {
        let failure = Failure::new("plan.empty", "plan.json has no tasks").at("plan.json");

        let json = serde_json::to_string(&failure).unwrap();

        assert_eq!(json, r#"{"code":"plan.empty","what":"plan.json has no tasks","where":"plan.json"}"#);
    }
}
