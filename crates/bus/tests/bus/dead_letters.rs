//! Tests mail that is never seen: the reports, the outcome, and the actions of a person.

use serde_json::json;
use switchboard_bus::{
    dead, dead_letters, departure, end_unseen, registration, settle_dead_letter, unread_total, unseen,
};
use switchboard_protocol::agent::{AgentKind, Registered};
use switchboard_protocol::message::QueueState;
use switchboard_store::Batch;

use crate::fixtures::{World, caller, code, name, person};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

async fn leave(world: &World, who: &str) {
    world.store.commit(Batch::synced().event(departure(&name(who), "ended", "daemon").unwrap())).await.unwrap();
}

#[tokio::test]
async fn mail_that_is_not_seen_for_ten_minutes_is_told_of_until_it_is_seen() {
    let world = World::with(&["ada", "ben"]).await;
    world.send("ada", json!({ "recipient": "ben", "payload": "one" })).await;
    let soon = unseen(&world.store).unwrap();
    world.clock.advance(10 * MINUTE);
    world.send("ada", json!({ "recipient": "ben", "payload": "two" })).await;

    let late = unseen(&world.store).unwrap();
    world.receive("ben", json!({})).await;

    assert_eq!(soon, []);
    assert_eq!((late.len(), late[0].agent.name.as_str(), late[0].count), (1, "ben", 1));
    assert_eq!(unseen(&world.store).unwrap(), []);
}

#[tokio::test]
async fn the_totals_follow_what_happens_to_every_message() {
    let world = World::with(&["ada", "ben"]).await;
    let totals = || (unread_total(&world.store).unwrap(), dead(&world.store).unwrap());
    let mut seen = vec![totals()];

    for text in ["one", "two", "three"] {
        world.send("ada", json!({ "recipient": "ben", "payload": text })).await;
    }
    seen.push(totals());
    let first = world.receive("ben", json!({ "max": 1 })).await;
    world.ack("ben", &first[0]).await.unwrap();
    seen.push(totals());
    world.clock.advance(72 * HOUR);
    end_unseen(&world.store).await.unwrap();
    seen.push(totals());
    let letters = dead_letters(&world.store, false).unwrap();
    settle_dead_letter(&world.store, &person(), &letters[0], true).await.unwrap();
    settle_dead_letter(&world.store, &person(), &letters[1], false).await.unwrap();
    seen.push(totals());

    assert_eq!(seen, [(0, 0), (3, 0), (2, 0), (0, 2), (1, 0)]);
}

#[tokio::test]
async fn what_nobody_has_seen_for_three_days_is_a_dead_letter_and_what_was_put_back_has_three_more() {
    let world = World::with(&["ada", "ben"]).await;
    let sent = world.send("ada", json!({ "recipient": "ben", "payload": "one" })).await;
    world.clock.advance(72 * HOUR - 1);
    assert_eq!(end_unseen(&world.store).await.unwrap(), 0);
    world.clock.advance(1);

    let ended = end_unseen(&world.store).await.unwrap();
    let letters = dead_letters(&world.store, false).unwrap();
    let refused = settle_dead_letter(&world.store, &caller("ada"), &letters[0], true).await;
    let revived = settle_dead_letter(&world.store, &person(), &letters[0], true).await.unwrap();
    world.clock.advance(72 * HOUR - 1);
    let again = end_unseen(&world.store).await.unwrap();

    assert_eq!((ended, letters.len(), &letters[0].message.id), (1, 1, &sent.id));
    assert_eq!(letters[0].message.cause, "nobody has seen it for 72 hours");
    assert_eq!(code(refused.unwrap_err()), "policy.denied");
    assert_eq!((revived, again, world.show(&sent.id).queue), ("revived", 0, QueueState::Ready));
    assert_eq!(dead_letters(&world.store, true).unwrap()[0].outcome, "revived");
}

#[tokio::test]
async fn mail_for_somebody_who_has_left_is_a_dead_letter_unless_it_comes_back_soon() {
    let world = World::with(&["ada"]).await;
    for worker in ["gone", "back"] {
        let joins = registration(&Registered::new(name(worker), AgentKind::Worker), &name(worker)).unwrap();
        world.store.commit(Batch::synced().event(joins)).await.unwrap();
        world.send("ada", json!({ "recipient": worker, "payload": "one" })).await;
        leave(&world, worker).await;
    }
    let joins = registration(&Registered::new(name("back"), AgentKind::Worker), &name("back")).unwrap();
    world.store.commit(Batch::synced().event(joins)).await.unwrap();
    world.clock.advance(10 * MINUTE);

    end_unseen(&world.store).await.unwrap();

    let letters = dead_letters(&world.store, false).unwrap();
    assert_eq!((letters.len(), letters[0].message.recipient.as_str()), (1, "gone"));
    assert_eq!(letters[0].message.cause, "its recipient has left");
}

#[tokio::test]
async fn a_dead_letter_is_let_go_once_by_a_person_or_after_a_week() {
    let world = World::with(&["ada", "ben"]).await;
    for payload in ["one", "two"] {
        world.send("ada", json!({ "recipient": "ben", "payload": payload })).await;
    }
    world.clock.advance(72 * HOUR);
    end_unseen(&world.store).await.unwrap();
    let letters = dead_letters(&world.store, false).unwrap();

    let dropped = settle_dead_letter(&world.store, &person(), &letters[0], false).await.unwrap();
    let twice = settle_dead_letter(&world.store, &person(), &letters[0], true).await;
    let before = dead(&world.store).unwrap();
    world.clock.advance(7 * 24 * HOUR);
    end_unseen(&world.store).await.unwrap();

    assert_eq!((dropped, code(twice.unwrap_err()).as_str(), before), ("dropped", "need.settled", 1));
    assert_eq!((dead(&world.store).unwrap(), dead_letters(&world.store, false).unwrap().len()), (0, 0));
}
