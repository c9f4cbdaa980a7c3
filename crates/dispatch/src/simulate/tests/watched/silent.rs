//! Tests what becomes of a worker whose shim is silent, does not connect, or has ended.

use switchboard_pipeline::run::Waits;

use super::super::super::shim::turn_ended;
use super::*;

/// Period of a shim's heartbeats.
const BEAT: Duration = Duration::from_secs(60);

const NO_WORD: &str = "its shim is gone and left no word about the agent's end";

async fn beats(periods: u32) {
    tokio::time::sleep(BEAT * periods).await;
}

#[test]
fn a_silent_shim_is_asked_once_and_ended_if_it_does_not_answer() {
    with_watched(Equipped::default(), async |at| {
        let mut commands = at.attaches(1, true).await;
        let asked = [ShimCommand::Beat { every_ms: 60_000 }];
        assert_eq!(ordered(&mut commands), asked);
        for sign in [Signal::Beat, Signal::Frame(Box::new(frame(1, 1, started())))] {
            beats(5).await;
            at.sends(sign).await;
        }
        assert_eq!(ordered(&mut commands), [], "it has shown signs of life");

        beats(7).await;
        assert_eq!(ordered(&mut commands), asked);
        at.sends(Signal::Beat).await;
        beats(5).await;
        assert_eq!((ordered(&mut commands), at.shim.calls()), (Vec::new(), Vec::new()));
        beats(4).await;

        assert_eq!(ordered(&mut commands), asked);
        assert_eq!(at.shim.calls(), ["kill", "kill_leftovers"]);
        assert_eq!(at.lost().unwrap(), "its shim hung: it did not answer, and was ended");
        assert!(at.is_over().await);
    });
}

#[test]
fn a_shim_that_sends_no_beats_may_be_silent() {
    with_watched(Equipped::default(), async |at| {
        let mut commands = at.attaches(1, false).await;
        beats(100).await;

        assert_eq!((ordered(&mut commands), at.shim.calls()), (Vec::new(), Vec::new()));
    });
}

#[test]
fn a_running_shim_has_time_to_connect_and_hangs_if_it_does_not() {
    for was_connected in [false, true] {
        with_watched(Equipped::default(), async |at| {
            if was_connected {
                let commands = at.attaches(1, true).await;
                beats(3).await;
                at.detaches(commands).await;
            }
            beats(11).await;
            assert_eq!((at.shim.calls(), at.lost()), (Vec::new(), None));
            beats(2).await;

            assert_eq!(at.shim.calls(), ["kill", "kill_leftovers"]);
            assert_eq!(at.lost().unwrap(), "its shim hung: it did not come back, and was ended");
        });
    }
}

#[test]
fn a_shim_that_takes_no_command_is_disconnected() {
    for takes in [true, false] {
        with_watched(Equipped::default(), async |at| {
            at.shim.is_now(Shim::Alive);
            let (commands, mut told) = mpsc::channel(1);
            at.sends(Signal::Attached { epoch: 1, beats: false, commands }).await;
            for is_paused in [true, false, true] {
                at.link.pause(Waits { is_paused, ..Waits::default() });
                settled().await;
                while takes && told.try_recv().is_ok() {}
            }
            beats(2).await;

            while told.try_recv().is_ok() {}
            assert_eq!(told.is_closed(), !takes);
        });
    }
}

#[test]
fn a_running_shim_that_is_not_connected_is_not_polled() {
    with_watched(Equipped::default(), async |at| {
        beats(11).await;

        assert!(at.shim.looks.load(Ordering::Relaxed) < 3, "{:?}", at.shim.looks);
    });
}

#[test]
fn a_shim_that_has_not_begun_is_waited_for_and_then_kept_from_it() {
    with_watched(Equipped::default(), async |at| {
        at.shim.is_now(Shim::NotBegun);
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        assert_eq!(at.shim.calls(), [""; 0]);
        settled().await;

        assert_eq!((at.shim.calls(), at.lost().unwrap().as_str()), (vec!["forbid", "kill_leftovers"], NO_WORD));
        assert!(at.is_over().await);
    });
}

#[test]
fn the_journal_of_a_shim_that_has_ended_shows_how_its_worker_ended() {
    for (last, expected) in [
        (WorkerEvent::AgentExited { code: Some(0), signal: None, stderr: String::new(), by_us: false }, "turn_ended"),
        (WorkerEvent::SessionOpened { session: "s".to_owned() }, "worker_lost"),
    ] {
        with_watched(Equipped::default(), async |at| {
            at.says(1, started()).await;
            let events = [turn_ended(1, "end_turn", "done"), last.clone()];
            at.shim.writes((2..).zip(events).map(|(seq, event)| frame(1, seq, event)));
            at.shim.is_now(Shim::Gone);
            settled().await;

            assert_eq!(at.kinds(), ["worker_started", expected]);
            assert_eq!(at.lost().as_deref(), (expected == "worker_lost").then_some(NO_WORD));
            assert!(at.is_over().await);
        });
    }
}

#[test]
fn the_open_question_of_a_worker_that_has_ended_is_withdrawn() {
    with_watched(Equipped::default(), async |at| {
        at.says(1, started()).await;
        let asked = WorkerEvent::PermissionAsked {
            ask: "a1".to_owned(),
            title: "run it".to_owned(),
            options: Vec::new(),
            detail: "it".to_owned(),
            tool_kind: "execute".to_owned(),
            paths: Vec::new(),
        };
        at.says(2, asked).await;
        assert_eq!(switchboard_needs::open_of(&at.store, &worker()).unwrap().len(), 1);
        at.shim.is_now(Shim::Gone);
        settled().await;

        assert!(at.is_over().await && switchboard_needs::open_of(&at.store, &worker()).unwrap().is_empty());
        let settled = at.store.events(0, &Filter::kinds(["need_settled".to_owned()]), 10).unwrap();
        let outcomes: Vec<_> = settled.iter().map(|event| event.facts.field("outcome")).collect();
        assert_eq!(outcomes, [json!("withdrawn")]);
    });
}
