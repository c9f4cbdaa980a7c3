//! Random plans from their text to the last merge: what starts, when, and in parallel with what.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use switchboard_protocol::plan::Plan;
use switchboard_protocol::run::RunOutcome;
use switchboard_protocol::run::way::CommandStep;

use super::*;
use crate::dataflow;
use crate::paths::Claims;
use crate::prepare::{Opening, opening, prepare};

/// Files, folders and globs that the tasks of random plans declare.
const PATHS: [&str; 9] =
    ["src/a.rs", "src/b.rs", "src", "src/*.rs", "docs/x.md", "docs", "lib/a/b.rs", "lib/**/b.rs", "x"];

/// Returns a plan of 3 to 20 tasks with random dependencies, writes, reads, inputs and outputs, with at most six
/// workers. Every third one reaches the run's branch by slice.
fn random(rng: &mut fastrand::Rng) -> Plan {
    let count = rng.usize(3..=20);
    // The order of ids is independent of the order of tasks.
    let mut ids: Vec<_> = (1..=count).map(|n| format!("1.{n}")).collect();
    rng.shuffle(&mut ids);
    let density = rng.f64() * 0.4;
    let by_slice = rng.u32(..3) == 0;
    let tasks: Vec<_> = (0..count)
        .map(|at| {
            let mut earlier = |density: f64| -> Vec<usize> { (0..at).filter(|_| rng.f64() < density).collect() };
            let (depends, needs) = (earlier(density), earlier(density / 3.0));
            let mut paths = |most: usize| (0..rng.usize(..=most)).map(|_| PATHS[rng.usize(..PATHS.len())]).collect();
            let (writes, reads): (Vec<_>, Vec<_>) = (paths(2), paths(1));
            // No task depends on a later one, so slices don't wait for each other.
            let slice = (by_slice && at * 5 < count * 4).then(|| format!("s{}", at * 3 / count));
            json!({ "id": ids[at], "phase": 1, "description": "d", "files_touched": writes,
                "depends": depends.iter().map(|on| &ids[*on]).collect::<Vec<_>>(),
                "x-switchboard": { "slice": slice, "reads": reads, "outputs": [format!("out/{at}.txt")],
                    "inputs": needs.iter().map(|on| format!("out/{on}.txt")).collect::<Vec<_>>() } })
        })
        .collect();
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [{ "id": 1, "name": "p", "tasks": tasks }],
        "x-switchboard": { "max_workers": rng.u32(1..=6), "gates": ["-all"], "merge": if by_slice { "slice" } else { "task" } } });
    crate::plan_json::parse(&plan.to_string()).unwrap()
}

/// A run that is played to its end, with the invariants to check.
struct Played {
    run: Run,
    depends: BTreeMap<TaskId, Vec<TaskId>>,
    claims: BTreeMap<TaskId, Claims>,
    max_workers: usize,
    shapes: BTreeMap<TaskId, crate::subtasks::Shape>,
    /// Head of each branch: the run's, and the slices'.
    heads: BTreeMap<Option<TaskId>, String>,
    live: BTreeMap<TaskId, WorkerId>,
    begun: BTreeSet<TaskId>,
    merged: BTreeSet<TaskId>,
    history: Vec<String>,
}

impl Played {
    fn new(plan: Plan) -> Self {
        let (plan, _) = dataflow::resolve(plan);
        let expanded = crate::subtasks::expand(&plan).unwrap();
        let plan = expanded.plan.clone();
        let prepared = prepare(&plan, &BTreeSet::new(), None);
        let compiled = crate::way::compile(
            &expanded,
            &prepared,
            &switchboard_protocol::run::TeamLimits::default(),
            crate::way::usual_attempts,
        )
        .unwrap();
        let begin = Opening { plan_hash: "h", base: "base", max_workers: prepared.max_workers };
        let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
        opening(&plan, &compiled, begin).unwrap().into_iter().for_each(|event| run.tell(event));
        let claims = |task: &switchboard_protocol::plan::Task| {
            Claims::of_safe(&crate::settings::writes(&plan, task), &crate::settings::reads(task))
        };
        Self {
            run,
            depends: plan.tasks().map(|task| (task.id.clone(), task.depends.clone())).collect(),
            claims: plan.tasks().map(|task| (task.id.clone(), claims(task))).collect(),
            max_workers: prepared.max_workers as usize,
            shapes: expanded.shapes,
            heads: BTreeMap::new(),
            live: BTreeMap::new(),
            begun: BTreeSet::new(),
            merged: BTreeSet::new(),
            history: Vec::new(),
        }
    }

    /// Returns the tasks that have begun and are not merged.
    fn active(&self) -> impl Iterator<Item = &TaskId> {
        self.begun.difference(&self.merged)
    }

    /// Returns the branch that a task is merged into.
    fn branch_of(&self, task: &TaskId) -> Option<TaskId> {
        crate::subtasks::into(&self.shapes, task).cloned()
    }

    /// Returns the head of the branch that a task is merged into; a slice's branch begins at the run's head.
    fn head_of(&mut self, task: &TaskId) -> String {
        let of_run = self.heads.get(&None).cloned().unwrap_or_else(|| "base".to_owned());
        self.heads.entry(self.branch_of(task)).or_insert(of_run).clone()
    }

    fn is_landing(&self, task: &TaskId) -> bool {
        self.shapes.get(task).is_some_and(crate::subtasks::Shape::is_landing)
    }

    fn clashes(&self, task: &TaskId) -> bool {
        self.active().any(|other| other != task && !self.claims[other].shared(&self.claims[task]).is_empty())
    }

    fn is_free(&self, task: &TaskId) -> bool {
        self.depends[task].iter().all(|on| self.merged.contains(on)) && !self.clashes(task)
    }

    /// Starts all tasks that may start, and checks that the others may not.
    fn start_all(&mut self) {
        for task in self.run.starting() {
            let task = id(&task);
            assert!(self.is_free(&task), "{task} starts too early: {:?}", self.history);
            assert!(!self.is_landing(&task), "{task} wants a worker");
            let worker = self.run.start(task.as_str());
            self.head_of(&task);
            self.begun.insert(task.clone());
            self.history.push(format!("start {task}"));
            self.live.insert(task, worker);
            assert!(self.live.len() <= self.max_workers, "{:?}", self.history);
        }
        let is_full = self.live.len() == self.max_workers || (self.max_workers == 1 && self.active().next().is_some());
        let left = self
            .depends
            .keys()
            .find(|task| !self.begun.contains(*task) && !self.is_landing(task) && self.is_free(task));
        assert!(is_full || left.is_none(), "{left:?} could start beside {:?}: {:?}", self.live, self.history);
    }

    fn end_one(&mut self, rng: &mut fastrand::Rng) {
        let Some((task, worker)) = self.live.iter().nth(rng.usize(..self.live.len().max(1))) else { return };
        let (task, worker) = (task.clone(), worker.clone());
        self.live.remove(&task);
        self.history.push(format!("end {task}"));
        let (outcome, reason) = (TurnOutcome::Finished, String::new());
        self.run.tell(RunEvent::TurnEnded { task: task.clone(), worker, outcome, reason });
        let (commit, tree, base) = (format!("c-{task}-1"), format!("t-{task}"), self.head_of(&task));
        self.run.captured(task.as_str(), &Change { commit, tree, base, files: 1, lines: 1 });
        self.run.answer_checks(task.as_str(), Verdict::Pass);
    }

    /// Carries out one effect on the run's branch.
    fn move_branch(&mut self) {
        for effect in self.run.effects() {
            match effect {
                Effect::RunChecks { task, .. } => self.run.answer_checks(task.as_str(), Verdict::Pass),
                Effect::RunCommand { task, kind: CommandStep::Gather, .. } => {
                    assert!(self.is_landing(&task) && self.depends[&task].iter().all(|on| self.merged.contains(on)));
                    self.begun.insert(task.clone());
                    let (commit, tree, base) = (format!("c-{task}-1"), format!("t-{task}"), self.head_of(&task));
                    self.run.captured(task.as_str(), &Change { commit, tree, base, files: 1, lines: 1 });
                    self.run.answer_checks(task.as_str(), Verdict::Pass);
                }
                Effect::RunCommand { task, .. } => {
                    let head = self.head_of(&task);
                    self.run.rebase(task.as_str(), &head);
                }
                Effect::Merge { task, commit, .. } => {
                    let head = self.head_of(&task);
                    self.run.merge_onto(task.as_str(), &commit, &head);
                    self.heads.insert(self.branch_of(&task), format!("m-{task}"));
                    self.history.push(format!("merge {task}"));
                    self.merged.insert(task);
                }
                Effect::FixLint { .. }
                | Effect::StartWorker { .. }
                | Effect::StopWorker { .. }
                | Effect::RebaseTree { .. }
                | Effect::Capture { .. }
                | Effect::TakeAnswer { .. }
                | Effect::AskPerson { .. }
                | Effect::AwaitAnswer { .. }
                | Effect::WithdrawQuestion { .. }
                | Effect::AwaitLease { .. }
                | Effect::Finish { .. } => continue,
            }
            return;
        }
    }
}

fn play(seed: u64) -> Vec<String> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let plan = random(&mut rng);
    let mut played = Played::new(plan);
    for _ in 0..2_000 {
        played.start_all();
        if played.merged.len() == played.depends.len() {
            let ends = |effect: &Effect| matches!(effect, Effect::Finish { outcome: RunOutcome::Succeeded });
            assert!(played.run.effects().iter().any(ends));
            return played.history;
        }
        if rng.bool() { played.end_one(&mut rng) } else { played.move_branch() }
    }
    panic!("seed {seed} does not end: {:?}", played.history);
}

#[test]
fn random_plans_keep_their_edges_and_conflicts_and_leave_no_worker_idle() {
    for seed in 0..1_000 {
        let history = play(seed);

        assert_eq!(history, play(seed), "seed {seed} does not repeat");
    }
}
