//! Tests the bus on a store in memory: accepted, refused, seen and acknowledged messages.

use switchboard_bus::{
    Call, Error, ack_message, check_inbox, list_messages, register_agent, roster, send_message, set_agent_status,
};
use switchboard_protocol::id::{Digest, MessageId};
use switchboard_protocol::message::DeliveryState;
use switchboard_protocol::verb::agent::{RegisterAgentRequest, SetAgentStatusRequest};
use switchboard_protocol::verb::bus::{
    AckMessageRequest, CheckInboxRequest, ListMessagesRequest, SendMessageReply, SendMessageRequest,
};
use switchboard_store::{Clock, Idempotency, Store};

use crate::fixtures::{caller, code, name, person};

fn store() -> Store {
    Store::in_memory(switchboard_bus::projections(), Clock::system())
}

async fn join(store: &Store, who: &str) {
    let request: RegisterAgentRequest = serde_json::from_value(serde_json::json!({ "name": who })).unwrap();
    register_agent(store, &caller(who), request).await.unwrap();
}

fn to(recipient: &str, payload: &str) -> SendMessageRequest {
    serde_json::from_value(serde_json::json!({ "recipient": recipient, "payload": payload })).unwrap()
}

async fn send(store: &Store, from: &str, request: SendMessageRequest, fresh: u64) -> Result<SendMessageReply, Error> {
    send_message(store, &caller(from), request, MessageId::from_bits(fresh)).await
}

fn inbox() -> CheckInboxRequest {
    CheckInboxRequest::default()
}

#[tokio::test]
async fn a_message_is_accepted_seen_and_acknowledged_in_that_order() {
    let store = store();
    join(&store, "ada").await;
    join(&store, "ben").await;

    let sent = send(&store, "ada", to("ben", "hello"), 1).await.unwrap();
    let before = list_messages(&store, &ListMessagesRequest::default()).unwrap();
    let seen = check_inbox(&store, &caller("ben"), inbox()).await.unwrap();
    let after = list_messages(&store, &ListMessagesRequest::default()).unwrap();
    ack_message(&store, &caller("ben"), AckMessageRequest { id: sent.id.clone(), lease_token: None, done: false })
        .await
        .unwrap();
    let done = list_messages(&store, &ListMessagesRequest::default()).unwrap();

    assert_eq!(before.messages[0].state, DeliveryState::Accepted);
    assert_eq!(seen.messages[0].payload, "hello");
    assert_eq!(seen.messages[0].sender.as_str(), "ada");
    assert_eq!(after.messages[0].state, DeliveryState::Injected);
    assert_eq!(done.messages[0].state, DeliveryState::Acked);
    assert_eq!((done.sent, done.acked), (1, 1));
    assert!(check_inbox(&store, &caller("ben"), inbox()).await.unwrap().messages.is_empty());
}

#[tokio::test]
async fn an_unknown_recipient_is_an_error_that_names_the_nearest() {
    let store = store();
    join(&store, "reviewer").await;

    let failure =
        switchboard_protocol::error::Failure::from(send(&store, "ada", to("reviewr", "x"), 1).await.unwrap_err());

    assert_eq!(failure.code, "bus.unknown-recipient");
    assert!(failure.hint.contains("reviewer"), "{}", failure.hint);
    assert_eq!(list_messages(&store, &ListMessagesRequest::default()).unwrap().sent, 0);
}

#[tokio::test]
async fn spellings_of_a_name_are_one_agent_with_one_inbox() {
    let store = store();
    join(&store, "Coder 1").await;
    join(&store, "coder_1").await;

    send(&store, "ada", to("CODER-1", "x"), 1).await.unwrap();

    assert_eq!(roster(&store).unwrap().len(), 1);
    assert_eq!(check_inbox(&store, &caller("coder 1"), inbox()).await.unwrap().messages.len(), 1);
}

#[tokio::test]
async fn the_same_id_with_the_same_content_is_one_message_and_with_other_content_a_conflict() {
    let store = store();
    join(&store, "ben").await;
    let with_id = |payload| SendMessageRequest { id: Some(MessageId::new("msg_own").unwrap()), ..to("ben", payload) };

    let first = send(&store, "ada", with_id("x"), 1).await.unwrap();
    let again = send(&store, "ada", with_id("x"), 2).await.unwrap();
    let other = send(&store, "ada", with_id("y"), 3).await.unwrap_err();

    assert_eq!((first.id.clone(), first.seq), (again.id, again.seq));
    assert_eq!(code(other), "request.conflict");
    assert_eq!(list_messages(&store, &ListMessagesRequest::default()).unwrap().sent, 1);
}

#[tokio::test]
async fn a_repeated_call_under_one_key_sends_once() {
    let store = store();
    join(&store, "ben").await;
    let key = Idempotency { key: "k".into(), caller: "ada".into(), verb: "send_message", args: Digest::of(b"x") };
    let call = Call { idempotency: Some(key), ..caller("ada") };

    let first = send_message(&store, &call, to("ben", "x"), MessageId::from_bits(1)).await.unwrap();
    let again = send_message(&store, &call, to("ben", "x"), MessageId::from_bits(2)).await.unwrap();

    assert_eq!(first.id, again.id);
    assert_eq!(list_messages(&store, &ListMessagesRequest::default()).unwrap().sent, 1);
}

#[tokio::test]
async fn nobody_but_the_recipient_or_a_person_reads_or_acknowledges() {
    let store = store();
    join(&store, "ben").await;
    let sent = send(&store, "ada", to("ben", "x"), 1).await.unwrap();
    let of_ben = || CheckInboxRequest { agent: Some(name("ben")), ..inbox() };

    assert_eq!(code(check_inbox(&store, &caller("eve"), of_ben()).await.unwrap_err()), "bus.not-yours");
    let ack = AckMessageRequest { id: sent.id.clone(), lease_token: None, done: false };
    assert_eq!(code(ack_message(&store, &caller("eve"), ack.clone()).await.unwrap_err()), "bus.not-yours");
    check_inbox(&store, &person(), of_ben()).await.unwrap();

    let listed = list_messages(&store, &ListMessagesRequest::default()).unwrap();
    assert_eq!(listed.messages[0].state, DeliveryState::Accepted, "a person's look is no evidence of delivery");
}

#[tokio::test]
async fn an_inbox_is_read_in_pages_in_the_order_of_sending() {
    let store = store();
    join(&store, "ben").await;
    for n in 0..25 {
        send(&store, "ada", to("ben", &n.to_string()), n + 1).await.unwrap();
    }

    let first = check_inbox(&store, &caller("ben"), inbox()).await.unwrap();
    let rest = CheckInboxRequest { since: Some(first.cursor), ..inbox() };
    let rest = check_inbox(&store, &caller("ben"), rest).await.unwrap();

    let payloads: Vec<_> = first.messages.iter().chain(&rest.messages).map(|m| m.payload.clone()).collect();
    assert_eq!(payloads, (0..25).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!((first.messages.len(), first.more, rest.more), (20, 5, 0));
}

#[tokio::test]
async fn a_payload_over_the_limit_is_refused_whole() {
    let store = store();
    join(&store, "ben").await;

    let error = send(&store, "ada", to("ben", &"x".repeat(256 * 1024 + 1)), 1).await.unwrap_err();

    assert_eq!(code(error), "bus.payload-too-large");
    assert!(check_inbox(&store, &caller("ben"), inbox()).await.unwrap().messages.is_empty());
}

#[tokio::test]
async fn acknowledging_twice_counts_once() {
    let store = store();
    join(&store, "ben").await;
    let sent = send(&store, "ada", to("ben", "x"), 1).await.unwrap();
    let ack = || AckMessageRequest { id: sent.id.clone(), lease_token: None, done: false };

    ack_message(&store, &caller("ben"), ack()).await.unwrap();
    ack_message(&store, &caller("ben"), ack()).await.unwrap();

    assert_eq!(list_messages(&store, &ListMessagesRequest::default()).unwrap().acked, 1);
    assert_eq!(roster(&store).unwrap()[0].unread, 0);
}

#[tokio::test]
async fn an_agent_sets_its_own_status_and_no_other() {
    let store = store();
    join(&store, "ben").await;
    let status = |who: Option<&str>| SetAgentStatusRequest {
        name: who.map(name),
        status: "working".into(),
        message: String::new(),
    };

    set_agent_status(&store, &caller("ben"), status(None)).await.unwrap();
    let error = set_agent_status(&store, &caller("eve"), status(Some("ben"))).await.unwrap_err();

    assert_eq!(roster(&store).unwrap()[0].status, "working");
    assert_eq!(code(error), "bus.not-yours");
}

#[tokio::test]
async fn registering_again_keeps_the_mail() {
    let store = store();
    join(&store, "ben").await;
    send(&store, "ada", to("ben", "x"), 1).await.unwrap();

    join(&store, "ben").await;

    assert_eq!(roster(&store).unwrap()[0].unread, 1);
    assert_eq!(check_inbox(&store, &caller("ben"), inbox()).await.unwrap().messages.len(), 1);
}

#[tokio::test]
async fn messages_are_searched_by_their_words_and_by_agent() {
    let store = store();
    for who in ["ada", "ben", "cleo"] {
        join(&store, who).await;
    }
    send(&store, "ada", to("ben", "the merge had a conflict"), 1).await.unwrap();
    send(&store, "ada", to("cleo", "no conflict here"), 2).await.unwrap();
    send(&store, "cleo", to("ben", "all is well"), 3).await.unwrap();
    let search = |request: serde_json::Value| {
        let reply = switchboard_bus::search_messages(&store, &serde_json::from_value(request).unwrap()).unwrap();
        let texts: Vec<_> = reply.hits.iter().map(|hit| hit.excerpt.clone()).collect();
        (texts, reply.next)
    };

    let (all, _) = search(serde_json::json!({ "text": "conflict" }));
    let (cleos, _) = search(serde_json::json!({ "text": "conflict", "agent": "CLEO" }));
    let (first, next) = search(serde_json::json!({ "text": "conflict", "limit": 1 }));
    let (second, end) = search(serde_json::json!({ "text": "conflict", "limit": 1, "before": next }));

    assert_eq!(all, ["no conflict here", "the merge had a conflict"]);
    assert_eq!(cleos, ["no conflict here"]);
    assert_eq!((first, second), (vec![all[0].clone()], vec![all[1].clone()]));
    assert_eq!((next.is_some(), end), (true, None));
    let bad = switchboard_bus::search_messages(
        &store,
        &serde_json::from_value(serde_json::json!({ "text": "-no" })).unwrap(),
    );
    assert_eq!(code(bad.unwrap_err()), "request.bad-args");
}

#[tokio::test]
async fn texts_go_a_day_after_they_were_acknowledged_and_never_before() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let clock = switchboard_store::ManualClock::at(switchboard_protocol::time::Millis(1_772_186_400_000));
    let store = Store::in_memory(switchboard_bus::projections(), clock.clock());
    join(&store, "ada").await;
    let acked = send(&store, "ben", to("ada", "done"), 1).await.unwrap();
    let open = send(&store, "ben", to("ada", "open"), 2).await.unwrap();
    ack_message(&store, &caller("ada"), AckMessageRequest { id: acked.id.clone(), lease_token: None, done: false })
        .await
        .unwrap();
    let mut dropped = Vec::new();

    for wait in [DAY - 1, 1, 365 * DAY] {
        clock.advance(wait);
        let mut now = 0;
        for rule in switchboard_bus::RETENTION {
            now += store.sweep(rule, store.now()).await.unwrap().dropped;
        }
        dropped.push(now);
    }

    assert_eq!(dropped, [0, 1, 0]);
    assert_eq!(store.body(acked.seq).unwrap(), None);
    assert_eq!(store.body(open.seq).unwrap().as_deref(), Some("open"));
    assert!(store.verify(switchboard_store::Scope::All).unwrap().is_clean());
}
