//! Tests what is read back from the record: events by page, workers of a run, and retrospectives of earlier runs.

use serde_json::json;
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, Digest, RunId, WorkerId};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::run::way::{RoleId, StepId};
use switchboard_protocol::worker::{JudgingStep, PortRange, WorkerFact};
use switchboard_store::{Batch, Clock, Store};

use crate::history;
use crate::work::Work;

fn run() -> RunId {
    RunId::from_bits(1)
}

/// Worker of a task, with the ports and the step that it judges, if any.
struct Equipped<'a> {
    number: u64,
    task: &'a str,
    agent: &'a str,
    port: Option<u16>,
    judges: Option<&'a str>,
}

async fn equip(store: &Store, of: &Equipped<'_>) {
    let worker = WorkerId::from_bits(of.number);
    let judges = of.judges.map(|step| JudgingStep {
        step: StepId::new(step).unwrap(),
        role: RoleId::new("reviewer").unwrap(),
        answer: AnswerKind::Review,
    });
    let fact = WorkerFact::WorkerEquipped {
        worker: worker.clone(),
        run: run(),
        task: of.task.to_owned(),
        attempt: 1,
        agent: AgentName::new(of.agent).unwrap(),
        driver: "acp".to_owned(),
        scripted: of.agent == "ben",
        judges,
        base: format!("base-{}", of.number),
        start: format!("start-{}", of.number),
        worktree: "/w".to_owned(),
        token: Digest::of(b"token"),
        ports: of.port.map(|first| PortRange { first, count: 10 }),
        isolation: Isolation::Full,
        model: None,
    };
    let event = NewEvent::of(&fact, format!("worker/{worker}"), "daemon").unwrap();
    store.commit(Batch::written().event(event)).await.unwrap();
}

/// Returns the record of a run with workers of two tasks, of which one judges.
async fn with_workers() -> Store {
    let store = Store::in_memory(vec![Box::new(Work)], Clock::system());
    for of in [
        Equipped { number: 1, task: "1.1", agent: "ann", port: Some(20_000), judges: None },
        Equipped { number: 2, task: "1.1", agent: "Ben", port: None, judges: Some("review") },
        Equipped { number: 3, task: "1.2", agent: "ben", port: None, judges: None },
        Equipped { number: 4, task: "1.1", agent: "ann", port: Some(20_010), judges: None },
        Equipped { number: 5, task: "1.2", agent: "Ann", port: None, judges: Some("review") },
    ] {
        equip(&store, &of).await;
    }
    store
}

#[tokio::test]
async fn the_names_that_workers_of_a_run_have_had_are_each_listed_once_in_whatever_case_they_are_written() {
    let store = with_workers().await;

    let agents = history::agents(&store, &run()).unwrap();

    assert_eq!(agents.iter().map(AgentName::folded).collect::<Vec<_>>(), ["ann", "ben"]);
    assert!(history::agents(&store, &RunId::from_bits(2)).unwrap().is_empty());
}

#[tokio::test]
async fn a_daemon_takes_up_the_name_and_the_ports_of_the_last_worker_of_each_task_and_of_each_step_that_judges() {
    let store = with_workers().await;

    let claimed = history::claimed(&store, &run()).unwrap();

    let claims: Vec<_> = claimed
        .iter()
        .map(|((task, step), claim)| {
            let step = step.as_ref().map(ToString::to_string).unwrap_or_default();
            (format!("{task} {step}"), claim.name.name.to_string(), claim.name.is_scripted, claim.ports)
        })
        .collect();
    let ports = Some(PortRange { first: 20_010, count: 10 });
    let expected = [
        ("1.1 ", "ann", false, ports),
        ("1.1 review", "Ben", false, None),
        ("1.2 ", "ben", true, None),
        ("1.2 review", "Ann", false, None),
    ];
    assert_eq!(
        claims,
        expected.map(|(of, name, is_scripted, ports)| (of.to_owned(), name.to_owned(), is_scripted, ports))
    );
    assert!(claimed.values().map(|claim| claim.at).eq([4, 2, 3, 5]));
}

#[tokio::test]
async fn events_are_visited_in_order_across_pages_until_the_visitor_has_seen_enough() {
    let store = Store::in_memory(vec![Box::new(Work)], Clock::system());
    let all = 100_u64;
    for number in 0..all {
        let event = NewEvent::new("of_a_test", history::subject(&run()), "daemon", json!({ "number": number }));
        store.commit(Batch::written().event(event)).await.unwrap();
    }
    let visited = |most: usize| {
        let (mut parsed, mut raw) = (Vec::new(), Vec::new());
        history::events(&store, &run(), |event| {
            parsed.push(event.facts.field("number").as_u64().unwrap());
            parsed.len() < most
        })
        .unwrap();
        history::raw_events(&store, &run(), |event| {
            raw.push(event.rev);
            raw.len() < most
        })
        .unwrap();
        (parsed, raw)
    };

    assert_eq!(visited(usize::MAX), ((0..all).collect(), (1..=all).collect()));
    // The pages of a reader that needs little are small.
    for most in [1, 16, 17] {
        let (parsed, raw) = visited(most);
        assert_eq!((parsed.last().copied(), raw.last().copied()), (Some(most as u64 - 1), Some(most as u64)));
        assert_eq!((parsed.len(), raw.len()), (most, most));
    }
}

#[tokio::test]
async fn the_events_of_a_worker_are_visited_once_each_however_many_there_are() {
    let store = Store::in_memory(vec![Box::new(Work)], Clock::system());
    for number in 0..40 {
        let event = NewEvent::new("of_a_test", "worker/w", "daemon", json!({ "number": number }));
        store.commit(Batch::written().event(event)).await.unwrap();
    }

    let mut visited = Vec::new();
    history::events_of_worker(&store, "w", |event| visited.push(event.facts.field("number").as_u64().unwrap()))
        .unwrap();

    assert_eq!(visited, (0..40).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_run_of_which_an_event_contradicts_those_before_is_refused_with_the_command_that_checks_the_record() {
    let store = Store::in_memory(vec![Box::new(Work)], Clock::system());
    let resumed = RunEvent::TaskResumed { task: TaskId::new("1.1").unwrap() };
    let resumed = NewEvent::of(&resumed, history::subject(&run()), "daemon").unwrap();
    store.commit(Batch::written().event(resumed)).await.unwrap();

    let failure = history::fold(&store, &run()).unwrap_err().to_failure();

    assert_eq!((failure.code.as_str(), failure.hint.as_str()), ("store.corrupt", "run `switchboard verify`"));
    assert!(failure.what.starts_with(&format!("event 1 of {} does not follow", run())), "{}", failure.what);
}
