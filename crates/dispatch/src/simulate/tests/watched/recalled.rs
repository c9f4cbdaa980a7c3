//! Tests what a daemon that takes up a coder of a team knows of it from the record.

use switchboard_protocol::run::TurnOutcome;

use super::super::super::shim::{exited, sealed, turn_ended};
use super::guarded::{called, coder};
use super::*;

fn flagged(rule: &str, stops: bool) -> WorkerFact {
    WorkerFact::WorkerFlagged { worker: worker(), rule: rule.to_owned(), stops, words: "mind the rule".to_owned() }
}

#[test]
fn advice_that_was_not_given_yet_is_given_before_the_turn_counts_unless_another_turn_has_begun() {
    let begun = reported(1, WorkerEvent::TurnStarted { turn: 1, mail: Vec::new() });
    for (before, stop, is_advised) in [
        (vec![], "end_turn", false),
        (vec![flagged("scope", false)], "end_turn", true),
        (vec![flagged("scope", false)], "max_tokens", false),
        (vec![begun.clone(), flagged("scope", false)], "end_turn", true),
        (vec![flagged("scope", false), begun], "end_turn", false),
        (vec![flagged("errors", false)], "end_turn", false),
    ] {
        with_watched(Equipped { before: before.clone(), ..coder() }, async |at| {
            let mut commands = at.attaches(1, false).await;
            drop(told(&mut commands));

            at.says(2, turn_ended(1, stop, "done")).await;

            let told = ordered(&mut commands);
            let has_advice = format!("{told:?}").contains("mind the rule");
            assert_eq!(
                (has_advice, told.contains(&ShimCommand::Finish)),
                (is_advised, !is_advised),
                "{before:?} {stop}"
            );
        });
    }
}

#[test]
fn a_coder_that_was_told_of_its_scope_is_not_told_again() {
    for (before, expected) in [(vec![], 1), (vec![flagged("scope", false)], 0)] {
        with_watched(Equipped { before, ..coder() }, async |at| {
            at.attaches(1, false).await;
            let edited = WorkerEvent::ToolCalled {
                call: "1".to_owned(),
                title: "edit".to_owned(),
                tool_kind: "edit".to_owned(),
                status: "completed".to_owned(),
                paths: vec!["elsewhere.rs".to_owned()],
                why: String::new(),
            };
            let kinds = Filter::kinds(["worker_flagged".to_owned()]);
            let before = at.store.events(0, &kinds, 10).unwrap().len();

            at.says(1, edited).await;

            assert_eq!(at.store.events(0, &kinds, 10).unwrap().len() - before, expected);
        });
    }
}

#[test]
fn the_rule_for_which_a_coder_was_stopped_says_what_its_end_counts_as() {
    for (rule, expected) in
        [("minutes", Some(TurnOutcome::TimedOut)), ("errors", Some(TurnOutcome::Failed)), ("stale", None)]
    {
        with_watched(Equipped { before: vec![flagged(rule, true)], ..coder() }, async |at| {
            at.attaches(1, false).await;
            at.says(1, exited(None, Some(15))).await;
            at.says(2, sealed()).await;

            match expected {
                Some(outcome) => assert_eq!(at.end(), (outcome, "mind the rule [worker.halted]".to_owned())),
                None => assert_eq!(at.lost().as_deref(), Some("mind the rule")),
            }
        });
    }
}

#[test]
fn time_in_which_the_machine_was_suspended_before_counts_for_no_limit() {
    let suspended = WorkerFact::WorkerSuspended { worker: worker(), ms: 30 * 60_000 };
    for (before, stops) in [(vec![], 1), (vec![suspended], 0)] {
        with_watched(Equipped { before, ..coder() }, async |at| {
            at.attaches(1, false).await;
            for call in 0..60 {
                if !at.stopped_for().is_empty() {
                    break;
                }
                at.says(u64::from(call) + 1, called(call)).await;
                tokio::time::sleep(Duration::from_secs(59)).await;
            }

            assert_eq!(at.stopped_for().len(), stops);
        });
    }
}

#[test]
fn a_coder_with_the_last_of_its_models_has_no_other_to_fall_back_to() {
    for (model, expected) in [(None, vec!["turn_ended"]), (Some("other"), vec!["worker_lost", "task_blocked"])] {
        with_watched(Equipped { has_other_model: true, model, ..coder() }, async |at| {
            let (code, what) = ("agent.no-model".to_owned(), "it is gone".to_owned());
            at.says(1, WorkerEvent::Faulted { code, what, retry_after_ms: None }).await;
            at.says(2, sealed()).await;

            let kinds = at.kinds();
            assert!(kinds.ends_with(&expected.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>()), "{kinds:?}");
        });
    }
}
