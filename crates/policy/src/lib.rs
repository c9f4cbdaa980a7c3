//! Policy decision point: evaluates Rego rules to a decision.
//!
//! [`Policy::load`] compiles a [`Bundle`] once; [`Policy::decide`] answers an [`Input`] in process. A call that no rule
//! allows is refused, and so is every call while the rules fail: [`Decision::refused`] is the failure that a face
//! shows.

mod bundle;
mod decision;
mod error;
mod input;
mod memo;
mod program;
mod reads;

pub use bundle::{Bundle, File, MAX_FILE_BYTES, MAX_FILES, PROJECT_FILE};
pub use decision::{Decision, Obligation, Verdict};
pub use error::Error;
pub use input::{About, Input, hidden, is_secret, name_in};

use memo::Memo;
use program::Program;
use switchboard_protocol::id::Digest;

/// Path of the rule whose value is the decision.
const DECISION: &str = "data.switchboard.decision";
/// Path of the rule of a project's file: texts, each of which refuses the call.
const PROJECT_DENY: &str = "data.switchboard.project.deny";

/// Compiled policy. Cheap to use from many threads; share it in an `Arc` and replace that to load another.
#[derive(Debug)]
pub struct Policy {
    base: Program,
    project: Option<Program>,
    digest: Digest,
    /// Earlier decisions, if they don't depend on the time of day.
    memo: Option<Memo>,
}

impl Policy {
    /// Compiles a bundle.
    ///
    /// # Errors
    /// A syntax error with its position; a bundle without `data.switchboard.decision`; a project's file with anything
    /// but `deny` rules in `package switchboard.project`.
    pub fn load(bundle: &Bundle) -> Result<Self, Error> {
        let base = Program::compile(bundle.base(), DECISION)?;
        let project = bundle.project().map(|file| {
            bundle::check_narrows(file)?;
            Program::compile(std::slice::from_ref(file), PROJECT_DENY)
        });
        let memo = Memo::for_rules(bundle.base().iter().chain(bundle.project()));
        Ok(Self { base, project: project.transpose()?, digest: bundle.digest(), memo })
    }

    /// Returns the digest of the rules, for receipts: over each file's name and text.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Decides on a call. A rule that fails, an answer of the wrong form or none at all is a refusal with
    /// `policy.invalid`; so is, with `policy.denied`, a call of which the rules would not see all.
    #[must_use]
    pub fn decide(&self, input: &Input<'_>) -> Decision {
        if !input.is_visible() {
            return Decision::too_large();
        }
        let decided = match &self.memo {
            Some(memo) => input.seen_by(&memo.reads).and_then(|call| memo.get(call, || self.try_decide(input))),
            None => self.try_decide(input),
        };
        decided.unwrap_or_else(Decision::invalid)
    }

    fn try_decide(&self, input: &Input<'_>) -> Result<Decision, String> {
        let value = input.to_rego()?;
        if let Some(project) = &self.project
            && let Some(refusal) = decision::project_refusal(&project.eval(value.clone())?)?
        {
            return Ok(refusal);
        }
        decision::read(&self.base.eval(value)?)
    }
}

#[cfg(test)]
mod tests;
