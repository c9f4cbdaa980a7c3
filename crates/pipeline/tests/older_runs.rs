//! Reads runs that older versions recorded. The fixture is the record of a real run, written by the last version before
//! ways: five tasks, one of them refused by its test, one by `syntax_check`, one blocked, and a gate that does not
//! exist.

use std::collections::BTreeMap;

use switchboard_pipeline::run::{Reader, RunState};
use switchboard_protocol::event::{Event, RawEvent};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, RunOutcome, TaskState, Verdict};
use switchboard_protocol::time::Millis;

const RECORD: &str = include_str!("fixtures/run_v1.jsonl");

fn record() -> Vec<Event> {
    RECORD.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

fn fold(events: &[Event]) -> RunState {
    let (mut state, mut reader) = (RunState::new(), Reader::new());
    for event in events {
        for step in reader.read(&raw(event)).expect("an older event") {
            state.step(&step, event.ts).unwrap_or_else(|refused| panic!("{}: {refused}", event.rev));
        }
    }
    state
}

fn raw(event: &Event) -> RawEvent {
    let (kind, facts) = (event.kind.clone(), event.facts.to_string());
    RawEvent { lsn: event.lsn, ts: event.ts, kind, rev: event.rev, facts }
}

fn states(state: &RunState) -> BTreeMap<String, TaskState> {
    state.tasks().map(|task| (task.task.to_string(), task.state)).collect()
}

#[test]
fn a_run_of_the_last_version_before_ways_is_read_to_its_end() {
    let state = fold(&record());

    assert_eq!(state.outcome(), Some(RunOutcome::Failed));
    let states = states(&state);
    for merged in ["1.1", "1.2", "2.1"] {
        assert!(matches!(states[merged], TaskState::Merged { .. }), "{merged}: {:?}", states[merged]);
    }
    assert!(matches!(&states["1.3"], TaskState::Blocked { reason } if reason.starts_with("5 attempts were refused")));
    assert_eq!(states["2.2"], TaskState::DepFailed { root: TaskId::new("1.3").unwrap() });
}

#[test]
fn its_gates_and_refusals_are_shown_as_they_were() {
    let state = fold(&record());
    let task = |id: &str| state.task(&TaskId::new(id).unwrap()).unwrap();

    let second = task("1.2");
    let gates: Vec<_> = second.gates.iter().map(|gate| (gate.gate.as_str(), gate.verdict)).collect();

    assert_eq!(gates, [("syntax_check", Verdict::Pass), ("made_up_gate", Verdict::NotConfigured)]);
    assert_eq!((second.attempt, second.refusals.len()), (2, 1));
    assert_eq!((task("1.1").attempt, task("1.3").refusals.len()), (2, 5));
}

#[test]
fn a_task_with_a_long_list_was_recorded_in_several_events() {
    let started = |parts: u32| serde_json::json!({ "title": "t", "plan_hash": "h", "base": "b", "parts": parts, "max_workers": 1 });
    let read = |kind: &str, facts: serde_json::Value, reader: &mut Reader| {
        let facts = facts.to_string();
        reader.read(&RawEvent { lsn: 1, ts: Millis(0), kind: kind.to_owned(), rev: 1, facts }).unwrap()
    };
    let (mut at_once, mut in_parts) = (Reader::new(), Reader::new());
    let task = |id: &str, list: &[&str]| {
        let depends: &[&str] = if id == "1.2" { list } else { &[] };
        serde_json::json!({ "task": id, "depends": depends, "writes": list, "gates": list, "timeout_ms": 5 })
    };
    read("run_started", started(2), &mut at_once);
    read("run_started", started(3), &mut in_parts);
    for reader in [&mut at_once, &mut in_parts] {
        assert_eq!(read("task_added", task("1.1", &[]), reader), []);
    }

    let whole = read("task_added", task("1.2", &["1.1", "1.3"]), &mut at_once);
    assert_eq!(read("task_added", task("1.2", &["1.1"]), &mut in_parts), []);
    let joined = read("task_extended", task("1.2", &["1.3"]), &mut in_parts);

    assert_eq!(joined, whole);
    assert!(format!("{whole:?}").contains("1.3"), "{whole:?}");
}

#[test]
fn it_can_be_read_wherever_it_was_interrupted_and_gone_on_with() {
    let record = record();
    let opening = record.iter().rposition(|event| event.kind == "task_added").unwrap() + 1;

    for end in opening..record.len() {
        let state = fold(&record[..end]);

        assert!(state.is_open(), "after {end} events");
        let is_finished = state.outcome().is_some();
        let waits_for_worker = state.tasks().any(|task| {
            matches!(task.state, TaskState::Starting { .. } | TaskState::Working { .. } | TaskState::Merging { .. })
        });
        let effects = state.decide(Millis(i64::MAX / 2));
        assert!(is_finished || waits_for_worker || !effects.is_empty(), "stuck after {end} events");
    }
}

#[test]
fn a_task_that_was_blocked_then_is_retried_today() {
    let mut state = fold(&record());

    let task = TaskId::new("1.3").unwrap();
    state.step(&RunEvent::TaskRetryRequested { task: task.clone(), note: String::new() }, Millis(0)).unwrap();

    assert_eq!(state.task(&task).unwrap().state, TaskState::Ready);
    assert_eq!(states(&state)["2.2"], TaskState::Pending);
    assert_eq!(state.decide(Millis(0)).len(), 1);
}
