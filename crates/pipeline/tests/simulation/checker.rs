//! Rules for every history, checked from events alone.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_pipeline::paths::Pattern;
use switchboard_protocol::id::{Digest, NeedId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{Join, StepAction, UnitId, Way};
use switchboard_protocol::run::{
    AtCeiling, Budget, Effect, MAX_ATTEMPTS, MAX_RATE_WAITS, PauseCause, PersonAnswer, RunEvent, TurnOutcome, Verdict,
};

use super::reviews::Reviews;

#[derive(Default)]
pub(crate) struct Checker {
    max_workers: usize,
    ways: BTreeMap<Digest, Way>,
    /// Dependencies of each task: tasks, including all tasks of groups.
    depends: BTreeMap<TaskId, Vec<TaskId>>,
    /// Tasks that the members of a group wait for.
    barriers: BTreeMap<UnitId, Vec<TaskId>>,
    members: BTreeMap<UnitId, Vec<TaskId>>,
    writes: BTreeMap<TaskId, Vec<Pattern>>,
    reads: BTreeMap<TaskId, Vec<Pattern>>,
    gates: BTreeMap<TaskId, Way>,
    /// Parent task of each subtask.
    wholes: BTreeMap<TaskId, TaskId>,
    /// Tasks that are done without a merge of their own, with the attempt.
    done: BTreeMap<TaskId, u32>,
    /// Number of lines in the last captured change of each task.
    lines: BTreeMap<TaskId, u32>,
    chosen: BTreeMap<TaskId, BTreeSet<TaskId>>,
    merged: BTreeSet<TaskId>,
    live: BTreeSet<TaskId>,
    /// The last worker of each task.
    last: BTreeMap<TaskId, WorkerId>,
    /// Tasks that hold their files.
    begun: BTreeSet<TaskId>,
    verdicts: BTreeMap<(TaskId, u32, String, String), Verdict>,
    captured: BTreeMap<(TaskId, u32), Tree>,
    attempts: BTreeMap<TaskId, BTreeSet<u32>>,
    merging: Option<TaskId>,
    /// Task that has been rebased and is not merged yet.
    turn: Option<TaskId>,
    budget: Option<Budget>,
    /// Cost of workers at the beginning of their current turns.
    before_turn: BTreeMap<WorkerId, u64>,
    /// Tasks with a ceiling of their own.
    ceilings: BTreeMap<TaskId, u64>,
    /// Workers of each task, with those of its subtasks.
    workers: BTreeMap<TaskId, Vec<WorkerId>>,
    /// Cost of each worker so far.
    costs: BTreeMap<WorkerId, u64>,
    /// Active workers.
    at_work: BTreeSet<WorkerId>,
    pause: Option<PauseCause>,
    paused: BTreeSet<TaskId>,
    /// Tasks that wait for a person, with the question.
    asked: BTreeMap<TaskId, NeedId>,
    /// Tasks whose merge another agent's lease has held.
    leased: BTreeSet<TaskId>,
    /// Findings of gates in a tree that need a person's attention.
    notable: BTreeMap<(TaskId, u32, String), Notable>,
    /// Subject of each open question: task, attempt and findings.
    questions: BTreeMap<NeedId, (TaskId, u32, Notable)>,
    confirmed: BTreeSet<(TaskId, u32, Notable)>,
    /// Refused tree, with what each gate reported.
    refused: BTreeMap<(TaskId, u32), Refusals>,
    /// Rules about those who judge changes.
    pub(crate) reviews: Reviews,
    /// Number of transient model errors in a row of each task.
    model_failures: BTreeMap<TaskId, u32>,
    /// True if an agent leads the run.
    is_led: bool,
    /// Steps that the leading agent has begun, by attempt.
    begun_steps: BTreeSet<(TaskId, String, u32)>,
}

/// A refused tree, with the refusing gates and their reasons.
type Refusals = (String, BTreeSet<(String, Vec<String>)>);

/// Gates and their reasons.
type Notable = BTreeSet<(String, Vec<String>)>;

/// A captured change.
#[derive(Clone)]
struct Tree {
    commit: String,
    tree: String,
    base: String,
}

impl Tree {
    fn new(commit: &str, tree: &str, base: &str) -> Self {
        Self { commit: commit.to_owned(), tree: tree.to_owned(), base: base.to_owned() }
    }
}

impl Checker {
    /// Checks and records an accepted event; panics if it breaks a rule.
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    pub(crate) fn see(&mut self, event: &RunEvent) {
        self.reviews.see(event);
        self.count_model_failure(event);
        match event {
            RunEvent::RunStarted { max_workers, .. } => self.max_workers = *max_workers as usize,
            RunEvent::WayRecorded { way, text, .. } => {
                let recorded: Way = serde_json::from_str(text).expect("a way in one part");
                self.ways.insert(*way, recorded);
            }
            RunEvent::UnitAdded { unit, within, way, after, writes, reads, .. } => {
                self.added(unit, within.as_ref(), after);
                let Some(task) = unit.task() else { return };
                self.declares(task, writes, reads);
                self.gates.insert(task.clone(), self.ways[way].clone());
                self.reviews.added(task, &self.ways[way]);
            }
            RunEvent::WorkerIntended { task, step, attempt, worker } => {
                self.leave_turn(task);
                if self.reviews.is_asking(task, step) {
                    self.expect_gates(task, *attempt, &self.captured[&(task.clone(), *attempt)].tree);
                }
                self.intended(task, *attempt);
                assert!(self.pause.is_none() && !self.paused.contains(task), "{task} starts while it is paused");
                let begun = (task.clone(), step.to_string(), *attempt);
                assert!(!self.is_led || self.begun_steps.contains(&begun), "{task} starts before its step is begun");
                self.begins_work(task, worker);
            }
            // The task's worker waits or has ended, perhaps with a question to a person; no other worker uses the tree
            // meanwhile.
            RunEvent::TreeRebased { task, worker, .. } | RunEvent::TreeNotRebased { task, worker, .. } => {
                assert_eq!(self.last.get(task), Some(worker), "{task} is rebased below another worker");
            }
            RunEvent::WorkerLost { task, worker, .. }
            | RunEvent::TreeSetupFailed { task, worker, .. }
            | RunEvent::TurnEnded { task, worker, .. } => {
                assert!(!self.asked.contains_key(task), "{task} has a worker while it waits for a person");
                self.live.remove(task);
                self.at_work.remove(worker);
            }
            RunEvent::PersonAsked { task, worker, need, .. } => self.asks(task, worker, need),
            RunEvent::ConfirmationAsked { task, attempt, need, .. } => self.asks_to_confirm(task, *attempt, need),
            // A late answer to a withdrawn question changes nothing.
            RunEvent::PersonAnswered { task, need, answer, .. } if self.asked.get(task) == Some(need) => {
                self.asked.remove(task);
                let about = self.questions.remove(need).filter(|_| *answer == PersonAnswer::Allow);
                self.confirmed.extend(about);
            }
            RunEvent::BudgetSet { budget, .. } => self.budget = *budget,
            RunEvent::TaskBudgetSet { task, ceiling: Some(ceiling) } => {
                self.ceilings.insert(task.clone(), *ceiling);
            }
            RunEvent::TaskBudgetSet { task, ceiling: None } => drop(self.ceilings.remove(task)),
            RunEvent::CostCounted { worker, total_micro_usd, .. } => self.counted(worker, *total_micro_usd),
            RunEvent::TurnBegun { worker, .. } => {
                self.before_turn.insert(worker.clone(), self.costs.get(worker).copied().unwrap_or(0));
            }
            RunEvent::RunPaused { cause } => self.pause = self.pause.or(Some(*cause)),
            RunEvent::RunResumed => self.pause = None,
            RunEvent::TaskPaused { task, cause: _ } => {
                self.leave_turn(task);
                self.paused.insert(task.clone());
            }
            RunEvent::TaskResumed { task } => self.resumed(task),
            RunEvent::LedSet { is_led } => self.is_led = *is_led,
            RunEvent::StepBegun { task, step, attempt, by: _ } => {
                assert!(self.is_led, "{task} is begun in a run that nobody leads");
                assert!(!self.live.contains(task), "{task} is begun while it has a worker");
                self.begun_steps.insert((task.clone(), step.to_string(), *attempt));
            }
            RunEvent::ScopeDeclared { .. } => {}
            RunEvent::TaskDone { task, attempt, of } => self.task_done(task, *attempt, of.as_ref()),
            RunEvent::CandidateChosen { task, attempt, candidate, commit, .. } => {
                self.candidate_chosen(task, *attempt, candidate, commit);
            }
            RunEvent::ChangeCaptured { task, attempt, commit, tree, base, lines, .. } => {
                self.lines.insert(task.clone(), *lines);
                self.captured.insert((task.clone(), *attempt), Tree::new(commit, tree, base));
            }
            RunEvent::ChangeFixed { task, attempt, commit, tree, .. } => {
                let known =
                    self.captured.get_mut(&(task.clone(), *attempt)).expect("a change is mended that was captured");
                assert!(self.merging.as_ref() != Some(task), "{task} is mended while it is merged");
                (known.commit, known.tree) = (commit.clone(), tree.clone());
            }
            RunEvent::ChangeRebased { task, attempt, commit, tree, onto } => {
                assert!(self.turn.as_ref().is_none_or(|other| other == task), "one task at a time has its turn");
                self.turn = Some(task.clone());
                self.captured.insert((task.clone(), *attempt), Tree::new(commit, tree, onto));
            }
            RunEvent::GateReported { task, attempt, gate, verdict, asks, reasons, .. } => {
                self.gate_reported((task, *attempt), (gate, reasons), *verdict, *asks);
            }
            // A task that looked before another task's merge began may report the move late; that merge continues.
            RunEvent::BranchMoved { task, .. } => drop(self.merging.take_if(|merging| merging == task)),
            RunEvent::MergeIntended { task, attempt, commit, onto } => {
                self.merge_intended(task, *attempt, commit, onto)
            }
            RunEvent::TaskMerged { task, .. } => {
                assert_eq!(self.merging.take().as_ref(), Some(task));
                self.leave_turn(task);
                assert!(self.merged.insert(task.clone()), "{task} is merged once");
            }
            RunEvent::MergeConflicted { task, .. } => {
                self.merging = None;
                self.leave_turn(task);
            }
            RunEvent::MergeHeld { task, .. } => {
                assert_ne!(self.merging.as_ref(), Some(task), "{task} is held before its merge is intended");
                self.leave_turn(task);
                self.leased.insert(task.clone());
            }
            RunEvent::MergeReleased { task, .. } => {
                self.leased.remove(task);
            }
            RunEvent::TaskRetryRequested { task, .. } => self.retried(task),
            RunEvent::PersonAnswered { .. }
            | RunEvent::BudgetAlert { .. }
            | RunEvent::SetupChosen { .. }
            | RunEvent::LoopTurned { .. }
            | RunEvent::WorkerStarted { .. }
            | RunEvent::NothingChanged { .. }
            | RunEvent::TurnOmitted { .. }
            | RunEvent::StepAnswered { .. }
            | RunEvent::AnswerRefused { .. }
            | RunEvent::StepSkipped { .. }
            | RunEvent::PlanRecorded { .. }
            | RunEvent::UnitExtended { .. }
            | RunEvent::TaskBlocked { .. }
            | RunEvent::TaskDepFailed { .. }
            | RunEvent::TaskStopRequested { .. }
            | RunEvent::TaskRebaseRequested { .. }
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

    fn refused(&mut self, task: &TaskId, attempt: u32, (gate, reasons): (&str, &[String])) {
        let tree = self.captured[&(task.clone(), attempt)].tree.clone();
        let known = self.refused.entry((task.clone(), attempt)).or_insert_with(|| (tree.clone(), BTreeSet::new()));
        if known.0 != tree {
            *known = (tree, BTreeSet::new());
        }
        known.1.insert((gate.to_owned(), reasons.to_vec()));
    }

    fn gate_reported(
        &mut self,
        (task, attempt): (&TaskId, u32),
        (gate, reasons): (&str, &[String]),
        verdict: Verdict,
        asks: bool,
    ) {
        let tree = self.captured[&(task.clone(), attempt)].tree.clone();
        if asks {
            let notable = self.notable.entry((task.clone(), attempt, tree.clone())).or_default();
            notable.insert((gate.to_owned(), reasons.to_vec()));
        }
        let before = self.verdicts.insert((task.clone(), attempt, gate.to_owned(), tree), verdict);
        assert_eq!(before, None, "gate {gate} judges a tree of attempt {attempt} of {task} once");
        if !super::ways::need(gate).accepts(verdict) {
            self.refused(task, attempt, (gate, reasons));
            self.leave_turn(task);
        }
    }

    /// Records that the change waits for a person, while others may be merged.
    fn asks_to_confirm(&mut self, task: &TaskId, attempt: u32, need: &NeedId) {
        self.leave_turn(task);
        let before = self.asked.insert(task.clone(), need.clone());
        assert_eq!(before, None, "{task} asks one question at a time");
        let notable = self.notable_in(task, attempt);
        let about = (task.clone(), attempt, notable);
        assert!(!self.confirmed.contains(&about), "{task} asks again what was allowed");
        self.questions.insert(need.clone(), about);
    }

    fn notable_in(&self, task: &TaskId, attempt: u32) -> Notable {
        let tree = self.captured.get(&(task.clone(), attempt)).map(|captured| captured.tree.clone());
        let notable = tree.and_then(|tree| self.notable.get(&(task.clone(), attempt, tree)));
        notable.cloned().unwrap_or_default()
    }

    /// Checks that a person has approved the change if the task's way requires it.
    fn expect_confirmed(&self, task: &TaskId, attempt: u32) {
        let question = self.gates[task].steps.iter().find_map(|step| {
            let StepAction::Ask { question } = &step.does else { return None };
            Some(question)
        });
        let Some(question) = question else { return };
        let notable = self.notable_in(task, attempt);
        if question.is_some() || !notable.is_empty() {
            let about = (task.clone(), attempt, notable);
            assert!(self.confirmed.contains(&about), "{task} is merged without a yes to {:?}", about.2);
        }
    }

    /// Records that the worker has ended and a person is asked.
    fn asks(&mut self, task: &TaskId, worker: &WorkerId, need: &NeedId) {
        self.live.remove(task);
        self.at_work.remove(worker);
        let before = self.asked.insert(task.clone(), need.clone());
        assert_eq!(before, None, "{task} asks one question at a time");
    }

    fn retried(&mut self, task: &TaskId) {
        self.attempts.remove(task);
        self.chosen.remove(task);
        self.refused.retain(|(of, _), _| of != task);
        self.paused.remove(task);
    }

    fn counted(&mut self, worker: &WorkerId, total: u64) {
        let known = self.costs.entry(worker.clone()).or_default();
        *known = (*known).max(total);
    }

    /// Releases the files of a task after it and its subtasks are settled.
    pub(crate) fn let_go(&mut self, task: &TaskId) {
        self.begun.remove(task);
    }

    /// Checks that a settled task has no worker, no question and no merge under way.
    pub(crate) fn settled(&mut self, task: &TaskId) {
        self.leave_turn(task);
        assert!(!self.asked.contains_key(task), "{task} is settled with a question open");
        assert!(!self.live.contains(task), "{task} is settled with a worker at work");
        assert_ne!(self.merging.as_ref(), Some(task), "{task} is settled in the middle of a merge");
    }

    fn intended(&mut self, task: &TaskId, attempt: u32) {
        self.expect_dependencies(task);
        let holder = self.holder(task).clone();
        for other in self.begun.iter().filter(|other| **other != holder) {
            assert!(!self.clash(&holder, other), "{task} starts while {other} holds the same files");
            let is_apart = self.begun.contains(&holder) || self.waits_for_others(other);
            assert!(self.max_workers > 1 || is_apart, "{task} starts before {other} is settled, with one worker");
        }
        assert!(!self.asked.contains_key(task), "{task} starts while it waits for a person");
        self.begun.insert(holder);
        assert!(self.live.insert(task.clone()), "{task} has one worker at a time");
        assert!(self.live.len() <= self.max_workers, "no more workers than allowed");
        let before = |back: u32| self.refused.get(&(task.clone(), attempt.checked_sub(back)?));
        let is_repeated = before(1).is_some() && before(1) == before(2);
        assert!(!is_repeated, "{task} is tried again though its gates refused the same twice: {:?}", before(1));
        let attempts = self.attempts.entry(task.clone()).or_default();
        attempts.insert(attempt);
        assert!(attempts.len() <= MAX_ATTEMPTS as usize, "{task} has no sixth attempt");
    }

    /// Counts failures of models: too many in a row must hold a task, and a successful turn resets the count.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events say nothing about models")]
    fn count_model_failure(&mut self, event: &RunEvent) {
        match event {
            RunEvent::TurnEnded { task, outcome: TurnOutcome::ModelFailed, .. } => {
                let failures = self.model_failures.entry(task.clone()).or_default();
                *failures += 1;
                assert!(*failures <= MAX_RATE_WAITS + 1, "{task} goes on after {failures} errors of its models");
            }
            RunEvent::TurnEnded { task, outcome: TurnOutcome::Finished, .. } => drop(self.model_failures.remove(task)),
            RunEvent::TaskRetryRequested { .. } => self.model_failures.clear(),
            _ => {}
        }
    }

    /// Checks that the dependencies of a task are done, or enough of them.
    fn expect_dependencies(&self, task: &TaskId) {
        let quorums = self.quorums(task);
        let counts_some = !quorums.is_empty();
        let is_counted = |on: &TaskId| counts_some && on != self.holder(on) && self.holder(on) == self.holder(task);
        for on in self.depends[task].iter().filter(|on| !is_counted(on)) {
            let is_done = self.merged.contains(on) || self.done.contains_key(on);
            assert!(is_done, "{task} starts before {on} is done");
        }
        for (of, least) in &quorums {
            let done = of.iter().filter(|id| self.done.contains_key(*id)).count();
            assert!(done >= *least as usize, "{task} starts with {done} of {of:?} done, {least} are needed");
        }
    }

    /// Returns the task that holds files for a task.
    fn holder<'a>(&'a self, task: &'a TaskId) -> &'a TaskId {
        self.wholes.get(task).unwrap_or(task)
    }

    /// Records that a task continues, with its subtasks.
    fn resumed(&mut self, task: &TaskId) {
        let wholes = &self.wholes;
        self.paused.retain(|paused| paused != task && wholes.get(paused) != Some(task));
    }

    /// Returns the quorums of a task, each with its minimum.
    fn quorums(&self, task: &TaskId) -> Vec<(Vec<TaskId>, u32)> {
        let quorum = |does: &StepAction| {
            let StepAction::Units { join: Join::Quorum { of, least } } = does else { return None };
            Some((of.clone(), *least))
        };
        self.gates[task].steps.iter().filter_map(|step| quorum(&step.does)).collect()
    }

    /// Checks that a task without a merge of its own is done once, after its gates have passed it.
    fn task_done(&mut self, task: &TaskId, attempt: u32, of: Option<&TaskId>) {
        assert_eq!(self.wholes.get(task), of, "{task} says whose subtask it is");
        assert!(!self.live.contains(task), "{task} is done with a worker at work");
        if let Some(change) = self.captured.get(&(task.clone(), attempt)) {
            self.expect_gates(task, attempt, &change.tree);
        }
        assert_eq!(self.done.insert(task.clone(), attempt), None, "{task} is done once");
    }

    /// Checks that the best change was chosen among those not tried before: fewest warnings, then fewest lines.
    fn candidate_chosen(&mut self, task: &TaskId, attempt: u32, candidate: &TaskId, commit: &str) {
        let rank = |id: &TaskId| {
            let attempt = self.done[id];
            let tree = &self.captured[&(id.clone(), attempt)].tree;
            let warnings = self.verdicts.iter().filter(|((of, at, _, judged), verdict)| {
                of == id && *at == attempt && judged == tree && **verdict == Verdict::Warn
            });
            (warnings.count(), self.lines[id])
        };
        let tried = self.chosen.get(task).cloned().unwrap_or_default();
        let others = self.wholes.iter().filter(|(id, whole)| *whole == task && self.done.contains_key(*id));
        let best = others.map(|(id, _)| id).filter(|id| !tried.contains(*id)).map(&rank).min();
        assert_eq!(Some(rank(candidate)), best, "{task} takes the best change");
        let change = self.captured[&(candidate.clone(), self.done[candidate])].clone();
        assert_eq!(change.commit, commit, "it is the change of {candidate}");
        self.chosen.entry(task.clone()).or_default().insert(candidate.clone());
        self.captured.insert((task.clone(), attempt), change);
    }

    fn expect_gates(&self, task: &TaskId, attempt: u32, tree: &str) {
        for step in &self.gates[task].steps {
            let Some(gate) = step.does.gate() else { continue };
            let verdict = self.verdicts.get(&(task.clone(), attempt, gate.to_string(), tree.to_owned()));
            assert!(verdict.is_some_and(|verdict| step.need.accepts(*verdict)), "{task} passes {gate}: {verdict:?}");
        }
    }

    /// Checks that spending plus reservations don't exceed the ceiling when a worker starts.
    fn begins_work(&mut self, task: &TaskId, worker: &WorkerId) {
        self.expect_budget(task);
        self.expect_task_budget(task);
        self.at_work.insert(worker.clone());
        self.last.insert(task.clone(), worker.clone());
        self.workers.entry(self.holder(task).clone()).or_default().push(worker.clone());
    }

    /// Checks that a pausing budget prevents workers for tasks that have reached their ceiling.
    fn expect_task_budget(&self, task: &TaskId) {
        if self.budget.is_some_and(|budget| budget.at_ceiling != AtCeiling::Pause) {
            return;
        }
        let own = self.ceilings.get(self.holder(task)).copied();
        let ceiling = own.or_else(|| self.budget?.task);
        let (Some(ceiling), Some(workers)) = (ceiling, self.workers.get(self.holder(task))) else { return };
        let spent: u64 = workers.iter().filter_map(|worker| self.costs.get(worker)).sum();
        assert!(spent < ceiling, "{task} starts with {spent} of {ceiling} spent");
    }

    fn expect_budget(&self, task: &TaskId) {
        let Some(budget) = self.budget.filter(|budget| budget.at_ceiling != AtCeiling::Warn) else { return };
        let reserve = budget.reserve.expect("these budgets say it");
        let of = |costs: &BTreeMap<WorkerId, u64>, worker: &WorkerId| costs.get(worker).copied().unwrap_or(0);
        // Each turn has its own reservation.
        let cost = |worker: &WorkerId| of(&self.costs, worker) - of(&self.before_turn, worker);
        let spent: u64 = self.costs.values().sum();
        let aside: u64 = self.at_work.iter().map(|worker| reserve.saturating_sub(cost(worker))).sum();
        assert!(spent < budget.ceiling, "{task} starts with {spent} of {} spent", budget.ceiling);
        assert!(spent + aside + reserve <= budget.ceiling, "{task} starts with {spent} spent and {aside} set aside");
    }

    fn merge_intended(&mut self, task: &TaskId, attempt: u32, commit: &str, onto: &str) {
        assert_eq!(self.merging, None, "one merge at a time");
        assert!(self.turn.as_ref().is_none_or(|other| other == task), "{task} is merged in another's turn");
        let change = &self.captured[&(task.clone(), attempt)];
        assert_eq!(change.commit, commit, "what is merged is what was captured");
        assert_eq!(change.base, onto, "it stands on the branch's head");
        self.expect_gates(task, attempt, &change.tree);
        self.reviews.expect_accepted(task);
        self.expect_confirmed(task, attempt);
        self.merging = Some(task.clone());
    }

    fn added(&mut self, unit: &UnitId, within: Option<&UnitId>, after: &[UnitId]) {
        let tasks_of = |unit: &UnitId| match unit.task() {
            Some(task) => vec![task.clone()],
            None => self.members.get(unit).cloned().unwrap_or_default(),
        };
        let mut waits: Vec<TaskId> = after.iter().flat_map(tasks_of).collect();
        let Some(task) = unit.task() else {
            self.barriers.insert(unit.clone(), waits);
            return;
        };
        if let Some(UnitId::Task(whole)) = within {
            waits.extend(self.depends[whole].iter().filter(|on| self.wholes.get(*on) != Some(whole)).cloned());
            self.wholes.insert(task.clone(), whole.clone());
            self.depends.entry(whole.clone()).or_default().push(task.clone());
        } else if let Some(group) = within {
            waits.extend(self.barriers[group].iter().cloned());
            self.members.entry(group.clone()).or_default().push(task.clone());
        }
        self.depends.insert(task.clone(), waits);
    }

    fn leave_turn(&mut self, task: &TaskId) {
        if self.turn.as_ref() == Some(task) {
            self.turn = None;
        }
    }

    fn declares(&mut self, task: &TaskId, writes: &[String], reads: &[String]) {
        let parsed = |path: &String| Pattern::parse(path).expect("a safe path");
        self.writes.entry(task.clone()).or_default().extend(writes.iter().map(parsed));
        self.reads.entry(task.clone()).or_default().extend(reads.iter().map(parsed));
    }

    fn clash(&self, a: &TaskId, b: &TaskId) -> bool {
        let meet = |these: &[Pattern], those: &[Pattern]| these.iter().any(|x| those.iter().any(|y| x.overlaps(y)));
        let (of_a, of_b) = (&self.writes[a], &self.writes[b]);
        meet(of_a, of_b) || meet(of_a, &self.reads[b]) || meet(&self.reads[a], of_b)
    }

    /// Returns true if a begun task waits for a person or for another agent's lease, and neither it nor a subtask has a
    /// worker that isn't paused.
    fn waits_for_others(&self, task: &TaskId) -> bool {
        let is_of = |other: &TaskId| self.holder(other) == task;
        let mut waiting = self.paused.iter().chain(self.asked.keys()).chain(&self.leased);
        let is_at_work = self.live.iter().any(|live| is_of(live) && !self.paused.contains(live));
        waiting.any(is_of) && (self.paused.contains(task) || !is_at_work)
    }

    /// Checks that no worker stays free while a task is ready and its files are not held.
    pub(crate) fn keeps_workers_busy(&self, ready: &[TaskId], effects: &[Effect]) {
        if self.budget.is_some() || self.pause.is_some() {
            return;
        }
        let ready: Vec<_> = ready
            .iter()
            .filter(|task| !self.paused.contains(task) && !self.paused.contains(self.holder(task)))
            .collect();
        let starts: Vec<_> = effects.iter().filter_map(starting).collect();
        if self.live.len() + starts.len() >= self.max_workers {
            assert!(
                self.live.len() + starts.len() == self.max_workers.max(self.live.len()),
                "no more starts than workers"
            );
            return;
        }
        let holders: Vec<_> = self.begun.iter().chain(starts.iter().map(|start| self.holder(start))).collect();
        for task in ready.into_iter().filter(|task| !starts.contains(task)) {
            let whole = self.holder(task);
            let others = || holders.iter().filter(|holder| **holder != whole);
            let held = others().any(|holder| self.clash(whole, holder));
            let is_first = !self.begun.contains(whole);
            let waits = |holder: &TaskId| self.paused.contains(holder) || self.asked.contains_key(holder);
            let alone = self.max_workers == 1 && is_first && others().any(|holder| !waits(holder));
            assert!(held || alone, "{task} is ready, unhindered and not started; holders {holders:?}");
        }
    }
}

pub(crate) fn starting(effect: &Effect) -> Option<&TaskId> {
    match effect {
        Effect::StartWorker { task, .. } => Some(task),
        Effect::Capture { .. }
        | Effect::TakeAnswer { .. }
        | Effect::RunChecks { .. }
        | Effect::FixLint { .. }
        | Effect::RunCommand { .. }
        | Effect::Merge { .. }
        | Effect::AwaitLease { .. }
        | Effect::AskPerson { .. }
        | Effect::AwaitAnswer { .. }
        | Effect::WithdrawQuestion { .. }
        | Effect::StopWorker { .. }
        | Effect::RebaseTree { .. }
        | Effect::Finish { .. } => None,
    }
}
