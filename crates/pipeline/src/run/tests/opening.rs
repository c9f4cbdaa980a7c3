//! The opening of a run: plan, ways and units in order, each once, and nothing that a run can't carry out.

use switchboard_protocol::run::way::{Join, Limits, Need, Step, StepAction, When};

use super::*;

/// Returns a state of which only the start is known, with this number of opening events.
fn opened(parts: u32) -> RunState {
    let mut state = RunState::new();
    state.step(&started(parts, 2), Millis(0)).unwrap();
    state
}

fn plan(part: u32, of: u32) -> RunEvent {
    RunEvent::PlanRecorded { part, of, text: String::new() }
}

/// Returns the parts of a way that is recorded in two events.
fn halves(way: &Way) -> [RunEvent; 2] {
    let text = serde_json::to_string(way).unwrap();
    let (first, second) = text.split_at(text.len() / 2);
    let digest = way.digest().unwrap();
    [(1, first), (2, second)].map(|(part, text)| RunEvent::WayRecorded {
        way: digest,
        part,
        of: 2,
        text: text.to_owned(),
    })
}

/// Returns the way of a phase.
pub(super) fn children() -> Way {
    let step = Step {
        id: StepId::new("children").unwrap(),
        does: StepAction::Units { join: Join::All },
        after: Vec::new(),
        reads: Vec::new(),
        when: When::Always,
        need: Need::Required,
        back: None,
        limits: Limits::default(),
    };
    Way { steps: vec![step] }
}

fn extended(task: &str, part: u32, after: Vec<UnitId>, writes: &[&str]) -> RunEvent {
    let writes = writes.iter().map(|path| (*path).to_owned()).collect();
    RunEvent::UnitExtended { unit: unit(task), part, after, writes, reads: Vec::new() }
}

/// Folds events that are taken.
fn fold(state: &mut RunState, events: &[RunEvent]) {
    for event in events {
        let follows = state.step(event, Millis(0)).unwrap_or_else(|refused| panic!("{event:?}: {refused}"));
        assert_eq!(follows, [], "{event:?}");
    }
}

/// Checks that events are refused, and that this changes nothing.
fn refuse(state: &mut RunState, events: &[RunEvent]) {
    let before = state.clone();
    for event in events {
        let refused = state.step(event, Millis(0)).expect_err(&format!("{event:?}"));
        assert_eq!((refused.code, &*state), (RefusedCode::Illegal, &before), "{event:?}");
    }
}

/// Checks that events which were folded before change nothing.
fn repeat(state: &mut RunState, events: &[RunEvent]) {
    let before = state.clone();
    fold(state, events);
    assert_eq!(*state, before);
}

#[test]
fn a_run_starts_once_with_at_least_one_worker() {
    let mut state = RunState::new();
    refuse(&mut state, &[started(1, 0), plan(1, 1), recorded(&way())]);
    refuse(&mut state, &[added(unit("1.1"), &way(), Vec::new(), &[])]);

    fold(&mut state, &[started(2, 1)]);

    assert_eq!(state.header().map(|header| (header.parts, header.max_workers)), Some((2, 1)));
    repeat(&mut state, &[started(2, 1)]);
    refuse(&mut state, &[started(2, 2), started(3, 1)]);
}

#[test]
fn the_parts_of_a_plan_come_in_order_and_each_counts_once() {
    let mut state = opened(4);
    refuse(&mut state, &[plan(2, 2), plan(3, 2)]);
    fold(&mut state, &[plan(1, 2)]);
    repeat(&mut state, &[plan(1, 2)]);
    refuse(&mut state, &[plan(3, 3), plan(2, 1)]);
    fold(&mut state, &[plan(2, 2), recorded(&way())]);
    assert!(!state.is_open());

    fold(&mut state, &[added(unit("1.1"), &way(), Vec::new(), &[])]);

    assert!(state.is_open());
    repeat(&mut state, &[plan(1, 2), plan(2, 2)]);
    refuse(&mut state, &[plan(3, 3)]);
}

#[test]
fn the_parts_of_a_way_come_in_order_and_make_the_way_of_its_digest() {
    let [first, second] = halves(&way());
    let mut state = opened(4);
    refuse(&mut state, std::slice::from_ref(&second));
    fold(&mut state, std::slice::from_ref(&first));
    repeat(&mut state, std::slice::from_ref(&first));
    let RunEvent::WayRecorded { way: digest, text, .. } = second.clone() else { panic!("{second:?}") };
    let part = |part, of, text: &str| RunEvent::WayRecorded { way: digest, part, of, text: text.to_owned() };
    refuse(&mut state, &[part(3, 3, &text), part(2, 1, &text), part(2, 2, "no end")]);

    fold(&mut state, std::slice::from_ref(&second));

    assert_eq!(state.ways().count(), 1);
    repeat(&mut state, &[first, second]);
    fold(&mut state, &[recorded(&children()), added(unit("1.1"), &way(), Vec::new(), &[])]);
    assert!(state.is_open(), "a part that is told again doesn't count");
    refuse(&mut state, &[recorded(&compiled::compiled_way())]);
}

#[test]
fn a_way_whose_parts_are_interrupted_by_another_begins_anew() {
    let [first, second] = halves(&way());
    let mut state = opened(9);
    fold(&mut state, &[first.clone(), recorded(&children())]);

    refuse(&mut state, std::slice::from_ref(&second));

    fold(&mut state, &[first, second]);
    assert_eq!(state.ways().count(), 2);
}

#[test]
fn a_unit_is_added_once_on_a_recorded_way_that_it_can_walk() {
    let mut state = opened(9);
    let phase = || UnitId::Phase(1);
    refuse(&mut state, &[added(unit("1.1"), &way(), Vec::new(), &[])]);
    fold(&mut state, &[recorded(&way()), recorded(&children())]);
    refuse(&mut state, &[added(phase(), &way(), Vec::new(), &[]), added(unit("1.1"), &children(), Vec::new(), &[])]);
    refuse(&mut state, &[added(unit("1.1"), &way(), Vec::new(), &["a", "../b"])]);
    let within = |group: UnitId| RunEvent::UnitAdded {
        unit: unit("1.1"),
        within: Some(group),
        way: way().digest().unwrap(),
        after: Vec::new(),
        writes: vec!["a".to_owned()],
        reads: Vec::new(),
        timeout_ms: None,
    };
    refuse(&mut state, &[within(phase())]);

    fold(&mut state, &[added(phase(), &children(), Vec::new(), &[]), within(phase())]);

    repeat(&mut state, &[within(phase()), added(unit("1.1"), &way(), Vec::new(), &["other"])]);
    assert_eq!(state.task_ids().map(ToString::to_string).collect::<Vec<_>>(), ["1.1"]);
}

#[test]
fn more_of_a_unit_comes_in_order_before_the_run_is_open() {
    let mut state = opened(5);
    let first = added(unit("1.1"), &way(), Vec::new(), &["a"]);
    let second = added(unit("1.2"), &way(), Vec::new(), &["b"]);
    fold(&mut state, &[recorded(&way()), first, second]);
    refuse(&mut state, &[extended("1.9", 2, Vec::new(), &[]), extended("1.2", 3, Vec::new(), &[])]);
    refuse(&mut state, &[extended("1.2", 2, vec![unit("1.2")], &["c"]), extended("1.2", 2, Vec::new(), &["/etc"])]);

    fold(&mut state, &[extended("1.2", 2, vec![unit("1.1")], &["c"])]);

    repeat(&mut state, &[extended("1.2", 1, Vec::new(), &["d"]), extended("1.2", 2, Vec::new(), &["d"])]);
    fold(&mut state, &[extended("1.2", 3, Vec::new(), &["a"])]);
    assert!(state.is_open());
    refuse(&mut state, &[extended("1.2", 4, Vec::new(), &["e"])]);
    assert_eq!(state.task(&id("1.2")).unwrap().state, TaskState::Pending, "it waits for 1.1");
    assert_eq!(state.task(&id("1.1")).unwrap().state, TaskState::Ready);
}

#[test]
fn a_dependency_that_is_named_twice_is_waited_for_once() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1", "1.1"], &[])]);

    run.merge("1.1");

    assert_eq!(run.starting(), ["1.2"]);
}
