//! The steps of a team: what others than who made a change say about it.
//!
//! They follow the gates, one after the other, and each belongs to what the maker's step came to: a rebase doesn't ask them again, a new attempt does. A
//! test engineer writes tests only; the gates judge the tree with them once more.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::plan::{RetryFrom, Task};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::{Do, Input, Limits, Step, StepId, When, Zone};
use switchboard_protocol::run::{MAX_ANSWERS, MAX_FAILURES, MAX_LOSSES};

use super::step_id;
use super::steps::step as plain;
use crate::settings::Settings;
use crate::subtasks::{Shape, WorkResult};
use crate::team::tier::{Assessment, Tier};

/// A step of a team, before it is one of a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TeamStep {
    id: &'static str,
    role: RoleName,
    answer: AnswerKind,
    writes_tests: bool,
    when: When,
}

/// The steps of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TeamSteps(Vec<TeamStep>);

// === impl TeamSteps ===

impl TeamSteps {
    pub(super) fn steps(&self) -> impl Iterator<Item = &TeamStep> {
        self.0.iter()
    }

    /// What is left out, and why.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let note = |step: &TeamStep| match &step.when {
            When::Always => None,
            When::Never { reason } | When::NotConfigured { reason } => {
                Some(format!("step {} is left out: {reason}", step.id))
            }
        };
        self.0.iter().filter_map(note)
    }
}

/// The steps that a task's tier wants; `None` where no team carries it out, or nothing of it is merged.
pub(super) fn of(task: &Task, settings: &Settings, shape: &Shape) -> Option<TeamSteps> {
    if !settings.team || shape.result != WorkResult::Merged || shape.is_landing() {
        return None;
    }
    let Assessment { tier, because, .. } = Assessment::of(&settings.files_touched, &task.description);
    let because = because.first().map(String::as_str).unwrap_or_default();
    let at_least = |least: Tier| match tier >= least {
        true => When::Always,
        false => {
            When::Never { reason: format!("the task is of tier {} ({}): {because}", tier.number(), tier.as_str()) }
        }
    };
    let review = |id, answer, when| TeamStep { id, role: RoleName::Reviewer, answer, writes_tests: false, when };
    let tests =
        |id, when| TeamStep { id, role: RoleName::TestEngineer, answer: AnswerKind::Tests, writes_tests: true, when };
    Some(TeamSteps(vec![
        review(REVIEW, AnswerKind::Review, at_least(Tier::Docs)),
        review(SECURITY, AnswerKind::SecurityReview, at_least(Tier::Code)),
        tests(TESTS, at_least(Tier::Code)),
        tests(ADVERSARIAL, at_least(Tier::Code)),
    ]))
}

/// The review of correctness, edge cases and performance.
pub const REVIEW: &str = "review";
/// The review of security alone; skipped where neither files nor words call for it.
pub const SECURITY: &str = "security_review";
/// Tests of what the task asks for.
pub const TESTS: &str = "tests";
/// Tests that attack the change.
pub const ADVERSARIAL: &str = "adversarial_tests";

pub(super) fn step(one: &TeamStep, maker: &StepId, after: Vec<StepId>) -> Option<Step> {
    let does = Do::Work {
        role: one.role.id(),
        writes: if one.writes_tests { vec![Zone::Tests] } else { Vec::new() },
        retry_from: RetryFrom::Change,
        begins_on: None,
        // Tests that are there already may be all that is needed.
        may_keep: one.writes_tests,
        answer: Some(one.answer),
    };
    Some(Step {
        after,
        reads: vec![Input::Spec, Input::Output(maker.clone())],
        when: one.when.clone(),
        back: Some(maker.clone()),
        limits: Limits { attempts: MAX_ANSWERS, losses: MAX_LOSSES, failures: MAX_FAILURES, ..Limits::default() },
        ..plain(step_id(one.id)?, does)
    })
}
