//! The ways of tasks that a team carries out, and machines that make mistakes on purpose.

use std::collections::BTreeMap;

use fastrand::Rng;
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::plan::{RetryFrom, TaskId};
use switchboard_protocol::run::way::{CommandStep, Input, Limits, RoleId, Step, StepAction, StepId, Way, When, Zone};
use switchboard_protocol::run::{Effect, MAX_ANSWERS, MAX_FAILURES, MAX_LOSSES, RunEvent, Verdict};

use super::draw::chance;
use super::ways::step;

/// Step that may be skipped if nothing in a change requires it.
pub(crate) const SKIPPABLE: &str = "security_review";

/// Steps that may be asked about a change: name, kind of answer, and whether the worker may add tests.
const STEPS: [(&str, AnswerKind, bool); 5] = [
    ("impact", AnswerKind::Impact, false),
    ("review", AnswerKind::Review, false),
    (SKIPPABLE, AnswerKind::SecurityReview, false),
    ("tests", AnswerKind::Tests, true),
    ("adversarial_tests", AnswerKind::Tests, true),
];

/// A mistake that the machine makes on purpose, to check that the checker finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// The last step is treated as left out.
    MergesWithoutAStep,
    /// Verdicts on one attempt's change are also used for the next.
    KeepsOldVerdicts,
    /// A step that accepted a change is asked again if the tree of the change differs.
    AsksAgain,
    /// Workers that give unusable answers, fail or are lost are replaced without a limit.
    NeverHolds,
    /// An answer about an earlier change is used for the current change.
    BelievesStale,
    /// An earlier answer is used as the answer of the worker that is asked now.
    CountsTwice,
    /// An unusable answer counts as a refusal of the change.
    ChargesTheMaker,
}

/// The answer that the run waits for.
#[derive(Debug, Clone)]
pub(crate) struct AwaitedAnswer {
    pub(crate) step: StepId,
    pub(crate) attempt: u32,
    pub(crate) worker: WorkerId,
    pub(crate) input: Digest,
}

/// Adds up to five answering steps to a way that ends in a merge, after its gates. Some of them are left out.
pub(crate) fn with_team(way: Way, rng: &mut Rng) -> Way {
    let Way { steps } = way;
    let is_maker = |step: &&Step| matches!(step.does, StepAction::Work { .. } | StepAction::Choose { .. });
    let Some(maker) = steps.iter().find(is_maker).map(|step| step.id.clone()) else { return Way { steps } };
    let is_before = |step: &Step| match step.does {
        StepAction::Units { .. } | StepAction::Work { .. } | StepAction::Choose { .. } | StepAction::Check { .. } => {
            true
        }
        StepAction::Command { kind, .. } => kind == CommandStep::LintFix,
        StepAction::Ask { .. } | StepAction::Merge => false,
    };
    let (mut all, rest): (Vec<_>, Vec<_>) = steps.into_iter().partition(is_before);
    let first = all.len();
    for (id, answer, writes_tests) in STEPS {
        if chance(rng, 700) {
            let when = match chance(rng, 250) {
                true => When::Never { reason: "the task is small".to_owned() },
                false => When::Always,
            };
            all.push(Step { when, ..asking(id, answer, writes_tests, &maker) });
        }
    }
    all.extend(rest);
    for at in first..all.len() {
        all[at].after = all[..at].iter().map(|step| step.id.clone()).collect();
    }
    Way { steps: all }
}

/// Returns the answers that the run waits for.
pub(crate) fn awaited(effects: &[Effect]) -> BTreeMap<TaskId, AwaitedAnswer> {
    let asked = |effect: &Effect| {
        let Effect::TakeAnswer { task, step, attempt, worker, input, .. } = effect.clone() else { return None };
        Some((task, AwaitedAnswer { step, attempt, worker, input }))
    };
    effects.iter().filter_map(asked).collect()
}

fn asking(id: &str, answer: AnswerKind, writes_tests: bool, maker: &StepId) -> Step {
    let does = StepAction::Work {
        role: RoleId::new(if writes_tests { "test_engineer" } else { "reviewer" }).expect("a role"),
        writes: if writes_tests { vec![Zone::Tests] } else { Vec::new() },
        retry_from: RetryFrom::Change,
        begins_on: None,
        may_keep: writes_tests,
        answer: Some(answer),
    };
    Step {
        reads: vec![Input::Spec, Input::Output(maker.clone())],
        back: Some(maker.clone()),
        limits: Limits { attempts: MAX_ANSWERS, losses: MAX_LOSSES, failures: MAX_FAILURES, ..Limits::default() },
        ..step(id, does)
    }
}

// === impl Mistake ===

impl Mistake {
    pub(crate) const ALL: [Self; 7] = [
        Self::MergesWithoutAStep,
        Self::KeepsOldVerdicts,
        Self::AsksAgain,
        Self::NeverHolds,
        Self::BelievesStale,
        Self::CountsTwice,
        Self::ChargesTheMaker,
    ];

    /// Returns the way as a machine with this mistake walks it.
    pub(crate) fn walks(self, mut way: Way) -> Way {
        let asks = |step: &&mut Step| step.does.answer().is_some() && step.when.is_always();
        match self {
            Self::MergesWithoutAStep => {
                if let Some(last) = way.steps.iter_mut().rfind(asks) {
                    last.when = When::Never { reason: "it is forgotten".to_owned() };
                }
            }
            Self::KeepsOldVerdicts => way.steps.iter_mut().filter(asks).for_each(|step| {
                step.reads = vec![Input::Spec];
                step.back = None;
            }),
            Self::AsksAgain => way.steps.iter_mut().filter(asks).for_each(|step| {
                if step.does.writes().is_empty() {
                    step.reads.push(Input::Tree);
                }
            }),
            Self::NeverHolds => {
                way.steps.iter_mut().filter(asks).for_each(|step| step.limits = Limits::default());
            }
            Self::BelievesStale | Self::CountsTwice | Self::ChargesTheMaker => {}
        }
        way
    }

    /// Returns the event as a machine with this mistake reads it. `asked` has the answers that the run waits for.
    pub(crate) fn believes(self, event: &RunEvent, asked: &BTreeMap<TaskId, AwaitedAnswer>) -> RunEvent {
        let mut believed = event.clone();
        let now = event.task().and_then(|task| asked.get(task));
        match (self, &mut believed, now) {
            (Self::BelievesStale, RunEvent::StepAnswered { worker, input, .. }, Some(now)) if *worker == now.worker => {
                *input = now.input;
            }
            (Self::CountsTwice, RunEvent::StepAnswered { step, attempt, worker, input, .. }, Some(now)) => {
                (*step, *attempt, *worker, *input) = (now.step.clone(), now.attempt, now.worker.clone(), now.input);
            }
            (Self::ChargesTheMaker, RunEvent::AnswerRefused { task, step, attempt, worker, .. }, Some(now)) => {
                let (task, step, worker) = (task.clone(), step.clone(), worker.clone());
                let (attempt, input, verdict) = (*attempt, now.input, Verdict::Fail);
                believed = RunEvent::StepAnswered {
                    task,
                    step,
                    attempt,
                    worker,
                    input,
                    verdict,
                    reasons: Vec::new(),
                    change: None,
                };
            }
            _ => {}
        }
        believed
    }
}
