//! What only a person may do without the daemon: pin trust, change keys. The daemon decides the rest by the same rule.

use switchboard_process::lineage::{self, Claims, Known, Standing, identify};
use switchboard_protocol::error::Failure;

use crate::context::Context;

// === impl Context ===

impl Context {
    /// Makes sure that a person is there: in the foreground of a terminal, or a CI session that was told `--yes`.
    ///
    /// # Errors
    /// `policy.denied` with the reason.
    pub(crate) fn require_person(&self, what: &str) -> Result<(), Failure> {
        let lineage = lineage::of_pid(std::process::id()).unwrap_or_default();
        let known = Known::<(), ()> { daemon: 0, shims: Vec::new(), programs: Vec::new() };
        let claims = Claims { is_ci: self.environment.is_ci(), says_yes: self.environment.says_yes };
        let why = match identify(&lineage, &known, claims) {
            Standing::Person { is_present: true, .. } => return Ok(()),
            Standing::Person { is_present: false, why } | Standing::Nobody { why } => why,
            Standing::Worker(()) | Standing::Agent(()) => "an agent's program",
        };
        let mut failure = Failure::new("policy.denied", format!("only a person may {what}, and none is there"));
        failure.cause.push(format!("the caller: {why}"));
        Err(failure.hint("run it in the foreground of a terminal; in CI set CI=1 and add --yes"))
    }
}
