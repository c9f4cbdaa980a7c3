//! Compiles plan, defaults and registry into steps; no other code does.

mod check;
mod order;
mod steps;
mod team;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_protocol::id::Digest;
use switchboard_protocol::plan::{OnViolation, Phase, RetryFrom, Task, TaskId};
use switchboard_protocol::run::way::{
    GateId, Input, Join, Limits, Need, RoleId, Step, StepAction, StepId, UnitId, Way, Zone,
};
use switchboard_protocol::run::{MAX_ATTEMPTS, MAX_COMMAND_ATTEMPTS, MAX_LOSSES, Prepared, TeamLimits};

use super::Graph;
use crate::paths::Pattern;
use crate::prepare::groups::{Group, groups};
use crate::settings::{self, Settings};
use crate::subtasks::{Expanded, Shape, WorkResult};
use check::RequestedGate;
pub use check::{WayRefusal, WayRefusalCode, failure};
use team::TeamSteps;

/// The units of a run and the ways that they walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// All distinct ways.
    pub ways: Vec<Arc<Graph>>,
    /// The units, each after all that it refers to.
    pub units: Vec<UnitPlan>,
    /// Notes on gates that the plan leaves out or that are not configured, each once with the tasks that it applies to.
    pub notes: Vec<String>,
}

/// A unit at the beginning of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitPlan {
    /// Id of the unit.
    pub unit: UnitId,
    /// Group that contains the unit.
    pub within: Option<UnitId>,
    /// Digest of the way that the unit walks.
    pub way: Digest,
    /// Units that must be merged first.
    pub after: Vec<UnitId>,
    /// Files, folders and globs that it declares to write.
    pub writes: Vec<String>,
    /// Files, folders and globs that it declares to read.
    pub reads: Vec<String>,
    /// Time limit of one worker in milliseconds.
    pub timeout_ms: Option<i64>,
}

/// Returns the default number of attempts of a task: one for a command, which does the same again, else as many as an
/// agent gets.
#[must_use]
pub fn usual_attempts(settings: &Settings) -> u32 {
    if settings.command.is_some() { MAX_COMMAND_ATTEMPTS } else { MAX_ATTEMPTS }
}

/// Compiles the ways of all units of a plan that was expanded and prepared. `attempts` returns the default number of
/// attempts of a task; `limits` apply to the workers of its steps.
///
/// # Errors
/// Everything that can't be judged, waited for or found, all at once.
pub fn compile(
    expanded: &Expanded,
    prepared: &Prepared,
    limits: &TeamLimits,
    attempts: impl Fn(&Settings) -> u32,
) -> Result<Compiled, Vec<WayRefusal>> {
    let Expanded { plan, shapes, .. } = expanded;
    let tasks: BTreeMap<&TaskId, (&Phase, &Task)> =
        plan.phases.iter().flat_map(|phase| phase.tasks.iter().map(move |task| (&task.id, (phase, task)))).collect();
    let eligible: BTreeMap<&TaskId, ()> = prepared.eligible.iter().map(|id| (id, ())).collect();
    let groups = groups(plan, |id| eligible.contains_key(id));
    let mut compiler = Compiler::default();
    compiler.refusals.extend(order::circles(plan, &groups, &eligible));
    compiler.add_groups(&groups);
    let places = places(&groups);
    let usual = Shape::default();
    for id in in_order(&prepared.eligible, shapes) {
        let Some((phase, task)) = tasks.get(id) else { continue };
        let shape = shapes.get(id).unwrap_or(&usual);
        let settings = settings::of(plan, phase, task);
        let team = team::of(task, &settings, shape);
        let tries = Tries {
            attempts: settings.attempts.unwrap_or_else(|| attempts(&settings)),
            // A change that a reviewer refused is fixed in place. If only gates refuse, a clean tree is the safer start
            // point.
            from: settings.retry_from.unwrap_or(if team.is_some() { RetryFrom::Change } else { RetryFrom::Clean }),
        };
        let within = match &shape.of {
            Some(whole) => Some(UnitId::Task(whole.clone())),
            None => places.get(id).map(|at| groups[*at].unit.clone()),
        };
        // A task also waits for its subtasks, but these come after it and add that dependency themselves.
        let is_own = |on: &TaskId| shapes.get(on).is_some_and(|part| part.of.as_ref() == Some(id));
        let after = task.depends.iter().filter(|on| eligible.contains_key(on) && !is_own(on));
        let after = after.cloned().map(UnitId::Task).collect();
        compiler.add_task(
            task,
            &settings,
            Kind {
                tries,
                limits: *limits,
                shape,
                fixes_lint: settings.lint_fix.is_some(),
                confirm: settings.confirm.as_deref(),
                asks_nobody: settings.asks_nobody,
                asks_about_scope: settings.on_violation == OnViolation::Pause,
                team: team.as_ref(),
            },
            (within, after),
        );
    }
    compiler.finish()
}

/// Returns the tasks, each after all that it depends on, and each subtask after its task.
fn in_order<'a>(eligible: &'a [TaskId], shapes: &'a BTreeMap<TaskId, Shape>) -> Vec<&'a TaskId> {
    let mut seen = BTreeSet::new();
    let with_whole =
        eligible.iter().flat_map(|id| shapes.get(id).and_then(|shape| shape.of.as_ref()).into_iter().chain([id]));
    with_whole.filter(|id| seen.insert(*id)).collect()
}

/// Returns the innermost group of each task.
fn places<'a>(groups: &[Group<'a>]) -> BTreeMap<&'a TaskId, usize> {
    groups.iter().enumerate().flat_map(|(at, group)| group.tasks.iter().map(move |task| (*task, at))).collect()
}

#[derive(Default)]
struct Compiler {
    ways: BTreeMap<Vec<StepKey>, Arc<Graph>>,
    listed: Vec<Arc<Graph>>,
    units: Vec<UnitPlan>,
    refusals: Vec<WayRefusal>,
    notes: BTreeMap<String, Vec<TaskId>>,
}

/// Number of attempts at a task, and the start point of the next one.
#[derive(Debug, Clone, Copy)]
struct Tries {
    attempts: u32,
    from: RetryFrom,
}

/// Settings that define the way of a task beside its gates.
#[derive(Debug, Clone, Copy)]
struct Kind<'a> {
    tries: Tries,
    limits: TeamLimits,
    shape: &'a Shape,
    /// True if the plan names a command that fixes lint findings.
    fixes_lint: bool,
    /// Question to a person before the merge.
    confirm: Option<&'a str>,
    /// True if nobody is asked about findings of gates either.
    asks_nobody: bool,
    /// True if a person is asked about files that the task does not declare.
    asks_about_scope: bool,
    /// Steps of other roles, if a team carries out the task.
    team: Option<&'a TeamSteps>,
}

/// Key that distinguishes ways before they are built: gate, need and whether it applies.
type StepKey = (String, u8, String);

impl Compiler {
    fn add_groups(&mut self, groups: &[Group<'_>]) {
        let Some(way) = self.group_way() else { return };
        for group in groups {
            let after = group.after.map(|at| groups[at].unit.clone());
            self.units.push(UnitPlan {
                unit: group.unit.clone(),
                within: group.within.map(|at| groups[at].unit.clone()),
                way,
                after: after.into_iter().collect(),
                writes: Vec::new(),
                reads: Vec::new(),
                timeout_ms: None,
            });
        }
    }

    fn add_task(
        &mut self,
        task: &Task,
        settings: &Settings,
        kind: Kind<'_>,
        (within, after): (Option<UnitId>, Vec<UnitId>),
    ) {
        let (mut wanted, refusals) = check::gates(&task.id, settings);
        let is_refused = !refusals.is_empty();
        self.refusals.extend(refusals);
        if is_refused {
            return;
        }
        if matches!(kind.shape.result, WorkResult::Draft | WorkResult::Report) {
            wanted.clear();
        }
        for note in wanted.iter().filter_map(RequestedGate::note) {
            self.notes.entry(note).or_default().push(task.id.clone());
        }
        for note in kind.team.into_iter().flat_map(TeamSteps::notes) {
            self.notes.entry(note).or_default().push(task.id.clone());
        }
        if settings.asks_nobody && kind.shape.result == WorkResult::Merged {
            let note = "nobody is asked about findings of medium severity: confirm is false".to_owned();
            self.notes.entry(note).or_default().push(task.id.clone());
        }
        let Some(way) = self.task_way(&task.id, &wanted, kind) else { return };
        // A task also holds its files for its subtasks.
        let held = |paths: &[String]| -> Vec<String> {
            let paths = paths.iter().filter(|_| kind.shape.of.is_none());
            paths.filter(|path| Pattern::parse(path).is_ok()).cloned().collect()
        };
        self.units.push(UnitPlan {
            unit: UnitId::Task(task.id.clone()),
            within,
            way,
            after,
            writes: held(&settings.writes),
            reads: held(&settings.reads),
            timeout_ms: settings.timeout_ms,
        });
    }

    fn group_way(&mut self) -> Option<Digest> {
        let children = steps::step(step_id("children")?, StepAction::Units { join: Join::All });
        self.keep(Vec::new(), Way { steps: vec![children] }, "groups")
    }

    fn task_way(&mut self, task: &TaskId, wanted: &[RequestedGate], kind: Kind<'_>) -> Option<Digest> {
        let Kind { tries, shape: Shape { result, quorums, begins_on, among, asks: role, .. }, confirm, .. } = kind;
        let asks = (kind.asks_nobody, kind.asks_about_scope);
        let (team, is_landing, fixes_lint) = (kind.team, kind.shape.is_landing(), kind.fixes_lint);
        let team = team.map(|team| team.key().collect::<Vec<_>>());
        let rest = format!(
            "{tries:?} {result:?} {quorums:?} {begins_on:?} {among:?} {confirm:?} {asks:?} {team:?} {is_landing} {fixes_lint} {role:?}"
        );
        let key: Vec<_> = wanted.iter().map(RequestedGate::key).chain([("task".to_owned(), 0, rest)]).collect();
        if let Some(known) = self.ways.get(&key) {
            return Some(known.digest());
        }
        let way = steps::way(wanted, kind)?;
        self.keep(key, way, task.as_str())
    }

    fn keep(&mut self, key: Vec<StepKey>, way: Way, whose: &str) -> Option<Digest> {
        match Graph::new(way) {
            Ok(graph) => {
                let graph = Arc::new(graph);
                self.ways.insert(key, Arc::clone(&graph));
                self.listed.push(Arc::clone(&graph));
                Some(graph.digest())
            }
            Err(error) => {
                self.refusals.push(WayRefusal::bug(whose, &error.to_string()));
                None
            }
        }
    }

    fn finish(self) -> Result<Compiled, Vec<WayRefusal>> {
        if !self.refusals.is_empty() {
            return Err(self.refusals);
        }
        let total = self.units.iter().filter(|unit| unit.unit.task().is_some()).count();
        let notes = self.notes.into_iter().map(|(note, tasks)| check::noted(&note, &tasks, total)).collect();
        Ok(Compiled { ways: self.listed, units: self.units, notes })
    }
}

fn step_id(name: &str) -> Option<StepId> {
    StepId::new(name).ok()
}

/// Returns the way of a task as versions before ways recorded it: a list of gates, of which unconfigured ones pass, and
/// a merge without a rebase.
///
/// # Errors
/// When a gate's name is not a valid id.
pub(crate) fn recorded_before_ways(gates: &[String]) -> Result<Way, switchboard_protocol::id::IdError> {
    let work = StepId::work();
    let does = StepAction::Work {
        role: RoleId::new("coder")?,
        writes: vec![Zone::Source, Zone::Tests],
        retry_from: RetryFrom::Change,
        begins_on: None,
        may_keep: false,
        answer: None,
    };
    let mut steps = vec![Step {
        reads: vec![Input::Spec],
        back: Some(work.clone()),
        limits: Limits { attempts: MAX_ATTEMPTS, losses: MAX_LOSSES, ..Limits::default() },
        ..steps::step(work.clone(), does)
    }];
    for gate in gates {
        let does = StepAction::Check { gate: GateId::new(gate.clone())? };
        steps.push(Step {
            after: vec![work.clone()],
            reads: vec![Input::Tree],
            need: Need::IfConfigured,
            back: Some(work.clone()),
            ..steps::step(StepId::new(gate.clone())?, does)
        });
    }
    let after = steps.iter().map(|step| step.id.clone()).collect();
    steps.push(Step {
        after,
        reads: vec![Input::Tree],
        back: Some(work),
        ..steps::step(StepId::new("merge")?, StepAction::Merge)
    });
    Ok(Way { steps })
}

#[cfg(test)]
mod tests;
