//! The parts of an answer that the modes depend on.

use std::collections::BTreeSet;

use switchboard_protocol::answer::{Answer, AnswerKind, RealityStatus};
use switchboard_protocol::id::{Digest, fold};
use switchboard_protocol::modes::{AnswerFacts, PlanFacts};

use crate::plan_json::{self, PlanError};

/// Why an answer has no place in a mode.
#[derive(Debug, thiserror::Error)]
pub enum NoModeAnswer {
    /// It is one of a task's steps.
    #[error("an answer of the kind `{0}` belongs to a step of a task")]
    OfATask(AnswerKind),
    /// Its plan is no `plan.json`.
    #[error("the plan can't be used: {0}")]
    BadPlan(#[source] PlanError),
    /// It does not serialise: a defect of its type.
    #[error("the answer can't be written as JSON")]
    Unwritable(#[source] serde_json::Error),
}

/// The facts of an answer, and the text whose digest they hold: the body of the event.
///
/// # Errors
/// When it is an answer of a task's step, or its plan is not one.
pub fn facts_of(answer: &Answer) -> Result<(AnswerFacts, String), NoModeAnswer> {
    let body = if let Answer::PlanDraft(draft) = answer {
        plan_json::write(&plan(&draft.plan)?)
    } else {
        serde_json::to_string(answer).map_err(NoModeAnswer::Unwritable)?
    };
    let text = Digest::of(body.as_bytes());
    let facts = match answer {
        Answer::Questions(questions) => AnswerFacts::Questions { text, count: count(questions.questions.len()) },
        Answer::Exploration(exploration) => {
            let domains: BTreeSet<_> = exploration.domains.iter().map(|domain| fold(domain)).collect();
            AnswerFacts::Exploration { text, domains: domains.into_iter().collect() }
        }
        Answer::Reality(reality) => {
            let of = |status| reality.items.iter().filter(|item| item.status == status).count();
            AnswerFacts::Reality {
                text,
                items: count(reality.items.len()),
                complete: count(of(RealityStatus::AlreadyComplete)),
                incorrect: count(of(RealityStatus::AssumptionIncorrect)),
            }
        }
        Answer::Guidance(guidance) => AnswerFacts::Guidance { text, domain: fold(&guidance.domain) },
        Answer::Spec(_) => AnswerFacts::Spec { text },
        Answer::PlanDraft(draft) => {
            let mut phases: Vec<_> = plan(&draft.plan)?.phases.iter().map(|phase| phase.id).collect();
            phases.sort_unstable();
            AnswerFacts::PlanDraft { plan: PlanFacts { plan: text, phases } }
        }
        Answer::PlanReview(review) => AnswerFacts::PlanReview { text, verdict: review.verdict },
        Answer::Drift(drift) => AnswerFacts::Drift { text, verdict: drift.verdict },
        Answer::Hallucination(claims) => AnswerFacts::Hallucination { text, verdict: claims.verdict },
        Answer::Docs(_) => AnswerFacts::Docs { text },
        Answer::Retrospective(retro) => AnswerFacts::Retrospective { text, phase: u64::from(retro.phase_number) },
        Answer::Review(_)
        | Answer::SecurityReview(_)
        | Answer::Tests(_)
        | Answer::Design(_)
        | Answer::Work(_)
        | Answer::Decision(_) => return Err(NoModeAnswer::OfATask(answer.kind())),
    };
    Ok((facts, body))
}

fn plan(value: &serde_json::Value) -> Result<switchboard_protocol::plan::Plan, NoModeAnswer> {
    plan_json::parse(&value.to_string()).map_err(NoModeAnswer::BadPlan)
}

fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}
