//! Tests how a coder of a team is stopped that goes beyond its limits, and what its end then counts as.

use switchboard_protocol::run::TurnOutcome;
use switchboard_protocol::worker::WorkerEvent;

use super::super::super::shim::{exited, sealed, turn_ended};
use super::*;
use crate::work::STAND_IN;

const MINUTE: i64 = 60_000;

/// Time that an agent has to end once it was stopped.
const STOP: ShimCommand = ShimCommand::Stop { grace_ms: 5_000 };

pub(super) fn coder() -> Equipped {
    Equipped { is_of_team: true, ..Equipped::default() }
}

pub(super) fn called(call: u32) -> WorkerEvent {
    WorkerEvent::ToolCalled {
        call: call.to_string(),
        title: "look".to_owned(),
        tool_kind: "read".to_owned(),
        status: "completed".to_owned(),
        paths: vec![call.to_string()],
        why: String::new(),
    }
}

async fn minutes(count: u64) {
    tokio::time::sleep(Duration::from_secs(60 * count)).await;
}

impl Watched {
    /// Returns the rules for which the worker was stopped.
    pub(super) fn stopped_for(&self) -> Vec<String> {
        let flags = self.store.events(0, &Filter::kinds(["worker_flagged".to_owned()]), 100).unwrap();
        let stop = |event: switchboard_protocol::event::Event| match event.fact() {
            Some(WorkerFact::WorkerFlagged { rule, stops: true, .. }) => Some(rule),
            _ => None,
        };
        flags.into_iter().filter_map(stop).collect()
    }

    /// Returns the outcome and the reason of its turn's end.
    pub(super) fn end(&self) -> (TurnOutcome, String) {
        let steps = lock(&self.steps).clone();
        let end = steps.into_iter().flat_map(|(steps, _)| steps).find_map(|step| {
            let RunEvent::TurnEnded { outcome, reason, .. } = step else { return None };
            Some((outcome, reason))
        });
        end.unwrap()
    }
}

#[test]
fn a_coder_without_a_sign_of_life_is_stopped_once_and_counts_as_lost() {
    with_watched(coder(), async |at| {
        let mut commands = at.attaches(1, false).await;
        at.says(1, started()).await;
        minutes(19).await;
        assert_eq!((ordered(&mut commands), at.stopped_for()), (Vec::new(), Vec::new()));
        minutes(1).await;
        assert_eq!((ordered(&mut commands), at.stopped_for()), (vec![STOP], vec!["stale".to_owned()]));
        at.says(2, exited(None, Some(15))).await;
        at.says(3, sealed()).await;

        assert_eq!(at.kinds(), ["worker_started", "worker_lost"]);
        assert!(at.lost().unwrap().contains("no sign of life for 20 minutes"), "{:?}", at.lost());
        assert!(at.is_over().await && at.shim.calls().is_empty(), "{:?}", at.shim.calls());
    });
}

#[test]
fn a_coder_whose_time_is_over_is_stopped_and_killed_if_it_does_not_end() {
    for ends in [true, false] {
        with_watched(coder(), async |at| {
            let mut commands = at.attaches(1, false).await;
            at.says(1, started()).await;
            for call in 0..45 {
                at.says(u64::from(call) + 2, called(call)).await;
                tokio::time::sleep(Duration::from_secs(59)).await;
            }
            settled().await;
            assert_eq!((ordered(&mut commands), at.stopped_for()), (vec![STOP], vec!["minutes".to_owned()]));

            if ends {
                at.says(47, exited(None, Some(15))).await;
                let (outcome, reason) = at.end();
                assert!(
                    outcome == TurnOutcome::TimedOut && reason.ends_with("[worker.halted]"),
                    "{outcome:?} {reason}"
                );
            } else {
                tokio::time::sleep(Duration::from_secs(3)).await;
                // What it goes on to do gives it no more time.
                at.says(47, called(45)).await;
                assert_eq!(at.shim.calls(), [""; 0]);
                tokio::time::sleep(Duration::from_secs(4)).await;
                assert_eq!(ordered(&mut commands), []);
                assert_eq!(at.shim.calls(), ["kill", "kill_leftovers"]);
                assert_eq!(at.lost().unwrap(), "its shim hung: it was stopped and did not end, and was ended");
            }
        });
    }
}

#[test]
fn a_coder_that_was_stopped_while_its_shim_was_away_is_stopped_when_it_is_back_also_by_the_next_daemon() {
    let flagged = WorkerFact::WorkerFlagged {
        worker: worker(),
        rule: "errors".to_owned(),
        stops: true,
        words: "too many errors".to_owned(),
    };
    with_watched(Equipped { before: vec![flagged], ..coder() }, async |at| {
        let mut commands = at.attaches(1, false).await;
        assert_eq!(ordered(&mut commands), [STOP]);
        for seq in 1..=3 {
            at.says(seq, called(7)).await;
        }
        at.says(4, exited(None, Some(15))).await;

        let (outcome, reason) = at.end();
        assert_eq!((outcome, reason.as_str()), (TurnOutcome::Failed, "too many errors [worker.halted]"));
        assert_eq!(at.stopped_for().len(), 1, "one stop is enough");
    });
}

#[test]
fn time_in_which_the_machine_was_suspended_leads_to_no_stop() {
    with_watched(coder(), async |at| {
        let mut commands = at.attaches(1, false).await;
        at.says(1, started()).await;
        at.stage.clock.pass(60 * MINUTE);
        at.says(2, called(1)).await;
        minutes(10).await;
        assert_eq!((ordered(&mut commands), at.stopped_for()), (Vec::new(), Vec::new()));

        at.says(3, turn_ended(1, "end_turn", "done")).await;
        at.says(4, exited(Some(0), None)).await;

        assert_eq!(at.end(), (TurnOutcome::Finished, "done".to_owned()));
        let suspended = at.store.events(0, &Filter::kinds(["worker_suspended".to_owned()]), 10).unwrap();
        let ms: Vec<_> = suspended.iter().map(|event| event.facts.field("ms")).collect();
        assert_eq!(ms, [json!(60 * MINUTE)]);
    });
}

#[test]
fn a_model_that_is_absent_or_limited_is_the_models_failure_if_there_is_another_one() {
    for (code, has_other, expected) in [
        ("agent.no-model", true, Ok(TurnOutcome::ModelFailed)),
        ("agent.no-model", false, Err("task_blocked")),
        ("agent.rate-limited", true, Ok(TurnOutcome::ModelFailed)),
        ("agent.rate-limited", false, Ok(TurnOutcome::RateLimited)),
        ("agent.spawn", true, Ok(TurnOutcome::Failed)),
        ("agent.login", true, Err("task_blocked")),
    ] {
        with_watched(Equipped { has_other_model: has_other, ..coder() }, async |at| {
            let (code, what) = (code.to_owned(), "it can't".to_owned());
            at.says(1, WorkerEvent::Faulted { code: code.clone(), what, retry_after_ms: Some(1_000) }).await;
            at.says(2, sealed()).await;

            match expected {
                Ok(outcome) => assert_eq!(at.end().0, outcome, "{code} {has_other}"),
                Err(step) => assert_eq!(at.kinds(), ["worker_lost", step], "{code} {has_other}"),
            }
            let waits = at.world.shared.state().next_change(Millis(0)).is_some();
            assert_eq!(waits, code == "agent.rate-limited" && !has_other, "another model needs no wait");
        });
    }
}

#[test]
fn what_a_command_prints_at_its_end_is_no_failure_of_a_model() {
    for (driver, expected) in [("acp", TurnOutcome::ModelFailed), ("exec", TurnOutcome::Failed)] {
        with_watched(Equipped { driver, has_other_model: true, ..coder() }, async |at| {
            at.says(1, started()).await;
            at.says(2, turn_ended(1, "exit", "503 service unavailable")).await;
            at.says(3, exited(Some(1), None)).await;
            at.says(4, sealed()).await;

            assert_eq!(at.end().0, expected, "{driver}");
        });
    }
}

#[test]
fn a_worker_that_was_never_started_is_watched_no_more() {
    with_watched(Equipped::default(), async |at| {
        let other = WorkerId::from_bits(9);
        let reachable = Reachable::new(Arc::clone(&at.world), &other);
        assert!(at.world.link(&other).is_some());

        drop(reachable);

        assert!(at.world.link(&other).is_none() && at.world.link(&worker()).is_some());
    });
}

#[test]
fn work_by_hand_may_be_silent_as_long_as_its_time_is_not_over() {
    with_watched(Equipped { driver: STAND_IN, ..coder() }, async |at| {
        let mut commands = at.attaches(1, false).await;
        at.says(1, started()).await;
        minutes(30).await;

        assert_eq!((ordered(&mut commands), at.stopped_for()), (Vec::new(), Vec::new()));
    });
}

#[test]
fn work_by_hand_is_taken_back_when_its_agent_has_lost_the_seat() {
    with_watched(coder(), async |at| {
        let mut commands = at.attaches(1, false).await;
        at.says(1, started()).await;
        at.link.take_back(AgentName::new("lea").unwrap()).await;
        settled().await;
        assert_eq!((ordered(&mut commands), at.stopped_for()), (vec![STOP], vec!["stale".to_owned()]));
        at.says(2, exited(None, Some(15))).await;

        assert!(at.lost().unwrap().starts_with("lea has lost the architect's seat"), "{:?}", at.lost());
    });
}
