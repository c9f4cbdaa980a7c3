//! Tests what a shim is told when it connects, and while it is connected.

use switchboard_pipeline::run::Waits;
use switchboard_protocol::action::{StepState, WorkerAction};
use switchboard_protocol::run::StopCause;
use switchboard_protocol::worker::PauseState;

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
