//! Tests which questions of a worker are answered by what a person has allowed its task before.

use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::NeedId;
use switchboard_protocol::need::{NeedAbout, NeedEvent};
use switchboard_protocol::time::Millis;

use super::merges::world;
use super::*;
use crate::needs::{WorkerQuestion, granted};

fn option(id: &str, kind: &str) -> PermissionOption {
    PermissionOption { id: id.to_owned(), name: id.to_owned(), kind: kind.to_owned() }
}

fn asked(id: u64, about: NeedAbout, title: &str, detail: &str) -> NewEvent {
    let (id, title, options) = (NeedId::from_bits(id), title.to_owned(), vec![option("allow", "allow_once")]);
    let fact = NeedEvent::NeedAsked { id, about, title, options, expires_at: Millis(i64::MAX) };
    switchboard_needs::ask_event(&fact, detail, "daemon").unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_same_question_of_a_task_is_answered_by_what_a_person_has_allowed_it_since() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, world) = world(&stage);
    let (run, worker, task) = (RunId::from_bits(1), WorkerId::from_bits(2), "1.1".to_owned());
    let permission =
        NeedAbout::Permission { run: run.clone(), task: task.clone(), worker: worker.clone(), ask: "a1".to_owned() };
    let denied = NeedAbout::Denied { run: run.clone(), task: task.clone(), worker, denied: vec![NeedId::from_bits(1)] };
    let events = [asked(1, permission, "run it", "make"), asked(2, denied, "denied", "")];
    store.commit(events.into_iter().fold(Batch::synced(), Batch::event)).await.unwrap();
    let (once, always, never) =
        (option("once", "allow_once"), option("always", "allow_always"), option("never", "reject_once"));
    let task = TaskId::new(task).unwrap();
    let answer = |title: &str, detail: &str, options: &[PermissionOption]| {
        let question = WorkerQuestion { title, detail, options };
        let answer = granted(&world, (&run, &task), &NeedId::from_bits(3), &question).unwrap();
        answer.map(|event| (event.facts.field("outcome"), event.facts.field("option")))
    };
    let all = [never.clone(), always.clone(), once];
    assert_eq!(answer("run it", "make", &all), None, "nobody has allowed it yet");

    let allowed = ("answered", Some("allow".to_owned()), None);
    switchboard_needs::resolve(&store, &NeedId::from_bits(2), allowed, "ann", Batch::synced()).await.unwrap();

    let granted = |option: &str| Some((json!("granted"), json!(option)));
    assert_eq!(answer("run it", "make", &all), granted("once"));
    assert_eq!(answer("run it", "make", &[never.clone(), always]), granted("always"));
    assert_eq!(answer("run it", "make", &[never]), None);
    assert_eq!(answer("run it", "make install", &all), None);
    assert_eq!(answer("run that", "make", &all), None);
    for (id, title, detail) in [(4, "run it", "mak…"), (6, "run i…", "make")] {
        let (run, task) = (run.clone(), task.to_string());
        let worker = WorkerId::from_bits(2);
        let permission = NeedAbout::Permission {
            run: run.clone(),
            task: task.clone(),
            worker: worker.clone(),
            ask: "a1".to_owned(),
        };
        let denied = NeedAbout::Denied { run, task, worker, denied: vec![NeedId::from_bits(id)] };
        let events = [asked(id, permission, title, detail), asked(id + 1, denied, "denied", "")];
        store.commit(events.into_iter().fold(Batch::synced(), Batch::event)).await.unwrap();
        let allowed = ("answered", Some("allow".to_owned()), None);
        switchboard_needs::resolve(&store, &NeedId::from_bits(id + 1), allowed, "ann", Batch::synced()).await.unwrap();
        assert_eq!(answer(title, detail, &all), None, "what was cut off may be another");
    }
}
