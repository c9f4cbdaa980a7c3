//! Waiting readers: always woken by a matching commit, and by no other.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use switchboard_store::{Batch, Error, Interest, Subscription};

use crate::board::{Fixture, add_owner, call, on_every_backend, post, take};

/// Returns true if the subscription has something to return now.
fn is_rung(subscription: &mut Subscription) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(pin!(subscription.changed()).poll(&mut context), Poll::Ready(Ok(_)))
}

fn a_commit_wakes_who_waits_for_what_it_touches_and_nobody_else(it: &Fixture) {
    it.commit(Batch::written().event(add_owner("ann")).event(add_owner("bob"))).unwrap();
    let mut bells = [
        ("its subject", Interest::Subject("owner/ann".to_owned()), true),
        ("another subject", Interest::Subject("owner/an".to_owned()), false),
        ("a longer subject", Interest::Subject("owner/anna".to_owned()), false),
        ("its beginning", Interest::Prefix("owner/a".to_owned()), true),
        ("another beginning", Interest::Prefix("owner/b".to_owned()), false),
        ("its kind", Interest::Kind("note_posted".to_owned()), true),
        ("another kind", Interest::Kind("note_taken".to_owned()), false),
        ("a row that it made", Interest::rows("notes", "state", "new"), true),
        ("a row that it changed", Interest::rows("owners", "owner", "ann"), true),
        ("another row", Interest::rows("owners", "owner", "bob"), false),
        ("another value", Interest::rows("notes", "state", "taken"), false),
        ("everything", Interest::Everything, true),
    ]
    .map(|(what, interest, is_wanted)| (what, it.store.subscribe([interest]), is_wanted));
    assert!(bells.iter_mut().all(|(_, bell, _)| !is_rung(bell)), "nothing was committed since");

    it.commit(Batch::written().event(post("ann", 1))).unwrap();

    for (what, bell, is_wanted) in &mut bells {
        assert_eq!(is_rung(bell), *is_wanted, "{what}");
        assert!(!is_rung(bell), "{what}: once");
    }
}

fn several_interests_are_one_subscription(it: &Fixture) {
    let subject = |owner: &str| Interest::Subject(format!("owner/{owner}"));
    let mut bell = it.store.subscribe([subject("ann"), subject("bob")]);

    it.commit(Batch::written().event(add_owner("bob")).event(add_owner("ann"))).unwrap();

    assert!(is_rung(&mut bell));
    assert!(!is_rung(&mut bell));
}

fn what_was_refused_or_made_before_wakes_nobody(it: &Fixture) {
    let named = || Batch { idempotency: Some(call("k", "a")), ..Batch::written().event(add_owner("ann")) };
    it.commit(named()).unwrap();
    let mut bell = it.store.subscribe([Interest::Everything]);

    assert!(it.commit(named()).unwrap().repeated);
    it.commit(Batch::written().event(post("ann", 1)).expect("owner/ann", 7)).unwrap_err();

    assert!(!is_rung(&mut bell));
}

fn what_was_read_need_not_wake_again(it: &Fixture) {
    let mut bell = it.store.subscribe([Interest::Everything]);
    it.commit(Batch::written().event(add_owner("ann"))).unwrap();

    bell.mark_seen(it.store.head().lsn);

    assert!(!is_rung(&mut bell));
}

fn subscriptions_that_are_gone_leave_the_others(it: &Fixture) {
    let interests = || {
        [
            Interest::Subject("owner/ann".to_owned()),
            Interest::Prefix("owner/".to_owned()),
            Interest::Kind("note_taken".to_owned()),
            Interest::rows("notes", "state", "taken"),
        ]
    };
    let mut stays = it.store.subscribe(interests());
    drop(it.store.subscribe(interests()));

    it.commit(Batch::written().event(add_owner("ann")).event(post("ann", 1)).event(take("ann", 2))).unwrap();

    assert!(is_rung(&mut stays));
}

fn too_many_subscriptions_are_woken_by_every_commit(it: &Fixture) {
    let subject = |number: usize| Interest::Subject(format!("owner/{number}"));
    let _many: Vec<_> = (0..8_192).map(|number| it.store.subscribe([subject(number)])).collect();
    let mut late = it.store.subscribe([Interest::Subject("owner/late".to_owned())]);

    it.commit(Batch::written().event(add_owner("ann"))).unwrap();

    assert!(is_rung(&mut late));
}

fn who_waits_learns_that_the_store_has_ended(it: &Fixture) {
    let mut bell = it.store.subscribe([Interest::Subject("owner/ann".to_owned())]);

    it.store.clone().close();

    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(pin!(bell.changed()).poll(&mut context), Poll::Ready(Err(Error::Closed))));
    assert!(matches!(pin!(it.store.subscribe([]).changed()).poll(&mut context), Poll::Ready(Err(Error::Closed))));
}

/// Small random number generator, so that a failure can be reproduced by its seed.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Runs two writers against two readers that subscribe, read, and sleep until they are woken. A commit between the read
/// and the sleep that doesn't wake its reader leaves it asleep; the time limit only detects that.
fn no_commit_leaves_a_reader_asleep(it: &Fixture) {
    const POSTS: u64 = 40;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    for seed in 1..=40_u64 {
        let owner = |who: u64| format!("{seed}-{who}");
        let writers: Vec<_> = (0..2)
            .map(|who| {
                let (store, owner) = (it.store.clone(), owner(who));
                std::thread::spawn(move || {
                    let mut state = seed * 7 + who;
                    for weight in 0..POSTS {
                        store.commit_blocking(Batch::written().event(post(&owner, weight.cast_signed()))).unwrap();
                        (0..next(&mut state) % 400).for_each(|_| std::hint::spin_loop());
                    }
                })
            })
            .collect();
        let readers: Vec<_> = (0..2)
            .map(|who| {
                let (store, owner) = (it.store.clone(), owner(who));
                runtime.spawn(async move {
                    let mut state = seed * 11 + who;
                    let subject = format!("owner/{owner}");
                    let by_row = Interest::rows("notes", "owner", owner.as_str());
                    let interest = if who == 0 { Interest::Subject(subject.clone()) } else { by_row };
                    let mut bell = store.subscribe([interest.clone()]);
                    while store.rev(&subject).unwrap() < POSTS {
                        if next(&mut state).is_multiple_of(3) {
                            bell = store.subscribe([interest.clone()]);
                            continue;
                        }
                        if next(&mut state).is_multiple_of(2) {
                            tokio::task::yield_now().await;
                        }
                        let woken = tokio::time::timeout(Duration::from_secs(20), bell.changed()).await;
                        woken.unwrap_or_else(|_| panic!("seed {seed}: the reader of {subject} sleeps")).unwrap();
                    }
                })
            })
            .collect();
        readers.into_iter().for_each(|reader| runtime.block_on(reader).unwrap());
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    }
}

fn waits_for_a_revision_of_a_subject(it: &Fixture) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    it.commit(Batch::written().event(add_owner("ann"))).unwrap();
    let store = it.store.clone();

    let (seen, _) = runtime.block_on(async {
        tokio::join!(store.wait_for("owner/ann", 1), store.commit(Batch::written().event(post("ann", 1))))
    });

    assert_eq!(seen.unwrap(), 2);
}

on_every_backend!(
    a_commit_wakes_who_waits_for_what_it_touches_and_nobody_else,
    several_interests_are_one_subscription,
    what_was_refused_or_made_before_wakes_nobody,
    what_was_read_need_not_wake_again,
    subscriptions_that_are_gone_leave_the_others,
    too_many_subscriptions_are_woken_by_every_commit,
    who_waits_learns_that_the_store_has_ended,
    no_commit_leaves_a_reader_asleep,
    waits_for_a_revision_of_a_subject,
);
