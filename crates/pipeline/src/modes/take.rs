//! Adds a role's answer to what is known.

use switchboard_protocol::answer::{DecisionKind, PlanVerdict, VerifierVerdict};
use switchboard_protocol::id::Digest;
use switchboard_protocol::modes::{AnswerFacts, PlanFacts};

use super::known::{Approval, Approver};
use super::{Ask, Known, Question};

/// Result of an answer.
pub(super) enum Taken {
    /// The answer was added.
    Known,
    /// The answer was added, and a person has to decide about it.
    Asks(Question),
    /// The answer can't be used.
    Bad(String),
}

/// Adds a role's answer.
pub(super) fn take(known: &mut Known, ask: &Ask, answer: &AnswerFacts) -> Taken {
    match (ask, answer) {
        (Ask::Questions, AnswerFacts::Questions { text, count }) => {
            known.questions = Some(*text);
            known.question_count = *count;
            if *count > 0 {
                return Taken::Asks(Question::Clarify { questions: *text, number: 1, of: *count });
            }
        }
        (Ask::Briefing, AnswerFacts::Exploration { text, domains }) => {
            known.briefing = Some(*text);
            known.domains.extend(domains.iter().cloned());
        }
        (Ask::Discover, AnswerFacts::Exploration { text, domains }) => {
            known.exploration = Some(*text);
            known.domains.extend(domains.iter().cloned());
        }
        (Ask::Rescan { .. }, AnswerFacts::Exploration { text, domains }) => {
            known.exploration = Some(*text);
            known.domains.extend(domains.iter().cloned());
            known.work.is_rescanned = true;
        }
        (Ask::Reality, AnswerFacts::Reality { text, complete, incorrect, .. }) => {
            known.reality = Some(*text);
            // The architect reviews a given plan before the critic does, and may decide that nothing has to change.
            if known.plan.is_some() && complete + incorrect > 0 && known.revise.is_none() {
                known.revise = Some(*text);
            }
        }
        (Ask::Consult { domain, phase }, AnswerFacts::Guidance { text, domain: of }) if domain == of => {
            known.guidance.insert(domain.clone(), (*phase, *text));
        }
        (Ask::Spec, AnswerFacts::Spec { text }) => known.spec = Some(*text),
        (Ask::Plan, AnswerFacts::PlanDraft { plan }) => return take_plan(known, plan),
        (Ask::Critique, AnswerFacts::PlanReview { text, verdict }) => {
            return take_review(known, *text, *verdict);
        }
        (Ask::Decision { phase, .. }, AnswerFacts::Decision { text, decision }) => {
            return take_decision(known, *phase, *text, *decision);
        }
        (Ask::Docs { .. }, AnswerFacts::Docs { .. }) => known.work.is_documented = true,
        (Ask::Retrospective { phase }, AnswerFacts::Retrospective { phase: of, .. }) if phase == of => {
            known.work.has_retrospective = true;
        }
        (Ask::Drift { .. }, AnswerFacts::Drift { verdict: VerifierVerdict::Approved, .. }) => {
            known.work.is_verified = true;
        }
        (Ask::Hallucination { .. }, AnswerFacts::Hallucination { verdict: VerifierVerdict::Approved, .. }) => {
            known.work.is_true = true;
        }
        (Ask::Drift { .. }, AnswerFacts::Drift { text, .. })
        | (Ask::Hallucination { .. }, AnswerFacts::Hallucination { text, .. }) => {
            return Taken::Asks(Question::Unverified { ask: ask.clone(), findings: *text });
        }
        (Ask::Consult { domain, .. }, AnswerFacts::Guidance { domain: of, .. }) => {
            return Taken::Bad(format!("it is about the domain `{of}`, and `{domain}` was asked about"));
        }
        (Ask::Retrospective { phase }, AnswerFacts::Retrospective { phase: of, .. }) => {
            return Taken::Bad(format!("it is about phase {of}, and phase {phase} was asked about"));
        }
        (ask, other) => {
            return Taken::Bad(format!("it is of the kind `{}`, and `{}` was asked for", other.kind(), ask.answer()));
        }
    }
    Taken::Known
}

/// Applies the architect's decision about a failed task: the run continues as decided, or a person decides.
fn take_decision(known: &mut Known, phase: u64, text: Digest, decision: DecisionKind) -> Taken {
    match decision {
        DecisionKind::RetryWith => {
            known.advice = known.failed.take().map(|(failed, _)| (failed.task, text));
            Taken::Known
        }
        // The plan defines the tasks and what they may change, so it is revised and reviewed like every other.
        DecisionKind::Rescope | DecisionKind::Split => {
            known.replan_for(text);
            Taken::Known
        }
        DecisionKind::GiveUp => Taken::Asks(known.give_up_task(phase, Some(text), "the architect gives it up")),
    }
}

fn take_plan(known: &mut Known, plan: &PlanFacts) -> Taken {
    if let Some(fault) = plan.fault() {
        return Taken::Bad(fault);
    }
    if known.refused.contains(&plan.plan) {
        return Taken::Bad("it is a plan that was refused, without a change".to_owned());
    }
    if let Some(phase) = known.done.iter().find(|phase| !plan.phases.contains(phase)) {
        return Taken::Bad(format!("phase {phase} is done and not in the plan any more"));
    }
    known.plan = Some(plan.clone());
    known.revise = None;
    Taken::Known
}

fn take_review(known: &mut Known, review: Digest, verdict: PlanVerdict) -> Taken {
    let Some(plan) = known.plan.as_ref().map(|plan| plan.plan) else {
        return Taken::Bad("there is no plan".to_owned());
    };
    let limit = known.setup.limits.critic_cycles;
    match verdict {
        PlanVerdict::Approved => {
            known.approval = Some(Approval { plan, by: Approver::Critic(review) });
            known.cycles = 0;
        }
        PlanVerdict::NeedsRevision if known.cycles < limit => {
            let cycles = known.cycles + 1;
            known.revise_for(review);
            known.cycles = cycles;
        }
        PlanVerdict::NeedsRevision => {
            return Taken::Asks(Question::RevisionsSpent { review, cycles: known.cycles });
        }
        PlanVerdict::Rejected => {
            return Taken::Asks(Question::PlanRejected { review });
        }
    }
    Taken::Known
}
