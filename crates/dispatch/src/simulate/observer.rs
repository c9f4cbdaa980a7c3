//! Checks the invariants of every history, from the events in the order of the log.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock};

use switchboard_protocol::finding::CheckName;
use switchboard_protocol::frame::WorkerSpec;
use switchboard_protocol::id::{AgentName, Digest, NeedId, RunId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{Need, Step, StepId, Way};
use switchboard_protocol::run::{Budget, MAX_ATTEMPTS, MAX_LOSSES, PersonAnswer, RunEvent, Verdict};

use super::judges::Judges;
use super::launched;
use super::seen::Seen;
use super::spec::{ANOTHERS, COST};
use crate::notes;

/// Task and number of an attempt.
type Attempt = (TaskId, u32);

/// Run in messages that are only counted.
static ANY_RUN: LazyLock<RunId> = LazyLock::new(|| RunId::from_bits(0));

/// State of one run, by its subject.
#[derive(Default)]
struct OfRun {
    max_workers: usize,
    /// Number of workers whose end is not recorded.
    live: usize,
    /// True if any worker was intended.
    has_begun: bool,
    budget: Option<Budget>,
    is_paused: bool,
}

#[derive(Default)]
pub(super) struct Observer {
    runs: BTreeMap<String, OfRun>,
    /// Run of each worker.
    of_worker: BTreeMap<WorkerId, String>,
    /// Recorded texts of each run's ways.
    ways: BTreeMap<(String, Digest), String>,
    /// Steps of the ways that a worker has walked.
    read: BTreeMap<(String, Digest), Arc<[Step]>>,
    /// Run and way of each task.
    walks: BTreeMap<TaskId, (String, Digest)>,
    /// Tasks of workers whose end is not recorded.
    live: BTreeMap<WorkerId, TaskId>,
    /// Names of workers.
    names: BTreeMap<WorkerId, String>,
    /// Workers whose end is recorded.
    ended: BTreeSet<WorkerId>,
    tokens: BTreeMap<WorkerId, String>,
    verdicts: BTreeMap<Attempt, BTreeMap<String, Verdict>>,
    /// Commits of an attempt's change: as captured, and as rebased.
    changes: BTreeMap<Attempt, Vec<String>>,
    /// Actual results of the checks, by `task@commit`.
    judged: BTreeMap<String, bool>,
    merged: BTreeSet<TaskId>,
    /// Tasks that are done without a merge of their own.
    done: BTreeSet<TaskId>,
    /// First attempt that got a worker, or the first since a person's retry.
    first_attempt: BTreeMap<TaskId, u32>,
    losses: BTreeMap<(String, TaskId, Option<StepId>), u32>,
    /// Step of each worker.
    steps: BTreeMap<WorkerId, StepId>,
    pub(super) judges: Judges,
    /// Maximum number of workers over all runs.
    cap: Option<u32>,
    /// Cost of each worker, as reported or assumed.
    costs: BTreeMap<WorkerId, u64>,
    /// Cost of workers when their present turns began.
    begun: BTreeMap<WorkerId, u64>,
    /// Merged tasks in the order of their merges.
    merges: Vec<TaskId>,
    /// Tasks that wait for a person.
    waiting: BTreeSet<TaskId>,
    /// Attempts in whose last tree a gate found something that a person should look at.
    odd: BTreeSet<(TaskId, u32)>,
    /// Questions about changes, with task and attempt. The approved attempts are in `confirmed`.
    questions: BTreeMap<NeedId, (TaskId, u32)>,
    confirmed: BTreeSet<(TaskId, u32)>,
    pub(super) lost: u64,
    pub(super) waited: u64,
    /// Commit onto which the tree of each worker was moved last.
    onto: BTreeMap<WorkerId, String>,
    /// Number of rebased trees of workers.
    pub(super) rebased: u64,
    /// Number of rebases that failed otherwise than by a conflict.
    pub(super) failed_rebases: u64,
    pub(super) most_live: u64,
    /// True if the plan is one of the simulation's own.
    pub(super) has_usual_plan: bool,
    broken: Option<String>,
}

// === impl Observer ===

impl Observer {
    pub(super) fn new(cap: Option<u32>) -> Self {
        Self { cap, ..Self::default() }
    }

    /// Returns the first broken invariant.
    pub(super) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub(super) fn fault(&mut self, what: impl Into<String>) {
        self.broken.get_or_insert(what.into());
    }

    pub(super) fn insist(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fault(what());
        }
    }

    /// Returns the cost of all runs.
    pub(super) fn spent(&self) -> u64 {
        self.costs.values().sum()
    }

    /// Returns the cost of a run.
    pub(super) fn spent_by(&self, run: &str) -> u64 {
        let is_of = |worker: &&WorkerId| self.of_worker.get(*worker).is_some_and(|of| of == run);
        self.costs.keys().filter(is_of).map(|worker| self.costs[worker]).sum()
    }

    /// Returns true if any worker of a run was intended.
    pub(super) fn has_begun(&self, run: &str) -> bool {
        self.runs.get(run).is_some_and(|run| run.has_begun)
    }

    /// Returns a hash of the order in which tasks were merged.
    pub(super) fn order(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.merges.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the merged tasks.
    pub(super) fn merged(&self) -> &BTreeSet<TaskId> {
        &self.merged
    }

    /// Returns the tokens of workers whose end is recorded.
    pub(super) fn dead_tokens(&self) -> impl DoubleEndedIterator<Item = (&WorkerId, &String)> {
        self.tokens.iter().filter(|(worker, _)| self.ended.contains(*worker))
    }

    /// Records the actual result of a check.
    pub(super) fn judged(&mut self, change: &str, passes: bool) {
        self.judged.insert(change.to_owned(), passes);
    }

    /// Handles the start of a shim.
    pub(super) fn launched(&mut self, spec: &WorkerSpec, is_alone: bool, live: usize) {
        self.tokens.insert(spec.worker.clone(), spec.token.clone());
        let (worker, limit) = (&spec.worker, self.runs.values().map(|run| run.max_workers).sum::<usize>());
        if let Some(what) = launched::wrong(spec).filter(|_| self.has_usual_plan) {
            self.fault(format!("{worker} starts with a wrong spec, {what}: {spec:?}"));
        }
        self.insist(is_alone, || format!("{worker} starts in a tree in which another still writes"));
        self.insist(live < limit, || format!("{worker} starts beside {live} live ones, {limit} are allowed"));
    }

    /// Checks that no two live workers share a name, and that no worker has the name of another agent.
    fn named(&mut self, worker: &WorkerId, name: String) {
        let namesake = self.live.keys().find(|live| *live != worker && self.names.get(live) == Some(&name)).cloned();
        self.insist(namesake.is_none(), || format!("{worker} and {namesake:?} are both {name}"));
        self.insist(name != ANOTHERS, || format!("{worker} has the name of somebody else: {name}"));
        self.names.insert(worker.clone(), name);
    }

    /// Checks that a new daemon counts each live worker whose name it holds among the agents with a task.
    pub(super) fn took_over(&mut self, holds: impl Fn(&RunId, &str) -> bool, is_assigned: impl Fn(&AgentName) -> bool) {
        let live = self.live.keys().filter_map(|worker| {
            let run = self.of_worker.get(worker)?.strip_prefix("run/")?;
            Some((worker, RunId::new(run).ok()?, self.names.get(worker)?))
        });
        let is_forgotten = |name: &str| !AgentName::new(name).is_ok_and(|name| is_assigned(&name));
        let forgotten = live.filter(|(_, run, name)| holds(run, name) && is_forgotten(name));
        if let Some(what) = forgotten.map(|(worker, _, name)| format!("{worker}, {name}, has no task")).next() {
            self.fault(what);
        }
    }

    /// Checks that the mail about units is in the commit of its events, once for each event.
    fn notes_match(&mut self, Seen { steps, notes, .. }: &Seen) {
        let told = steps.iter().filter(|(_, step)| notes::unit_message(&ANY_RUN, step).is_some()).count();
        self.insist(told == *notes, || format!("{told} events are told of in {notes} messages of their commit"));
    }

    /// Handles committed events.
    pub(super) fn see(&mut self, mut seen: Seen) {
        for (worker, name) in std::mem::take(&mut seen.named) {
            self.named(&worker, name);
        }
        self.notes_match(&seen);
        for (of, step) in seen.steps {
            self.step(&of, step);
        }
    }

    fn run(&mut self, run: &str) -> &mut OfRun {
        self.runs.entry(run.to_owned()).or_default()
    }

    /// Handles the recorded end of a worker. Returns true if it was live.
    fn end(&mut self, worker: WorkerId) -> bool {
        let was_live = self.live.remove(&worker).is_some();
        if let Some(run) = self.of_worker.get(&worker).filter(|_| was_live).and_then(|run| self.runs.get_mut(run)) {
            run.live -= 1;
        }
        self.ended.insert(worker);
        was_live
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn step(&mut self, run: &str, event: RunEvent) {
        if let RunEvent::WorkerIntended { task, step, worker, .. } = &event {
            self.steps.insert(worker.clone(), step.clone());
            if let Some(way) = self.way(task) {
                self.judges.walks(task, &way);
            }
        }
        if let RunEvent::UnitAdded { unit, .. } = &event
            && let Some(task) = unit.task()
        {
            self.judges.begins(task);
        }
        if let Err(broken) = self.judges.see(&event) {
            self.fault(broken);
        }
        match event {
            RunEvent::RunStarted { max_workers, .. } => self.run(run).max_workers = max_workers as usize,
            RunEvent::WayRecorded { way, text, .. } => {
                self.ways.entry((run.to_owned(), way)).or_default().push_str(&text);
            }
            RunEvent::UnitAdded { unit, way, .. } => {
                self.walks.extend(unit.task().map(|task| (task.clone(), (run.to_owned(), way))));
            }
            RunEvent::WorkerIntended { task, attempt, worker, .. } => self.intended(run, task, attempt, worker),
            RunEvent::WorkerLost { task, worker, .. } => {
                if self.end(worker.clone()) {
                    self.lost += 1;
                    let step = self.steps.get(&worker).cloned();
                    let losses = self.losses.entry((run.to_owned(), task.clone(), step)).or_default();
                    *losses += 1;
                    let losses = *losses;
                    self.insist(losses <= MAX_LOSSES, || format!("{task} has lost {losses} workers"));
                } else {
                    self.fault(format!("{worker} of {task} is lost after its end"));
                }
            }
            RunEvent::PersonAsked { task, worker, .. } => {
                self.end(worker);
                self.waiting.insert(task);
                self.waited += 1;
            }
            RunEvent::ConfirmationAsked { task, attempt, need, .. } => self.asked_to_confirm(task, attempt, need),
            RunEvent::PersonAnswered { task, need, answer, .. } => self.answered(&task, &need, answer),
            // A set-up that failed is neither an attempt nor a loss.
            RunEvent::TurnEnded { worker, .. } | RunEvent::TreeSetupFailed { worker, .. } => {
                self.end(worker);
            }
            // Added tests are judged again with the change.
            RunEvent::ChangeCaptured { task, attempt, commit, .. } => {
                self.changes.insert((task, attempt), vec![commit]);
            }
            RunEvent::ChangeFixed { task, attempt, commit, .. }
            | RunEvent::ChangeRebased { task, attempt, commit, .. } => {
                self.changes.entry((task, attempt)).or_default().push(commit);
            }
            RunEvent::GateReported { task, attempt, gate, verdict, asks, .. } => {
                self.gate_reported((task, attempt), gate, verdict, asks);
            }
            RunEvent::TaskMerged { task, attempt, .. } => self.task_merged(task, attempt),
            RunEvent::TaskDone { task, .. } => {
                let is_live = self.live.values().any(|live| *live == task);
                self.insist(!is_live, || format!("{task} is done while its worker is live"));
                self.done.insert(task);
            }
            RunEvent::CandidateChosen { task, attempt, candidate, commit, .. } => {
                let is_done = self.done.contains(&candidate);
                self.insist(is_done, || format!("{task} chooses {candidate}, which is not done"));
                self.changes.insert((task, attempt), vec![commit]);
            }
            RunEvent::TaskRetryRequested { task, .. } => {
                self.done.remove(&task);
                self.first_attempt.remove(&task);
                self.losses.retain(|(in_run, of, _), _| in_run != run || *of != task);
            }
            RunEvent::BudgetSet { budget, .. } => self.run(run).budget = budget,
            RunEvent::TurnBegun { worker, .. } => {
                self.begun.insert(worker.clone(), self.costs.get(&worker).copied().unwrap_or(0));
            }
            RunEvent::CostCounted { worker, total_micro_usd, .. } => {
                let cost = self.costs.entry(worker).or_default();
                *cost = total_micro_usd.max(*cost);
            }
            RunEvent::TreeRebased { worker, onto, .. } => {
                let before = self.onto.insert(worker, onto.clone());
                self.rebased += u64::from(before.is_some_and(|before| before != onto));
            }
            // No commit: git failed.
            RunEvent::TreeNotRebased { onto, .. } => self.failed_rebases += u64::from(onto.is_empty()),
            RunEvent::RunPaused { .. } => self.run(run).is_paused = true,
            RunEvent::RunResumed => self.run(run).is_paused = false,
            RunEvent::PlanRecorded { .. }
            | RunEvent::SetupChosen { .. }
            | RunEvent::LoopTurned { .. }
            | RunEvent::UnitExtended { .. }
            | RunEvent::BranchMoved { .. }
            | RunEvent::WorkerStarted { .. }
            | RunEvent::NothingChanged { .. }
            | RunEvent::TurnOmitted { .. }
            | RunEvent::StepAnswered { .. }
            | RunEvent::AnswerRefused { .. }
            | RunEvent::StepSkipped { .. }
            | RunEvent::MergeHeld { .. }
            | RunEvent::MergeReleased { .. }
            | RunEvent::MergeIntended { .. }
            | RunEvent::MergeConflicted { .. }
            | RunEvent::TaskBlocked { .. }
            | RunEvent::TaskDepFailed { .. }
            | RunEvent::TaskStopRequested { .. }
            | RunEvent::TaskBudgetSet { .. }
            | RunEvent::TaskRebaseRequested { .. }
            | RunEvent::BudgetAlert { .. }
            | RunEvent::TaskPaused { .. }
            | RunEvent::TaskResumed { .. }
            | RunEvent::LedSet { .. }
            | RunEvent::StepBegun { .. }
            | RunEvent::ScopeDeclared { .. }
            | RunEvent::RunStopRequested
            | RunEvent::RunConfigured { .. }
            | RunEvent::RunMergeIntended { .. }
            | RunEvent::RunMerged { .. }
            | RunEvent::RunMergeUndone { .. }
            | RunEvent::RunMergeAbandoned { .. }
            | RunEvent::RunCleanIntended { .. }
            | RunEvent::RunCleaned { .. }
            | RunEvent::RunCleanAbandoned { .. }
            | RunEvent::RunFinished { .. } => {}
        }
    }

    fn intended(&mut self, run: &str, task: TaskId, attempt: u32, worker: WorkerId) {
        let first = *self.first_attempt.entry(task.clone()).or_insert(attempt);
        self.insist(attempt < first + MAX_ATTEMPTS, || format!("{task} begins attempt {attempt}, from {first}"));
        self.insist(!self.ended.contains(&worker), || format!("{worker} is intended after its end"));
        let is_waiting = self.waiting.contains(&task);
        self.insist(!is_waiting, || format!("{worker} is intended for {task}, which waits for a person"));
        let is_paused = self.run(run).is_paused;
        self.insist(!is_paused, || format!("{worker} is intended in a paused run"));
        self.expect_budget(run, &worker);
        self.of_worker.insert(worker.clone(), run.to_owned());
        let is_new = self.live.insert(worker, task).is_none();
        let of = self.run(run);
        of.has_begun = true;
        of.live += usize::from(is_new);
        let (live, limit) = (of.live, of.max_workers);
        self.insist(live <= limit, || format!("{live} workers of a run are live, {limit} are allowed"));
        let (live, limit) = (self.live.len(), self.cap.unwrap_or(u32::MAX) as usize);
        self.insist(live <= limit, || format!("{live} workers are live, {limit} are allowed over all runs"));
        self.most_live = self.most_live.max(live as u64);
    }

    /// Checks at the start of a worker that what is spent and reserved does not exceed the ceiling.
    fn expect_budget(&mut self, run: &str, worker: &WorkerId) {
        let Some(budget) = self.run(run).budget else { return };
        let spent = self.spent_by(run);
        // Without a number, the reservation follows from the cost of workers, which is constant here, or from the
        // ceiling.
        let reserve = budget.reserve.unwrap_or(COST.min(budget.ceiling));
        let of = |costs: &BTreeMap<WorkerId, u64>, worker: &WorkerId| costs.get(worker).copied().unwrap_or(0);
        let cost = |worker: &WorkerId| of(&self.costs, worker) - of(&self.begun, worker);
        let is_of = |live: &&WorkerId| self.of_worker.get(*live).is_some_and(|of| of == run);
        let aside: u64 = self.live.keys().filter(is_of).map(|live| reserve.saturating_sub(cost(live))).sum();
        let taken = spent + aside + reserve;
        self.insist(taken <= budget.ceiling && spent < budget.ceiling, || {
            format!("{worker} starts with {spent} spent and {aside} set aside of {}", budget.ceiling)
        });
    }

    fn asked_to_confirm(&mut self, task: TaskId, attempt: u32, need: NeedId) {
        self.waiting.insert(task.clone());
        self.questions.insert(need, (task, attempt));
        self.waited += 1;
    }

    fn answered(&mut self, task: &TaskId, need: &NeedId, answer: PersonAnswer) {
        let about = self.questions.remove(need).filter(|_| answer == PersonAnswer::Allow);
        self.confirmed.extend(about);
        self.waiting.remove(task);
    }

    fn gate_reported(&mut self, key: (TaskId, u32), gate: String, verdict: Verdict, asks: bool) {
        if gate == CheckName::Secretscan.as_str() {
            if asks {
                self.odd.insert(key.clone());
            } else {
                self.odd.remove(&key);
            }
        }
        self.verdicts.entry(key).or_default().insert(gate, verdict);
    }

    /// Checks that a merged change was passed by all its gates, in truth and in the log, and that it is merged only
    /// once.
    fn task_merged(&mut self, task: TaskId, attempt: u32) {
        let is_new = self.merged.insert(task.clone());
        self.merges.push(task.clone());
        self.insist(is_new, || format!("{task} is merged twice"));
        let key = (task.clone(), attempt);
        let verdicts = self.verdicts.get(&key).cloned().unwrap_or_default();
        let is_open = |(gate, need): &(String, Need)| verdicts.get(gate).is_none_or(|verdict| !need.accepts(*verdict));
        let open = self.gates(&task).into_iter().find(is_open);
        self.insist(open.is_none(), || format!("{task} is merged without {open:?}"));
        let is_seen = !self.odd.contains(&key) || self.confirmed.contains(&key);
        self.insist(is_seen, || format!("{task} is merged though nobody looked at what a gate had found"));
        let changes = self.changes.get(&key).cloned().unwrap_or_default();
        let truth = changes.iter().rev().find_map(|commit| self.judged.get(&format!("{task}@{commit}")).copied());
        self.insist(truth == Some(true), || {
            format!("{task} is merged though the checks found {truth:?} in {changes:?}")
        });
    }

    /// Returns the gates on the way of a task, and what they need.
    fn gates(&mut self, task: &TaskId) -> Vec<(String, Need)> {
        let Some(way) = self.way(task) else { return Vec::new() };
        way.iter().filter_map(|step| Some((step.does.gate()?.to_string(), step.need))).collect()
    }

    /// Returns the steps of a task's way.
    fn way(&mut self, task: &TaskId) -> Option<Arc<[Step]>> {
        let way = self.walks.get(task).cloned().unwrap_or_else(|| (String::new(), Digest::ZERO));
        if let Some(read) = self.read.get(&way) {
            return Some(Arc::clone(read));
        }
        let text = self.ways.get(&way).map(String::as_str).unwrap_or_default();
        let steps: Option<Arc<[Step]>> = serde_json::from_str(text).ok().map(|way: Way| way.steps.into());
        self.insist(steps.is_some(), || format!("the way of {task} can't be read back"));
        self.read.extend(steps.clone().map(|steps| (way, steps)));
        steps
    }
}
