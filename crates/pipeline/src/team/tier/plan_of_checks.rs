//! What runs in a tier, and what is left out with its reason.

use super::{Assessment, Tier};

/// A step that a tier or the turbo mode leaves out: evidence of the task, and a line on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The step.
    pub step: &'static str,
    /// Why, in words.
    pub reason: String,
}

/// How many of the judging roles look at a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staff {
    /// Reviewers, each a worker of its own.
    pub reviewers: u8,
    /// Test engineers, each a worker of its own.
    pub test_engineers: u8,
}

/// What a change of metadata can't fail. Its syntax and secrets are still checked: any file can hold a credential.
const NOT_FOR_METADATA: [&str; 5] = ["placeholder_scan", "imports", "build_check", "sast_scan", "quality_budget"];

const REVIEWS: [&str; 1] = ["reviewer"];
const TESTS: [&str; 3] = ["test_engineer", "adversarial_tests", "regression_sweep"];

/// Returns how many of the judging roles look at a change of a tier.
#[must_use]
pub const fn staff(tier: Tier, is_turbo: bool) -> Staff {
    match (tier, turbo_applies(tier, is_turbo)) {
        (Tier::Metadata, _) | (Tier::Docs | Tier::Code, true) => Staff { reviewers: 0, test_engineers: 0 },
        (Tier::Docs, false) => Staff { reviewers: 1, test_engineers: 0 },
        (Tier::Code, false) => Staff { reviewers: 1, test_engineers: 1 },
        (Tier::Critical, _) => Staff { reviewers: 2, test_engineers: 2 },
    }
}

/// Whether the turbo mode, where it is asked for, leaves anything out: never of a critical change.
#[must_use]
pub const fn turbo_applies(tier: Tier, is_asked_for: bool) -> bool {
    is_asked_for && !matches!(tier, Tier::Critical)
}

/// Returns what is left out of a task, each step once with the first reason that holds.
#[must_use]
pub fn left_out(assessment: &Assessment, is_turbo: bool) -> Vec<LeftOut> {
    let tier = assessment.tier;
    let named = format!("tier {} ({})", tier.number(), tier.as_str());
    let steps = |steps: &[&'static str], reason: String| -> Vec<LeftOut> {
        steps.iter().map(|step| LeftOut { step, reason: reason.clone() }).collect()
    };
    let mut found = Vec::new();
    match tier {
        Tier::Metadata => {
            found.extend(steps(&NOT_FOR_METADATA, format!("{named}: nothing that changes is built or run")));
            found.extend(steps(&REVIEWS, format!("{named}: diff and lint show all of the change")));
            found.extend(steps(&TESTS, format!("{named}: nothing that changes is run")));
        }
        Tier::Docs => found.extend(steps(&TESTS, format!("{named}: documents have no behaviour to test"))),
        Tier::Code | Tier::Critical => {}
    }
    if turbo_applies(tier, is_turbo) {
        let is_new = |step: &str| !found.iter().any(|left: &LeftOut| left.step == step);
        let rest: Vec<_> = REVIEWS.iter().chain(&TESTS).copied().filter(|step| is_new(step)).collect();
        found.extend(steps(&rest, "turbo mode: automatic gates only, the change is not critical".to_owned()));
    }
    if !assessment.is_security_relevant() {
        found.extend(steps(&["security_review"], "no path and no word of the task is security relevant".to_owned()));
    }
    if !assessment.is_ui() {
        found.extend(steps(&["designer"], "no path and no word of the task is about what users see".to_owned()));
    }
    found
}
