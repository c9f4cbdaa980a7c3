mod model;

use switchboard_protocol::answer::{DecisionKind, PlanVerdict, VerifierVerdict};
use switchboard_protocol::event::{Fact, MAX_FACTS_BYTES};
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::modes::{
    AnswerFacts, Choice, FailedTask, MAX_NOW, Mode, ModeEvent, ModeFact, ModeLimits, OptionalSteps, PersonAnswer,
    PhaseOutcome, PlanFacts, Proceed, Setup,
};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::RunOutcome;

use super::*;

fn text(word: &str) -> Digest {
    Digest::of(word.as_bytes())
}

fn ben() -> AgentName {
    AgentName::new("ben").unwrap()
}

fn request() -> Setup {
    Setup {
        request: Some(text("request")),
        plan: None,
        approved: None,
        from_phase: None,
        is_empty_project: false,
        retrospectives: 0,
        person: ben(),
        proceed: Proceed::Ask,
        steps: OptionalSteps::default(),
        limits: ModeLimits::default(),
    }
}

fn plan(word: &str, phases: &[u64]) -> PlanFacts {
    PlanFacts { plan: text(word), phases: phases.to_vec() }
}

fn given(word: &str, phases: &[u64]) -> Setup {
    Setup { request: None, plan: Some(plan(word, phases)), ..request() }
}

fn begun(setup: Setup) -> State {
    State::new().step(&ModeEvent::Began { setup }).unwrap()
}

/// Returns the state after these answers, each to what the state waits for.
fn after(state: &State, answers: impl IntoIterator<Item = AnswerFacts>) -> State {
    answers.into_iter().fold(state.clone(), |state, answer| {
        let event = ModeEvent::Answered { step: state.step_number(), answer };
        state.step(&event).unwrap_or_else(|refused| panic!("{refused}: {}", refused.hint))
    })
}

fn unanswered(state: &State) -> State {
    let event = ModeEvent::Unanswered { step: state.step_number(), why: "it said nothing".to_owned() };
    state.step(&event).unwrap()
}

fn says(state: &State, answer: PersonAnswer) -> Result<State, Refused> {
    let event = ModeEvent::PersonAnswered { step: state.step_number(), by: ben(), answer };
    state.step(&event)
}

fn chooses(state: &State, choice: Choice) -> State {
    says(state, PersonAnswer::Chose { choice, note: None }).unwrap()
}

fn checked(state: &State, missing: &[&str]) -> State {
    let missing = missing.iter().map(ToString::to_string).collect();
    state.step(&ModeEvent::Checked { step: state.step_number(), missing }).unwrap()
}

fn ran(state: &State, phase: u64) -> State {
    let event = ModeEvent::PhaseEnded { step: state.step_number(), phase, outcome: PhaseOutcome::Done };
    state.step(&event).unwrap()
}

fn questions(count: u32) -> AnswerFacts {
    AnswerFacts::Questions { text: text("questions"), count }
}

fn explored(domains: &[&str]) -> AnswerFacts {
    AnswerFacts::Exploration { text: text("report"), domains: domains.iter().map(ToString::to_string).collect() }
}

fn real(incorrect: u32) -> AnswerFacts {
    AnswerFacts::Reality { text: text("reality"), items: 2, complete: 0, incorrect }
}

fn guided(domain: &str) -> AnswerFacts {
    AnswerFacts::Guidance { text: text(domain), domain: domain.to_owned() }
}

fn drafted(word: &str, phases: &[u64]) -> AnswerFacts {
    AnswerFacts::PlanDraft { plan: plan(word, phases) }
}

fn reviewed(verdict: PlanVerdict) -> AnswerFacts {
    AnswerFacts::PlanReview { text: text("review"), verdict }
}

fn documented() -> AnswerFacts {
    AnswerFacts::Docs { text: text("docs") }
}

fn retrospective(phase: u64) -> AnswerFacts {
    AnswerFacts::Retrospective { text: text("retrospective"), phase }
}

/// Returns a run at the critic's gate with a plan of two phases.
fn at_critic_gate() -> State {
    let state = begun(request());
    after(&state, [questions(0), explored(&[]), real(0), drafted("first", &[1, 2])])
}

/// As [`at_critic_gate`], with an approved plan, in phase 1.
fn in_phase_1(setup: Setup) -> State {
    let answers = [questions(0), explored(&[]), real(0), drafted("first", &[1, 2]), reviewed(PlanVerdict::Approved)];
    checked(&after(&begun(setup), answers), &[])
}

/// As [`in_phase_1`], after phase 1, wrapped up except for the question to a person.
fn wrapped(setup: Setup) -> State {
    let state = ran(&in_phase_1(setup), 1);
    checked(&after(&state, [explored(&[]), documented(), retrospective(1)]), &[])
}

#[test]
fn a_request_goes_through_all_modes_to_the_end_of_its_last_phase() {
    let mut modes = vec![State::new().mode()];
    let mut see = |state: &State| {
        if modes.last() != Some(&state.mode()) {
            modes.push(state.mode());
        }
    };
    let setup = Setup { steps: OptionalSteps { specify: true, ..OptionalSteps::default() }, ..request() };
    let mut state = begun(setup);
    see(&state);
    state = after(&state, [questions(2)]);
    see(&state);
    for answer in ["a", "b"] {
        state = says(&state, PersonAnswer::Text { text: text(answer) }).unwrap();
    }
    let spec = AnswerFacts::Spec { text: text("spec") };
    for answer in [explored(&["rust", "sql"]), real(1), guided("rust"), guided("sql"), spec, drafted("first", &[1])] {
        see(&state);
        state = after(&state, [answer]);
    }
    see(&state);
    state = after(&state, [reviewed(PlanVerdict::Approved)]);
    see(&state);
    state = ran(&checked(&state, &[]), 1);
    let drift = AnswerFacts::Drift { text: text("drift"), verdict: VerifierVerdict::Approved };
    for answer in [explored(&[]), documented(), retrospective(1), drift] {
        see(&state);
        state = after(&state, [answer]);
    }
    state = checked(&state, &[]);

    assert_eq!(state.next(), Action::Done { phases: 1 });
    assert_eq!(
        modes,
        [
            Mode::Resume,
            Mode::Clarify,
            Mode::Discover,
            Mode::Reality,
            Mode::Consult,
            Mode::Specify,
            Mode::Plan,
            Mode::CriticGate,
            Mode::Execute,
            Mode::PhaseWrap,
        ]
    );
}

#[test]
fn each_role_is_told_what_is_known_for_it() {
    let state = after(&begun(request()), [questions(0), explored(&["rust"]), real(0), guided("rust")]);

    let Action::AskRole { role, inputs, mode, .. } = state.next() else { panic!("{:?}", state.next()) };

    assert_eq!((role.as_str(), mode), ("architect", Mode::Plan));
    assert_eq!(
        inputs,
        [
            ModeInput::Request(text("request")),
            ModeInput::Exploration(text("report")),
            ModeInput::Reality(text("reality")),
            ModeInput::Guidance { domain: "rust".to_owned(), phase: 1, text: text("rust") },
        ]
    );
}

#[test]
fn what_earlier_runs_have_taught_is_consolidated_once_and_told_to_the_architect() {
    let setup = Setup { retrospectives: 2, ..request() };
    let state = begun(setup.clone());
    let Action::AskRole { role, inputs, mode, .. } = state.next() else { panic!("{:?}", state.next()) };
    assert_eq!((role.as_str(), mode), ("explorer", Mode::Resume));
    assert_eq!(inputs, [ModeInput::Request(text("request"))]);
    let told = |state: &State| {
        let Action::AskRole { inputs, ask, .. } = state.next() else { panic!("{:?}", state.next()) };
        (ask, inputs.contains(&ModeInput::Briefing(text("report"))))
    };

    let briefed = after(&state, [explored(&[])]);
    assert_eq!(told(&briefed), (Ask::Questions, true));
    let planned = after(&briefed, [questions(0), explored(&[]), real(0)]);
    assert_eq!(told(&planned), (Ask::Plan, true));
    assert_eq!(chooses(&unanswered(&state), Choice::Skip).mode(), Mode::Clarify, "a person may leave it out");
    let without = OptionalSteps { briefing: false, ..OptionalSteps::default() };
    for setup in [request(), Setup { steps: without, ..setup }] {
        assert_eq!(begun(setup).mode(), Mode::Clarify);
    }
}

#[test]
fn an_empty_project_is_neither_explored_nor_checked() {
    let state = after(&begun(Setup { is_empty_project: true, ..request() }), [questions(0)]);

    assert_eq!(state.mode(), Mode::Plan);
}

#[test]
fn a_plan_that_was_given_is_checked_against_the_code_and_reviewed() {
    let state = after(&begun(given("given", &[1])), [explored(&[])]);
    assert_eq!(state.mode(), Mode::Reality);
    assert_eq!(after(&state, [real(0)]).mode(), Mode::CriticGate);

    let wrong = after(&state, [real(1)]);
    assert_eq!(wrong.mode(), Mode::Plan, "the architect corrects an assumption first");
    assert_eq!(after(&wrong, [drafted("given", &[1])]).mode(), Mode::CriticGate, "or finds that it may stay");
}

#[test]
fn a_plan_that_was_approved_before_goes_on_at_its_phase_and_a_changed_one_does_not() {
    let setup = Setup { approved: Some(text("given")), from_phase: Some(2), ..given("given", &[1, 2, 3]) };
    let state = begun(setup.clone());
    assert_eq!(state.at(), &At::Checking(Check::Preflight { phase: 2 }));

    let changed = Setup { approved: Some(text("other")), ..setup };
    assert_eq!(begun(changed).mode(), Mode::Discover);
}

#[test]
fn the_critic_sends_a_plan_back_twice_and_then_a_person_decides() {
    let mut state = at_critic_gate();
    for word in ["second", "third"] {
        state = after(&state, [reviewed(PlanVerdict::NeedsRevision)]);
        assert_eq!(state.mode(), Mode::Plan);
        state = after(&state, [drafted(word, &[1, 2])]);
    }
    state = after(&state, [reviewed(PlanVerdict::NeedsRevision)]);

    assert_eq!(state.at(), &At::Waiting(Question::RevisionsSpent { review: text("review"), cycles: 2 }));
    assert_eq!(state.waits_for(), Some(&ben()));
    let approved = chooses(&state, Choice::Approve);
    assert_eq!(approved.mode(), Mode::Execute);
    assert_eq!(approved.known().unwrap().approval.as_ref().unwrap().by, Approver::Person(ben()));
    let revised = chooses(&state, Choice::Revise);
    assert_eq!(revised.mode(), Mode::Plan);
}

#[test]
fn a_rejected_plan_goes_to_a_person_at_once() {
    let state = after(&at_critic_gate(), [reviewed(PlanVerdict::Rejected)]);

    assert_eq!(state.at(), &At::Waiting(Question::PlanRejected { review: text("review") }));
    assert!(matches!(chooses(&state, Choice::Stop).next(), Action::Stop { code: "dispatch.partial", .. }));
}

#[test]
fn the_fence_of_a_seat_that_was_lost_is_refused_for_that_reason() {
    let taken = ModeEvent::SeatTaken { agent: ben(), fence: 1, lease_ms: 1000, by: ben() };
    let state = begun(request()).step(&taken).unwrap();

    let vacant = state.step(&ModeEvent::SeatLost { fence: 1 }).unwrap();

    assert_eq!(vacant.expect_seat(1).unwrap_err().why, "ben has lost the seat: nothing was heard of it in its lease");
    assert!(vacant.expect_seat(7).unwrap_err().why.contains("7 is not that one"));
}

#[test]
fn a_plan_that_comes_back_unchanged_is_no_revision() {
    let state = after(&at_critic_gate(), [reviewed(PlanVerdict::NeedsRevision)]);

    let again = after(&state, [drafted("first", &[1, 2])]);

    let Action::AskRole { refused: Some(why), .. } = again.next() else { panic!("{:?}", again.next()) };
    assert!(why.contains("without a change"), "{why}");
    assert!(again.now().contains("once more: it is a plan that was refused"), "{}", again.now());
    assert_eq!(again.mode(), Mode::Plan);
}

#[test]
fn answers_of_another_kind_domain_or_phase_are_asked_for_again_and_then_a_person_is() {
    let mut state = after(&begun(request()), [questions(0), explored(&["rust"]), real(0)]);
    for answer in [guided("sql"), documented()] {
        state = after(&state, [answer]);
        assert!(matches!(state.next(), Action::AskRole { refused: Some(_), .. }));
    }
    state = after(&state, [guided("sql")]);

    let At::Waiting(question @ Question::NoAnswer { .. }) = state.at() else { panic!("{:?}", state.at()) };
    assert_eq!(question.choices(), [Choice::Retry, Choice::Skip, Choice::Stop]);
    assert_eq!(chooses(&state, Choice::Skip).mode(), Mode::Plan);
    assert_eq!(chooses(&state, Choice::Retry).mode(), Mode::Consult);
}

#[test]
fn a_person_is_asked_in_place_of_a_role_that_gives_no_answer() {
    let state = unanswered(&at_critic_gate());

    let At::Waiting(question @ Question::NoAnswer { .. }) = state.at() else { panic!("{:?}", state.at()) };
    assert_eq!(question.to_string(), "critic gives no usable answer: it said nothing");
    assert_eq!(chooses(&state, Choice::Retry).mode(), Mode::CriticGate);
}

#[test]
fn what_guards_a_plan_or_a_phase_is_not_skipped() {
    for ask in [Ask::Reality, Ask::Plan, Ask::Critique, Ask::Retrospective { phase: 1 }, Ask::Drift { phase: 1 }] {
        let question = Question::NoAnswer { ask, why: String::new() };
        assert!(!question.choices().contains(&Choice::Skip), "{question}");
    }
}

#[test]
fn a_late_answer_is_refused_and_says_where_the_run_is() {
    let before = at_critic_gate();
    let late = ModeEvent::Answered { step: before.step_number(), answer: reviewed(PlanVerdict::Approved) };
    let state = unanswered(&before);

    let refused = state.step(&late).unwrap_err();

    assert_eq!(refused.code, RefusedCode::Stale);
    assert!(refused.why.contains("is at step"), "{refused}");
}

#[test]
fn nothing_but_an_approval_leads_to_the_first_task() {
    let state = at_critic_gate();
    let step = state.step_number();
    for event in [
        ModeEvent::PhaseEnded { step, phase: 1, outcome: PhaseOutcome::Done },
        ModeEvent::Checked { step, missing: Vec::new() },
        ModeEvent::Proceeded { step, because: Proceed::AutoFlag },
        ModeEvent::PersonAnswered {
            step,
            by: ben(),
            answer: PersonAnswer::Chose { choice: Choice::Approve, note: None },
        },
    ] {
        let refused = state.step(&event).unwrap_err();
        assert_eq!(refused.code, RefusedCode::Unexpected);
        assert!(refused.hint.contains("`plan_review` of critic"), "{}", refused.hint);
    }
}

#[test]
fn guidance_is_asked_for_once_a_domain_and_kept_with_its_phase() {
    let rescanned = after(&ran(&in_phase_1(request()), 1), [explored(&["rust"]), documented(), retrospective(1)]);
    let asked = chooses(&checked(&rescanned, &[]), Choice::Proceed);

    assert!(matches!(asked.at(), At::Asking { ask: Ask::Consult { domain, phase: 2 }, .. } if domain == "rust"));
    let guided_once = after(&asked, [guided("rust")]);
    assert_eq!(guided_once.at(), &At::Checking(Check::Preflight { phase: 2 }));
    assert_eq!(guided_once.known().unwrap().guidance.get("rust"), Some(&(2, text("rust"))));
    let again = after(&ran(&checked(&guided_once, &[]), 2), [explored(&["rust"])]);
    assert!(matches!(again.at(), At::Asking { ask: Ask::Docs { .. }, .. }), "{:?}", again.at());
}

#[test]
fn a_person_is_asked_between_phases_unless_a_setting_answers_and_is_recorded() {
    let state = wrapped(request());
    let Action::AskPerson { question, .. } = state.next() else { panic!("{:?}", state.next()) };
    assert_eq!(question.to_string(), "Ready for Phase 2?");
    let forced = ModeEvent::Proceeded { step: state.step_number(), because: Proceed::AutoFlag };
    assert_eq!(state.step(&forced).unwrap_err().code, RefusedCode::NotAllowed);

    let state = wrapped(Setup { proceed: Proceed::AutoProceed, ..request() });
    let Action::Proceed { step, phase: 2, because } = state.next() else { panic!("{:?}", state.next()) };
    let state = state.step(&ModeEvent::Proceeded { step, because }).unwrap();
    assert_eq!(state.known().unwrap().proceeded.get(&2), Some(&Proceed::AutoProceed));
}

#[test]
fn what_a_phase_lacks_goes_to_a_person_and_is_looked_for_again() {
    let answers = [questions(0), explored(&[]), real(0), drafted("first", &[1]), reviewed(PlanVerdict::Approved)];
    let blocked = checked(&after(&begun(request()), answers), &["1.2 has no acceptance"]);
    assert!(matches!(blocked.at(), At::Waiting(Question::Blocked { phase: 1, .. })));
    assert_eq!(chooses(&blocked, Choice::Retry).at(), &At::Checking(Check::Preflight { phase: 1 }));
    assert_eq!(chooses(&blocked, Choice::Revise).mode(), Mode::Reality, "what is there has changed since");

    let state = after(&ran(&in_phase_1(request()), 1), [explored(&[]), documented(), retrospective(1)]);
    let missing = checked(&state, &["1.1: review"]);
    assert!(says(&missing, PersonAnswer::Chose { choice: Choice::Approve, note: None }).is_err());
    assert_eq!(chooses(&missing, Choice::Redo).at(), &At::Checking(Check::Preflight { phase: 1 }));
}

/// Returns the state after a task has failed and its phase is held.
fn fails(state: &State, id: &str) -> State {
    let why = format!("task {id} has no attempts left");
    let outcome = PhaseOutcome::Held { why, failed: Some(failed(id)) };
    state.step(&ModeEvent::PhaseEnded { step: state.step_number(), phase: 1, outcome }).unwrap()
}

fn failed(id: &str) -> FailedTask {
    FailedTask { task: task(id), text: text(&format!("{id} was refused")) }
}

fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

fn decided(decision: DecisionKind) -> AnswerFacts {
    AnswerFacts::Decision { text: text("decision"), decision }
}

#[test]
fn a_phase_that_is_held_is_run_again_or_planned_anew() {
    let state = in_phase_1(request());
    let outcome = PhaseOutcome::Held { why: "task 1.1 has no attempts left".to_owned(), failed: None };
    let held = state.step(&ModeEvent::PhaseEnded { step: state.step_number(), phase: 1, outcome }).unwrap();

    assert_eq!(chooses(&held, Choice::Retry).at(), &At::Running { phase: 1 });
    let again = after(&chooses(&held, Choice::Revise), [real(0)]);
    assert_eq!(again.mode(), Mode::Plan);
    assert_eq!(after(&again, [drafted("second", &[1, 2])]).mode(), Mode::CriticGate);
}

#[test]
fn the_architect_is_asked_once_about_a_task_that_has_failed_before_a_person_is() {
    let running = in_phase_1(request());

    let asked = fails(&running, "1.1");
    assert_eq!(asked.mode(), Mode::Execute);
    let Action::AskRole { ask, role, inputs, .. } = asked.next() else { panic!("{:?}", asked.next()) };
    assert_eq!((ask, role), (Ask::Decision { phase: 1, task: task("1.1") }, RoleName::Architect.id()));
    assert!(inputs.contains(&ModeInput::Failure(text("1.1 was refused"))), "{inputs:?}");

    let again = after(&asked, [decided(DecisionKind::RetryWith)]);
    assert_eq!(again.at(), &At::Running { phase: 1 });
    assert_eq!(again.known().unwrap().advice, Some((task("1.1"), text("decision"))));

    let held = fails(&again, "1.1");
    assert!(matches!(held.at(), At::Waiting(Question::PhaseHeld { .. })), "{:?}", held.at());
    assert!(matches!(fails(&again, "1.2").at(), At::Asking { .. }), "another task is another question");
    assert!(
        matches!(fails(&chooses(&held, Choice::Retry), "1.1").at(), At::Asking { .. }),
        "a person has decided since"
    );
}

#[test]
fn a_task_that_the_architect_rescopes_or_splits_is_planned_anew_and_reviewed() {
    for decision in [DecisionKind::Rescope, DecisionKind::Split] {
        let decided = after(&fails(&in_phase_1(request()), "1.1"), [decided(decision)]);

        assert_eq!(decided.mode(), Mode::Reality, "what is there has changed since");
        let plans = after(&decided, [real(0)]);
        let Action::AskRole { ask: Ask::Plan, inputs, .. } = plans.next() else { panic!("{:?}", plans.next()) };
        assert!(inputs.contains(&ModeInput::Revise(text("decision"))), "{inputs:?}");
        assert_eq!(after(&plans, [drafted("second", &[1, 2])]).mode(), Mode::CriticGate);
    }
}

#[test]
fn what_the_architect_gives_up_or_does_not_answer_is_a_persons_question() {
    let asked = fails(&in_phase_1(request()), "1.1");
    let why_of = |state: &State| {
        let At::Waiting(Question::PhaseHeld { why, decision, .. }) = state.at() else { panic!("{}", state.at()) };
        (why.clone(), *decision)
    };

    let (why, decision) = why_of(&after(&asked, [decided(DecisionKind::GiveUp)]));
    assert_eq!(
        (why.as_str(), decision),
        ("the architect gives it up: task 1.1 has no attempts left", Some(text("decision")))
    );

    let silent =
        asked.step(&ModeEvent::Unanswered { step: asked.step_number(), why: "it was lost".to_owned() }).unwrap();
    let (why, decision) = why_of(&silent);
    assert!(why.starts_with("the architect gives no answer (it was lost)") && decision.is_none(), "{why}");

    let (why, _) = why_of(&after(&asked, [questions(0), questions(0), questions(0)]));
    assert!(why.contains("it is of the kind `questions`"), "{why}");
}

#[test]
fn a_revision_keeps_the_phases_that_are_done() {
    let state = after(&chooses(&wrapped(request()), Choice::Revise), [real(0)]);

    let refused = after(&state, [drafted("second", &[2, 3])]);

    assert!(matches!(refused.next(), Action::AskRole { refused: Some(why), .. } if why.contains("phase 1 is done")));
    assert_eq!(after(&state, [drafted("second", &[1, 2, 3])]).mode(), Mode::CriticGate);
}

#[test]
fn nobody_who_answers_ends_the_run_until_somebody_lets_it_go_on() {
    let asked = after(&begun(request()), [questions(1)]);

    let ended = asked.step(&ModeEvent::PersonExpired { step: asked.step_number() }).unwrap();

    assert_eq!(ended.next(), Action::Stop { code: "need.expired", why: "ben did not answer in time".to_owned() });
    let on = ended.step(&ModeEvent::Resumed { by: ben() }).unwrap();
    assert_eq!(on.at(), asked.at());
    assert!(says(&asked, PersonAnswer::Chose { choice: Choice::Approve, note: None }).is_err());
    assert_eq!(chooses(&on, Choice::Skip).mode(), Mode::Discover);
}

#[test]
fn a_record_that_makes_no_sense_leads_to_a_person() {
    let setup = || ModeEvent::Began { setup: Setup { request: None, ..request() } };
    assert!(matches!(State::fold([&setup()]).at(), At::Waiting(Question::Unknown { .. })));
    let told = says(&State::fold([&setup()]), PersonAnswer::Text { text: text("a request") }).unwrap();
    assert_eq!(told.mode(), Mode::Clarify);

    let twice = [ModeEvent::Began { setup: request() }, ModeEvent::Began { setup: request() }];
    let lost = State::fold(&twice);
    assert_eq!((lost.mode(), lost.waits_for()), (Mode::Unknown, Some(&ben())));
    let never = State::fold(&[ModeEvent::Resumed { by: ben() }]);
    assert!(matches!(never.next(), Action::Stop { code: "store.corrupt", .. }));
}

#[test]
fn a_beginning_that_can_not_be_used_is_refused() {
    for phases in [&[][..], &[0], &[100], &[2, 2], &[2, 1]] {
        let setup = given("given", phases);
        assert_eq!(State::new().step(&ModeEvent::Began { setup }).unwrap_err().code, RefusedCode::BadSetup);
    }
}

#[test]
fn the_longest_events_fit_into_the_facts_of_one() {
    let long = "x".repeat(5_000);
    let name = AgentName::new("x".repeat(64)).unwrap();
    let phases: Vec<u64> = (1..=99).collect();
    let most = Setup {
        plan: Some(PlanFacts { plan: text("p"), phases: phases.clone() }),
        approved: Some(text("p")),
        from_phase: Some(50),
        retrospectives: 20,
        person: name.clone(),
        ..request()
    };
    for event in [
        ModeEvent::Began { setup: most },
        ModeEvent::Answered { step: u32::MAX, answer: drafted("p", &phases) },
        ModeEvent::Answered { step: u32::MAX, answer: explored(&[&long[..64]; 8]) },
        ModeEvent::Unanswered { step: u32::MAX, why: long.clone() },
        ModeEvent::Checked { step: u32::MAX, missing: vec![long.clone(); 100] },
        ModeEvent::PhaseEnded {
            step: u32::MAX,
            phase: 99,
            outcome: PhaseOutcome::Held { why: long.clone(), failed: Some(failed("9.9")) },
        },
        ModeEvent::Stopped { by: name, why: long },
    ] {
        let (now, outcome) = ("x".repeat(MAX_NOW), Some(RunOutcome::Succeeded));
        let refused = matches!(event, ModeEvent::Answered { .. }).then(|| "x".repeat(MAX_NOW));
        let fact = ModeFact::ModeStepped { event: event.fitted(), mode: Mode::CriticGate, now, refused, outcome };
        let facts = fact.write().unwrap().1;
        let json = facts.as_str();
        assert!(json.len() <= MAX_FACTS_BYTES, "{} bytes: {}", json.len(), &json[..100]);
    }
}
