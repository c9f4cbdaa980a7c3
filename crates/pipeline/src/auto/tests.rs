use std::collections::BTreeMap;

use serde_json::json;
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::{RunEvent, RunOutcome};

use super::*;

fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

fn ids(all: &[&str]) -> BTreeSet<TaskId> {
    all.iter().map(|id| task(id)).collect()
}

fn phase(id: u64, tasks: &[&str]) -> Unit {
    Unit { scope: Some(UnitId::Phase(id)), tasks: ids(tasks) }
}

fn failure(code: &str, why: &str) -> TaskFailure {
    TaskFailure { task: task("1.1"), code: code.to_owned(), why: why.to_owned(), retry_after_ms: None }
}

fn failed(why: &str) -> Ending {
    Ending::Failed(vec![failure("agent.failed", why)])
}

fn rate_limited(retry_after_ms: Option<u64>) -> Ending {
    Ending::Failed(vec![TaskFailure { retry_after_ms, ..failure("agent.rate-limited", "429") }])
}

/// Returns turns with these units and endings, numbered from 1. Each is the first of its run and ended at 1,000.
fn turns(all: &[(u64, Ending)]) -> Vec<Turn> {
    let turn = |(number, (unit, ending)): (u32, &(u64, Ending))| Turn {
        number,
        kind: AutoTurnKind::First,
        unit: Some(UnitId::Phase(*unit)),
        run: RunId::from_bits(number.into()),
        ending: ending.clone(),
        ended_at: Millis(1000),
    };
    (1..).zip(all).map(turn).collect()
}

/// Returns the decision for phases 1 and 2 of a loop that began before all of these turns.
fn next(turns: &[Turn], done: &[&str]) -> Next {
    next_since(turns, done, 0)
}

fn next_since(turns: &[Turn], done: &[&str], since: u32) -> Next {
    let units = [phase(1, &["1.1", "1.2"]), phase(2, &["2.1"])];
    decide(&Facts { units: &units, done: &ids(done), turns, since, now: Millis(5000) })
}

#[track_caller]
fn started(next: Next) -> NextStart {
    match next {
        Next::Start(start) => start,
        other @ (Next::Wait { .. } | Next::Ask { .. } | Next::Stop { .. } | Next::Done) => panic!("{other:?}"),
    }
}

/// Returns a decision as one word.
fn word(next: &Next) -> String {
    match next {
        Next::Start(start) => format!("{:?}", start.turn.kind).to_lowercase(),
        Next::Wait { .. } => "wait".to_owned(),
        Next::Ask { .. } => "ask".to_owned(),
        Next::Stop { code, .. } => code.clone(),
        Next::Done => "done".to_owned(),
    }
}

#[test]
fn the_first_unit_that_is_not_done_is_next_and_the_plan_is_done_with_its_last_task() {
    let start = started(next(&[], &["1.1"]));
    assert_eq!((start.unit, start.run, start.turn.number), (Some(UnitId::Phase(1)), None, 1));
    assert_eq!(start.turn.why, "phase 1 is next, 1 of its 2 tasks are to be done");

    let ended = turns(&[(1, Ending::Succeeded)]);
    let start = started(next(&ended, &["1.1", "1.2"]));
    assert_eq!((start.unit, start.turn.number, start.turn.kind), (Some(UnitId::Phase(2)), 2, AutoTurnKind::First));
    assert_eq!(next(&ended, &["1.1", "1.2", "2.1"]), Next::Done);
}

#[test]
fn a_run_that_is_at_work_is_waited_for() {
    let at_work = turns(&[(1, Ending::Running)]);

    let Next::Wait { run, until, .. } = next(&at_work, &[]) else { panic!() };

    assert_eq!((run, until), (Some(RunId::from_bits(1)), None));
}

#[test]
fn errors_of_different_words_are_tried_again_then_in_new_trees_and_then_no_more() {
    let mut all = vec![(1, failed("a"))];
    let retry = started(next(&turns(&all), &[]));
    assert_eq!((retry.turn.kind, retry.run), (AutoTurnKind::Retry, Some(RunId::from_bits(1))));

    all.push((1, failed("b")));
    let clean = started(next(&turns(&all), &[]));
    assert_eq!((clean.turn.kind, clean.run), (AutoTurnKind::Clean, None));

    all.push((1, failed("c")));
    assert_eq!(word(&next(&turns(&all), &[])), "dispatch.stuck");
    assert_eq!(word(&next_since(&turns(&all), &[], 3)), "ask", "a person has started the loop again");
    assert_eq!(word(&next_since(&turns(&all), &[], 2)), "dispatch.stuck");
}

#[test]
fn the_same_error_twice_is_looked_into_once_and_then_a_person_is_asked() {
    let mut all = turns(&[(1, failed("a")), (1, failed("a"))]);
    let verified = started(next(&all, &["1.2"]));
    assert_eq!((verified.turn.kind, verified.run), (AutoTurnKind::Verified, None));
    assert!(verified.turn.why.contains("1 of its 2 tasks are merged"), "{}", verified.turn.why);

    all.push(Turn { kind: AutoTurnKind::Verified, number: 3, ..all[0].clone() });
    let Next::Ask { why, start } = next(&all, &[]) else { panic!() };
    assert_eq!((start.turn.kind, start.turn.number, start.run), (AutoTurnKind::Approved, 4, None));
    assert!(why.contains("same error twice"), "{why}");
    assert_eq!(word(&next_since(&all, &[], 3)), "ask", "starting the loop again is no answer");

    all.push(Turn { kind: AutoTurnKind::Approved, number: 4, ..all[0].clone() });
    assert_eq!(word(&next(&all, &[])), "retry", "what was before a person's yes no longer counts");
}

#[test]
fn a_unit_that_ends_well_and_stays_open_is_stuck_after_three_turns() {
    let well = |count| turns(&vec![(1, Ending::Succeeded); count]);

    assert_eq!(word(&next(&well(2), &[])), "first");
    assert_eq!(word(&next(&well(3), &[])), "verified");
    let mut verified = well(3);
    verified[2].kind = AutoTurnKind::Verified;
    assert_eq!(word(&next(&verified, &[])), "ask");
}

#[test]
fn a_unit_has_five_turns_however_far_apart_they_are() {
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push((1, Ending::Succeeded));
        all.extend(vec![(2, Ending::Succeeded); 5]);
    }

    assert_eq!(word(&next(&turns(&all), &[])), "first");
    all.push((1, Ending::Succeeded));
    all.extend(vec![(2, Ending::Succeeded); 5]);
    assert_eq!(word(&next(&turns(&all), &[])), "dispatch.stuck");
}

#[test]
fn two_units_that_take_turns_are_stuck() {
    let turn_about = |units: &[u64]| turns(&units.iter().map(|unit| (*unit, Ending::Succeeded)).collect::<Vec<_>>());

    assert_eq!(word(&next(&turn_about(&[2, 1, 2]), &[])), "first");
    assert_eq!(word(&next(&turn_about(&[1, 2, 1, 2]), &[])), "verified");
    assert_eq!(word(&next(&turn_about(&[1, 2, 2, 1]), &[])), "first");
}

#[test]
fn what_the_machine_lacks_stops_the_loop_and_what_only_a_person_can_mend_asks() {
    let ended = |failure| turns(&[(1, Ending::Failed(vec![failure]))]);
    let full = ended(failure("io.disk-full", "no space"));
    let memory = ended(failure("agent.failed", "spawn: Cannot allocate memory (os error 12)"));
    let login = ended(failure("agent.login", "log in"));

    assert_eq!(word(&next(&full, &[])), "io.disk-full");
    assert_eq!(word(&next(&memory, &[])), "agent.failed");
    assert_eq!(word(&next(&login, &[])), "ask");
    assert_eq!(word(&next(&turns(&[(1, Ending::Stopped)]), &[])), "ask");
    for before in [full, memory, login] {
        assert_eq!(word(&next_since(&before, &[], 1)), "retry", "a person has started the loop again");
    }
    assert_eq!(word(&next_since(&turns(&[(1, Ending::Stopped)]), &[], 1)), "first");
}

#[test]
fn a_rate_limit_is_waited_for_as_long_as_the_service_says_and_five_times_at_most() {
    let until = |named: Option<u64>| match next(&turns(&[(1, rate_limited(named))]), &[]) {
        Next::Wait { until, run: None, .. } => until.map(|until| until.0 - 1000),
        other @ (Next::Start(_) | Next::Wait { .. } | Next::Ask { .. } | Next::Stop { .. } | Next::Done) => {
            panic!("{other:?}")
        }
    };
    assert_eq!((until(None), until(Some(10_000)), until(Some(600_000))), (Some(35_000), Some(10_500), Some(60_500)));
    // The wait is over at 5,000.
    let over = started(next(&turns(&[(1, rate_limited(Some(3500)))]), &[]));
    assert_eq!((over.turn.kind, over.run), (AutoTurnKind::Waited, Some(RunId::from_bits(1))));
    assert_eq!(until(Some(3501)), Some(4001));

    let often = |count| turns(&vec![(1, rate_limited(Some(1))); count]);
    assert_eq!(
        (word(&next(&often(5), &[])), word(&next(&often(6), &[]))),
        ("waited".into(), "agent.rate-limited".into())
    );
    let mixed = [(1, failed("a")), (1, rate_limited(None)), (1, failed("b"))];
    assert_eq!(word(&next(&turns(&mixed), &[])), "clean", "the wait is no failure of the unit");
}

#[test]
fn a_loop_has_five_hundred_turns() {
    let many = |count: usize| turns(&vec![(7, Ending::Succeeded); count]);

    assert_eq!(word(&next(&many(499), &[])), "first");
    assert_eq!(word(&next(&many(500), &[])), "dispatch.stuck");
}

#[test]
fn the_units_of_a_plan_are_its_barriers() {
    let with = |barrier: Option<bool>| {
        let task = |id: &str, phase: u64, slice: Option<&str>| json!({ "id": id, "phase": phase, "description": "d", "x-switchboard": { "slice": slice } });
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": { "barrier": barrier },
            "phases": [{ "id": 2, "name": "two", "tasks": [task("2.1", 2, Some("a")), task("2.2", 2, None)] },
                { "id": 1, "name": "one", "tasks": [task("1.1", 1, Some("b")), task("1.2", 1, Some("a")), task("1.3", 1, Some("b"))] }] });
        let plan: Plan = serde_json::from_value(plan).unwrap();
        units(&plan, &ids(&["1.1", "1.2", "1.3", "2.1"]), None)
    };
    let slice = |name: &str| Some(UnitId::Slice { phase: 1, name: name.to_owned() });

    assert_eq!(with(None), [phase(1, &["1.1", "1.2", "1.3"]), phase(2, &["2.1"])]);
    let first = Unit { scope: slice("b"), tasks: ids(&["1.1", "1.3"]) };
    let second = Unit { scope: slice("a"), tasks: ids(&["1.2"]) };
    assert_eq!(with(Some(true)), [first, second, phase(2, &["2.1"])]);
    assert_eq!(with(Some(false)), [Unit { scope: None, tasks: ids(&["1.1", "1.2", "1.3", "2.1"]) }]);
}

#[test]
fn turns_are_read_from_the_events_of_a_run_and_a_retry_opens_the_last_one_again() {
    let turned = |number, turn_kind| RunEvent::LoopTurned {
        run: RunId::from_bits(1),
        turn: number,
        turn_kind,
        unit: None,
        follows: None,
        why: String::new(),
    };
    let blocked = |reason: &str| RunEvent::TaskBlocked {
        task: task("1.1"),
        attempt: 1,
        retries: None,
        reason: reason.to_owned(),
    };
    let again = RunEvent::TaskRetryRequested { task: task("1.1"), note: String::new() };
    let over = |outcome| RunEvent::RunFinished { outcome };
    let mut log = TurnLog::default();
    let mut endings = Vec::new();

    let events = [
        over(RunOutcome::Failed),
        turned(1, AutoTurnKind::First),
        blocked("log in [agent.login]"),
        over(RunOutcome::Failed),
        turned(2, AutoTurnKind::Retry),
        again.clone(),
        blocked("what [is.this]"),
        over(RunOutcome::Failed),
        again,
        over(RunOutcome::Succeeded),
    ];
    for (at, event) in (0..).zip(&events) {
        log.take(event, Millis(at));
        endings.push(log.clone().into_turns().last().map(|turn| turn.ending.clone()));
    }

    let turns = log.into_turns();
    assert_eq!(turns.len(), 2);
    assert_eq!((turns[0].failures()[0].code.as_str(), turns[0].ended_at), ("agent.login", Millis(3)));
    assert_eq!(
        endings[7].as_ref().map(|ending| matches!(ending, Ending::Failed(all) if all[0].code == "agent.failed")),
        Some(true)
    );
    assert_eq!((endings[0].clone(), endings[8].clone()), (None, Some(Ending::Running)));
    assert_eq!((turns[1].ending.clone(), turns[1].ended_at, turns[1].number), (Ending::Succeeded, Millis(9), 2));
}

/// Random number generator with a seed (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % bound
    }
}

/// Simulates units that end in any way, also with work that gets lost again; returns the turns of the loop.
fn simulate(seed: u64) -> Vec<Turn> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let units: Vec<_> =
        (1..=1 + random.below(4)).map(|id| phase(id, &[&format!("{id}.1"), &format!("{id}.2")])).collect();
    let (mut done, mut turns, mut now, mut approvals) = (BTreeSet::new(), Vec::<Turn>::new(), Millis(0), 0);
    let forgets = random.below(2) == 0;
    loop {
        let facts = Facts { units: &units, done: &done, turns: &turns, since: 0, now };
        let next = decide(&facts);
        assert_eq!(next, decide(&facts), "seed {seed}");
        let start = match next {
            Next::Start(start) => start,
            Next::Ask { start, .. } if approvals < 2 && random.below(2) == 0 => {
                approvals += 1;
                start
            }
            Next::Wait { until, run: None, .. } => {
                let until = until.unwrap();
                assert!(until > now && until.0 - now.0 <= 60_500, "seed {seed}");
                now = until;
                continue;
            }
            Next::Wait { .. } => panic!("seed {seed}: nothing is at work"),
            Next::Ask { .. } | Next::Stop { .. } => return turns,
            Next::Done => {
                assert!(units.iter().all(|unit| unit.tasks.is_subset(&done)), "seed {seed}");
                return turns;
            }
        };
        let unit = units.iter().find(|unit| unit.scope == start.unit).unwrap();
        assert!(!unit.tasks.is_subset(&done), "seed {seed}: {:?} is done", unit.scope);
        let open = units.iter().find(|unit| !unit.tasks.is_subset(&done)).unwrap();
        assert_eq!(open.scope, unit.scope, "seed {seed}: units come in their order");
        assert_eq!(start.run.is_some(), start.turn.kind.is_same_run(), "seed {seed}");
        now = Millis(now.0 + 1 + i64::try_from(random.below(1000)).unwrap());
        let ending = match random.below(8) {
            0..4 => Ending::Succeeded,
            4 => failed("same"),
            5 => failed(&random.below(1000).to_string()),
            6 => rate_limited((random.below(2) == 0).then(|| random.below(200_000))),
            _ => Ending::Stopped,
        };
        if ending == Ending::Succeeded && !(forgets && random.below(3) == 0) {
            done.extend(unit.tasks.iter().cloned());
        } else if random.below(2) == 0 {
            done.extend(unit.tasks.iter().next().cloned());
        }
        if forgets && random.below(6) == 0 {
            done.pop_first();
        }
        let run = start.run.unwrap_or_else(|| RunId::from_bits(start.turn.number.into()));
        let AutoTurn { number, kind, .. } = start.turn;
        assert_eq!(number as usize, turns.len() + 1, "seed {seed}");
        turns.push(Turn { number, kind, unit: start.unit, run, ending, ended_at: now });
    }
}

#[test]
fn whatever_units_end_with_the_loop_ends_within_its_bounds_and_starts_nothing_that_is_done() {
    for seed in 0..5_000 {
        let turns = simulate(seed);

        assert!(turns.len() <= MAX_AUTO_TURNS as usize, "seed {seed}");
        let approved = turns.iter().filter(|turn| turn.kind == AutoTurnKind::Approved).count();
        let mut counted: BTreeMap<String, usize> = BTreeMap::new();
        for turn in turns.iter().filter(|turn| !turn.is_rate_limited()) {
            *counted.entry(format!("{:?}", turn.unit)).or_default() += 1;
        }
        let most = counted.into_values().max().unwrap_or(0);
        assert!(most <= UNIT_CAP * (approved + 1), "seed {seed}: {most} turns of one unit");
    }
}
