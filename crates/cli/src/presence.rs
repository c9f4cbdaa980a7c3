//! Guards actions that only a person may take without the daemon: pin trust, change keys, restore a record. A running daemon sees more of the
//! caller than the process table (workers that have ended, programs that ran a bridge), so it is asked as well.

use switchboard_process::lineage::{self, Claims, Identity, Known, identify};
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::system::{GetCaller, GetCallerRequest};

use crate::client::Client;
use crate::context::Context;

/// Required presence of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// A person is present to decide: in the foreground of a terminal, or a CI session with `--yes`.
    Present,
    /// A person, or a person's program: a login without a terminal, the background of a terminal, a CI session.
    PersonOrProgram,
}

/// Whether the caller is a person, and how that was determined.
struct Found {
    is_person: bool,
    is_present: bool,
    known_by: String,
}

// === impl Found ===

impl Found {
    fn is_enough(&self, wanted: Presence) -> bool {
        match wanted {
            Presence::Present => self.is_person && self.is_present,
            Presence::PersonOrProgram => self.is_person,
        }
    }
}

// === impl Context ===

impl Context {
    /// Checks that a person is present to decide.
    ///
    /// # Errors
    /// `policy.denied` with the reason.
    pub(crate) fn require_person(&self, what: &str) -> Result<(), Failure> {
        self.require(Presence::Present, what)
    }

    /// Checks that a person is present, or that the caller is a person's program.
    ///
    /// # Errors
    /// `policy.denied` with the reason.
    pub(crate) fn require(&self, wanted: Presence, what: &str) -> Result<(), Failure> {
        let refused = [Some(self.by_processes()), self.by_daemon()?].into_iter().flatten();
        let Some(found) = refused.into_iter().find(|found| !found.is_enough(wanted)) else { return Ok(()) };
        let mut failure = Failure::new("policy.denied", format!("only a person may {what}, and none is there"));
        failure.cause.push(format!("the caller: {}", found.known_by));
        Err(failure.hint("run it in the foreground of a terminal; in CI set CI=1 and add --yes"))
    }

    /// Judges the caller by the process table.
    fn by_processes(&self) -> Found {
        let lineage = lineage::of_pid(std::process::id()).unwrap_or_default().with_bridges();
        let known = Known::<(), ()> { daemon: 0, shims: Vec::new(), programs: Vec::new() };
        let claims = Claims { is_ci: self.environment.is_ci(), says_yes: self.environment.says_yes };
        let (is_person, is_present, known_by) = match identify(&lineage, &known, claims) {
            Identity::Person { is_present, why } => (true, is_present, why),
            Identity::Nobody { why } => (false, false, why),
            Identity::Worker(()) | Identity::Agent(()) => (false, false, "an agent's program"),
        };
        Found { is_person, is_present, known_by: known_by.to_owned() }
    }

    /// Asks the repository's daemon; `None` if none answers, for instance outside of a repository.
    fn by_daemon(&self) -> Result<Option<Found>, Failure> {
        let running = self.environment.reach(|at| Client::connect(&at.socket, &at.credentials));
        let Ok(mut client) = running else { return Ok(None) };
        match client.call::<GetCaller>(&GetCallerRequest {}) {
            Ok(reply) => {
                let is_person = reply.kind == "person";
                Ok(Some(Found { is_person, is_present: reply.is_present, known_by: reply.known_by }))
            }
            // The daemon has a version without this verb, or is ending.
            Err(failure) if failure.code == "request.unknown-verb" || failure.code.starts_with("daemon.") => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}
