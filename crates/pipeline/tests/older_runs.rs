//! Reads runs that older versions recorded. The fixture is the record of a real run, written by the last version before
//! ways: five tasks, one of them refused by its test, one by `syntax_check`, one blocked, and a gate that does not
//! exist.

use std::collections::BTreeMap;

use switchboard_pipeline::run::{Reader, RunState};
use switchboard_protocol::event::{Event, Fact, RawEvent};
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
    let (kind, facts) = (event.kind.clone(), event.facts.clone());
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
        reader.read(&RawEvent { lsn: 1, ts: Millis(0), kind: kind.to_owned(), rev: 1, facts: facts.into() }).unwrap()
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

/// Reads one event of this kind.
fn read(reader: &mut Reader, kind: &str, facts: &serde_json::Value) -> Result<Vec<RunEvent>, String> {
    let event = RawEvent { lsn: 1, ts: Millis(0), kind: kind.to_owned(), rev: 1, facts: facts.clone().into() };
    reader.read(&event).map_err(|unreadable| unreadable.to_string())
}

fn started(parts: u32) -> serde_json::Value {
    serde_json::json!({ "title": "t", "plan_hash": "h", "base": "b", "parts": parts, "max_workers": 1 })
}

fn kinds(events: Result<Vec<RunEvent>, String>) -> Vec<String> {
    let kind = |event: &RunEvent| event.write().expect("an event").0;
    events.expect("the event is read").iter().map(kind).collect()
}

#[test]
fn the_start_of_a_run_is_held_back_until_it_shows_whether_an_older_version_wrote_it() {
    let mut reader = Reader::new();
    assert_eq!(kinds(read(&mut reader, "run_started", &started(1))), [""; 0]);
    let plan = serde_json::json!({ "part": 1, "of": 2, "text": "a plan" });
    assert_eq!(kinds(read(&mut reader, "plan_recorded", &plan)), ["run_started", "plan_recorded"]);
    assert_eq!(kinds(read(&mut reader, "plan_recorded", &plan)), ["plan_recorded"], "the start is returned once");
    assert_eq!(kinds(read(&mut reader, "run_started", &started(1))), ["run_started"], "nothing is held back after it");

    assert_eq!(kinds(read(&mut Reader::new(), "run_started", &started(0))), ["run_started"], "nothing follows it");
    let mut later = Reader::past_the_start();
    assert_eq!(kinds(read(&mut later, "run_started", &started(1))), ["run_started"]);
    let task = serde_json::json!({ "task": "1.1" });
    assert_eq!(kinds(read(&mut later, "task_added", &task)), [""; 0], "it was told before");
}

#[test]
fn tasks_of_an_older_run_that_have_the_same_gates_walk_the_same_way_and_a_gate_counts_once() {
    let mut reader = Reader::new();
    read(&mut reader, "run_started", &started(3)).unwrap();
    let task = |id: &str, gates: &[&str]| serde_json::json!({ "task": id, "gates": gates });
    read(&mut reader, "task_added", &task("1.1", &["lint"])).unwrap();
    read(&mut reader, "task_added", &task("1.2", &["lint", "lint"])).unwrap();

    let opening = read(&mut reader, "task_added", &task("1.3", &["build"])).unwrap();

    let kinds = kinds(Ok(opening.clone()));
    assert_eq!(kinds, ["run_started", "way_recorded", "unit_added", "unit_added", "way_recorded", "unit_added"]);
    let mut state = RunState::new();
    for event in &opening {
        state.step(event, Millis(0)).unwrap();
    }
    assert!(state.is_open());
    assert_eq!(read(&mut reader, "task_added", &task("1.4", &[])), Ok(Vec::new()), "the run is open");
}

#[test]
fn what_no_older_version_wrote_is_named_with_its_kind() {
    let mut reader = Reader::new();
    let task = serde_json::json!({ "task": "1.1" });
    let early = read(&mut reader, "task_added", &task).unwrap_err();
    assert!(
        early.starts_with("task_added of an older version can't be read: it comes before the run's start"),
        "{early}"
    );
    let bad = read(&mut Reader::new(), "task_extended", &serde_json::json!({ "task": 1 })).unwrap_err();
    assert!(bad.starts_with("task_extended of an older version can't be read: "), "{bad}");
    let other = read(&mut Reader::new(), "plan_recorded", &serde_json::json!({ "part": 1, "of": 1 }));
    assert_eq!(other, Ok(Vec::new()), "a part without its text is none");
}
