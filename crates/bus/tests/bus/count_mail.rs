//! Tests the mail count of a run: what its agents sent and received while it was live.

use serde_json::json;
use switchboard_bus::{MailCount, count_mail, note};
use switchboard_protocol::coordination::{Note, UnitMessage};
use switchboard_protocol::id::{MessageId, RunId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::time::Millis;
use switchboard_store::Batch;

use crate::fixtures::{START, World, name};

#[tokio::test]
async fn mail_is_counted_for_the_agents_asked_about_and_each_message_once() {
    let world = World::with(&["ada", "ben", "cy", "dan"]).await;
    world.send("ada", json!({ "recipient": "ben", "payload": "before" })).await;
    let after = world.store.head().lsn;
    for (from, to) in [("ada", "ben"), ("ada", "cy"), ("cy", "ben"), ("cy", "dan"), ("dan", "cy")] {
        world.send(from, json!({ "recipient": to, "payload": "x" })).await;
    }
    let message = world.receive("ben", json!({ "max": 2 })).await.pop().unwrap();
    world.ack("ben", &message).await.unwrap();
    let count = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|text| name(text)).collect();
        count_mail(&world.store, &names, after, None).unwrap()
    };

    assert_eq!(count(&["ada", "Ben", "BEN"]), MailCount { sent: 3, acked: 1 });
    assert_eq!(count(&["dan"]), MailCount { sent: 2, acked: 0 });
    assert_eq!(count(&[]), MailCount::default());
}

#[tokio::test]
async fn mail_after_the_end_and_what_is_never_delivered_do_not_count() {
    let world = World::with(&["ada", "ben"]).await;
    world.send("ada", json!({ "recipient": "ben", "payload": "x" })).await;
    let what = UnitMessage::UnitCompleted { run: RunId::from_bits(1), unit: TaskId::new("1.1").unwrap(), commit: None };
    let taken = Note { from: name("ada"), to: name("coordinator"), what, broadcast: None, is_taken: true };
    let event = note(&taken, MessageId::from_bits(99), world.store.now()).unwrap();
    world.store.commit(Batch::synced().event(event)).await.unwrap();
    world.clock.advance(10);
    world.send("ben", json!({ "recipient": "ada", "payload": "late" })).await;
    let until = |ms| count_mail(&world.store, &[name("ada")], 0, Some(Millis(START.0 + ms))).unwrap().sent;

    assert_eq!([until(9), until(10)], [1, 2]);
}

#[tokio::test]
async fn more_messages_than_a_page_are_all_counted() {
    let world = World::with(&["ada", "ben"]).await;
    for n in 0..1005 {
        let event = note_to_ben(n, &world);
        world.store.commit(Batch::synced().event(event)).await.unwrap();
    }

    assert_eq!(count_mail(&world.store, &[name("ben")], 0, None).unwrap().sent, 1005);
}

fn note_to_ben(n: u64, world: &World) -> switchboard_protocol::event::NewEvent {
    let what = UnitMessage::UnitCompleted { run: RunId::from_bits(1), unit: TaskId::new("1.1").unwrap(), commit: None };
    let note_to = Note { from: name("ada"), to: name("ben"), what, broadcast: None, is_taken: false };
    note(&note_to, MessageId::from_bits(n + 1), world.store.now()).unwrap()
}
