//! Tests the queue of an inbox under a clock that the test controls: leases, redelivery, dead letters, time to live,
//! lanes, requests, the feed.

use serde_json::{Value, json};
use switchboard_bus::{
    Call, Limits, ack_message, cancel_message, check_inbox, dead, extend_message, nak_message, read_inbox_events,
    receive_messages, register_agent, revive_message, send_request, sweep,
};
use switchboard_protocol::id::MessageId;
use switchboard_protocol::message::{DeliveryState, Message, QueueState};
use switchboard_store::Idempotency;

use crate::fixtures::{START, World, args, caller, code, person};

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.payload.as_str()).collect()
}

fn to_ben(payload: &str) -> Value {
    json!({ "recipient": "ben", "payload": payload })
}

#[tokio::test]
async fn a_delivery_is_held_until_it_is_acknowledged_with_its_token() {
    let world = World::with(&["ada", "ben"]).await;
    world.send("ada", to_ben("one")).await;

    let taken = world.receive("ben", json!({})).await;

    assert_eq!((taken.len(), taken[0].attempt, taken[0].queue), (1, 1, QueueState::Leased));
    assert!(world.receive("ben", json!({})).await.is_empty(), "it is delivered once at a time");
    let tokenless = Message { lease_token: None, ..taken[0].clone() };
    assert_eq!(world.ack("ben", &tokenless).await, Err("bus.lease-lost".to_owned()));
    assert_eq!(world.ack("ben", &taken[0]).await, Ok(()));
    assert_eq!(world.ack("ben", &taken[0]).await, Ok(()), "a second time is answered like the first");
    assert_eq!(world.show(&taken[0].id).queue, QueueState::Acked);
}

fn keyed(who: &str, key: &str) -> Call {
    keyed_for(who, "receive_messages", key)
}

fn keyed_for(who: &str, verb: &'static str, key: &str) -> Call {
    let args = switchboard_protocol::id::Digest::of(b"the same arguments");
    let call = Idempotency { key: key.to_owned(), caller: who.to_owned(), verb, args };
    Call { idempotency: Some(call), ..caller(who) }
}

#[tokio::test]
async fn who_asks_again_under_the_same_key_gets_the_same_messages_and_no_others() {
    let world = World::with(&["ada", "ben"]).await;
    world.send("ada", to_ben("one")).await;
    let again =
        || async { receive_messages(&world.store, &keyed("ben", "k1"), args(json!({}))).await.unwrap().messages };
    let first = again().await;
    world.send("ada", to_ben("two")).await;

    let second = again().await;

    assert_eq!(texts(&second), ["one"]);
    assert_eq!((second[0].lease_token, second[0].attempt), (first[0].lease_token, first[0].attempt));
    assert_eq!(world.ack("ben", &second[0]).await, Ok(()));
    assert!(again().await.is_empty(), "what was acknowledged is not held any more");
    assert_eq!(texts(&world.receive("ben", json!({})).await), ["two"]);
    assert!(again().await.is_empty(), "also with nothing left to deliver");
}

#[tokio::test]
async fn who_looks_again_under_the_same_key_sees_what_the_first_look_showed() {
    let world = World::with(&["ada", "ben"]).await;
    let look = |key: &str| {
        let call = keyed_for("ben", "check_inbox", key);
        let store = world.store.clone();
        async move { check_inbox(&store, &call, args(json!({}))).await.unwrap() }
    };
    world.send("ada", to_ben("one")).await;
    let first = look("k").await;
    assert_eq!(texts(&first.messages), ["one"]);
    world.send("ada", to_ben("two")).await;

    let again = look("k").await;

    assert_eq!((texts(&again.messages), again.cursor, again.more), (vec!["one"], first.cursor, first.more));
    assert_eq!(texts(&look("other").await.messages), ["one", "two"]);
    assert_eq!(texts(&look("k").await.messages), ["one"]);
}

#[tokio::test]
async fn a_lapsed_delivery_comes_again_with_backoff_and_its_old_token_is_worth_nothing() {
    let world = World::with(&["ada", "ben"]).await;
    world.send("ada", to_ben("one")).await;
    let first = world.receive("ben", json!({ "lease_ms": 5000 })).await;
    world.clock.advance(5_000);

    assert_eq!(world.ack("ben", &first[0]).await, Err("bus.lease-lost".to_owned()));
    assert!(world.receive("ben", json!({})).await.is_empty(), "it waits for its backoff");
    world.clock.advance(1_100);
    let second = world.receive("ben", json!({})).await;

    assert_eq!(second[0].attempt, 2);
    assert!(second[0].lease_token > first[0].lease_token);
    assert_eq!(world.ack("ben", &first[0]).await, Err("bus.lease-lost".to_owned()));
    assert_eq!(world.ack("ben", &second[0]).await, Ok(()));
}

#[tokio::test]
async fn what_is_delivered_too_often_is_a_dead_letter_with_its_cause_until_a_person_puts_it_back() {
    let world = World::with(&["ada", "ben"]).await;
    let sent = world.send("ada", json!({ "recipient": "ben", "payload": "x", "options": { "max_attempts": 2 } })).await;
    for _ in 0..2 {
        world.clock.advance(120_000);
        let taken = world.receive("ben", json!({})).await;
        let request = json!({ "id": taken[0].id, "lease_token": taken[0].lease_token, "why": "can't parse it" });
        nak_message(&world.store, &caller("ben"), args(request)).await.unwrap();
    }

    let letter = world.show(&sent.id);
    assert_eq!(letter.queue, QueueState::Dead);
    assert!(letter.cause.contains("can't parse it"), "{}", letter.cause);
    assert_eq!(dead(&world.store).unwrap(), 1);
    assert_eq!(world.outbox("ada").await[0].queue, QueueState::Dead, "its sender sees it");
    let request = json!({ "id": sent.id });
    let refused = revive_message(&world.store, &caller("ben"), args(request.clone())).await.unwrap_err();
    assert_eq!(code(refused), "policy.denied");
    revive_message(&world.store, &person(), args(request)).await.unwrap();
    assert_eq!(world.receive("ben", json!({})).await[0].attempt, 1);
    assert_eq!(dead(&world.store).unwrap(), 0);
}

#[tokio::test]
async fn a_message_is_never_delivered_after_its_time_to_live() {
    let world = World::with(&["ada", "ben"]).await;
    let sent = world.send("ada", json!({ "recipient": "ben", "payload": "x", "options": { "ttl_ms": 1000 } })).await;
    world.clock.advance(1_000);

    assert!(world.receive("ben", json!({})).await.is_empty());
    let seen = check_inbox(&world.store, &caller("ben"), args(json!({}))).await.unwrap();
    assert!(seen.messages.is_empty());
    assert_eq!(world.show(&sent.id).queue, QueueState::Expired);
    let late = json!({ "id": sent.id });
    assert_eq!(code(ack_message(&world.store, &caller("ben"), args(late)).await.unwrap_err()), "bus.settled");
}

#[tokio::test]
async fn control_passes_and_urgent_goes_first_but_a_lane_keeps_its_order() {
    let world = World::with(&["ada", "ben"]).await;
    for (text, priority) in [("low", "low"), ("a", "normal"), ("b", "normal"), ("high", "high")] {
        world.send("ada", json!({ "recipient": "ben", "payload": text, "priority": priority })).await;
    }
    let stop = json!({ "recipient": "ben", "payload": "stop", "options": { "kind": "control" } });
    assert_eq!(code(world.try_send(&caller("ada"), stop.clone()).await.unwrap_err()), "policy.denied");
    world.try_send(&person(), stop).await.unwrap();

    let seen = check_inbox(&world.store, &caller("ben"), args(json!({}))).await.unwrap();
    assert_eq!(texts(&seen.messages), ["stop", "high", "a", "b", "low"]);
    assert_eq!(texts(&world.receive("ben", json!({ "max": 2 })).await), ["stop", "high"]);
    assert_eq!(texts(&world.receive("ben", json!({})).await), ["a"]);
    assert_eq!(texts(&world.receive("ben", json!({ "max": 9 })).await), ["low"], "b waits behind a");
}

#[tokio::test]
async fn another_order_key_passes_a_held_message_and_the_same_does_not() {
    let world = World::with(&["ada", "ben"]).await;
    for (text, key) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
        world.send("ada", json!({ "recipient": "ben", "payload": text, "options": { "order_key": key } })).await;
    }

    assert_eq!(texts(&world.receive("ben", json!({})).await), ["a1"]);
    assert_eq!(texts(&world.receive("ben", json!({ "max": 9 })).await), ["b1"]);
}

#[tokio::test]
async fn a_delivery_that_is_extended_does_not_lapse() {
    let world = World::with(&["ada", "ben"]).await;
    world.send("ada", to_ben("x")).await;
    let taken = world.receive("ben", json!({ "lease_ms": 5000 })).await;
    world.clock.advance(4_000);
    let request = json!({ "id": taken[0].id, "lease_token": taken[0].lease_token, "lease_ms": 10_000 });
    extend_message(&world.store, &caller("ben"), args(request)).await.unwrap();
    world.clock.advance(9_000);
    sweep(&world.store).await.unwrap();

    assert_eq!(world.ack("ben", &taken[0]).await, Ok(()));
}

#[tokio::test]
async fn a_full_inbox_refuses_loudly_but_has_room_for_control() {
    let world = World::with(&["ada", "ben"]).await;
    let small = Limits { messages: 2, bytes: 1_000_000 };
    let tight = |who: Call| Call { limits: small, ..who };
    for _ in 0..2 {
        world.try_send(&tight(caller("ada")), to_ben("x")).await.unwrap();
    }

    assert_eq!(code(world.try_send(&tight(caller("ada")), to_ben("x")).await.unwrap_err()), "bus.inbox-full");
    let stop = json!({ "recipient": "ben", "payload": "stop", "options": { "kind": "control" } });
    world.try_send(&tight(person()), stop).await.unwrap();
    let bytes = Call { limits: Limits { messages: 100, bytes: 3 }, ..caller("ada") };
    assert_eq!(code(world.try_send(&bytes, to_ben("x")).await.unwrap_err()), "bus.inbox-full");
}

#[tokio::test]
async fn its_sender_takes_back_what_nobody_has_acknowledged() {
    let world = World::with(&["ada", "ben"]).await;
    let sent = world.send("ada", to_ben("x")).await;
    let request = json!({ "id": sent.id });

    assert_eq!(
        code(cancel_message(&world.store, &caller("ben"), args(request.clone())).await.unwrap_err()),
        "bus.not-yours"
    );
    cancel_message(&world.store, &caller("ada"), args(request)).await.unwrap();

    assert!(world.receive("ben", json!({})).await.is_empty());
    assert_eq!(world.show(&sent.id).queue, QueueState::Cancelled);
}

#[tokio::test]
async fn a_task_takes_the_place_of_the_one_that_still_waits_unless_both_are_kept() {
    let world = World::with(&["ada", "ben"]).await;
    let task = |text: &str, mode: &str| {
        json!({ "recipient": "ben", "payload": text, "action": "delegate_task",
                "metadata": { "queue_mode": mode, "no_cooldown": true } })
    };
    let first = world.send("ada", task("one", "replace")).await;
    let second = world.send("ada", task("two", "replace")).await;
    world.send("ada", task("three", "keep")).await;

    assert_eq!(second.superseded, [first.id]);
    assert_eq!(texts(&world.receive("ben", json!({ "max": 9 })).await), ["two", "three"]);
}

#[tokio::test]
async fn the_same_dispatch_within_the_cooldown_is_refused_and_a_refused_one_burns_nothing() {
    let world = World::with(&["ada", "ben"]).await;
    let run = || json!({ "recipient": "ben", "payload": "make", "action": "execute" });
    let full = Call { limits: Limits { messages: 0, bytes: 1 }, ..caller("ada") };
    assert_eq!(code(world.try_send(&full, run()).await.unwrap_err()), "bus.inbox-full");

    world.send("ada", run()).await;
    world.clock.advance(29_999);
    assert_eq!(code(world.try_send(&caller("ada"), run()).await.unwrap_err()), "bus.cooldown");
    world.clock.advance(1);
    world.send("ada", run()).await;
}

#[tokio::test]
async fn a_task_for_execution_names_its_plan_and_expires() {
    let world = World::with(&["ada", "ben"]).await;
    let gate = json!({ "phase_gate": { "phase": "execution" } });
    let task = json!({ "recipient": "ben", "payload": "x", "action": "delegate_task", "metadata": gate });
    assert_eq!(code(world.try_send(&caller("ada"), task).await.unwrap_err()), "bus.phase-gate");

    let sent = world
        .send(
            "ada",
            json!({ "recipient": "ben", "payload": "do plan_a.md", "action": "delegate_task", "persona": "be quick" }),
        )
        .await;
    let message = world.show(&sent.id);

    assert_eq!(message.expires_at, Some(START.plus(480 * 60_000)));
    assert_eq!(message.persona, "be quick");
    let metadata = message.metadata.unwrap();
    assert_eq!(metadata["phase_gate"]["authorized_plan"], "plan_a.md");
    assert_eq!(metadata["dispatch"]["dispatch_id"], json!(sent.id));
}

#[tokio::test]
async fn a_request_is_answered_once_and_a_late_answer_is_kept_and_marked() {
    let world = World::with(&["ada", "ben"]).await;
    let store = world.store.clone();
    let ask = tokio::spawn(async move {
        let request = args(json!({ "recipient": "ben", "payload": "2+2?", "id": "msg_q", "timeout_ms": 60_000 }));
        send_request(&store, &caller("ada"), request, MessageId::from_bits(9)).await
    });
    let taken = world.receive("ben", json!({ "wait_ms": 30_000 })).await;
    let answer = || json!({ "recipient": "ada", "payload": "4", "reply_to": taken[0].id });
    world.send("ben", answer()).await;

    assert_eq!(ask.await.unwrap().unwrap().reply.payload, "4");
    assert_eq!(code(world.try_send(&caller("ben"), answer()).await.unwrap_err()), "bus.already-replied");

    let request = args(json!({ "recipient": "ben", "payload": "3+3?", "id": "msg_r", "timeout_ms": 0 }));
    let waited = send_request(&world.store, &caller("ada"), request, MessageId::from_bits(10)).await;
    assert_eq!(code(waited.unwrap_err()), "bus.timed-out");
    let late = world.send("ben", json!({ "recipient": "ada", "payload": "6", "reply_to": "msg_r" })).await;
    assert!(world.show(&late.id).is_late);
}

#[tokio::test]
async fn the_result_of_a_message_makes_it_done_and_its_sender_sees_that() {
    let world = World::with(&["ada", "ben"]).await;
    let sent = world.send("ada", to_ben("please")).await;
    assert_eq!(world.outbox("ada").await[0].state, DeliveryState::Accepted);
    check_inbox(&world.store, &caller("ben"), args(json!({}))).await.unwrap();
    assert_eq!(world.outbox("ada").await[0].state, DeliveryState::Injected);

    let result = json!({ "recipient": "ada", "payload": "here", "action": "submit_result", "reply_to": sent.id });
    world.send("ben", result).await;

    assert_eq!(world.outbox("ada").await[0].state, DeliveryState::Done);
}

#[tokio::test]
async fn a_preview_does_not_count_as_read() {
    let world = World::with(&["ada", "ben"]).await;
    let sent = world.send("ada", to_ben(&"x".repeat(300))).await;

    let seen = check_inbox(&world.store, &caller("ben"), args(json!({ "verbose": false }))).await.unwrap();

    assert!(seen.messages[0].is_preview && seen.messages[0].payload.contains("300 characters"));
    assert_eq!(world.show(&sent.id).state, DeliveryState::Accepted);
}

#[tokio::test]
async fn the_cursor_of_an_inbox_leaves_nothing_out_although_lanes_are_shown_first() {
    let world = World::with(&["ada", "ben"]).await;
    for (text, priority) in [("a", "normal"), ("b", "normal"), ("c", "high"), ("d", "normal")] {
        world.send("ada", json!({ "recipient": "ben", "payload": text, "priority": priority })).await;
    }

    let first = check_inbox(&world.store, &caller("ben"), args(json!({ "limit": 2 }))).await.unwrap();
    let next = json!({ "since": first.cursor });
    let rest = check_inbox(&world.store, &caller("ben"), args(next)).await.unwrap();

    assert_eq!((texts(&first.messages), first.more), (vec!["c", "a"], 2));
    assert_eq!((texts(&rest.messages), rest.more), (vec!["b", "c", "d"], 0));
}

#[tokio::test]
async fn an_inbox_is_numbered_without_gaps_whoever_else_gets_mail() {
    let world = World::with(&["ada", "ben", "cyd"]).await;
    for (recipient, text) in [("ben", "1"), ("cyd", "1"), ("ben", "2"), ("ben", "3")] {
        world.send("ada", json!({ "recipient": recipient, "payload": text })).await;
    }

    let seen = check_inbox(&world.store, &caller("ben"), args(json!({}))).await.unwrap();

    assert_eq!(seen.messages.iter().map(|message| message.number).collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test]
async fn an_older_registration_of_a_name_neither_receives_nor_sends() {
    let world = World::with(&["ada", "ben"]).await;
    register_agent(&world.store, &caller("ben"), args(json!({ "name": "ben" }))).await.unwrap();

    let old = receive_messages(&world.store, &caller("ben"), args(json!({ "epoch": 1 }))).await;
    assert_eq!(code(old.unwrap_err()), "bus.stale-epoch");
    let send = json!({ "recipient": "ada", "payload": "x", "options": { "epoch": 1 } });
    assert_eq!(code(world.try_send(&caller("ben"), send).await.unwrap_err()), "bus.stale-epoch");
    receive_messages(&world.store, &caller("ben"), args(json!({ "epoch": 2 }))).await.unwrap();
}

#[tokio::test]
async fn the_feed_tells_both_sides_what_happened_without_the_text() {
    let world = World::with(&["ada", "ben", "cyd"]).await;
    world.send("ada", json!({ "recipient": "ben", "payload": "SECRET", "topic": "lunch" })).await;
    world.send("ada", json!({ "recipient": "cyd", "payload": "other" })).await;
    let taken = world.receive("ben", json!({})).await;
    world.ack("ben", &taken[0]).await.unwrap();

    let read = |who: &str, cursor: Value| {
        let (store, call) = (world.store.clone(), caller(who));
        async move { read_inbox_events(&store, &call, args(json!({ "cursor": cursor }))).await }
    };
    let ben = read("ben", json!("start")).await.unwrap();

    let said = |events: &[switchboard_protocol::verb::queue::InboxEvent]| {
        events.iter().map(|event| event.what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(said(&ben.events), ["sent", "leased", "acked"]);
    assert_eq!(ben.events[0].topic, "lunch");
    assert!(!serde_json::to_string(&ben).unwrap().contains("SECRET"));
    assert_eq!(said(&read("ada", json!("start")).await.unwrap().events), ["sent", "sent", "leased", "acked"]);
    assert!(read("ben", json!(ben.cursor)).await.unwrap().events.is_empty());
    for (cursor, refusal) in [
        ("99999-0000000000000000", "bus.cursor-ahead"),
        ("2-0000000000000000", "bus.cursor-expired"),
        ("soon", "request.bad-args"),
    ] {
        assert_eq!(code(read("ben", json!(cursor)).await.unwrap_err()), refusal);
    }
}

#[tokio::test]
async fn a_notice_of_waiting_mail_is_small() {
    let world = World::with(&["a-fairly-long-agent-name", "another-long-agent-name"]).await;
    let topic = "review of the session token handling";
    world
        .send(
            "a-fairly-long-agent-name",
            json!({ "recipient": "another-long-agent-name", "payload": "x", "topic": topic }),
        )
        .await;

    let reader = caller("another-long-agent-name");
    let feed = read_inbox_events(&world.store, &reader, args(json!({ "cursor": "start" }))).await.unwrap();
    let event = serde_json::to_string(&feed.events[0]).unwrap();

    assert!(event.len() <= 240, "{} bytes: {event}", event.len());
}
