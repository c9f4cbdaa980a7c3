//! The knowledge of a team's run, and what it needs next.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::modes::{FailedTask, PlanFacts, Proceed, Setup};
use switchboard_protocol::plan::TaskId;

use super::{Ask, At, Check, Question};

/// Everything known about a run. Texts are digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Setup at the beginning of the run.
    pub setup: Setup,
    /// The request; may be missing in a run that began with a plan.
    pub request: Option<Digest>,
    /// Explorer's briefing on what earlier runs have learned.
    pub briefing: Option<Digest>,
    /// Questions to a person, once the role has listed them; empty if the request is clear.
    pub questions: Option<Digest>,
    /// Number of questions.
    pub question_count: u32,
    /// A person's answers so far.
    pub answers: Vec<Digest>,
    /// The last report of an explorer.
    pub exploration: Option<Digest>,
    /// Domains that the reports named.
    pub domains: BTreeSet<String>,
    /// State of each thing that the request or plan refers to.
    pub reality: Option<Digest>,
    /// Guidance by domain, with the phase in which it was given. Each domain is asked about once.
    pub guidance: BTreeMap<String, (u64, Digest)>,
    /// The specification.
    pub spec: Option<Digest>,
    /// The plan.
    pub plan: Option<PlanFacts>,
    /// Reason for the next revision of the plan: a review, a reality check or a person's note.
    pub revise: Option<Digest>,
    /// Digests of refused plans.
    pub refused: BTreeSet<Digest>,
    /// Revisions that the critic requested since a person's last decision.
    pub cycles: u32,
    /// Approval of a plan.
    pub approval: Option<Approval>,
    /// Questions that a person skipped.
    pub skipped: BTreeSet<Ask>,
    /// Numbers of completed phases.
    pub done: BTreeSet<u64>,
    /// Failed task of the current phase, until the architect or a person decides about it, and why the phase is held.
    pub failed: Option<(FailedTask, String)>,
    /// Tasks that the architect was asked about since a person's last decision about the phase; each is asked about
    /// once.
    pub decided: BTreeSet<TaskId>,
    /// Decision of the architect with a note for the task that is retried.
    pub advice: Option<(TaskId, Digest)>,
    /// Progress of the current phase.
    pub work: PhaseWork,
    /// Phases that began without a question to a person, with the setting that allowed it.
    pub proceeded: BTreeMap<u64, Proceed>,
}

/// Approval of a plan. It is valid for that plan only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Digest of the plan.
    pub plan: Digest,
    /// Author of the approval.
    pub by: Approver,
}

/// Author of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approver {
    /// The critic; the digest of the review.
    Critic(Digest),
    /// A person, by name.
    Person(AgentName),
    /// An approval in an earlier run.
    Earlier,
}

/// Progress of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a step each")]
pub struct PhaseWork {
    /// The phase may begin.
    pub is_let_in: bool,
    /// The preflight check passed.
    pub is_ready: bool,
    /// The tasks of the phase are done.
    pub has_run: bool,
    /// The explorer has rescanned the result.
    pub is_rescanned: bool,
    /// The documentation is written.
    pub is_documented: bool,
    /// The retrospective is written.
    pub has_retrospective: bool,
    /// The result was verified against the request.
    pub is_verified: bool,
    /// Statements about the code were verified.
    pub is_true: bool,
}

// === impl Known ===

impl Known {
    /// Returns what is known at the beginning of a run.
    pub(super) fn new(setup: Setup) -> Self {
        let plan = setup.plan.clone();
        let approved = setup.approved.filter(|approved| plan.as_ref().is_some_and(|plan| plan.plan == *approved));
        let from = setup.from_phase.unwrap_or_default();
        let phases = plan.iter().flat_map(|plan| plan.phases.iter().copied());
        Self {
            request: setup.request,
            briefing: None,
            questions: None,
            question_count: 0,
            answers: Vec::new(),
            exploration: None,
            domains: BTreeSet::new(),
            reality: None,
            guidance: BTreeMap::new(),
            spec: None,
            revise: None,
            refused: BTreeSet::new(),
            cycles: 0,
            approval: approved.map(|plan| Approval { plan, by: Approver::Earlier }),
            skipped: BTreeSet::new(),
            failed: None,
            decided: BTreeSet::new(),
            advice: None,
            done: phases.filter(|phase| *phase < from).collect(),
            work: PhaseWork { is_let_in: true, ..PhaseWork::default() },
            proceeded: BTreeMap::new(),
            plan,
            setup,
        }
    }

    /// Returns true if the current plan is approved.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        let plan = self.plan.as_ref().map(|plan| plan.plan);
        self.revise.is_none() && plan.is_some() && self.approval.as_ref().map(|approval| approval.plan) == plan
    }

    /// Returns the current phase: the first one of the plan that is not done. 1 before there is a plan, `None` after
    /// the last phase.
    #[must_use]
    pub fn phase(&self) -> Option<u64> {
        let Some(plan) = &self.plan else { return Some(1) };
        plan.phases.iter().copied().find(|phase| !self.done.contains(phase))
    }

    /// Returns what the run waits for next.
    pub(super) fn needs(&self) -> At {
        let ask = |ask| At::Asking { ask, tries: 0, refused: None };
        if self.request.is_none() && self.plan.is_none() {
            return At::Waiting(Question::Unknown { why: "it has neither a request nor a plan".to_owned() });
        }
        if !self.is_approved() {
            return self.before_approval().map_or_else(|| ask(Ask::Critique), ask);
        }
        match self.phase() {
            Some(phase) => self.of_phase(phase),
            None => At::Done,
        }
    }

    /// Returns the next question before the plan goes to the critic.
    fn before_approval(&self) -> Option<Ask> {
        let steps = self.setup.steps;
        let is_brownfield = !self.setup.is_empty_project;
        let wants = |is_wanted: bool, ask: Ask| (is_wanted && !self.skipped.contains(&ask)).then_some(ask);
        let has_earlier = self.setup.retrospectives > 0;
        let asks_questions = steps.clarify && self.plan.is_none() && self.questions.is_none();
        wants(steps.briefing && has_earlier && self.briefing.is_none(), Ask::Briefing)
            .or_else(|| wants(asks_questions, Ask::Questions))
            .or_else(|| wants(is_brownfield && self.exploration.is_none(), Ask::Discover))
            .or_else(|| wants(is_brownfield && self.reality.is_none(), Ask::Reality))
            .or_else(|| self.open_domain())
            .or_else(|| wants(steps.specify && self.plan.is_none() && self.spec.is_none(), Ask::Spec))
            .or_else(|| wants(self.plan.is_none() || self.revise.is_some(), Ask::Plan))
    }

    /// Returns a question about the first domain without guidance.
    fn open_domain(&self) -> Option<Ask> {
        let phase = self.phase().unwrap_or(1);
        let left_out: BTreeSet<&String> = self.skipped.iter().filter_map(Ask::domain).collect();
        let is_open = |domain: &&String| !self.guidance.contains_key(*domain) && !left_out.contains(domain);
        let domain = self.domains.iter().find(is_open).filter(|_| self.setup.steps.consult)?;
        Some(Ask::Consult { domain: domain.clone(), phase })
    }

    fn of_phase(&self, phase: u64) -> At {
        let ask = |ask| At::Asking { ask, tries: 0, refused: None };
        let PhaseWork { is_let_in, is_ready, has_run, .. } = self.work;
        if !is_let_in {
            return At::Ready { phase };
        }
        if !is_ready {
            return self.open_domain().map_or(At::Checking(Check::Preflight { phase }), ask);
        }
        if let Some((failed, _)) = &self.failed {
            return ask(Ask::Decision { phase, task: failed.task.clone() });
        }
        if !has_run {
            return At::Running { phase };
        }
        self.of_wrap(phase).map_or(At::Checking(Check::Evidence { phase }), ask)
    }

    /// Returns the next question at the end of a phase, before its evidence is checked.
    fn of_wrap(&self, phase: u64) -> Option<Ask> {
        let steps = self.setup.steps;
        let wants = |is_wanted: bool, ask: Ask| (is_wanted && !self.skipped.contains(&ask)).then_some(ask);
        wants(!self.work.is_rescanned, Ask::Rescan { phase })
            .or_else(|| wants(steps.docs && !self.work.is_documented, Ask::Docs { phase }))
            .or_else(|| wants(!self.work.has_retrospective, Ask::Retrospective { phase }))
            .or_else(|| wants(steps.drift && self.spec.is_some() && !self.work.is_verified, Ask::Drift { phase }))
            .or_else(|| wants(steps.hallucination && !self.work.is_true, Ask::Hallucination { phase }))
    }

    /// Starts a revision of the plan and discards the checks of the code that were made for it.
    pub(super) fn revise_for(&mut self, reason: Digest) {
        self.refused.extend(self.plan.as_ref().map(|plan| plan.plan));
        self.approval = None;
        self.revise = Some(reason);
        self.cycles = 0;
    }

    /// As [`revise_for`](Self::revise_for), after tasks have changed the code.
    pub(super) fn replan_for(&mut self, reason: Digest) {
        self.revise_for(reason);
        self.reality = None;
        self.begin_phase(self.work.is_let_in);
    }

    /// Holds the phase. The architect is asked about a failed task, unless it was asked before; else returns a question
    /// to a person.
    pub(super) fn hold(&mut self, phase: u64, why: String, failed: Option<FailedTask>) -> Option<Question> {
        self.advice = None;
        match failed.filter(|failed| self.decided.insert(failed.task.clone())) {
            Some(failed) => {
                self.failed = Some((failed, why));
                None
            }
            None => Some(Question::PhaseHeld { phase, why, decision: None }),
        }
    }

    /// Passes a failed task from the architect to a person.
    pub(super) fn give_up_task(&mut self, phase: u64, decision: Option<Digest>, words: &str) -> Question {
        let why = self.failed.take().map(|(_, why)| why).unwrap_or_default();
        Question::PhaseHeld { phase, why: format!("{words}: {why}"), decision }
    }

    /// Clears the hold of a phase after a person's decision.
    pub(super) fn let_go_on(&mut self) {
        self.failed = None;
        self.decided.clear();
    }

    /// Begins the phase, or begins it again.
    pub(super) fn begin_phase(&mut self, is_let_in: bool) {
        let is_of_wrap = |ask: &Ask| matches!(ask, Ask::Rescan { .. } | Ask::Docs { .. });
        self.skipped.retain(|ask| !is_of_wrap(ask));
        (self.failed, self.advice) = (None, None);
        self.work = PhaseWork { is_let_in, ..PhaseWork::default() };
    }

    /// Ends the phase; the next one waits for permission to begin.
    pub(super) fn end_phase(&mut self, phase: u64) {
        self.done.insert(phase);
        self.begin_phase(false);
    }
}
