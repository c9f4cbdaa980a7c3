//! The loop that runs a plan unit by unit: chooses the next unit, or decides to wait, to ask a person, or to stop.
//!
//! [`decide`] depends only on the plan and the recorded turns ([`TurnLog`]), so a restarted loop continues where it
//! was.

mod history;

use std::collections::BTreeSet;

use switchboard_protocol::plan::{Plan, TaskId};
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{AutoTurn, AutoTurnKind, MAX_AUTO_TURNS};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::auto::{Next, NextStart};

pub use history::{Ending, TaskFailure, Turn, TurnLog};

/// Number of recent turns in which the loop looks for a lack of progress.
const WINDOW: usize = 6;

/// Number of turns of one unit within [`WINDOW`] at which the loop counts as stuck.
const STUCK_REPEATS: usize = 3;

/// Maximum number of turns of one unit.
const UNIT_CAP: usize = 5;

/// Number of failures in a row after which a unit is not tried again.
const FAILURES: usize = 3;

/// Maximum number of waits for a rate limit in a row.
const WAITS: usize = 5;

/// Wait for a rate limit in milliseconds if the service names no time.
const DEFAULT_WAIT_MS: i64 = 35_000;

/// Maximum wait for a rate limit in milliseconds, and the maximum by which a wait exceeds the time that the service
/// names.
const MAX_WAIT_MS: i64 = 60_000;
const MARGIN_MS: i64 = 500;

/// A part of a plan that the loop runs in one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Phase or slice to run; `None` is the whole plan.
    pub scope: Option<UnitId>,
    /// Eligible tasks of the unit.
    pub tasks: BTreeSet<TaskId>,
}

/// Input of a decision.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The units in the order in which they are run.
    pub units: &'a [Unit],
    /// Tasks that are merged into the start commit of the next run, or done without a merge.
    pub done: &'a BTreeSet<TaskId>,
    /// Turns for this plan, oldest first.
    pub turns: &'a [Turn],
    /// Number of the last turn before a person last restarted the loop.
    pub since: u32,
    /// The present time.
    pub now: Millis,
}

/// Returns the units of a plan: each phase, or each slice of a phase whose tasks all name one if slices wait for each
/// other (`barrier` is true), or the whole plan if nothing waits (`barrier` is false). Only tasks in `eligible` count,
/// and only the parts in `scope`, if given.
#[must_use]
pub fn units(plan: &Plan, eligible: &BTreeSet<TaskId>, scope: Option<&UnitId>) -> Vec<Unit> {
    let barrier = plan.switchboard.as_ref().and_then(|settings| settings.barrier);
    let parts: Vec<Option<UnitId>> = match (scope, barrier) {
        (Some(unit), _) => vec![Some(unit.clone())],
        (None, Some(false)) => vec![None],
        (None, None | Some(true)) => {
            let mut phases: Vec<_> = plan.phases.iter().collect();
            phases.sort_by_key(|phase| phase.id);
            phases.into_iter().flat_map(|phase| parts_of(phase, barrier.is_some())).map(Some).collect()
        }
    };
    let unit = |scope: Option<UnitId>| {
        let part = scope.as_ref().map_or_else(|| plan.clone(), |unit| unit.of_plan(plan));
        let tasks = part.tasks().map(|task| task.id.clone()).filter(|task| eligible.contains(task)).collect();
        Unit { scope, tasks }
    };
    parts.into_iter().map(unit).collect()
}

/// Returns a phase, or its slices in the order in which its tasks name them.
fn parts_of(phase: &switchboard_protocol::plan::Phase, by_slice: bool) -> Vec<UnitId> {
    let slice = |task: &switchboard_protocol::plan::Task| task.switchboard.as_ref()?.slice.clone();
    let slices: Option<Vec<_>> = phase.tasks.iter().map(slice).collect();
    let Some(slices) = slices.filter(|_| by_slice) else { return vec![UnitId::Phase(phase.id)] };
    let mut parts = Vec::new();
    for name in slices {
        let part = UnitId::Slice { phase: phase.id, name };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}

/// Returns what the loop does next: the same for the same facts. A unit that is done is never started again.
#[must_use]
pub fn decide(facts: &Facts<'_>) -> Next {
    if let Some(turn) = facts.turns.last().filter(|turn| turn.ending == Ending::Running) {
        return Next::Wait { run: Some(turn.run.clone()), until: None, why: format!("{} is at work", turn.run) };
    }
    let open = |unit: &&Unit| !unit.tasks.is_subset(facts.done);
    match facts.units.iter().find(open) {
        None => Next::Done,
        Some(unit) => Choice::new(facts, unit).next(),
    }
}

/// The chosen unit and the turns that count for it.
struct Choice<'a> {
    facts: &'a Facts<'a>,
    unit: &'a Unit,
    /// Turns since a person last let the loop continue.
    turns: &'a [Turn],
    /// Turns among them that were not held up by a rate limit.
    counted: Vec<&'a Turn>,
}

// === impl Choice ===

impl<'a> Choice<'a> {
    fn new(facts: &'a Facts<'a>, unit: &'a Unit) -> Self {
        let approved = facts.turns.iter().rposition(|turn| turn.kind == AutoTurnKind::Approved);
        let turns = &facts.turns[approved.unwrap_or(0)..];
        let counted = turns.iter().filter(|turn| !turn.is_rate_limited()).collect();
        Self { facts, unit, turns, counted }
    }

    fn next(&self) -> Next {
        let last = self.turns.last().filter(|turn| self.is_mine(turn));
        if self.turns.len() >= MAX_AUTO_TURNS as usize {
            return self.refuse("dispatch.stuck", format!("the loop has had {MAX_AUTO_TURNS} turns"));
        }
        if let Some(last) = last.filter(|turn| turn.is_rate_limited()) {
            return self.after_rate_limit(last);
        }
        if let Some(next) = last.filter(|turn| self.is_new(turn)).and_then(|turn| self.after_ending(turn)) {
            return next;
        }
        let tried = self.counted.iter().filter(|turn| self.is_mine(turn)).count();
        if tried >= UNIT_CAP {
            return self.refuse("dispatch.stuck", format!("{} was started {tried} times", self.name()));
        }
        let failures = self.failures();
        let stuck = self.stuck(&failures);
        let was_verified = self.window().any(|turn| self.is_mine(turn) && turn.kind == AutoTurnKind::Verified);
        if let Some(why) = stuck.as_ref().filter(|_| was_verified) {
            return self.ask(format!("{}: {why}, also after what is merged was looked at", self.name()));
        }
        if failures.len() >= FAILURES {
            return self.refuse("dispatch.stuck", format!("{} failed {} times in a row", self.name(), failures.len()));
        }
        if let Some(why) = stuck {
            let (done, all) = (self.unit.tasks.intersection(self.facts.done).count(), self.unit.tasks.len());
            let why = format!("{}: {why}; {done} of its {all} tasks are merged, once more in new trees", self.name());
            return Next::Start(self.start(AutoTurnKind::Verified, why));
        }
        match (failures.as_slice(), last) {
            ([_], Some(_)) => Next::Start(self.start(AutoTurnKind::Retry, format!("{} failed once", self.name()))),
            ([], _) | ([_], None) => Next::Start(self.start(AutoTurnKind::First, self.why_first())),
            (more, _) => {
                let why = format!("{} failed {} times, now in new trees", self.name(), more.len());
                Next::Start(self.start(AutoTurnKind::Clean, why))
            }
        }
    }

    /// Returns the decision that follows from the ending of a turn alone, if any.
    fn after_ending(&self, turn: &Turn) -> Option<Next> {
        match &turn.ending {
            Ending::Failed(failures) => {
                if let Some(failure) = failures.iter().find(|failure| failure.is_of_machine()) {
                    let why = format!("task {}: {}", failure.task, failure.why);
                    return Some(Next::Stop { code: failure.code.clone(), why });
                }
                let failure = failures.iter().find(|failure| failure.needs_person())?;
                Some(self.ask(format!("task {} [{}]: {}", failure.task, failure.code, failure.why)))
            }
            Ending::Stopped => Some(self.ask(format!("{} was stopped", turn.run))),
            Ending::Running | Ending::Succeeded => None,
        }
    }

    fn after_rate_limit(&self, last: &Turn) -> Next {
        let waits = self.turns.iter().rev().take_while(|turn| turn.is_rate_limited()).count();
        if waits > WAITS {
            let why = format!("{} was held up by a rate limit {waits} times in a row", self.name());
            return self.refuse("agent.rate-limited", why);
        }
        let named = last.retry_after_ms().map(|ms| i64::try_from(ms).unwrap_or(i64::MAX).min(MAX_WAIT_MS));
        let until = Millis(last.ended_at.0.saturating_add(named.map_or(DEFAULT_WAIT_MS, |ms| ms + MARGIN_MS)));
        if self.facts.now < until {
            let why = format!("a rate limit, wait {waits} of {WAITS}");
            return Next::Wait { run: None, until: Some(until), why };
        }
        Next::Start(self.start(AutoTurnKind::Waited, format!("{} waited for a rate limit", self.name())))
    }

    /// Returns the failures of the unit since its last success, newest first.
    fn failures(&self) -> Vec<&'a Turn> {
        let mine = self.counted.iter().rev().filter(|turn| self.is_mine(turn));
        mine.take_while(|turn| turn.is_failed()).copied().collect()
    }

    /// Returns the reason why the loop makes no progress, or `None` if it does.
    fn stuck(&self, failures: &[&Turn]) -> Option<String> {
        let window: Vec<_> = self.window().collect();
        let in_window = failures.iter().take(window.len());
        let errors: Vec<_> = in_window.flat_map(|turn| turn.errors()).collect();
        let twice = errors.iter().enumerate().find(|(at, error)| errors[..*at].contains(error));
        if let Some((_, (task, code, _))) = twice {
            return Some(format!("task {task} failed with the same error twice [{code}]"));
        }
        let often = window.iter().filter(|turn| self.is_mine(turn)).count();
        if often >= STUCK_REPEATS {
            return Some(format!("it was started {often} times in the last {} turns", window.len()));
        }
        // The window is newest first.
        if let [d, c, b, a, ..] = window.as_slice()
            && a.unit == c.unit
            && b.unit == d.unit
            && a.unit != b.unit
            && self.is_mine(a)
        {
            return Some("two units take turns".to_owned());
        }
        None
    }

    /// Returns the last turns that count, newest first.
    fn window(&self) -> impl Iterator<Item = &'a Turn> + '_ {
        self.counted.iter().rev().take(WINDOW).copied()
    }

    fn is_mine(&self, turn: &Turn) -> bool {
        turn.unit == self.unit.scope
    }

    /// Returns true if a turn came after the last restart by a person.
    const fn is_new(&self, turn: &Turn) -> bool {
        turn.number > self.facts.since
    }

    /// Stops the loop, or asks a person if one restarted the loop before.
    fn refuse(&self, code: &str, why: String) -> Next {
        match self.turns.last() {
            Some(last) if self.is_new(last) => Next::Stop { code: code.to_owned(), why },
            Some(_) | None => self.ask(why),
        }
    }

    fn ask(&self, why: String) -> Next {
        let start = self.start(AutoTurnKind::Approved, "a person said that it goes on".to_owned());
        Next::Ask { why, start }
    }

    fn start(&self, kind: AutoTurnKind, why: String) -> NextStart {
        let number = self.facts.turns.last().map_or(0, |turn| turn.number) + 1;
        let run = self.turns.last().filter(|_| kind.is_same_run()).map(|turn| turn.run.clone());
        NextStart { unit: self.unit.scope.clone(), run, turn: AutoTurn { number, kind, why } }
    }

    fn why_first(&self) -> String {
        let left = self.unit.tasks.difference(self.facts.done).count();
        format!("{} is next, {left} of its {} tasks are to be done", self.name(), self.unit.tasks.len())
    }

    fn name(&self) -> String {
        self.unit.scope.as_ref().map_or_else(
            || "the plan".to_owned(),
            |unit| match unit {
                UnitId::Task(task) => format!("task {task}"),
                UnitId::Slice { .. } | UnitId::Phase(_) => unit.to_string(),
            },
        )
    }
}

#[cfg(test)]
mod tests;
