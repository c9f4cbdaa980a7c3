//! Extracts the parts of an answer that the modes depend on, and checks answers beyond their schema.

use std::collections::BTreeSet;

use switchboard_protocol::answer::{Answer, AnswerKind, RealityStatus};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{Digest, fold};
use switchboard_protocol::modes::{AnswerFacts, PlanFacts};
use switchboard_protocol::plan::Plan;
use switchboard_protocol::run::TeamLimits;

use crate::dataflow;
use crate::plan_json::{self, PlanError};
use crate::prepare::prepare;
use crate::subtasks::expand;
use crate::team::fit;
use crate::way::{self, compile};

/// Maximum number of violations that a refusal names.
const MAX_NAMED: usize = 5;

/// Why an answer can't be used in a mode.
#[derive(Debug, thiserror::Error)]
pub enum NoModeAnswer {
    /// The answer belongs to a step of a task.
    #[error("an answer of the kind `{0}` belongs to a step of a task")]
    OfATask(AnswerKind),
    /// The plan in the answer is not a valid `plan.json`.
    #[error("the plan can't be used: {0}")]
    BadPlan(#[source] PlanError),
    /// The answer can't be serialised; a defect of its type.
    #[error("the answer can't be written as JSON")]
    Unwritable(#[source] serde_json::Error),
}

/// Returns what is wrong with an answer beyond its schema, as text for the role; `None` if it can be used. A plan is
/// read, expanded and compiled like one from a file, and held to the rules of a team. `files` are those of the commit at
/// which its first tasks begin.
#[must_use]
pub fn fault_of(answer: &Answer, files: &BTreeSet<String>) -> Option<String> {
    match answer {
        Answer::PlanDraft(draft) => fault_of_plan(&draft.plan, files).err().map(|failure| refusal_text(&failure)),
        Answer::Exploration(_)
        | Answer::Questions(_)
        | Answer::Reality(_)
        | Answer::Guidance(_)
        | Answer::Spec(_)
        | Answer::PlanReview(_)
        | Answer::Drift(_)
        | Answer::Hallucination(_)
        | Answer::Docs(_)
        | Answer::Retrospective(_)
        | Answer::Review(_)
        | Answer::SecurityReview(_)
        | Answer::Tests(_)
        | Answer::Design(_)
        | Answer::Work(_)
        | Answer::Impact(_)
        | Answer::Decision(_) => None,
    }
}

/// Rejects a plan that a run would refuse for any agents.
fn fault_of_plan(draft: &serde_json::Value, files: &BTreeSet<String>) -> Result<(), Failure> {
    let parsed = plan_json::parse(&draft.to_string()).map_err(|error| error.failure("the plan"))?;
    if let Some(task) = parsed.tasks().find(|task| task.switchboard.as_ref().is_some_and(|own| own.asks.is_some())) {
        return Err(Failure::new("plan.mode", format!("task {} asks a role, and a plan is made of work", task.id)));
    }
    let mut phases: Vec<_> = parsed.phases.iter().map(|phase| phase.id).collect();
    phases.sort_unstable();
    if let Some(fault) = (PlanFacts { plan: Digest::ZERO, phases }).fault() {
        return Err(Failure::new("plan.schema", fault));
    }
    fit::fault(&parsed, files).map_or(Ok(()), Err)?;
    let (resolved, _) = dataflow::resolve(parsed);
    let expanded = expand(&resolved)?;
    let prepared = prepare(&expanded.plan, &BTreeSet::new(), None);
    compile(&expanded, &prepared, &TeamLimits::default(), way::usual_attempts)
        .map(drop)
        .map_err(|refusals| way::failure(&refusals))
}

fn refusal_text(failure: &Failure) -> String {
    let hint = if failure.hint.is_empty() { String::new() } else { format!(" ({})", failure.hint) };
    let cause = failure.cause.iter().take(MAX_NAMED).map(|cause| format!("; {cause}")).collect::<String>();
    format!("the plan can't be run: {failure}{cause}{hint}")
}

/// Returns the facts of an answer, and the event's body, whose digest the facts hold.
///
/// # Errors
/// When the answer belongs to a step of a task, or its plan is invalid.
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
        Answer::PlanDraft(draft) => AnswerFacts::PlanDraft { plan: facts_of_plan(&plan(&draft.plan)?) },
        Answer::PlanReview(review) => AnswerFacts::PlanReview { text, verdict: review.verdict },
        Answer::Drift(drift) => AnswerFacts::Drift { text, verdict: drift.verdict },
        Answer::Hallucination(claims) => AnswerFacts::Hallucination { text, verdict: claims.verdict },
        Answer::Docs(_) => AnswerFacts::Docs { text },
        Answer::Decision(decision) => AnswerFacts::Decision { text, decision: decision.decision },
        Answer::Retrospective(retro) => AnswerFacts::Retrospective { text, phase: u64::from(retro.phase_number) },
        Answer::Review(_)
        | Answer::SecurityReview(_)
        | Answer::Tests(_)
        | Answer::Design(_)
        | Answer::Work(_)
        | Answer::Impact(_) => {
            return Err(NoModeAnswer::OfATask(answer.kind()));
        }
    };
    Ok((facts, body))
}

/// Returns the facts of a plan that the modes depend on; the digest is that of its `plan.json` as [`plan_json::write`]
/// writes it.
#[must_use]
pub fn facts_of_plan(plan: &Plan) -> PlanFacts {
    let mut phases: Vec<_> = plan.phases.iter().map(|phase| phase.id).collect();
    phases.sort_unstable();
    PlanFacts { plan: Digest::of(plan_json::write(plan).as_bytes()), phases }
}

fn plan(value: &serde_json::Value) -> Result<Plan, NoModeAnswer> {
    plan_json::parse(&value.to_string()).map_err(NoModeAnswer::BadPlan)
}

fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}
