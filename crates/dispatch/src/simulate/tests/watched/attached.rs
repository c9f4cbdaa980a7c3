//! Tests what a shim is told when it connects, and while it is connected.

use switchboard_pipeline::run::Waits;
use switchboard_protocol::action::{StepState, WorkerAction};
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::run::{StopCause, TurnOutcome};
use switchboard_protocol::worker::{PauseState, WRAP_UP};

use super::super::super::shim::{exited, turn_ended};
use super::*;
use crate::work::STAND_IN;

const PAUSED: Waits = Waits { is_paused: true, for_rebase: false };
const REBASED: Waits = Waits { is_paused: false, for_rebase: true };
const BOTH: Waits = Waits { is_paused: true, for_rebase: true };

fn pause(between_tools: bool) -> ShimCommand {
    ShimCommand::Pause { between_tools }
}

#[test]
fn a_shim_that_connects_hears_first_which_of_its_frames_are_recorded() {
    let before = || vec![reported(1, started()), reported(2, WorkerEvent::SessionOpened { session: "s".to_owned() })];
    for (epoch, seq) in [(1, 2), (2, 0)] {
        with_watched(Equipped { before: before(), ..Equipped::default() }, async |at| {
            let mut commands = at.attaches(epoch, false).await;

            assert_eq!(told(&mut commands), [ShimCommand::Ack { seq }], "epoch {epoch}");
        });
    }
}

#[test]
fn a_shim_that_connects_is_told_what_holds_for_its_worker() {
    with_watched(Equipped::default(), async |at| {
        let mut first = at.attaches(1, true).await;
        assert_eq!(ordered(&mut first), [ShimCommand::Beat { every_ms: 60_000 }]);
        at.link.pause(REBASED);
        settled().await;
        at.detaches(first).await;

        let mut second = at.attaches(1, false).await;
        assert_eq!(ordered(&mut second), [pause(true)], "its tree is still to be rebased");
        at.detaches(second).await;
        at.link.pause(Waits::default());
        settled().await;
        let mut third = at.attaches(1, false).await;
        assert_eq!(ordered(&mut third), [ShimCommand::Resume], "it may wait still");
        at.link.stop(StopCause::Requested, Duration::from_millis(70)).await;
        settled().await;
        assert_eq!(ordered(&mut third), [ShimCommand::Stop { grace_ms: 70 }]);
        at.detaches(third).await;
        let mut fourth = at.attaches(1, false).await;
        assert_eq!(ordered(&mut fourth), [ShimCommand::Resume, ShimCommand::Stop { grace_ms: 70 }]);
    });
}

#[test]
fn a_worker_that_waits_though_nothing_asks_it_to_goes_on_when_its_shim_connects() {
    let paused = |state| vec![reported(1, started()), reported(2, WorkerEvent::PauseChanged { state })];
    for (before, expected) in [
        (vec![reported(1, started())], Vec::new()),
        (paused(PauseState::Paused), vec![ShimCommand::Resume]),
        (paused(PauseState::Resumed), Vec::new()),
    ] {
        with_watched(Equipped { before, ..Equipped::default() }, async |at| {
            let mut commands = at.attaches(1, false).await;

            assert_eq!(ordered(&mut commands), expected);
        });
    }
}

#[test]
fn a_worker_that_a_person_resumes_answers_first_and_waits_again_for_its_rebase() {
    with_watched(Equipped::default(), async |at| {
        let mut commands = at.attaches(1, false).await;
        let mut waits = async |waits| {
            at.link.pause(waits);
            settled().await;
            ordered(&mut commands)
        };

        assert_eq!(waits(PAUSED).await, [pause(false)]);
        assert_eq!(waits(BOTH).await, [pause(true)]);
        assert_eq!(waits(BOTH).await, [], "nothing has changed");
        assert_eq!(waits(REBASED).await, [ShimCommand::Resume, pause(true)]);
        assert_eq!(waits(BOTH).await, [pause(true)]);
        assert_eq!(waits(PAUSED).await, [pause(false)]);
        assert_eq!(waits(Waits::default()).await, [ShimCommand::Resume]);
    });
}

#[test]
fn a_placeholder_ends_once_the_work_by_hand_is_over() {
    for (state, expected) in [
        (StepState::Working, Vec::new()),
        (StepState::Done, vec![ShimCommand::Finish]),
        (StepState::Stuck, vec![ShimCommand::Finish]),
    ] {
        let action = WorkerAction::ReportStep { state, note: "n".to_owned(), answer: None };
        let before = vec![WorkerFact::WorkerActed { worker: worker(), index: 1, action }];
        for driver in [STAND_IN, "exec"] {
            with_watched(Equipped { driver, before: before.clone(), ..Equipped::default() }, async |at| {
                let mut commands = at.attaches(1, false).await;

                let expected = if driver == STAND_IN { expected.as_slice() } else { &[] };
                assert_eq!(ordered(&mut commands), expected, "{driver} {state:?}");
            });
        }
    }
}

#[test]
fn an_answer_that_a_person_gave_while_the_shim_was_away_is_passed_on_when_it_is_back() {
    with_watched(Equipped::default(), async |at| {
        let option = PermissionOption { id: "yes".to_owned(), name: "yes".to_owned(), kind: "allow_once".to_owned() };
        let asked = WorkerEvent::PermissionAsked {
            ask: "a1".to_owned(),
            title: "run it".to_owned(),
            options: vec![option],
            detail: "it".to_owned(),
            tool_kind: "execute".to_owned(),
            paths: Vec::new(),
        };
        at.says(1, asked).await;
        let [need] = switchboard_needs::open_of(&at.store, &worker()).unwrap().try_into().unwrap();
        let yes = ("answered", Some("yes".to_owned()), None);
        switchboard_needs::resolve(&at.store, &need.id, yes, "ann", Batch::synced()).await.unwrap();

        let mut commands = at.attaches(1, false).await;

        let permit = ShimCommand::Permit { ask: "a1".to_owned(), option: Some("yes".to_owned()) };
        assert_eq!(ordered(&mut commands), [permit]);
    });
}

#[test]
fn a_worker_that_was_told_to_finish_and_is_ended_all_the_same_had_been_told_also_by_the_last_daemon() {
    for (told_by, stop, expected) in [
        ("this one", WRAP_UP, "it was told to finish and went on"),
        ("the last one", WRAP_UP, "it was told to finish and went on"),
        ("this one", "cancelled", "it was ended"),
        ("the last one", "cancelled", "it was ended"),
    ] {
        let ended = turn_ended(1, stop, "");
        let before = if told_by == "this one" { Vec::new() } else { vec![reported(1, ended.clone())] };
        with_watched(Equipped { before: before.clone(), ..Equipped::default() }, async |at| {
            if before.is_empty() {
                at.says(1, ended.clone()).await;
            }
            at.link.stop(StopCause::TimedOut, Duration::from_secs(600)).await;
            at.says(2, exited(None, Some(15))).await;

            let steps = lock(&at.steps)[0].0.clone();
            let [RunEvent::TurnEnded { outcome: TurnOutcome::TimedOut, reason, .. }] = steps.as_slice() else {
                panic!("{steps:?}")
            };
            assert_eq!(reason, expected, "{told_by} {stop}");
        });
    }
}
