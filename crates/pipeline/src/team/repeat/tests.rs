use proptest::prelude::*;
use switchboard_protocol::id::MessageId;
use switchboard_protocol::role::RoleLimits;
use switchboard_protocol::run::TeamLimits;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::time::Millis;
use switchboard_protocol::worker::{PauseState, WorkerEvent};

use super::*;
use crate::roles::Roles;

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

    let found = reactions((0..7).map(|_| delegations.step(delegation("1.1"), LoopLimits::default())));

    let (warn, stop) = (Some(Reaction::Warn), Some(Reaction::Stop));
    assert_eq!(found, [None, None, warn, None, stop, stop, stop]);
}

#[test]
fn what_lies_more_than_ten_delegations_back_is_forgotten() {
    let mut delegations = Delegations::default();
    delegations.step(delegation("1.1"), LoopLimits::default());
    delegations.step(delegation("1.1"), LoopLimits::default());
    let others = reactions((0..9).map(|n| delegations.step(delegation(&format!("2.{n}")), LoopLimits::default())));

    let found = delegations.step(delegation("1.1"), LoopLimits::default());

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

    assert!(all.into_iter().all(|one| delegations.step(one, LoopLimits::default()).is_none()));
}

#[test]
fn the_same_call_ten_times_of_twenty_stops() {
    let mut calls = ToolCalls::default();
    let mut found = Vec::new();
    for n in 0..10 {
        found.push(calls.step("bash", "cargo test", 10));
        found.push(calls.step("read", &format!("file {n}"), 10));
    }

    let said: Vec<_> = found.into_iter().flatten().map(|found| (found.kind, found.reaction)).collect();

    assert_eq!(said, [(FindingKind::Repetition, Reaction::Warn), (FindingKind::Repetition, Reaction::Stop)]);
}

/// Returns the limits of a shipped role.
fn limits(role: &str) -> RoleLimits {
    Roles::shipped().find(&RoleId::new(role).unwrap()).unwrap().limits
}

#[test]
fn calls_warn_at_their_share_and_stop_at_the_limit_once_each() {
    let mut usage = Usage::new("explorer", limits("explorer"), 60, Millis(0));

    let found: Vec<_> =
        (1..=160).filter_map(|n| usage.step(Used::Call, Millis(0)).map(|found| (n, found.reaction))).collect();

    assert_eq!(found, [(113, Reaction::Warn), (150, Reaction::Stop)]);
}

#[test]
fn the_architect_has_no_limit_of_calls_and_minutes() {
    let mut usage = Usage::new("architect", limits("architect"), 60, Millis(0));
    let hours = |n: i64| Millis(n * 30 * MINUTE);

    let all = (1..100)
        .flat_map(|n| [usage.step(Used::Call, hours(n)), usage.step(Used::Succeeded { has_changed: false }, hours(n))]);

    assert!(all.flatten().next().is_none());
}

#[test]
fn minutes_and_idle_time_are_found_by_the_clock() {
    let mut usage = Usage::new("coder", limits("coder"), 60, Millis(0));
    usage.step(Used::Call, Millis(0));

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
    let mut usage = Usage::new("critic", limits("critic"), 60, Millis(0));
    let fail = |usage: &mut Usage| usage.step(Used::Failed, Millis(0)).map(|found| found.reaction);

    let first: Vec<_> = (0..4).map(|_| fail(&mut usage)).collect();
    usage.step(Used::Succeeded { has_changed: false }, Millis(0));
    let second: Vec<_> = (0..5).map(|_| fail(&mut usage)).collect();

    assert_eq!(first, [None, None, None, Some(Reaction::Warn)]);
    assert_eq!(second, [None, None, None, Some(Reaction::Warn), Some(Reaction::Stop)]);
}

#[test]
fn a_coder_whose_calls_change_nothing_is_warned_and_an_explorer_is_not() {
    for (role, expected) in [("coder", 2), ("explorer", 0)] {
        let mut usage = Usage::new(role, limits(role), 60, Millis(0));
        let mut read = |has_changed| usage.step(Used::Succeeded { has_changed }, Millis(0)).is_some();

        let first = (0..20).filter(|_| read(false)).count();
        read(true);
        let second = (0..20).filter(|_| read(false)).count();

        assert_eq!(first + second, expected, "{role}");
    }
}

#[test]
fn five_turns_of_nothing_but_text_stop_a_worker() {
    let text = Turn { chars: 9_000, calls: 0 };
    for break_off in [Turn { calls: 1, ..text }, Turn { chars: 0, ..text }] {
        let mut turns = Turns::default();
        let first = reactions((0..4).map(|_| turns.step(text, 5)));
        turns.step(break_off, 5);

        let second = reactions((0..5).map(|_| turns.step(text, 5)));

        assert!(first.iter().all(Option::is_none));
        assert_eq!(second, [None, None, None, None, Some(Reaction::Stop)]);
    }
}

fn called(call: &str, kind: &str, title: &str, status: &str) -> WorkerEvent {
    let (call, title, tool_kind, status) = (call.to_owned(), title.to_owned(), kind.to_owned(), status.to_owned());
    WorkerEvent::ToolCalled { call, title, tool_kind, status, paths: Vec::new(), why: String::new() }
}

/// Plays calls one after the other; returns the findings, each with the number of its call.
fn played(
    guard: &mut Guard,
    calls: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Vec<(usize, FindingKind, Reaction)> {
    let mut found = Vec::new();
    for (at, (kind, title)) in calls.into_iter().enumerate() {
        for status in ["pending", "in_progress", "completed"] {
            let call = called(&format!("c{at}"), kind, title, status);
            found.extend(guard.step(&call, Millis(0)).into_iter().map(|found| (at + 1, found.kind, found.reaction)));
        }
    }
    found
}

#[test]
fn a_worker_that_calls_the_same_again_and_again_is_stopped_unless_it_changes_something_in_between() {
    let limits = RoleLimits { warn_at: 75, ..RoleLimits::default() };
    let guard = || Guard::new("reviewer", limits, TeamLimits::default(), Millis(0));

    let found = played(&mut guard(), (0..12).map(|_| ("execute", "mcp__x__list")));
    let mended = (0..40).map(|n| if n % 4 == 3 { ("edit", "Edit a.rs") } else { ("execute", "cargo test") });
    let mended = played(&mut guard(), mended);

    let (warn, stop) = ((8, FindingKind::Repetition, Reaction::Warn), (10, FindingKind::Repetition, Reaction::Stop));
    assert_eq!(found[..2], [warn, stop]);
    assert_eq!(mended, []);
}

#[test]
fn a_guard_counts_each_call_once_and_failed_ones_in_a_row() {
    let limits = RoleLimits { tool_calls: 4, errors: 2, warn_at: 100, minutes: 0 };
    let mut guard = Guard::new("docs", limits, TeamLimits::default(), Millis(0));

    let calls = played(&mut guard, [("read", "a"), ("read", "b"), ("read", "c"), ("read", "d")]);
    let failed: Vec<_> =
        ["e", "f"].into_iter().flat_map(|call| guard.step(&called(call, "read", call, "failed"), Millis(0))).collect();

    assert_eq!(calls, [(4, FindingKind::Calls, Reaction::Stop)]);
    let failed: Vec<_> = failed.iter().map(|found| (found.kind, found.reaction)).collect();
    assert_eq!(failed, [(FindingKind::Errors, Reaction::Stop)]);
}

#[test]
fn the_time_of_a_worker_that_waits_stands_still() {
    let limits = RoleLimits { minutes: 10, warn_at: 100, ..RoleLimits::default() };
    let mut guard = Guard::new("coder", limits, TeamLimits::default(), Millis(0));
    let paused = |state| WorkerEvent::PauseChanged { state };

    assert_eq!(guard.due(), Some(Millis(10 * MINUTE)));
    guard.step(&paused(PauseState::Paused), Millis(MINUTE));
    assert!(guard.tick(Millis(50 * MINUTE)).is_empty() && guard.due().is_none());
    guard.step(&paused(PauseState::Resumed), Millis(50 * MINUTE));
    assert_eq!(guard.due(), Some(Millis(59 * MINUTE)));

    let found = guard.tick(Millis(59 * MINUTE));

    assert_eq!(
        found.iter().map(|found| (found.kind, found.reaction)).collect::<Vec<_>>(),
        [(FindingKind::Minutes, Reaction::Stop)]
    );
    assert!(guard.tick(Millis(60 * MINUTE)).is_empty(), "it is found once");
    assert_eq!(guard.due(), Some(Millis(70 * MINUTE)), "the window of its delegation");
}

#[test]
fn the_time_of_a_suspended_machine_counts_for_no_limit_also_while_the_worker_is_paused() {
    const MINUTE: i64 = 60_000;
    let limits = RoleLimits { minutes: 30, ..RoleLimits::default() };
    let mut guard = Guard::new("coder", limits, TeamLimits::default(), Millis(0));
    guard.step(&called("c1", "read", "Read a.rs", "completed"), Millis(MINUTE));
    let night = 8 * 60 * MINUTE;

    guard.suspended(night);

    assert_eq!(guard.due(), Some(Millis(night + 21 * MINUTE)), "20 minutes without a sign of life");
    assert!(guard.tick(Millis(night + 20 * MINUTE)).is_empty());
    guard.step(&WorkerEvent::PauseChanged { state: PauseState::Paused }, Millis(night + 20 * MINUTE));
    guard.suspended(night);
    guard.step(&WorkerEvent::PauseChanged { state: PauseState::Resumed }, Millis(2 * night + 22 * MINUTE));
    assert!(guard.tick(Millis(2 * night + 25 * MINUTE)).is_empty(), "two of 25 minutes it was paused");
    let found = guard.tick(Millis(2 * night + 32 * MINUTE));
    assert!(found.iter().any(|found| found.words.contains("has used 30 of 30 minutes")), "{found:?}");
}

fn kinds(found: &[Finding]) -> Vec<FindingKind> {
    found.iter().map(|found| found.kind).collect()
}

#[test]
fn a_worker_without_a_sign_of_life_in_its_window_is_stale_once_and_output_or_a_report_opens_a_new_window() {
    let team = TeamLimits { stale_minutes: 10, ..TeamLimits::default() };
    let mut guard = Guard::new("coder", RoleLimits::default(), team, Millis(0));

    assert_eq!(guard.due(), Some(Millis(10 * MINUTE)));
    guard.step(&called("c", "read", "a", "pending"), Millis(4 * MINUTE));
    assert_eq!(guard.due(), Some(Millis(14 * MINUTE)));
    guard.heard(Millis(9 * MINUTE));
    guard.heard(Millis(7 * MINUTE));
    assert_eq!(guard.due(), Some(Millis(19 * MINUTE)), "an older sign of life does not count");
    assert_eq!(guard.tick(Millis(19 * MINUTE - 1)), []);

    let found = guard.tick(Millis(19 * MINUTE));

    assert_eq!(kinds(&found), [FindingKind::Stale]);
    assert_eq!(found[0].words, "coder has shown no sign of life for 10 minutes");
    assert_eq!(kinds(&guard.tick(Millis(30 * MINUTE))), []);
}

#[test]
fn no_window_runs_while_a_worker_is_paused_or_waits_for_a_person_nor_for_work_by_hand() {
    let guard = || Guard::new("coder", RoleLimits::default(), TeamLimits::default(), Millis(0));
    let asked = WorkerEvent::PermissionAsked {
        ask: "a1".to_owned(),
        title: String::new(),
        options: Vec::new(),
        detail: String::new(),
        tool_kind: String::new(),
        paths: Vec::new(),
    };
    let settled = WorkerEvent::PermissionSettled { ask: "a1".to_owned(), option: None, rule: None };
    let paused = |state| WorkerEvent::PauseChanged { state };
    for (begins, ends) in [(asked, settled), (paused(PauseState::Paused), paused(PauseState::Resumed))] {
        let mut guard = guard();
        guard.step(&begins, Millis(MINUTE));

        assert_eq!((guard.due(), guard.tick(Millis(90 * MINUTE)).len()), (None, 0));
        guard.step(&ends, Millis(90 * MINUTE));
        assert_eq!(guard.due(), Some(Millis(110 * MINUTE)));
    }
    let mut hands = Guard::by_hand("coder", RoleLimits::default(), TeamLimits::default(), Millis(0));
    assert_eq!((hands.due(), hands.tick(Millis(90 * MINUTE)).len()), (None, 0));
}

#[test]
fn turns_of_nothing_but_text_are_told_from_those_with_calls() {
    let mut guard = Guard::new("critic", RoleLimits::default(), TeamLimits::default(), Millis(0));
    let mut turn = |calls: bool| {
        if calls {
            guard.step(&called("c", "read", "a", "completed"), Millis(0));
        }
        let ended = WorkerEvent::TurnEnded { turn: 1, stop: "end_turn".to_owned(), text: "so".to_owned() };
        guard.step(&ended, Millis(0)).iter().map(|found| found.kind).collect::<Vec<_>>()
    };

    let quiet: Vec<_> =
        [false, false, false, false, true, false, false, false, false].into_iter().flat_map(&mut turn).collect();
    assert_eq!(quiet, []);
    assert_eq!(turn(false), [FindingKind::Runaway]);
}

#[test]
fn an_answer_to_mail_is_no_turn_that_only_had_text() {
    let mut guard = Guard::new("coder", RoleLimits::default(), TeamLimits::default(), Millis(0));
    let mut turn = |turn: u32, mail: Vec<MessageId>| {
        let started = guard.step(&WorkerEvent::TurnStarted { turn, mail }, Millis(0));
        assert_eq!(started, []);
        let ended = WorkerEvent::TurnEnded { turn, stop: "end_turn".to_owned(), text: "so".to_owned() };
        guard.step(&ended, Millis(0)).len()
    };

    let found: Vec<_> = (1..=4).map(|number| turn(number, Vec::new())).collect();
    let of_mail: Vec<_> = (5..=12).map(|number| turn(number, vec![MessageId::from_bits(1)])).collect();

    assert_eq!((found, of_mail), (vec![0; 4], vec![0; 8]));
    assert_eq!(turn(13, Vec::new()), 1);
}

proptest! {
    #[test]
    fn a_loop_is_found_wherever_it_stands_among_others(others in proptest::collection::vec(0..40_u8, 0..6)) {
        let mut delegations = Delegations::default();
        let mut stopped = false;
        for other in others {
            delegations.step(delegation("1.1"), LoopLimits::default());
            delegations.step(delegation(&format!("other {other}")), LoopLimits::default());
        }
        for _ in 0..LoopLimits::default().stops {
            stopped |= delegations.step(delegation("1.1"), LoopLimits::default()).is_some_and(|found| found.reaction == Reaction::Stop);
        }

        prop_assert!(stopped);
    }

    #[test]
    fn usage_finds_each_kind_and_reaction_once_between_successes(calls in proptest::collection::vec(0..3_u8, 0..300)) {
        let mut usage = Usage::new("docs", limits("docs"), 60, Millis(0));
        let mut said: Vec<(FindingKind, Reaction)> = Vec::new();
        for (at, call) in calls.into_iter().enumerate() {
            let used = match call {
                0 => Used::Call,
                1 => Used::Failed,
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
