//! Steps that a tier and the turbo mode leave out, with the reason for the task's evidence and the screen.

use super::{Assessment, Tier};
use crate::team::steps::{ADVERSARIAL, IMPACT, REVIEW, SECOND_REVIEW, SECOND_TESTS, SECURITY, TESTS};

/// Settings that decide on steps in addition to the tier of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wishes {
    /// True if changes that are not critical pass their gates only.
    pub turbo: bool,
    /// True if every change gets the security review.
    pub always_security_review: bool,
    /// True if a reviewer must take part.
    pub needs_reviewer: bool,
    /// True if a test engineer must take part.
    pub needs_test_engineer: bool,
}

/// Returns the judging steps for a tier, in order. Steps that the change itself makes unnecessary are left out once it
/// exists.
#[must_use]
pub fn steps(tier: Tier) -> &'static [&'static str] {
    match tier {
        Tier::Metadata | Tier::Docs | Tier::Code => &[IMPACT, REVIEW, SECURITY, TESTS, ADVERSARIAL],
        Tier::Critical => &[IMPACT, REVIEW, SECOND_REVIEW, SECURITY, TESTS, SECOND_TESTS, ADVERSARIAL],
    }
}

/// Returns why a step is left out for a change; `None` if it is not.
#[must_use]
pub fn left_out(step: &str, found: &Assessment, wishes: Wishes) -> Option<String> {
    let tier = found.tier;
    let because = found.because.first().map(String::as_str).unwrap_or_default();
    let of_tier =
        |why: &str| Some(format!("the task is of tier {} ({}), {why}: {because}", tier.number(), tier.as_str()));
    let of_turbo = || {
        let is_left_out = wishes.turbo && tier < Tier::Critical;
        is_left_out.then(|| "turbo: a change that is not critical has its gates only".to_owned())
    };
    match step {
        SECURITY if wishes.always_security_review || found.is_security_relevant() => None,
        SECURITY => Some("no file and no word of the change has to do with security".to_owned()),
        IMPACT if tier < Tier::Code => of_tier("which alters nothing that others may call"),
        REVIEW if wishes.needs_reviewer => None,
        TESTS | ADVERSARIAL if wishes.needs_test_engineer => None,
        REVIEW if tier == Tier::Metadata => of_tier("and its gates show all of the change"),
        TESTS | ADVERSARIAL if tier < Tier::Code => of_tier("which has no behaviour to test"),
        IMPACT | REVIEW | TESTS | ADVERSARIAL => of_turbo(),
        SECOND_REVIEW | SECOND_TESTS if tier < Tier::Critical => of_tier("for which one of each role is enough"),
        _ => None,
    }
}
