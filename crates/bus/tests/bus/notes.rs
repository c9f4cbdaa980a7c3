//! Tests messages from and to the coordinator: when they wait, and how long they are kept.

use serde_json::json;
use switchboard_bus::{RETENTION, check_inbox, list_messages, note, register_agent, understood};
use switchboard_protocol::coordination::{Control, Note, UnitMessage};
use switchboard_protocol::id::{MessageId, RunId};
use switchboard_protocol::message::{DeliveryState, QueueState};
use switchboard_protocol::plan::TaskId;
use switchboard_store::Batch;

use crate::fixtures::{World, args, caller, code, name, person};

fn completed(is_taken: bool) -> Note {
    let what = UnitMessage::UnitCompleted { run: RunId::from_bits(1), unit: TaskId::new("1.1").unwrap(), commit: None };
    let to = if is_taken { "coordinator" } else { "ada" };
    Note { from: name("ada"), to: name(to), what, broadcast: None, is_taken }
}

#[tokio::test]
async fn what_the_coordinator_has_is_kept_for_a_day_and_never_waits() {
    let world = World::with(&["ada"]).await;
    let id = MessageId::from_bits(7);

    let event = note(&completed(true), id.clone(), world.store.now()).unwrap();
    world.store.commit(Batch::synced().event(event)).await.unwrap();

    let of = |agent: Option<&str>| list_messages(&world.store, &args(json!({ "agent": agent }))).unwrap();
    let found = of(Some("coordinator"));
    assert_eq!(found.messages.len(), 1);
    let message = &found.messages[0];
    assert_eq!((message.state, message.queue), (DeliveryState::Done, QueueState::Acked));
    assert!(message.payload.contains(r#""type":"unit_completed""#), "{}", message.payload);
    assert_eq!((found.sent, found.acked), (0, 0), "the counts are about what agents send each other");
    assert!(of(None).messages.is_empty(), "it is listed where it is asked for");
    for (all, count) in [(false, 0), (true, 1)] {
        let request = args(json!({ "agent": "coordinator", "include_acked": all }));
        assert_eq!(check_inbox(&world.store, &person(), request).await.unwrap().messages.len(), count);
    }

    let rule = RETENTION.iter().find(|rule| rule.cursor == "retention/taken").unwrap();
    world.clock.advance(rule.keep_for - 1);
    assert_eq!(world.store.sweep(rule, world.store.now()).await.unwrap().dropped, 0);
    world.clock.advance(1);
    assert_eq!(world.store.sweep(rule, world.store.now()).await.unwrap().dropped, 1, "and not those of agents");
}

#[tokio::test]
async fn what_a_worker_is_told_waits_in_its_inbox_for_an_hour() {
    let world = World::with(&["ada"]).await;

    let event = note(&completed(false), MessageId::from_bits(7), world.store.now()).unwrap();
    world.store.commit(Batch::synced().event(event)).await.unwrap();

    for (after, count) in [(3_600_000 - 1, 1), (1, 0)] {
        world.clock.advance(after);
        let request = args(json!({ "agent": "ada" }));
        assert_eq!(check_inbox(&world.store, &person(), request).await.unwrap().messages.len(), count);
    }
}

#[tokio::test]
async fn a_control_is_recorded_once_under_its_id_and_nobody_takes_the_coordinators_name() {
    let world = World::with(&["ada"]).await;
    let control = Control::CompleteTask { task: None, summary: String::new() };
    let (event, guard) = understood(&control, &MessageId::from_bits(7), &name("ada"), true).unwrap();
    let batch = || Batch::synced().event(event.clone()).guard(guard.clone());

    world.store.commit(batch()).await.unwrap();

    assert!(world.store.commit(batch()).await.is_err(), "the id was used");
    let named = register_agent(&world.store, &caller("ada"), args(json!({ "name": "Coordinator" }))).await;
    assert_eq!(code(named.map(drop).unwrap_err()), "bus.reserved-name");
}
