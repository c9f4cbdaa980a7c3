//! Changes that a person is asked about before they are merged.

use serde_json::json;
use switchboard_protocol::id::{Digest, NeedId};
use switchboard_protocol::run::PersonAnswer;
use switchboard_protocol::run::way::StepAction;

use super::compiled::way_with;
use super::*;

/// Returns a run with a task that asks for approval of its change, and one that doesn't.
pub(super) fn run() -> Run {
    run_with(2)
}

fn run_with(max_workers: u32) -> Run {
    let (asks, none) = (way_with(&json!({ "confirm": "may it go live?" })), compiled::compiled_way());
    let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
    run.tell(started(4, max_workers));
    run.tell(recorded(&asks));
    run.tell(recorded(&none));
    run.tell(added(unit("1.1"), &asks, Vec::new(), &["a"]));
    run.tell(added(unit("1.2"), &none, Vec::new(), &["b"]));
    run
}

/// Question to a person about a task: digest, question and findings.
type Asked = (Digest, Option<String>, Vec<String>);

impl Run {
    fn question(&self, task: &str) -> Option<Asked> {
        self.effects().into_iter().find_map(|effect| {
            let Effect::AskPerson { task: of, input, question, findings, .. } = effect else { return None };
            (of == id(task)).then_some((input, question, findings))
        })
    }

    pub(super) fn confirm(&mut self, task: &str, number: u64) {
        let (input, _, _) = self.question(task).expect("a person is to be asked");
        let (attempt, need) = (self.view(task).attempt, NeedId::from_bits(number));
        self.tell(RunEvent::ConfirmationAsked { task: id(task), attempt, need, input, reason: "really?".to_owned() });
    }

    pub(super) fn say(&mut self, task: &str, number: u64, answer: PersonAnswer, note: &str) {
        let (need, note) = (NeedId::from_bits(number), note.to_owned());
        self.tell(RunEvent::PersonAnswered { task: id(task), need, answer, note });
    }

    /// Has the last gate of a task find something that needs a person's attention; the others pass.
    fn find_something(&mut self, task: &str) {
        let checks = self.effects().into_iter().find_map(|effect| {
            let Effect::RunChecks { task: of, checks, .. } = effect else { return None };
            (of == id(task)).then_some(checks)
        });
        let checks = checks.expect("gates are asked");
        let (attempt, last) = (self.view(task).attempt, checks.len() - 1);
        for (at, check) in checks.into_iter().enumerate() {
            let verdict = if check.when.is_always() { Verdict::Warn } else { Verdict::Skipped };
            let (gate, input, reasons) = (check.gate, Some(check.input), vec!["look at this".to_owned()]);
            let (task, asks) = (id(task), at == last);
            self.tell(RunEvent::GateReported { task, attempt, gate, input, verdict, asks, halts: false, reasons });
        }
    }
}

#[test]
fn a_change_is_merged_after_a_persons_yes_and_others_are_merged_meanwhile() {
    let mut run = run();
    run.pass_on("1.1", "b");

    let (_, question, findings) = run.question("1.1").unwrap();
    assert_eq!((question.as_deref(), findings), (Some("may it go live?"), Vec::new()));
    run.confirm("1.1", 1);
    assert!(matches!(run.view("1.1").state, TaskState::Waiting { .. }), "{:?}", run.view("1.1").state);
    let early =
        RunEvent::MergeIntended { task: id("1.1"), attempt: 1, commit: "c-1.1-1".to_owned(), onto: "b".to_owned() };
    assert_eq!(run.refused(early).code, RefusedCode::Illegal);
    run.pass_on("1.2", "b");
    assert_eq!(run.question("1.2"), None, "neither its plan nor a gate asks");
    run.merge_onto("1.2", "c-1.2-1", "b");

    run.say("1.1", 1, PersonAnswer::Allow, "");
    assert_eq!(run.doing(), ["run_command"], "it goes onto what was merged meanwhile");
    run.rebase("1.1", "m-1.2");
    run.answer_checks("1.1", Verdict::Pass);

    assert_eq!(run.doing(), ["merge"], "the yes holds for the same change on another base");
    run.merge_onto("1.1", "r-1.1-m-1.2", "m-1.2");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
}

#[test]
fn with_one_worker_the_next_task_begins_while_a_change_waits_for_a_person() {
    let mut run = run_with(1);
    run.pass_on("1.1", "b");
    assert_eq!(run.starting(), [""; 0], "its change is not finished");
    run.confirm("1.1", 1);

    assert_eq!(run.starting(), ["1.2"]);
    let worker = run.start("1.2");
    run.say("1.1", 1, PersonAnswer::Retry, "smaller");
    assert_eq!(run.starting(), [""; 0], "one worker at a time");
    run.tell(RunEvent::TurnEnded { task: id("1.2"), worker, outcome: TurnOutcome::Finished, reason: String::new() });
    assert_eq!(run.starting(), ["1.1"]);
}

#[test]
fn a_no_refuses_the_attempt_and_the_next_one_is_told_why_and_asked_about_anew() {
    let mut run = run();
    run.pass_on("1.1", "b");
    let (first, _, _) = run.question("1.1").unwrap();
    run.confirm("1.1", 1);

    run.say("1.1", 1, PersonAnswer::Retry, "not on a Friday");

    let view = run.view("1.1");
    assert_eq!((view.attempt, &view.refusals[0].cause), (2, &RefusalCause::Person));
    assert_eq!(view.refusals[0].reasons, ["not on a Friday"]);
    run.pass_on("1.1", "b");
    assert_ne!(run.question("1.1").unwrap().0, first, "another change is another question");
}

#[test]
fn a_question_that_is_given_up_or_not_answered_blocks_the_task() {
    for (answer, reason) in [
        (PersonAnswer::GiveUp, "a person gave it up; they were asked: really?"),
        (PersonAnswer::Expired, "nobody answered: really? [need.expired]"),
    ] {
        let mut run = run();
        run.pass_on("1.1", "b");
        run.confirm("1.1", 1);

        run.say("1.1", 1, answer, "");

        assert_eq!(run.view("1.1").state, TaskState::Blocked { reason: reason.to_owned() });
    }
}

#[test]
fn what_gates_have_found_is_asked_about_and_a_stop_meanwhile_does_not_let_it_pass() {
    let mut run = subtasks::run_of(&json!({ "best_of": 2, "gates": ["secretscan"] }));
    for (task, lines) in [("1.1.c1", 10), ("1.1.c2", 20)] {
        run.capture_lines(task, lines);
        run.answer_checks(task, Verdict::Pass);
    }
    run.find_something("1.1");
    let (_, question, findings) = run.question("1.1").expect("a gate asks");
    assert!(question.is_none() && findings.len() == 1 && findings[0].ends_with(": look at this"), "{findings:?}");
    run.confirm("1.1", 1);
    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
    run.say("1.1", 1, PersonAnswer::Withdrawn, "");
    assert_eq!(run.view("1.1").state, TaskState::Stopped);

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });

    // The same change is chosen again, so the reports of its gates still hold.
    assert_eq!(run.question("1.1").map(|asked| asked.2), Some(findings));
    run.confirm("1.1", 2);
    run.say("1.1", 2, PersonAnswer::Allow, "");
    assert!(matches!(run.view("1.1").state, TaskState::Passed { .. }), "{:?}", run.view("1.1").state);
}

#[test]
fn a_gate_that_halts_refuses_the_attempt_and_stops_the_run() {
    let mut run = run();
    let worker = run.start("1.2");
    run.end_turn("1.1", TurnOutcome::Finished);
    let (commit, tree, base) = ("c-1.1-1".to_owned(), "t".to_owned(), "b".to_owned());
    run.captured("1.1", &Change { commit, tree, base, files: 1, lines: 1 });
    let checks = run.effects().into_iter().find_map(|effect| {
        let Effect::RunChecks { checks, .. } = effect else { return None };
        Some(checks)
    });
    let checks = checks.unwrap();
    let mut said = Vec::new();
    for (at, check) in checks.into_iter().enumerate() {
        assert!(!run.state.is_stopping(), "the other gates speak first");
        let (verdict, halts) = if at == 0 { (Verdict::Fail, true) } else { (Verdict::Skipped, false) };
        let (task, gate, input, reasons) = (id("1.1"), check.gate, Some(check.input), vec!["outside".to_owned()]);
        let report = RunEvent::GateReported { task, attempt: 1, gate, input, verdict, asks: false, halts, reasons };
        run.tell(report.clone());
        said.push(report);
    }

    assert_eq!(run.last, [RunEvent::RunStopRequested]);
    assert!(run.state.is_stopping());
    assert_eq!(run.view("1.1").state, TaskState::Stopped);
    let stop = |worker: &WorkerId, cause| Effect::StopWorker {
        task: id("1.2"),
        worker: worker.clone(),
        cause,
        grace_ms: None,
    };
    assert_eq!(run.effects(), [stop(&worker, StopCause::Violation)]);
    let before = run.state.clone();
    run.tell(RunEvent::RunStopRequested);
    assert_eq!(run.last, []);
    said.iter().for_each(|report| drop(run.state.step(report, Millis(0))));
    assert_eq!(run.state, before, "what followed is folded again without a change");

    run.tell(RunEvent::TurnEnded { task: id("1.2"), worker, outcome: TurnOutcome::Stopped, reason: String::new() });
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Stopped });
    run.tell(RunEvent::TaskRetryRequested { task: id("1.2"), note: String::new() });
    let worker = run.start("1.2");
    run.tell(RunEvent::RunStopRequested);
    assert_eq!(run.effects(), [stop(&worker, StopCause::Requested)], "the next stop has its own cause");
}

#[test]
fn what_a_person_is_asked_is_the_same_in_whichever_order_gates_have_reported() {
    let mut run = run();
    run.end_turn("1.1", TurnOutcome::Finished);
    let (commit, tree, base) = ("c".to_owned(), "t".to_owned(), "b".to_owned());
    run.captured("1.1", &Change { commit, tree, base, files: 1, lines: 1 });
    let checks = run.effects().into_iter().find_map(|effect| {
        let Effect::RunChecks { checks, .. } = effect else { return None };
        Some(checks)
    });
    for check in checks.expect("gates are asked") {
        let verdict = if check.when.is_always() { Verdict::Warn } else { Verdict::Skipped };
        let (gate, input, reasons) = (check.gate, Some(check.input), vec!["look at this".to_owned()]);
        let (task, asks) = (id("1.1"), check.when.is_always());
        run.tell(RunEvent::GateReported { task, attempt: 1, gate, input, verdict, asks, halts: false, reasons });
    }
    let asked = |run: &Run| {
        let record = run.state.records.iter().find(|record| record.task() == Some(&id("1.1"))).unwrap();
        let steps = record.unit.way().steps();
        record.question(steps.iter().position(|step| matches!(step.does, StepAction::Ask { .. })).unwrap())
    };
    let before = asked(&run);
    assert!(before.findings.len() > 1, "{before:?}");

    // As after a stop, when gates that had not judged the current input are asked again.
    run.state.records.iter_mut().for_each(|record| record.reports.reverse());

    assert_eq!(asked(&run), before);
}

#[test]
fn a_rebased_change_that_a_person_is_asked_about_lets_the_next_one_onto_the_branch() {
    let way = compiled::compiled_way();
    let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
    run.tell(started(4, 3));
    run.tell(recorded(&way));
    for (task, file) in [("1.1", "a"), ("1.2", "b"), ("1.3", "c")] {
        run.tell(added(unit(task), &way, Vec::new(), &[file]));
    }
    for task in ["1.1", "1.2", "1.3"] {
        run.pass_on(task, "b");
    }
    run.merge_onto("1.1", "c-1.1-1", "b");
    run.rebase("1.2", "m-1.1");
    run.find_something("1.2");

    run.confirm("1.2", 1);

    let rebased = run.effects().into_iter().find_map(|effect| {
        let Effect::RunCommand { task, .. } = effect else { return None };
        Some(task)
    });
    assert_eq!(rebased, Some(id("1.3")));
}

#[test]
fn a_question_that_is_asked_as_its_task_is_paused_is_still_answered() {
    let mut run = run();
    run.pass_on("1.1", "b");
    let (input, _, _) = run.question("1.1").unwrap();
    let cause = switchboard_protocol::run::TaskPauseCause::Requested;
    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause });
    assert_eq!(run.question("1.1"), None, "nobody is asked in a pause");

    let (need, reason) = (NeedId::from_bits(1), "really?".to_owned());
    run.tell(RunEvent::ConfirmationAsked { task: id("1.1"), attempt: 1, need: need.clone(), input, reason });

    assert!(run.effects().contains(&Effect::AwaitAnswer { task: id("1.1"), need }), "{:?}", run.effects());
    run.say("1.1", 1, PersonAnswer::Allow, "");
    assert!(!run.doing().contains(&"merge".to_owned()), "it is paused");
    run.tell(RunEvent::TaskResumed { task: id("1.1") });
    assert!(run.doing().contains(&"merge".to_owned()), "{:?}", run.doing());
}
