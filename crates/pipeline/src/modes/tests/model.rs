//! Checks ten thousand random histories: roles that lie, repeat, answer late or not at all, persons who answer or
//! don't, and restarts from the record at any step. The expectations are computed from the recorded events alone, not
//! from the state of the machine.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use super::*;

/// Number of simulated histories.
const HISTORIES: u64 = 10_000;

/// Maximum events without a person: 4 phases of 6 steps and 9 before them, each asked at most 1 + 2 + 1 + 3 times,
/// twice for the critic's cycles.
const MAX_EVENTS_ALONE: usize = 400;

/// Maximum number of events in a history; ends the histories of a person who always requests everything again.
const MAX_EVENTS: usize = 600;

/// Behaviour of the person.
#[derive(Clone, Copy, PartialEq)]
enum Person {
    Silent,
    Expires,
    Answers,
}

/// A simulated history.
struct World {
    rng: Rng,
    person: Person,
    /// Probability, in tenths, that a role lies or fails.
    bad: u32,
    state: State,
    events: Vec<ModeEvent>,
    model: Model,
    drafts: u32,
    /// True if agents sometimes take the architect's seat.
    has_seats: bool,
}

/// State derived from the recorded events.
#[derive(Default)]
struct Model {
    is_brownfield: bool,
    /// True if the explorer has to consolidate what earlier runs left.
    is_briefed: bool,
    /// True if the briefing was answered, or skipped by a person.
    has_briefing: bool,
    plan: Option<PlanFacts>,
    approved: BTreeSet<Digest>,
    cycles: u32,
    guided: BTreeSet<String>,
    real: bool,
    ran: BTreeSet<u64>,
    evident: BTreeSet<u64>,
    let_in: BTreeMap<u64, bool>,
    alone: usize,
    /// Agent and fence of the last holder of the seat.
    seat: Option<(AgentName, u64)>,
    is_vacant: bool,
    fence: u64,
    /// The step that began last.
    begun: Option<u32>,
    /// Failed tasks that the architect was asked about since a person's last decision.
    decided: BTreeSet<TaskId>,
    /// The failed task that holds the current phase.
    failed: Option<TaskId>,
}

#[test]
fn every_history_ends_or_waits_for_a_named_person() {
    let (mut ends, mut modes, mut asked) = (BTreeMap::<&str, u64>::new(), BTreeSet::new(), BTreeSet::new());
    for seed in 0..HISTORIES {
        let mut world = World::new(seed);
        let end = world.run(&mut modes, &mut asked);
        *ends.entry(end).or_default() += 1;

        let stored: Vec<String> = world.events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        assert!(stored.iter().all(|event| event.len() <= MAX_FACTS_BYTES), "history {seed}");
        let read: Vec<ModeEvent> = stored.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
        assert_eq!(State::fold(&read), world.state, "history {seed}: what is stored leads to another state");
    }
    assert_eq!(modes.len(), 11, "every mode was entered: {modes:?}");
    assert_eq!(asked.len(), 10, "every question was asked: {asked:?}");
    for end in ["done", "stopped", "person"] {
        assert!(ends.get(end).is_some_and(|count| *count > HISTORIES / 50), "{ends:?}");
    }
    assert!(ends.get("cut off").is_none_or(|count| *count < HISTORIES / 50), "{ends:?}");
}

// === impl World ===

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let person = [Person::Silent, Person::Expires, Person::Answers, Person::Answers][rng.usize(..4)];
        let bad = [0, 1, 3, 6][rng.usize(..4)];
        let model = Model { let_in: BTreeMap::new(), ..Model::default() };
        let has_seats = seed.is_multiple_of(4);
        let mut world = Self { rng, person, bad, state: State::new(), events: Vec::new(), model, drafts: 0, has_seats };
        let setup = world.setup();
        world.model.begin(&setup);
        assert!(world.happens(ModeEvent::Began { setup }));
        world
    }

    fn setup(&mut self) -> Setup {
        let rng = &mut self.rng;
        let phases: Vec<u64> = (1..=rng.u64(1..5)).collect();
        let plan = rng.bool().then(|| plan("given", &phases));
        let from_phase = plan.as_ref().filter(|_| rng.bool()).map(|_| rng.u64(1..4));
        let mut flag = || rng.bool();
        let steps = OptionalSteps {
            briefing: flag(),
            clarify: flag(),
            consult: flag(),
            specify: flag(),
            docs: flag(),
            drift: flag(),
            hallucination: flag(),
        };
        let nothing = rng.u32(..50) == 0;
        Setup {
            request: (plan.is_none() && !nothing).then(|| text("request")),
            approved: plan.as_ref().filter(|_| rng.u32(..3) == 0).map(|plan| plan.plan),
            is_empty_project: rng.bool(),
            retrospectives: rng.u32(..3),
            proceed: [Proceed::Ask, Proceed::AutoProceed, Proceed::AutoFlag][rng.usize(..3)],
            person: ben(),
            limits: ModeLimits::default(),
            from_phase,
            steps,
            plan,
        }
    }

    /// Runs until no more events happen. Returns the outcome.
    fn run(&mut self, modes: &mut BTreeSet<Mode>, asked: &mut BTreeSet<String>) -> &'static str {
        modes.insert(Mode::Resume);
        while self.events.len() < MAX_EVENTS {
            modes.insert(self.state.mode());
            let action = self.state.next();
            assert_eq!(self.state.next(), action, "the same state says the same");
            self.model.allows(&action);
            self.disturb();
            if self.has_seats {
                self.move_seat();
            }
            if self.state.next() != action {
                continue;
            }
            let done = match action {
                Action::Begin => unreachable!("it has begun"),
                Action::Done { .. } => Some("done"),
                Action::Stop { .. } => self.stopped(),
                Action::AskPerson { step, person, question, choices } => {
                    asked.insert(format!("{question:?}").split(' ').next().unwrap().to_owned());
                    assert_eq!(person, ben());
                    self.person(step, &question, &choices)
                }
                Action::AskRole { step, ask, .. } => self.role(step, &ask),
                Action::Check { step, .. } => {
                    let missing = if self.is_bad() { vec!["1.1: review".to_owned()] } else { Vec::new() };
                    self.must(ModeEvent::Checked { step, missing })
                }
                Action::RunPhase { step, phase } => {
                    let failed = (self.rng.u32(..3) > 0).then(|| failed(["1.1", "1.2"][self.rng.usize(..2)]));
                    let held = PhaseOutcome::Held { why: "no attempts left".to_owned(), failed };
                    let outcome = if self.is_bad() { held } else { PhaseOutcome::Done };
                    self.must(ModeEvent::PhaseEnded { step, phase, outcome })
                }
                Action::Proceed { step, because, .. } => self.must(ModeEvent::Proceeded { step, because }),
                Action::AwaitSeat { step } => self.lead(step),
                Action::FillSeat { person, agent, fence, .. } => {
                    assert_eq!((person, Some((agent, fence))), (ben(), self.model.seat.clone()));
                    self.fill_seat(fence)
                }
            };
            if let Some(end) = done {
                return end;
            }
        }
        "cut off"
    }

    /// Records an event if the machine takes it, and checks that a restart here changes nothing.
    fn happens(&mut self, event: ModeEvent) -> bool {
        let event = event.fitted();
        let before = self.state.clone();
        let Ok(next) = self.state.step(&event) else {
            assert_eq!(self.state, before, "a refusal changes nothing");
            return false;
        };
        self.model.takes(&before, &event, &next);
        self.state = next;
        self.events.push(event);
        if self.rng.u32(..12) == 0 {
            let restarted = State::fold(&self.events);
            assert_eq!(restarted, self.state, "a restart changes nothing");
        }
        true
    }

    fn must(&mut self, event: ModeEvent) -> Option<&'static str> {
        let is_taken = self.happens(event.clone());
        assert!(is_taken, "{event:?} is what was waited for: {:?}", self.state.at());
        None
    }

    fn is_bad(&mut self) -> bool {
        self.rng.u32(..10) < self.bad
    }

    /// Sends events that come from outside at any time: late, forged and repeated ones, or a stop.
    fn disturb(&mut self) {
        let now = self.state.step_number();
        let step = if self.rng.bool() { now } else { now.saturating_sub(self.rng.u32(1..4)) };
        let late = step != now;
        match self.rng.u32(..40) {
            0 => {
                let answer = self.lie(&Ask::Critique);
                let is_waited_for = matches!(self.state.at(), At::Asking { .. });
                let is_taken = self.happens(ModeEvent::Answered { step, answer });
                assert!(!is_taken || (is_waited_for && !late));
            }
            1 => {
                let is_running = matches!(self.state.at(), At::Running { .. });
                let event = ModeEvent::PhaseEnded { step, phase: self.rng.u64(1..5), outcome: PhaseOutcome::Done };
                let is_taken = self.happens(event);
                assert!(!is_taken || (is_running && !late));
            }
            2 => {
                let is_checking = matches!(self.state.at(), At::Checking(_));
                let is_taken = self.happens(ModeEvent::Checked { step, missing: Vec::new() });
                assert!(!is_taken || (is_checking && !late));
            }
            3 => {
                let auto = self.state.known().unwrap().setup.proceed;
                let is_ready = matches!(self.state.at(), At::Ready { .. });
                let is_taken = self.happens(ModeEvent::Proceeded { step, because: Proceed::AutoFlag });
                assert!(!is_taken || (is_ready && !late && auto == Proceed::AutoFlag));
            }
            5 if self.rng.u32(..8) == 0 => {
                let is_over = self.state.is_over();
                let is_taken = self.happens(ModeEvent::Stopped { by: ben(), why: "lunch".to_owned() });
                assert_eq!(is_taken, !is_over);
            }
            6 => {
                let is_stopped = matches!(self.state.at(), At::Stopped { .. });
                assert_eq!(self.happens(ModeEvent::Resumed { by: ben() }), is_stopped);
            }
            7 => assert!(!self.happens(ModeEvent::Began { setup: request() })),
            _ => {}
        }
    }

    /// Agents take, lose and give back the seat, and act under outdated fences.
    fn move_seat(&mut self) {
        let fence = self.model.fence;
        let agent = AgentName::new(["ada", "bob"][self.rng.usize(..2)]).unwrap();
        let is_over = self.state.is_over();
        let is_led = self.model.seat.is_some() && !self.model.is_vacant;
        match self.rng.u32(..60) {
            0 | 1 => {
                let is_others = is_led && self.model.seat.as_ref().is_some_and(|(holder, _)| *holder != agent);
                let next = fence + 1 + u64::from(self.rng.u32(..4) == 0);
                let taken = ModeEvent::SeatTaken { agent, fence: next, lease_ms: 1000, by: ben() };
                assert_eq!(self.happens(taken), !is_over && !is_others && next == fence + 1);
            }
            2 => assert_eq!(self.happens(ModeEvent::SeatLost { fence }), !is_over && is_led),
            3 => {
                let has_seat = self.model.seat.is_some();
                assert_eq!(self.happens(ModeEvent::SeatLeft { fence, by: ben() }), has_seat);
            }
            4 => {
                // Events of an earlier holder are refused.
                let fence = fence.saturating_sub(1);
                let step = self.state.step_number();
                assert!(!self.happens(ModeEvent::StepBegun { step, fence }));
                assert!(!self.happens(ModeEvent::SeatLost { fence }));
                assert!(!self.happens(ModeEvent::GatesAdded { gates: vec!["lint".to_owned()], fence }));
            }
            5 => {
                let gates = vec![["lint", "build_check"][self.rng.usize(..2)].to_owned()];
                assert_eq!(self.happens(ModeEvent::GatesAdded { gates, fence }), !is_over && is_led);
            }
            _ => {}
        }
    }

    /// Acts as the holder of the seat: answers, or begins the step of a role.
    fn lead(&mut self, step: u32) -> Option<&'static str> {
        let At::Asking { ask, .. } = self.state.at().clone() else { panic!("nothing to lead at {}", self.state.at()) };
        let begun = ModeEvent::StepBegun { step, fence: self.model.fence };
        if ask.role() == RoleName::Architect {
            assert!(!self.happens(begun), "nobody else answers what the architect is asked");
            return self.role(step, &ask);
        }
        self.must(begun)
    }

    fn fill_seat(&mut self, fence: u64) -> Option<&'static str> {
        match self.person {
            Person::Silent => {
                assert_eq!(self.state.waits_for(), Some(&ben()));
                Some("person")
            }
            Person::Expires => self.must(ModeEvent::Stopped { by: ben(), why: "nobody took the seat".to_owned() }),
            Person::Answers => self.must(ModeEvent::SeatLeft { fence, by: ben() }),
        }
    }

    fn stopped(&mut self) -> Option<&'static str> {
        if self.person == Person::Answers && self.rng.bool() {
            self.happens(ModeEvent::Resumed { by: ben() });
            return None;
        }
        Some("stopped")
    }

    fn person(&mut self, step: u32, question: &Question, choices: &[Choice]) -> Option<&'static str> {
        match self.person {
            Person::Silent => {
                assert_eq!(self.state.waits_for(), Some(&ben()));
                Some("person")
            }
            Person::Expires => self.must(ModeEvent::PersonExpired { step }),
            Person::Answers => {
                let note = self.rng.bool().then(|| text("note"));
                // Rarely stops, so that most histories continue.
                let choice = choices[self.rng.usize(..choices.len())];
                let choice = if choice == Choice::Stop && self.rng.u32(..4) != 0 { choices[0] } else { choice };
                let is_text = question.takes_text() && self.rng.u32(..4) != 0;
                let said = if is_text {
                    PersonAnswer::Text { text: text("words") }
                } else {
                    PersonAnswer::Chose { choice, note }
                };
                self.must(ModeEvent::PersonAnswered { step, by: ben(), answer: said })
            }
        }
    }

    fn role(&mut self, step: u32, ask: &Ask) -> Option<&'static str> {
        if !self.is_bad() {
            let answer = self.truth(ask);
            return self.must(ModeEvent::Answered { step, answer });
        }
        if self.rng.u32(..3) > 0 {
            let answer = self.lie(ask);
            return self.must(ModeEvent::Answered { step, answer });
        }
        let why = "x".repeat(self.rng.usize(..3_000));
        self.must(ModeEvent::Unanswered { step, why })
    }

    /// Returns an answer of the requested kind, with a random verdict.
    fn truth(&mut self, ask: &Ask) -> AnswerFacts {
        let all = ["rust", "sql", "security", "web"];
        let domains: Vec<&str> = all.into_iter().filter(|_| self.rng.u32(..3) == 0).collect();
        let is_bad = self.is_bad();
        let verdict = if is_bad { VerifierVerdict::NeedsRevision } else { VerifierVerdict::Approved };
        match ask {
            Ask::Questions => questions(self.rng.u32(..4)),
            Ask::Briefing | Ask::Discover | Ask::Rescan { .. } => explored(&domains),
            Ask::Reality => real(u32::from(is_bad)),
            Ask::Consult { domain, .. } => guided(domain),
            Ask::Spec => AnswerFacts::Spec { text: text("spec") },
            Ask::Plan => self.draft(),
            Ask::Critique => reviewed(self.verdict()),
            Ask::Decision { .. } => {
                let all = [DecisionKind::RetryWith, DecisionKind::Rescope, DecisionKind::Split, DecisionKind::GiveUp];
                decided(all[self.rng.usize(..4)])
            }
            Ask::Docs { .. } => documented(),
            Ask::Retrospective { phase } => retrospective(*phase),
            Ask::Drift { .. } => AnswerFacts::Drift { text: text("drift"), verdict },
            Ask::Hallucination { .. } => AnswerFacts::Hallucination { text: text("claims"), verdict },
        }
    }

    /// Returns an arbitrary answer: of another kind, about something else, unchanged, or with completed phases left
    /// out.
    fn lie(&mut self, ask: &Ask) -> AnswerFacts {
        let other = [
            Ask::Questions,
            Ask::Reality,
            Ask::Consult { domain: "astrology".to_owned(), phase: 1 },
            Ask::Plan,
            Ask::Critique,
            Ask::Retrospective { phase: 77 },
            Ask::Decision { phase: 1, task: task("1.1") },
            Ask::Drift { phase: 1 },
            ask.clone(),
        ];
        let ask = other[self.rng.usize(..other.len())].clone();
        if ask != Ask::Plan {
            return self.truth(&ask);
        }
        let phases: &[u64] = [&[][..], &[7], &[0], &[1, 1], &[2, 3]][self.rng.usize(..5)];
        let word = if self.rng.bool() { "given".to_owned() } else { format!("draft {}", self.drafts) };
        drafted(&word, phases)
    }

    fn draft(&mut self) -> AnswerFacts {
        self.drafts += 1;
        let done = self.state.known().unwrap().done.iter().max().copied().unwrap_or(0);
        let phases: Vec<u64> = (1..=self.rng.u64(done.max(1)..done + 3)).collect();
        drafted(&format!("draft {}", self.drafts), &phases)
    }

    fn verdict(&mut self) -> PlanVerdict {
        if !self.is_bad() {
            return PlanVerdict::Approved;
        }
        [PlanVerdict::NeedsRevision, PlanVerdict::NeedsRevision, PlanVerdict::Rejected][self.rng.usize(..3)]
    }
}

// === impl Model ===

impl Model {
    fn begin(&mut self, setup: &Setup) {
        self.is_brownfield = !setup.is_empty_project;
        self.is_briefed = setup.steps.briefing && setup.retrospectives > 0;
        self.plan.clone_from(&setup.plan);
        self.approved.extend(setup.approved);
        let from = setup.from_phase.unwrap_or(0);
        let before = setup.plan.iter().flat_map(|plan| &plan.phases).filter(|phase| **phase < from);
        self.evident.extend(before);
        self.ran = self.evident.clone();
        let first = setup.plan.as_ref().and_then(|plan| plan.phases.iter().find(|phase| **phase >= from));
        self.let_in.insert(*first.unwrap_or(&1), true);
    }

    /// Returns the current phase; 1 before there is a plan.
    fn phase(&self) -> Option<u64> {
        let Some(plan) = &self.plan else { return Some(1) };
        plan.phases.iter().copied().find(|phase| !self.evident.contains(phase))
    }

    /// Checks an action against the recorded events.
    fn allows(&self, action: &Action) {
        if let (Some(_), Action::AskRole { step, role, .. }) = (&self.seat, action) {
            assert_ne!(*role, RoleName::Architect.id(), "the architect's seat is taken, and another one is asked");
            assert_eq!(self.begun, Some(*step), "the {role} begins and nobody said so");
        }
        let plan = self.plan.as_ref().map(|plan| plan.plan);
        match action {
            Action::RunPhase { phase, .. } | Action::Check { check: Check::Preflight { phase }, .. } => {
                assert!(
                    plan.is_some_and(|plan| self.approved.contains(&plan)),
                    "phase {phase} without an approved plan"
                );
                assert!(self.let_in.get(phase).is_some_and(|is_in| *is_in), "phase {phase} begins and nobody said so");
            }
            Action::AskRole { ask: Ask::Consult { domain, .. }, .. } => {
                assert!(!self.guided.contains(domain), "{domain} is asked about twice");
            }
            Action::AskRole { ask: Ask::Briefing, .. } => {
                assert!(self.is_briefed && !self.has_briefing, "a briefing is asked for twice, or out of nothing");
            }
            Action::AskRole { ask: Ask::Questions | Ask::Discover, .. } => {
                assert!(self.has_briefing || !self.is_briefed, "the run begins without its briefing");
            }
            Action::AskRole { ask: Ask::Plan | Ask::Critique, .. } => {
                assert!(self.has_briefing || !self.is_briefed, "a plan without its briefing");
                assert!(self.real || !self.is_brownfield, "a plan before the reality check");
            }
            Action::Done { .. } => {
                let phases = &self.plan.as_ref().unwrap().phases;
                let is_done = |phase: &u64| self.ran.contains(phase) && self.evident.contains(phase);
                assert!(phases.iter().all(is_done), "done without {phases:?}");
            }
            Action::AskRole { ask: Ask::Decision { task, .. }, .. } => {
                assert_eq!(self.failed.as_ref(), Some(task), "{task} has not failed");
                assert!(!self.decided.contains(task), "the architect is asked twice about {task}");
            }
            Action::AskPerson { question: Question::PhaseHeld { .. }, .. } => {
                let is_asked = self.failed.as_ref().is_none_or(|task| self.decided.contains(task));
                assert!(is_asked, "a person is asked before the architect about {:?}", self.failed);
            }
            Action::AwaitSeat { .. } => assert!(self.seat.is_some() && !self.is_vacant, "nobody has the seat"),
            Action::FillSeat { .. } => assert!(self.is_vacant, "the seat is not vacant"),
            Action::Begin
            | Action::AskRole { .. }
            | Action::AskPerson { .. }
            | Action::Check { .. }
            | Action::Proceed { .. }
            | Action::Stop { .. } => {}
        }
    }

    fn takes(&mut self, before: &State, event: &ModeEvent, next: &State) {
        self.alone += usize::from(!event.is_of_seat());
        match event {
            ModeEvent::Answered { answer, .. } => self.answer(before, answer, next),
            ModeEvent::PhaseEnded { phase, outcome: PhaseOutcome::Done, .. } => {
                self.ran.insert(*phase);
                self.failed = None;
            }
            ModeEvent::PhaseEnded { outcome: PhaseOutcome::Held { failed, .. }, .. } => {
                self.failed = failed.as_ref().map(|failed| failed.task.clone());
            }
            ModeEvent::Unanswered { .. } => self.was_asked(before),
            ModeEvent::Checked { missing, .. } => {
                if let At::Checking(Check::Evidence { phase }) = before.at()
                    && missing.is_empty()
                {
                    assert!(self.ran.contains(phase));
                    self.evident.insert(*phase);
                }
            }
            ModeEvent::Proceeded { .. } => self.enter(before),
            ModeEvent::PersonAnswered { answer, .. } => self.person(before, *answer),
            ModeEvent::Stopped { .. } | ModeEvent::Resumed { .. } | ModeEvent::PersonExpired { .. } => self.alone = 0,
            ModeEvent::SeatTaken { agent, fence, .. } => {
                assert!(*fence > self.fence, "a fence was given twice");
                (self.seat, self.is_vacant, self.fence) = (Some((agent.clone(), *fence)), false, *fence);
            }
            ModeEvent::SeatLost { .. } => self.is_vacant = true,
            ModeEvent::SeatLeft { .. } => (self.seat, self.is_vacant) = (None, false),
            ModeEvent::StepBegun { step, .. } => self.begun = Some(*step),
            ModeEvent::GatesAdded { .. } => {}
            ModeEvent::Began { .. } => {}
        }
        assert!(self.alone < MAX_EVENTS_ALONE, "no end is in sight");
    }

    fn answer(&mut self, before: &State, answer: &AnswerFacts, next: &State) {
        let At::Asking { ask, .. } = before.at() else { panic!("an answer was taken that nobody asked for") };
        // Asked again, because the answer did not fit.
        let is_refused = matches!(next.at(), At::Asking { ask: same, refused: Some(_), .. } if same == ask)
            || matches!(next.at(), At::Waiting(Question::NoAnswer { .. }));
        if is_refused {
            return;
        }
        let is_of_task = matches!(ask, Ask::Decision { .. });
        if is_of_task && ask.answer() != answer.kind() {
            assert!(matches!(next.at(), At::Waiting(Question::PhaseHeld { .. })), "{:?}", next.at());
            return self.was_asked(before);
        }
        assert_eq!(ask.answer(), answer.kind());
        match answer {
            AnswerFacts::PlanDraft { plan } => {
                let is_let_in = self.phase().is_none_or(|phase| self.let_in.get(&phase).is_some_and(|is_in| *is_in));
                self.plan = Some(plan.clone());
                // The permission is for the current phase, whatever its number in the new plan.
                if let Some(phase) = self.phase().filter(|_| is_let_in) {
                    self.let_in.insert(phase, true);
                }
            }
            AnswerFacts::Decision { decision, .. } => {
                self.was_asked(before);
                self.real &= !matches!(decision, DecisionKind::Rescope | DecisionKind::Split);
                self.cycles = if self.real { self.cycles } else { 0 };
            }
            AnswerFacts::Exploration { .. } => self.has_briefing |= *ask == Ask::Briefing,
            AnswerFacts::Reality { .. } => self.real = true,
            AnswerFacts::Guidance { domain, .. } => {
                assert!(self.guided.insert(domain.clone()), "guidance on {domain} was taken twice");
            }
            AnswerFacts::PlanReview { verdict: PlanVerdict::Approved, .. } => {
                self.approved.extend(self.plan.as_ref().map(|plan| plan.plan));
                self.cycles = 0;
            }
            AnswerFacts::PlanReview { verdict: PlanVerdict::NeedsRevision, .. } => {
                if matches!(next.at(), At::Asking { ask: Ask::Plan, .. }) {
                    self.cycles += 1;
                }
                assert!(self.cycles <= 2, "a third revision without a person");
                let plan = self.plan.as_ref().map(|plan| plan.plan).unwrap();
                self.approved.remove(&plan);
            }
            AnswerFacts::PlanReview { verdict: PlanVerdict::Rejected, .. }
            | AnswerFacts::Questions { .. }
            | AnswerFacts::Spec { .. }
            | AnswerFacts::Drift { .. }
            | AnswerFacts::Hallucination { .. }
            | AnswerFacts::Docs { .. }
            | AnswerFacts::Retrospective { .. } => {}
        }
    }

    /// Records that the architect was asked about a failed task.
    fn was_asked(&mut self, before: &State) {
        if let At::Asking { ask: Ask::Decision { task, .. }, .. } = before.at() {
            self.decided.insert(task.clone());
        }
    }

    fn person(&mut self, before: &State, answer: PersonAnswer) {
        self.alone = 0;
        let PersonAnswer::Chose { choice, .. } = answer else { return };
        if choice != Choice::Stop && matches!(before.at(), At::Waiting(Question::PhaseHeld { .. })) {
            self.decided.clear();
        }
        if choice == Choice::Skip && matches!(before.at(), At::Waiting(Question::NoAnswer { ask: Ask::Briefing, .. })) {
            self.has_briefing = true;
        }
        let is_of_plan = matches!(
            before.at(),
            At::Waiting(
                Question::PlanRejected { .. }
                    | Question::RevisionsSpent { .. }
                    | Question::NoAnswer { ask: Ask::Critique, .. }
            )
        );
        match choice {
            Choice::Approve if is_of_plan => {
                self.approved.extend(self.plan.as_ref().map(|plan| plan.plan));
                self.cycles = 0;
            }
            Choice::Revise => {
                self.cycles = 0;
                self.real &= is_of_plan;
            }
            Choice::Proceed => self.enter(before),
            Choice::Redo => {
                if let At::Waiting(Question::EvidenceMissing { phase, .. }) = before.at() {
                    self.ran.remove(phase);
                }
            }
            Choice::Approve | Choice::Retry | Choice::Skip | Choice::Stop => {}
        }
    }

    fn enter(&mut self, before: &State) {
        let At::Ready { phase } = before.at() else { panic!("nothing was ready") };
        self.let_in.insert(*phase, true);
    }
}
