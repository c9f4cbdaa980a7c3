use proptest::prelude::*;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::role::RoleLimits;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::time::Millis;

use super::*;
use crate::roles::Roles;
use crate::team::limits::Limits;

const MINUTE: i64 = 60_000;

fn delegation(argument: &str) -> Delegation {
    Delegation { role: "coder".to_owned(), agent: "ada".to_owned(), argument: argument.to_owned() }
}

fn reactions(findings: impl IntoIterator<Item = Option<Finding>>) -> Vec<Option<Reaction>> {
    findings.into_iter().map(|found| found.map(|found| found.reaction)).collect()
}

#[test]
fn the_same_delegation_warns_at_three_and_is_stopped_from_five_on() {
    let mut delegations = Delegations::default();

    let found = reactions((0..7).map(|_| delegations.step(delegation("1.1"))));

    let (warn, stop) = (Some(Reaction::Warn), Some(Reaction::Stop));
    assert_eq!(found, [None, None, warn, None, stop, stop, stop]);
}

#[test]
fn what_lies_more_than_ten_delegations_back_is_forgotten() {
    let mut delegations = Delegations::default();
    delegations.step(delegation("1.1"));
    delegations.step(delegation("1.1"));
    let others = reactions((0..9).map(|n| delegations.step(delegation(&format!("2.{n}")))));

    let found = delegations.step(delegation("1.1"));

    assert!(others.iter().all(Option::is_none) && found.is_none());
}

#[test]
fn another_agent_role_or_argument_is_another_delegation() {
    let mut delegations = Delegations::default();
    let other =
        |agent: &str, role: &str| Delegation { agent: agent.to_owned(), role: role.to_owned(), ..delegation("1.1") };

    let all = [
        other("ada", "coder"),
        other("ben", "coder"),
        other("ada", "reviewer"),
        delegation("1.2"),
        other("ada", "coder"),
    ];

    assert!(all.into_iter().all(|one| delegations.step(one).is_none()));
}

#[test]
fn the_same_call_ten_times_of_twenty_stops() {
    let mut calls = ToolCalls::default();
    let mut found = Vec::new();
    for n in 0..10 {
        found.push(calls.step("bash", "cargo test"));
        found.push(calls.step("read", &format!("file {n}")));
    }

    let said: Vec<_> = found.into_iter().flatten().map(|found| (found.kind, found.reaction)).collect();

    assert_eq!(said, [(FindingKind::Repetition, Reaction::Warn), (FindingKind::Repetition, Reaction::Stop)]);
}

/// The limits of a role that ships.
fn limits(role: &str) -> RoleLimits {
    Roles::shipped().find(&RoleId::new(role).unwrap()).unwrap().limits
}

#[test]
fn calls_warn_at_their_share_and_stop_at_the_limit_once_each() {
    let mut usage = Usage::new("explorer", limits("explorer"), Millis(0));

    let found: Vec<_> =
        (1..=160).filter_map(|n| usage.step(Used::Call, Millis(0)).map(|found| (n, found.reaction))).collect();

    assert_eq!(found, [(113, Reaction::Warn), (150, Reaction::Stop)]);
}

#[test]
fn the_architect_has_no_limit_of_calls_and_minutes() {
    let mut usage = Usage::new("architect", limits("architect"), Millis(0));
    let hours = |n: i64| Millis(n * 30 * MINUTE);

    let all = (1..100)
        .flat_map(|n| [usage.step(Used::Call, hours(n)), usage.step(Used::Succeeded { has_changed: false }, hours(n))]);

    assert!(all.flatten().next().is_none());
}

#[test]
fn minutes_and_idle_time_are_found_by_the_clock() {
    let mut usage = Usage::new("coder", limits("coder"), Millis(0));

    let at = |usage: &mut Usage, minute: i64| {
        usage.step(Used::Tick, Millis(minute * MINUTE)).map(|found| (found.kind, found.reaction))
    };

    assert_eq!(at(&mut usage, 38), None);
    assert_eq!(at(&mut usage, 39), Some((FindingKind::Minutes, Reaction::Warn)));
    assert_eq!(at(&mut usage, 45), Some((FindingKind::Minutes, Reaction::Stop)));
    assert_eq!(at(&mut usage, 59), None);
    assert_eq!(at(&mut usage, 60), Some((FindingKind::Idle, Reaction::Stop)));
}

#[test]
fn errors_in_a_row_stop_and_a_success_begins_anew() {
    let mut usage = Usage::new("critic", limits("critic"), Millis(0));
    let fail = |usage: &mut Usage, counts| usage.step(Used::Failed { counts }, Millis(0)).map(|found| found.reaction);

    let first: Vec<_> = (0..4).map(|_| fail(&mut usage, true)).collect();
    usage.step(Used::Succeeded { has_changed: false }, Millis(0));
    let transient: Vec<_> = (0..20).map(|_| fail(&mut usage, false)).collect();
    let second: Vec<_> = (0..5).map(|_| fail(&mut usage, true)).collect();

    assert_eq!(first, [None, None, None, Some(Reaction::Warn)]);
    assert!(transient.iter().all(Option::is_none), "transient errors don't count while a fallback is left");
    assert_eq!(second, [None, None, None, Some(Reaction::Warn), Some(Reaction::Stop)]);
}

#[test]
fn a_coder_whose_calls_change_nothing_is_warned_and_an_explorer_is_not() {
    for (role, expected) in [("coder", 2), ("explorer", 0)] {
        let mut usage = Usage::new(role, limits(role), Millis(0));
        let mut read = |has_changed| usage.step(Used::Succeeded { has_changed }, Millis(0)).is_some();

        let first = (0..20).filter(|_| read(false)).count();
        read(true);
        let second = (0..20).filter(|_| read(false)).count();

        assert_eq!(first + second, expected, "{role}");
    }
}

#[test]
fn a_person_is_asked_about_a_task_that_was_tried_too_often() {
    let mut revisions = Revisions::new(&Limits::default().with("revisions", 2).unwrap());
    let (one, other) = (TaskId::new("1.1").unwrap(), TaskId::new("1.2").unwrap());

    let found = reactions([&one, &other, &one, &one].map(|task| revisions.step(task)));
    revisions.reset(&one);

    assert_eq!(found, [None, None, Some(Reaction::Ask), Some(Reaction::Ask)]);
    assert_eq!((revisions.count(&one), revisions.count(&other)), (0, 1));
    assert!(revisions.step(&one).is_none());
}

#[test]
fn five_turns_of_nothing_but_text_stop_a_worker() {
    let text = Turn { chars: 9_000, calls: 0, has_answered: false };
    for break_off in [Turn { calls: 1, ..text }, Turn { has_answered: true, ..text }] {
        let mut turns = Turns::default();
        let first = reactions((0..4).map(|_| turns.step(text)));
        turns.step(break_off);

        let second = reactions((0..5).map(|_| turns.step(text)));

        assert!(first.iter().all(Option::is_none));
        assert_eq!(second, [None, None, None, None, Some(Reaction::Stop)]);
    }
}

#[test]
fn a_delegation_is_over_once_it_has_ended_and_was_silent() {
    let mut window = DelegationWindow::new("coder", Millis(0));

    assert!(window.step(Heard::Tick, Millis(60_000)).is_none(), "it has not ended");
    window.step(Heard::Ended, Millis(60_000));
    assert!(window.step(Heard::Event, Millis(69_000)).is_none(), "a late call is still its own");
    assert!(window.step(Heard::Tick, Millis(79_000)).is_none(), "10 s are not over");
    let found = window.step(Heard::Tick, Millis(79_001)).unwrap();
    assert_eq!((found.kind, found.reaction), (FindingKind::StaleDelegation, Reaction::Warn));
    assert!(window.is_over() && window.step(Heard::Tick, Millis(99_000)).is_none(), "it is said once");
}

#[test]
fn a_delegation_that_says_nothing_for_two_hours_is_stopped() {
    let mut window = DelegationWindow::new("coder", Millis(0));

    assert!(window.step(Heard::Tick, Millis(SILENT - 1)).is_none());
    assert_eq!(window.step(Heard::Tick, Millis(SILENT)).map(|found| found.reaction), Some(Reaction::Stop));
}

const SILENT: i64 = window::SILENT_MS;

#[test]
fn a_circuit_opens_after_five_errors_and_closes_after_three_successes() {
    let mut circuit = Circuit::default();
    let mut step = |outcome, at| (circuit.step("build", outcome, Millis(at)).is_some(), circuit.allows(Millis(at)));

    let errors: Vec<_> = (0..5).map(|_| step(Outcome::Failed, 0)).collect();
    assert_eq!(errors[3..], [(false, true), (true, false)]);
    assert_eq!(step(Outcome::Failed, 29_999), (false, false), "a late end changes nothing");
    assert_eq!(step(Outcome::Succeeded, 30_000), (false, true));
    assert_eq!(step(Outcome::Failed, 30_001), (true, false), "one error while it is tried opens it again");
    let tries: Vec<_> = (0..3).map(|_| step(Outcome::Succeeded, 60_001)).collect();
    assert!(tries.iter().all(|(found, allows)| !found && *allows));
    let errors: Vec<_> = (0..4).map(|_| step(Outcome::Failed, 60_001)).collect();
    assert!(errors.iter().all(|(found, _)| !found), "it is closed and counts anew");
}

proptest! {
    #[test]
    fn a_loop_is_found_wherever_it_stands_among_others(others in proptest::collection::vec(0..40_u8, 0..6)) {
        let mut delegations = Delegations::default();
        let mut stopped = false;
        for other in others {
            delegations.step(delegation("1.1"));
            delegations.step(delegation(&format!("other {other}")));
        }
        for _ in 0..LOOP_STOPS {
            stopped |= delegations.step(delegation("1.1")).is_some_and(|found| found.reaction == Reaction::Stop);
        }

        prop_assert!(stopped);
    }

    #[test]
    fn usage_finds_each_kind_and_reaction_once_between_successes(calls in proptest::collection::vec(0..3_u8, 0..300)) {
        let mut usage = Usage::new("docs", limits("docs"), Millis(0));
        let mut said: Vec<(FindingKind, Reaction)> = Vec::new();
        for (at, call) in calls.into_iter().enumerate() {
            let used = match call {
                0 => Used::Call,
                1 => Used::Failed { counts: true },
                _ => Used::Tick,
            };
            let now = Millis(i64::try_from(at).unwrap() * 30_000);
            if let Some(found) = usage.step(used, now) {
                prop_assert!(!said.contains(&(found.kind, found.reaction)));
                said.push((found.kind, found.reaction));
            }
        }
    }
}
