//! Tests that mail is announced on arrival, once, and only to its recipient.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::json;
use switchboard_bus::{Announcements, announcements, injected};
use switchboard_store::Batch;

use crate::fixtures::{World, name};

fn has_news(mail: &mut Announcements) -> bool {
    match pin!(mail.next()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => {
            done.unwrap();
            true
        }
        Poll::Pending => false,
    }
}

#[tokio::test]
async fn mail_is_announced_once_when_it_arrives_and_not_when_it_moves() {
    let world = World::with(&["ada", "ben", "cy"]).await;
    let earlier = world.send("ada", json!({ "recipient": "ben", "payload": "before" })).await;
    let mut mail = announcements(&world.store, &name("Ben"));

    assert!(has_news(&mut mail), "what waits already");
    assert!(!has_news(&mut mail), "once");
    world.send("ada", json!({ "recipient": "cy", "payload": "not yours" })).await;
    assert!(!has_news(&mut mail), "somebody else's");
    world.send("cy", json!({ "recipient": "ben", "payload": "second" })).await;
    assert!(has_news(&mut mail), "a new one");
    let seen = injected(&[earlier.id], &name("ben"), "turn 1", "daemon").unwrap();
    world.store.commit(Batch { events: seen, ..Batch::written() }).await.unwrap();
    assert!(!has_news(&mut mail), "one that was seen");
}

#[tokio::test]
async fn mail_for_later_is_announced_when_its_time_has_come() {
    let world = World::with(&["ada", "ben"]).await;
    let mut mail = announcements(&world.store, &name("ben"));
    let options = json!({ "delay_ms": 60_000 });
    world.send("ada", json!({ "recipient": "ben", "payload": "later", "options": options })).await;
    assert!(!has_news(&mut mail));

    world.clock.advance(60_000);

    assert!(has_news(&mut mail));
}
