//! What a run of a team knows, and what it therefore needs next.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::modes::{FailedTask, PlanFacts, Proceed, Setup};
use switchboard_protocol::plan::TaskId;

use super::{Ask, At, Check, Question};

/// What a run knows. Texts are digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// How it began.
    pub setup: Setup,
    /// The request; a run that began with a plan may have none.
    pub request: Option<Digest>,
    /// What earlier runs have taught, in the words of an explorer.
    pub briefing: Option<Digest>,
    /// The questions to a person, once they are asked: none where the request is clear.
    pub questions: Option<Digest>,
    /// How many there are.
    pub question_count: u32,
    /// A person's answers so far.
    pub answers: Vec<Digest>,
    /// The last report of an explorer.
    pub exploration: Option<Digest>,
    /// Domains that its reports named.
    pub domains: BTreeSet<String>,
    /// How far each thing is that the request or plan refers to.
    pub reality: Option<Digest>,
    /// Guidance by domain, with the phase in which it was given. A domain is asked about once.
    pub guidance: BTreeMap<String, (u64, Digest)>,
    /// The specification.
    pub spec: Option<Digest>,
    /// The plan.
    pub plan: Option<PlanFacts>,
    /// What a revision of the plan is to heed: a review, a reality check or a person's note.
    pub revise: Option<Digest>,
    /// Plans that were refused.
    pub refused: BTreeSet<Digest>,
    /// Revisions that the critic has asked for since a person last decided.
    pub cycles: u32,
    /// Who approved which plan.
    pub approval: Option<Approval>,
    /// Questions that a person let the run go on without.
    pub skipped: BTreeSet<Ask>,
    /// Phases that are done.
    pub done: BTreeSet<u64>,
    /// The task of the present phase that has failed, until the architect or a person has decided about it, and why the phase is held.
    pub failed: Option<(FailedTask, String)>,
    /// Tasks that the architect was asked about since a person last decided about the phase: it is asked once.
    pub decided: BTreeSet<TaskId>,
    /// A decision of the architect with a note for the task that is tried again.
    pub advice: Option<(TaskId, Digest)>,
    /// How far the present phase is.
    pub work: PhaseWork,
    /// Phases that began without a person having been asked, with the setting that said so.
    pub proceeded: BTreeMap<u64, Proceed>,
}

/// The approval of a plan. It holds for that plan only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Digest of the plan.
    pub plan: Digest,
    /// Who gave it.
    pub by: Approver,
}

/// Who approved a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approver {
    /// The critic, with the review.
    Critic(Digest),
    /// A person.
    Person(AgentName),
    /// Somebody in an earlier run.
    Earlier,
}

/// How far a phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a step each")]
pub struct PhaseWork {
    /// It may begin.
    pub is_let_in: bool,
    /// What it needs is there.
    pub is_ready: bool,
    /// Its tasks are done.
    pub has_run: bool,
    /// What it left was explored.
    pub is_rescanned: bool,
    /// Its documentation is written.
    pub is_documented: bool,
    /// Its retrospective is written.
    pub has_retrospective: bool,
    /// What was built is what was asked for.
    pub is_verified: bool,
    /// What was said about the code is true.
    pub is_true: bool,
}

// === impl Known ===

impl Known {
    /// What a run knows at its beginning.
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

    /// Whether the plan as it stands is approved.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        let plan = self.plan.as_ref().map(|plan| plan.plan);
        self.revise.is_none() && plan.is_some() && self.approval.as_ref().map(|approval| approval.plan) == plan
    }

    /// The phase that is worked on: the first of the plan that is not done. 1 before there is a plan, `None` after the last one.
    #[must_use]
    pub fn phase(&self) -> Option<u64> {
        let Some(plan) = &self.plan else { return Some(1) };
        plan.phases.iter().copied().find(|phase| !self.done.contains(phase))
    }

    /// What the run waits for next.
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

    /// What is asked before the plan goes to the critic.
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

    /// The first domain without guidance.
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

    /// What is asked at the end of a phase before its evidence is checked.
    fn of_wrap(&self, phase: u64) -> Option<Ask> {
        let steps = self.setup.steps;
        let wants = |is_wanted: bool, ask: Ask| (is_wanted && !self.skipped.contains(&ask)).then_some(ask);
        wants(!self.work.is_rescanned, Ask::Rescan { phase })
            .or_else(|| wants(steps.docs && !self.work.is_documented, Ask::Docs { phase }))
            .or_else(|| wants(!self.work.has_retrospective, Ask::Retrospective { phase }))
            .or_else(|| wants(steps.drift && self.spec.is_some() && !self.work.is_verified, Ask::Drift { phase }))
            .or_else(|| wants(steps.hallucination && !self.work.is_true, Ask::Hallucination { phase }))
    }

    /// The plan is to be made anew or changed: what was true of the code for it is looked at again.
    pub(super) fn revise_for(&mut self, reason: Digest) {
        self.refused.extend(self.plan.as_ref().map(|plan| plan.plan));
        self.approval = None;
        self.revise = Some(reason);
        self.cycles = 0;
    }

    /// The same after tasks have changed the code.
    pub(super) fn replan_for(&mut self, reason: Digest) {
        self.revise_for(reason);
        self.reality = None;
        self.begin_phase(self.work.is_let_in);
    }

    /// Tasks of the phase can't go on: the architect is asked about one that has failed, unless it was asked before.
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

    /// The architect leaves a task that has failed to a person.
    pub(super) fn give_up_task(&mut self, phase: u64, decision: Option<Digest>, words: &str) -> Question {
        let why = self.failed.take().map(|(_, why)| why).unwrap_or_default();
        Question::PhaseHeld { phase, why: format!("{words}: {why}"), decision }
    }

    /// A person decides about a phase that is held.
    pub(super) fn let_go_on(&mut self) {
        self.failed = None;
        self.decided.clear();
    }

    /// The phase begins, or begins again.
    pub(super) fn begin_phase(&mut self, is_let_in: bool) {
        let is_of_wrap = |ask: &Ask| matches!(ask, Ask::Rescan { .. } | Ask::Docs { .. });
        self.skipped.retain(|ask| !is_of_wrap(ask));
        (self.failed, self.advice) = (None, None);
        self.work = PhaseWork { is_let_in, ..PhaseWork::default() };
    }

    /// The phase is done; the next one waits to be let in.
    pub(super) fn end_phase(&mut self, phase: u64) {
        self.done.insert(phase);
        self.begin_phase(false);
    }
}
