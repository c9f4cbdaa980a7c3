//! Tests what follows from what a worker says at its end and reports of its use.

use switchboard_protocol::frame::WorkerEvent;
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::run::{RunEvent, TurnOutcome};
use switchboard_protocol::verb::run::TokenPrice;

use super::super::shim::{Act, turn_ended};
use super::at_work::{AtWork, LOOKS, at_work};
use super::*;

/// Runs a test with a run of one task with these settings, which has a worker.
fn with_task(settings: &Value, change: impl Fn(&mut StartRunRequest), test: impl AsyncFn(AtWork<'_>)) {
    let task = json!({ "id": "1.1", "phase": 1, "description": "do it", "acceptance": "it is done",
        "files_touched": ["t/1.1", repo::removed_by("1.1")], "x-switchboard": settings });
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "sim", "x-switchboard": { "ports": 0 },
        "phases": [{ "id": 1, "name": "one", "tasks": [task] }] });
    let spec = SimSpec { work_ms: 600_000, max_workers: Some(1), ..SimSpec::kind() };
    with_stage(spec, async |stage, daemon, request| {
        let mut request = StartRunRequest { plan: plan.to_string(), merge: false, ..request };
        change(&mut request);
        test(at_work(stage, daemon, request).await).await;
    });
}

/// Returns how the first turn of the run ended.
async fn first_end(at: &AtWork<'_>) -> (TurnOutcome, String) {
    for _ in 0..LOOKS {
        if let Some(RunEvent::TurnEnded { outcome, reason, .. }) = at.events("turn_ended").into_iter().next() {
            return (outcome, reason);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the turn does not end");
}

#[test]
fn a_report_without_a_word_is_a_failure_unless_it_was_said_in_an_earlier_turn() {
    let report = json!({ "result": "report" });
    for (settings, said, outcome) in [
        (&report, None, TurnOutcome::Failed),
        (&report, Some(" \n"), TurnOutcome::Failed),
        (&report, Some("it is so"), TurnOutcome::Finished),
        (&json!({}), None, TurnOutcome::Finished),
    ] {
        with_task(
            settings,
            |_| {},
            async |at| {
                let said = said.map(|text| Act::Answer { text: text.to_owned() });
                at.does_only(said.into_iter().chain([Act::Say(turn_ended(1, "end_turn", ""))]).collect());

                let end = first_end(&at).await;

                assert_eq!(end.0, outcome, "{settings} {}", end.1);
                assert_eq!(end.1.contains("it said nothing"), outcome == TurnOutcome::Failed, "{}", end.1);
            },
        );
    }
}

#[test]
fn tokens_cost_what_their_price_says_as_long_as_an_agent_reports_no_cost_itself() {
    let price = TokenPrice { input: 2_000_000, output: 4_000_000 };
    let priced = |request: &mut StartRunRequest| request.agents.iter_mut().for_each(|agent| agent.price = Some(price));
    with_task(&json!({}), priced, async |at| {
        let cost = |micro_usd, input_tokens, output_tokens| {
            Act::Say(WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens })
        };
        let end = Act::Say(turn_ended(1, "end_turn", "done"));
        at.does_only(vec![cost(None, 10, 20), cost(None, 1, 0), cost(Some(7), 5, 5), cost(None, 3, 3), end]);

        first_end(&at).await;

        let counted: Vec<_> = at
            .events("cost_counted")
            .into_iter()
            .map(|fact| {
                let RunEvent::CostCounted { total_micro_usd, estimated, .. } = fact else { panic!("{fact:?}") };
                (total_micro_usd, estimated)
            })
            .collect();
        assert_eq!(counted, [(100, true), (102, true), (7, false)]);
    });
}

#[test]
fn an_action_counts_only_for_the_task_of_the_worker_that_asks_for_it_and_if_the_policy_allows_it() {
    let constrained = |request: &mut StartRunRequest| {
        request.isolation = Some(Isolation::Constrained);
        request.agents.iter_mut().for_each(|agent| agent.four_tools = true);
    };
    for (task, denied, why) in [
        ("1.1", None, None),
        ("1.1", Some("propose_task"), None),
        ("1.2", None, Some("[dispatch.stale-worker]")),
        ("1.1", Some("report_step"), Some("action 1 (report_step): a rule denies it [policy.denied]")),
    ] {
        with_task(&json!({}), constrained, async |at| {
            *lock(&at.stage.denied_verb) = denied;
            let action = json!([{ "report_step": { "state": "done", "note": "n", "task": task } }]);
            let text = format!("It is done.\n```switchboard\n{action}\n```\n");
            at.does_only(vec![Act::Answer { text }, Act::Say(turn_ended(1, "end_turn", "done"))]);

            let (outcome, reason) = first_end(&at).await;

            assert_eq!(outcome == TurnOutcome::Finished, why.is_none(), "{reason}");
            assert!(reason.contains(why.unwrap_or_default()), "{reason}");
            assert_eq!(at.of_workers("worker_acted").len(), usize::from(why.is_none()));
        });
    }
}
