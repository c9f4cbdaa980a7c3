//! Questions in a store in memory: asking, finding, answering and expiring.
#![expect(clippy::unwrap_used, reason = "a failed step of a test is the failure")]

use std::time::Duration;

use switchboard_needs::{
    Decision, Error, NEEDS, Needs, ask_event, choose, count_open, expire, find, list, note_of, resolve,
};
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{AgentName, NeedId, RunId, WorkerId};
use switchboard_protocol::need::{Need, NeedAbout, NeedEvent};
use switchboard_protocol::time::Millis;
use switchboard_store::{Batch, ManualClock, Query, Store};
use tokio_util::sync::CancellationToken;

/// Time at which the questions of these tests expire.
const EXPIRES: Millis = Millis(60_000);

struct Fixture {
    store: Store,
    clock: ManualClock,
}

impl Fixture {
    fn new() -> Self {
        let clock = ManualClock::at(Millis(1_000));
        Self { store: Store::in_memory(vec![Box::new(Needs)], clock.clock()), clock }
    }

    async fn ask(&self, id: &str, about: NeedAbout, options: &[(&str, &str)]) -> Need {
        let options = options.iter().map(|(id, kind)| PermissionOption {
            id: (*id).to_owned(),
            name: (*id).to_owned(),
            kind: (*kind).to_owned(),
        });
        let id = NeedId::new(id).unwrap();
        let fact = NeedEvent::NeedAsked {
            id: id.clone(),
            about,
            title: "run a command".to_owned(),
            options: options.collect(),
            expires_at: EXPIRES,
        };
        self.store.commit(Batch::synced().event(ask_event(&fact, "cargo test", "coder").unwrap())).await.unwrap();
        switchboard_needs::get(&self.store, &id).unwrap().unwrap()
    }

    fn outcomes(&self) -> Vec<(String, Option<String>)> {
        let needs = list(&self.store, true).unwrap();
        needs.into_iter().map(|need| (need.id.to_string(), need.outcome)).collect()
    }
}

fn permission() -> NeedAbout {
    let (run, worker) = (RunId::new("run_a").unwrap(), WorkerId::new("wkr_a").unwrap());
    NeedAbout::Permission { run, task: "1.1".to_owned(), worker, ask: "7".to_owned() }
}

fn code(error: Error) -> String {
    Failure::from(error).code
}

const ONCE: [(&str, &str); 2] = [("yes", "allow_once"), ("no", "reject_once")];

#[tokio::test]
async fn a_question_is_found_by_the_beginning_of_its_id_unless_several_begin_so() {
    let fixture = Fixture::new();
    fixture.ask("need_abc1", permission(), &ONCE).await;
    fixture.ask("need_abd2", permission(), &ONCE).await;

    assert_eq!(find(&fixture.store, "need_abc1").unwrap().detail, "cargo test");
    assert_eq!(find(&fixture.store, "abd").unwrap().id.as_str(), "need_abd2");
    for unknown in ["ab", "", "xyz"] {
        assert_eq!(code(find(&fixture.store, unknown).unwrap_err()), "need.unknown", "{unknown:?}");
    }
    assert_eq!(count_open(&fixture.store).unwrap(), 2);
}

#[tokio::test]
async fn the_first_answer_counts_and_a_second_one_is_refused() {
    let fixture = Fixture::new();
    let need = fixture.ask("need_a", permission(), &ONCE).await;
    let (outcome, option) = choose(&need, Decision::Approve).unwrap();

    let answer = (outcome, option.clone(), None);
    let reply = resolve(&fixture.store, &need.id, answer, "anna", Batch::synced()).await.unwrap();
    let again = resolve(&fixture.store, &need.id, ("denied", None, None), "ben", Batch::synced()).await.unwrap_err();

    assert_eq!((reply.outcome.as_str(), option.as_deref()), ("approved", Some("yes")));
    assert_eq!(code(again), "need.settled");
    assert_eq!(fixture.outcomes(), [("need_a".to_owned(), Some("approved".to_owned()))]);
    assert_eq!(count_open(&fixture.store).unwrap(), 0);
}

#[tokio::test]
async fn an_option_that_is_not_offered_is_refused_with_those_that_are() {
    let fixture = Fixture::new();
    let need = fixture.ask("need_a", permission(), &[("never", "reject_always")]).await;
    let answer = |option: &str, note: Option<&str>| Decision::Answer {
        option: option.to_owned(),
        note: note.map(str::to_owned),
    };

    let refused = choose(&need, Decision::Approve).unwrap_err();
    let refused = Failure::from(refused);
    assert_eq!(refused.code, "request.bad-args");
    assert!(refused.hint.contains("never"), "{}", refused.hint);
    assert_eq!(code(choose(&need, answer("yes", None)).unwrap_err()), "request.bad-args");
    assert_eq!(choose(&need, answer("never", None)).unwrap(), ("answered", Some("never".to_owned())));
    assert_eq!(choose(&need, Decision::Deny).unwrap(), ("denied", Some("never".to_owned())));
    assert_eq!(code(note_of(&need, &answer("never", Some("why"))).unwrap_err()), "request.bad-args", "nobody reads it");
}

#[tokio::test]
async fn a_note_goes_with_a_retry_and_has_a_length() {
    let fixture = Fixture::new();
    let about = NeedAbout::Change { run: RunId::new("run_a").unwrap(), task: "1.1".to_owned(), commit: "c".to_owned() };
    let need = fixture.ask("need_a", about, &[("retry", "retry_once")]).await;
    let retry = |note: String| note_of(&need, &Decision::Answer { option: "retry".to_owned(), note: Some(note) });

    assert_eq!(retry("use a map".to_owned()).unwrap().as_deref(), Some("use a map"));
    assert_eq!(retry("x".repeat(2_000)).unwrap().map(|note| note.len()), Some(2_000));
    for bad in [" \n".to_owned(), "x".repeat(2_001)] {
        assert_eq!(code(retry(bad).unwrap_err()), "request.bad-args");
    }
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_question_that_can_be_asked_expires_as_denied() {
    let fixture = Fixture::new();
    let (run, worker) = (RunId::new("run_a").unwrap(), WorkerId::new("wkr_a").unwrap());
    let task = "1.1".to_owned();
    let kinds = [
        permission(),
        NeedAbout::Denied { run: run.clone(), task: task.clone(), worker, denied: Vec::new() },
        NeedAbout::Change { run: run.clone(), task, commit: "c".to_owned() },
        NeedAbout::Merge { run: run.clone(), commit: "c".to_owned() },
        NeedAbout::Team { run, mode_step: 1 },
        NeedAbout::Call { verb: "delegate_task".to_owned(), caller: AgentName::new("ada").unwrap() },
    ];
    for (number, about) in kinds.into_iter().enumerate() {
        fixture.ask(&format!("need_{number}"), about, &ONCE).await;
    }
    let stop = CancellationToken::new();
    let expiring = tokio::spawn(expire(fixture.store.clone(), stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(count_open(&fixture.store).unwrap(), 6, "their time is not over");

    fixture.clock.advance(EXPIRES.0);
    tokio::time::sleep(Duration::from_secs(120)).await;
    stop.cancel();
    expiring.await.unwrap();

    let outcomes = fixture.outcomes();
    assert!(outcomes.iter().all(|(_, outcome)| outcome.as_deref() == Some("expired")), "{outcomes:?}");
    let rows = fixture.store.read(&Query::table(NEEDS).limit(10)).unwrap();
    assert!(rows.iter().all(|row| row.get_text("option") == Some("no")), "an expired question counts as denied");
}
