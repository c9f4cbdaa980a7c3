//! Rebases of the trees of active workers.

use super::*;
use crate::run::Waits;

fn asked(task: &str) -> RunEvent {
    RunEvent::TaskRebaseRequested { task: id(task) }
}

fn rebased(task: &str, worker: &WorkerId) -> RunEvent {
    let (onto, start) = ("h".to_owned(), "h".to_owned());
    RunEvent::TreeRebased { task: id(task), worker: worker.clone(), onto, start }
}

#[test]
fn a_worker_waits_between_two_tools_until_its_tree_is_rebased_and_goes_on_as_the_same_attempt() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    let worker = run.start("1.1");
    assert!(!run.refused(asked("1.2")).hint.is_empty(), "it begins at the head");

    run.tell(asked("1.1"));

    let effect = Effect::RebaseTree { task: id("1.1"), worker: worker.clone() };
    assert!(run.effects().contains(&effect), "{:?}", run.effects());
    let waits = Waits { is_paused: false, for_rebase: true };
    assert_eq!(run.state.waiting_workers().collect::<Vec<_>>(), [(&worker, waits)]);
    run.tell(rebased("1.1", &worker));
    assert_eq!(run.state.waiting_workers().count(), 0);
    assert!(!run.effects().contains(&effect));
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Finished, reason: String::new() });
    assert_eq!(run.view("1.1").attempt, 1);
}

#[test]
fn a_paused_worker_is_rebased_too_and_waits_on() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let worker = run.start("1.1");
    run.tell(RunEvent::RunPaused { cause: switchboard_protocol::run::PauseCause::Requested });
    run.tell(asked("1.1"));

    assert_eq!(run.effects(), [Effect::RebaseTree { task: id("1.1"), worker: worker.clone() }]);
    run.tell(rebased("1.1", &worker));

    let waits = Waits { is_paused: true, for_rebase: false };
    assert_eq!(run.state.waiting_workers().collect::<Vec<_>>(), [(&worker, waits)]);
    assert_eq!(run.effects(), []);
}

#[test]
fn a_rebase_that_a_lost_worker_did_not_come_to_is_done_with_the_next_and_none_is_left_of_one_that_finished() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    let (first, second) = (run.start("1.1"), run.start("1.2"));
    run.tell(asked("1.1"));
    run.tell(asked("1.2"));

    run.tell(RunEvent::WorkerLost { task: id("1.1"), worker: first.clone(), reason: String::new() });
    run.tell(RunEvent::TurnEnded {
        task: id("1.2"),
        worker: second,
        outcome: TurnOutcome::Finished,
        reason: String::new(),
    });

    let next = run.start("1.1");
    assert!(run.effects().contains(&Effect::RebaseTree { task: id("1.1"), worker: next.clone() }));
    assert_eq!(run.refused(rebased("1.1", &first)).code, RefusedCode::Stale);
    assert_eq!(run.state.waiting_workers().map(|(worker, _)| worker).collect::<Vec<_>>(), [&next]);
    assert!(!run.refused(asked("1.2")).why.is_empty(), "a change is rebased before its merge");
}

#[test]
fn a_rebase_that_was_requested_before_an_attempt_ended_is_none_of_the_next() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let worker = run.start("1.1");
    run.tell(asked("1.1"));

    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Finished, reason: String::new() });
    let (commit, tree) = ("c".to_owned(), "t".to_owned());
    run.captured("1.1", &Change { commit, tree, base: String::new(), files: 1, lines: 1 });
    run.judge("1.1", "syntax", Verdict::Fail);
    run.judge("1.1", "secrets", Verdict::Pass);
    run.start("1.1");

    assert_eq!(run.view("1.1").attempt, 2);
    assert_eq!((run.state.waiting_workers().count(), run.effects()), (0, Vec::new()));
}
