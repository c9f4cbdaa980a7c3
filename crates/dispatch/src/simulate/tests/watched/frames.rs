//! Tests what follows from the frames of a shim: records, and what it is told next.

use switchboard_protocol::coordination::UnitMessage;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::job::Coordination;
use switchboard_protocol::run::{MAX_RATE_WAIT_MS, RATE_WAIT_MS, StopCause, TurnOutcome};
use switchboard_protocol::worker::{PAUSED, PauseState, REPORTED_VERSION, WRAP_UP};

use super::super::super::shim::{exited, sealed, turn_ended};
use super::*;

fn session() -> WorkerEvent {
    WorkerEvent::SessionOpened { session: "s".to_owned() }
}

fn turn(turn: u32) -> WorkerEvent {
    WorkerEvent::TurnStarted { turn, mail: Vec::new() }
}

fn cost(micro_usd: Option<u64>, input_tokens: u64, output_tokens: u64) -> WorkerEvent {
    WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens }
}

fn faulted(code: &str, retry_after_ms: Option<u64>) -> WorkerEvent {
    WorkerEvent::Faulted { code: code.to_owned(), what: "it can't".to_owned(), retry_after_ms }
}

fn asked() -> WorkerEvent {
    let option = PermissionOption { id: "yes".to_owned(), name: "yes".to_owned(), kind: "allow_once".to_owned() };
    WorkerEvent::PermissionAsked {
        ask: "a1".to_owned(),
        title: "run it".to_owned(),
        options: vec![option],
        detail: "it".to_owned(),
        tool_kind: "execute".to_owned(),
        paths: Vec::new(),
    }
}

fn called() -> WorkerEvent {
    WorkerEvent::ToolCalled {
        call: "1".to_owned(),
        title: "Edit".to_owned(),
        tool_kind: "edit".to_owned(),
        status: "completed".to_owned(),
        paths: Vec::new(),
        why: String::new(),
    }
}

#[test]
fn costs_questions_and_ends_survive_a_power_cut_before_they_are_acknowledged() {
    let settled_by_rule = WorkerEvent::PermissionSettled { ask: "a1".to_owned(), option: None, rule: None };
    for (event, expected) in [
        (started(), Durability::Synced),
        (session(), Durability::Written),
        (turn(1), Durability::Synced),
        (called(), Durability::Written),
        (asked(), Durability::Synced),
        (settled_by_rule, Durability::Written),
        (WorkerEvent::PauseChanged { state: PauseState::Paused }, Durability::Written),
        (cost(Some(3), 1, 1), Durability::Synced),
        (turn_ended(1, "end_turn", "done"), Durability::Synced),
        (faulted("agent.spawn", None), Durability::Synced),
        (exited(Some(0), None), Durability::Synced),
        (sealed(), Durability::Written),
    ] {
        with_watched(Equipped::default(), async |at| {
            at.says(1, event.clone()).await;

            let reported = at.store.events(0, &Filter::all(), 100).unwrap();
            let reported = reported.iter().find(|event| event.kind == "worker_reported").unwrap();
            assert_eq!(reported.v, REPORTED_VERSION, "{event:?}");
            let by_itself = lock(&at.commits).iter().find(|(kinds, _)| kinds[0] == "worker_reported").map(|of| of.1);
            let with_steps = lock(&at.steps).first().map(|of| of.1);
            assert_eq!(by_itself.or(with_steps), Some(expected), "{event:?}");
        });
    }
}

#[test]
fn a_frame_counts_once_and_one_that_is_missing_is_read_from_the_journal() {
    with_watched(Equipped::default(), async |at| {
        let mut commands = at.attaches(1, false).await;
        at.says(1, started()).await;
        at.says(1, started()).await;
        at.shim.writes([frame(1, 2, session()), frame(1, 3, turn(1)), frame(1, 4, turn(2))]);
        at.says(4, turn(2)).await;

        assert_eq!(at.kinds(), ["worker_started", "turn_begun"], "the first turn begins with the worker");
        let acks: Vec<_> = told(&mut commands).into_iter().map(|command| json!(command)["seq"].clone()).collect();
        assert_eq!(acks, [0, 1, 1, 4]);
        let reported = at.store.events(0, &Filter::kinds(["worker_reported".to_owned()]), 10).unwrap();
        assert_eq!(reported.len(), 4);
    });
}

#[test]
fn an_agent_whose_turn_is_over_is_told_what_came_meanwhile_or_to_end() {
    let standalone = |driver| Equipped { driver, coordination: Coordination::Standalone, ..Equipped::default() };
    for (driver, stop, has_mail, expected) in [
        ("acp", "end_turn", false, Some("finish")),
        ("acp", "end_turn", true, Some("prompt")),
        ("acp", "cancelled", true, Some("finish")),
        ("acp", WRAP_UP, true, None),
        ("acp", PAUSED, true, None),
        ("exec", "end_turn", true, None),
    ] {
        with_watched(standalone(driver), async |at| {
            let mut commands = at.attaches(1, false).await;
            if has_mail {
                at.tells(9, "hurry").await;
            }
            at.says(1, turn_ended(1, stop, "done")).await;

            let given: Vec<_> = ordered(&mut commands).into_iter().map(|command| json!(command)).collect();
            let kinds: Vec<_> = given.iter().map(|command| command["kind"].as_str().unwrap()).collect();
            assert_eq!(kinds, expected.into_iter().collect::<Vec<_>>(), "{driver} {stop} {has_mail}");
            for prompt in given.iter().filter(|_| expected == Some("prompt")) {
                assert!(prompt["text"].as_str().unwrap().contains("hurry"), "{prompt}");
                assert_eq!(prompt["mail"], json!([MessageId::from_bits(9)]));
            }
        });
    }
}

#[test]
fn a_worker_has_further_turns_up_to_a_limit_as_long_as_the_budget_has_room_and_nobody_stops_it() {
    let standalone = || Equipped { coordination: Coordination::Standalone, ..Equipped::default() };
    let kinds = |commands: &mut mpsc::Receiver<ShimCommand>| -> Vec<String> {
        ordered(commands).iter().map(|command| json!(command)["kind"].as_str().unwrap().to_owned()).collect()
    };
    with_watched(standalone(), async |at| {
        let mut commands = at.attaches(1, false).await;
        at.tells(9, "hurry").await;
        for number in 1..=9 {
            at.says(number, turn_ended(1, "end_turn", "done")).await;
        }

        let expected = [["prompt"; 8].as_slice(), &["finish"]].concat();
        assert_eq!(kinds(&mut commands), expected, "the message is never marked as seen");
    });
    for is_stopped in [true, false] {
        with_watched(standalone(), async |at| {
            let mut commands = at.attaches(1, false).await;
            at.tells(9, "hurry").await;
            at.has_room.store(is_stopped, Ordering::Relaxed);
            if is_stopped {
                at.link.stop(StopCause::Requested, Duration::from_secs(600)).await;
                settled().await;
            }
            at.says(1, turn_ended(1, "end_turn", "done")).await;

            assert_eq!(kinds(&mut commands).last().unwrap(), "finish", "{is_stopped}");
        });
    }
}

#[test]
fn an_agent_that_ended_its_turn_and_then_itself_has_finished_whatever_comes_after() {
    for (last, is_told) in [(exited(Some(0), None), false), (exited(None, Some(15)), true), (sealed(), false)] {
        with_watched(Equipped::default(), async |at| {
            at.says(1, turn_ended(1, "end_turn", "did it")).await;
            if is_told {
                at.link.stop(StopCause::Requested, Duration::from_secs(600)).await;
            }
            at.says(2, last.clone()).await;
            if last != sealed() {
                at.says(3, sealed()).await;
            }

            let steps = lock(&at.steps).clone();
            let [(steps, _)] = steps.as_slice() else { panic!("{steps:?}") };
            let [RunEvent::TurnEnded { outcome, reason, .. }] = steps.as_slice() else { panic!("{steps:?}") };
            assert_eq!((*outcome, reason.as_str()), (TurnOutcome::Finished, "did it"));
            assert!(at.is_over().await);
        });
    }
}

#[test]
fn an_agent_that_is_told_something_after_its_turn_has_not_finished_before_the_next_one_has() {
    let standalone = Equipped { coordination: Coordination::Standalone, ..Equipped::default() };
    with_watched(standalone, async |at| {
        let _commands = at.attaches(1, false).await;
        at.tells(9, "hurry").await;
        at.says(1, turn_ended(1, "end_turn", "did it")).await;
        at.link.stop(StopCause::Requested, Duration::from_secs(600)).await;
        at.says(2, exited(None, Some(15))).await;

        let steps = lock(&at.steps).clone();
        let [(steps, _)] = steps.as_slice() else { panic!("{steps:?}") };
        assert!(matches!(steps.as_slice(), [RunEvent::TurnEnded { outcome: TurnOutcome::Stopped, .. }]), "{steps:?}");
    });
}

#[test]
fn a_shim_that_seals_without_its_agents_end_says_nothing_about_how_it_ended() {
    with_watched(Equipped::default(), async |at| {
        at.says(1, started()).await;
        at.says(2, sealed()).await;

        let steps = lock(&at.steps)[1].0.clone();
        let [RunEvent::TurnEnded { outcome: TurnOutcome::Failed, reason, .. }] = steps.as_slice() else {
            panic!("{steps:?}")
        };
        assert_eq!(reason, "it ended in the middle of its turn, no exit state");
    });
}

#[test]
fn an_end_that_the_run_does_not_expect_is_a_lost_worker_or_else_only_a_report() {
    for (refused, expected) in [(&["turn_ended"][..], &["worker_lost"][..]), (&["turn_ended", "worker_lost"], &[])] {
        with_watched(Equipped::default(), async |at| {
            lock(&at.refused).extend(refused);
            at.says(1, turn_ended(1, "end_turn", "did it")).await;
            at.says(2, exited(Some(0), None)).await;

            assert_eq!(at.kinds(), expected);
            let reported = at.store.events(0, &Filter::kinds(["worker_reported".to_owned()]), 10).unwrap();
            assert_eq!(reported.len(), 2);
            tokio::time::sleep(Duration::from_secs(6)).await;
            assert!(at.is_over().await, "a shim has a few seconds to seal what it has written");
        });
    }
}

#[test]
fn a_fault_that_no_further_attempt_can_mend_blocks_the_task_and_another_is_how_the_turn_ended() {
    with_watched(Equipped::default(), async |at| {
        at.says(1, faulted("agent.missing", None)).await;
        at.says(2, sealed()).await;

        assert_eq!(at.kinds(), ["worker_lost", "task_blocked"]);
        let steps = lock(&at.steps)[0].0.clone();
        let [_, RunEvent::TaskBlocked { attempt: 2, reason, .. }] = steps.as_slice() else { panic!("{steps:?}") };
        assert_eq!(reason, "it can't [agent.missing]");
        assert!(at.is_over().await);
    });
    with_watched(Equipped::default(), async |at| {
        at.says(1, faulted("agent.spawn", None)).await;
        at.says(2, sealed()).await;

        let steps = lock(&at.steps)[0].0.clone();
        let [RunEvent::TurnEnded { outcome, reason, .. }] = steps.as_slice() else { panic!("{steps:?}") };
        assert_eq!((*outcome, reason.as_str()), (TurnOutcome::Failed, "agent.spawn: it can't"));
    });
}

#[test]
fn a_shim_whose_report_could_not_be_recorded_connects_again_and_reports_again() {
    with_watched(Equipped::default(), async |at| {
        let mut first = at.attaches(1, false).await;
        let looks = at.shim.looks.load(Ordering::Relaxed);
        at.failures.store(1, Ordering::Relaxed);
        at.says(1, started()).await;
        drop(told(&mut first));
        assert!(first.is_closed() && at.kinds().is_empty(), "{:?}", at.kinds());
        settled().await;
        assert!(at.shim.looks.load(Ordering::Relaxed) > looks, "its shim may be gone");

        let mut again = at.attaches(1, false).await;
        at.says(1, started()).await;

        assert_eq!(at.kinds(), ["worker_started"]);
        assert!(told(&mut again).contains(&ShimCommand::Ack { seq: 1 }));
    });
}

#[test]
fn a_long_question_is_recorded_in_part() {
    with_watched(Equipped::default(), async |at| {
        let WorkerEvent::PermissionAsked { options, detail, tool_kind, paths, .. } = asked() else { panic!() };
        let (ask, title) = ("a".repeat(200), "t".repeat(300));
        at.says(1, WorkerEvent::PermissionAsked { ask, title, options, detail, tool_kind, paths }).await;

        let events = at.store.events(0, &Filter::kinds(["need_asked".to_owned()]), 10).unwrap();
        let length = |name: &str, of: char| {
            events[0].facts.field(name).as_str().unwrap().chars().filter(|one| *one == of).count()
        };
        assert!(length("title", 't') <= 200 && length("ask", 'a') <= 80, "{:?}", events[0].facts);
    });
}

#[test]
fn a_worker_that_ended_without_what_a_person_denied_it_leads_to_a_question() {
    for (stop, is_denied, expected) in
        [("error", true, "person_asked"), ("error", false, "turn_ended"), ("end_turn", true, "turn_ended")]
    {
        with_watched(Equipped::default(), async |at| {
            at.says(1, asked()).await;
            let [need] = switchboard_needs::open_of(&at.store, &worker()).unwrap().try_into().unwrap();
            let outcome = if is_denied { ("denied", None, None) } else { ("answered", Some("yes".to_owned()), None) };
            switchboard_needs::resolve(&at.store, &need.id, outcome, "ann", Batch::synced()).await.unwrap();
            at.says(2, turn_ended(1, stop, "so be it")).await;
            at.says(3, exited(Some(0), None)).await;

            assert_eq!(at.kinds(), [expected], "{stop} {is_denied}");
        });
    }
}

#[test]
fn a_service_that_limits_an_account_has_all_its_workers_wait_a_little_longer_than_it_says() {
    for (asked, wait) in [
        (Some(2_000), Some(2_500)),
        (None, Some(RATE_WAIT_MS + 500)),
        (Some(MAX_RATE_WAIT_MS + 1), Some(MAX_RATE_WAIT_MS + 500)),
    ] {
        with_watched(Equipped::default(), async |at| {
            let (now, mut changes) = (at.store.now(), at.world.shared.changes());
            at.link.send(Signal::Frame(Box::new(frame(1, 1, faulted("agent.rate-limited", asked))))).await.unwrap();
            changes.changed().await.unwrap();

            let until = at.world.shared.state().next_change(now).map(|until| until.since(now).unsigned_abs());
            // The frame itself takes a moment.
            assert!(until.zip(wait).is_some_and(|(until, wait)| (wait..wait + 200).contains(&until)), "{until:?}");
        });
    }
    with_watched(Equipped::default(), async |at| {
        at.says(1, faulted("agent.spawn", Some(2_000))).await;

        assert_eq!(at.world.shared.state().next_change(at.store.now()), None);
    });
}

#[test]
fn what_a_turn_has_used_so_far_is_told_to_the_coordinator_of_a_managed_run() {
    for (coordination, costs, expected) in [
        (Coordination::Managed, vec![], None),
        (Coordination::Standalone, vec![cost(Some(5), 1, 2)], None),
        (Coordination::Managed, vec![cost(Some(5), 1, 2), cost(Some(6), 3, 4)], Some((Some(11), 4, 6))),
        (Coordination::Managed, vec![cost(Some(1), 0, 0)], Some((Some(1), 0, 0))),
        (Coordination::Managed, vec![cost(None, 1, 0)], Some((None, 1, 0))),
        (Coordination::Managed, vec![cost(None, 0, 1)], Some((None, 0, 1))),
    ] {
        with_watched(Equipped { coordination, ..Equipped::default() }, async |at| {
            let events = costs.clone().into_iter().chain([turn_ended(3, "end_turn", "done")]);
            for (seq, event) in (1..).zip(events) {
                at.says(seq, event).await;
            }

            let noted = at.store.events(0, &Filter::kinds(["message_noted".to_owned()]), 10).unwrap();
            let told = noted.iter().map(|event| serde_json::from_value(event.facts.field("what")).unwrap());
            let told = told.map(|what| {
                let UnitMessage::Cost { turn: 3, micro_usd, input_tokens, output_tokens, .. } = what else {
                    panic!("{what:?}")
                };
                (micro_usd, input_tokens, output_tokens)
            });
            assert_eq!(told.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        });
    }
}

#[test]
fn mail_that_a_turn_began_with_is_noted_as_read_in_a_managed_run() {
    for (coordination, count, expected) in
        [(Coordination::Managed, 2, 2), (Coordination::Managed, 0, 0), (Coordination::Standalone, 2, 0)]
    {
        with_watched(Equipped { coordination, ..Equipped::default() }, async |at| {
            let mail = (0..count).map(MessageId::from_bits).collect();
            at.says(1, WorkerEvent::TurnStarted { turn: 1, mail }).await;

            let injected = lock(&at.commits)
                .iter()
                .flat_map(|(kinds, _)| kinds)
                .filter(|kind| *kind == "message_injected")
                .count();
            assert_eq!(injected, expected);
        });
    }
}

#[test]
fn an_agent_that_did_not_list_our_tools_in_its_first_turn_is_noted() {
    let missed = |driver, first, stop, before: Vec<WorkerFact>| {
        let count = std::cell::Cell::new(0);
        with_watched(Equipped { driver, before, ..Equipped::default() }, async |at| {
            at.says(1, turn_ended(first, stop, "done")).await;
            count.set(at.store.events(0, &Filter::kinds(["worker_tools_missed".to_owned()]), 10).unwrap().len());
        });
        count.get()
    };

    assert_eq!(missed("acp", 1, "end_turn", Vec::new()), 1);
    assert_eq!(missed("acp", 2, "end_turn", Vec::new()), 0);
    assert_eq!(missed("acp", 1, "cancelled", Vec::new()), 0);
    assert_eq!(missed("exec", 1, "end_turn", Vec::new()), 0);
    let listed = WorkerFact::WorkerToolsListed { worker: worker() };
    assert_eq!(missed("acp", 1, "end_turn", vec![listed]), 0);
}
