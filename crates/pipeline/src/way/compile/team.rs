//! The steps of a team, in which others judge a change.
//!
//! They follow the gates, one after the other, and judge the output of the maker's step: a rebase doesn't repeat them,
//! a new attempt does. A test engineer writes tests only; then the gates judge the tree again.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::plan::{RetryFrom, Task};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::TeamLimits;
use switchboard_protocol::run::way::{Input, Limits, Step, StepAction, StepId, Zone};

use super::step_id;
use super::steps::step as plain;
use crate::settings::Settings;
use crate::subtasks::{Shape, WorkResult};
use crate::team::steps::{IMPACT, REVIEW, SECOND_REVIEW, SECOND_TESTS, SECURITY};
use crate::team::tier::{self, Assessment, Tier};

/// A step of a team before it is added to a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TeamStep {
    id: &'static str,
    role: RoleName,
    answer: AnswerKind,
    /// Reason why it is left out, if the change matches the task's declarations.
    left_out: Option<String>,
}

/// The team's steps of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TeamSteps {
    steps: Vec<TeamStep>,
    /// Reason why some steps are doubled, if they are.
    doubled: Option<String>,
}

// === impl TeamStep ===

impl TeamStep {
    fn new(id: &'static str, found: &Assessment, settings: &Settings) -> Self {
        let (role, answer) = match id {
            IMPACT => (RoleName::Explorer, AnswerKind::Impact),
            SECURITY => (RoleName::Reviewer, AnswerKind::SecurityReview),
            REVIEW | SECOND_REVIEW => (RoleName::Reviewer, AnswerKind::Review),
            _ => (RoleName::TestEngineer, AnswerKind::Tests),
        };
        // Only the change itself shows whether it is security relevant.
        let left_out =
            tier::left_out(id, found, settings.wishes()).filter(|_| id != SECURITY || found.tier < Tier::Code);
        Self { id, role, answer, left_out }
    }

    const fn writes_tests(&self) -> bool {
        matches!(self.role, RoleName::TestEngineer)
    }
}

// === impl TeamSteps ===

impl TeamSteps {
    pub(super) fn steps(&self) -> impl Iterator<Item = &TeamStep> {
        self.steps.iter()
    }

    /// Returns which steps are left out or doubled, and why.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let note = |step: &TeamStep| Some(format!("step {} is left out: {}", step.id, step.left_out.as_ref()?));
        let doubled =
            self.doubled.iter().map(|why| format!("steps {SECOND_REVIEW} and {SECOND_TESTS} are added: {why}"));
        self.steps.iter().filter_map(note).chain(doubled)
    }

    /// Returns the key that distinguishes the steps of tasks with different ways.
    pub(super) fn key(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(|step| step.id)
    }
}

/// Returns the steps that a task's tier requires; `None` if no team carries it out, or nothing is merged.
pub(super) fn of(task: &Task, settings: &Settings, shape: &Shape) -> Option<TeamSteps> {
    if !settings.team || shape.result != WorkResult::Merged || shape.is_landing() {
        return None;
    }
    let found = Assessment::of(&settings.files_touched, &task.description);
    let steps = tier::steps(found.tier).iter().map(|id| TeamStep::new(id, &found, settings)).collect();
    let because = found.because.first().map(String::as_str).unwrap_or_default();
    let doubled = (found.tier == Tier::Critical).then(|| format!("the task is of tier 3 (critical): {because}"));
    Some(TeamSteps { steps, doubled })
}

pub(super) fn step(one: &TeamStep, limits: &TeamLimits, maker: &StepId, after: Vec<StepId>) -> Option<Step> {
    let does = StepAction::Work {
        role: one.role.id(),
        writes: if one.writes_tests() { vec![Zone::Tests] } else { Vec::new() },
        retry_from: RetryFrom::Change,
        begins_on: None,
        // Existing tests may be sufficient.
        may_keep: one.writes_tests(),
        answer: Some(one.answer),
    };
    Some(Step {
        after,
        reads: vec![Input::Spec, Input::Output(maker.clone())],
        back: Some(maker.clone()),
        limits: Limits {
            attempts: limits.malformed_answers + 1,
            losses: limits.lost_workers,
            failures: limits.agent_errors + 1,
            transients: limits.transient_errors,
            ..Limits::default()
        },
        ..plain(step_id(one.id)?, does)
    })
}
