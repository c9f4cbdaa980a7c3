//! A simulated world that carries out effects: slowly, in any order, and sometimes wrongly.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use switchboard_pipeline::run::{OpenStep, Refused, RunState};
use switchboard_protocol::event::Fact;
use switchboard_protocol::id::{AgentName, Digest, NeedId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{Need, StepAction, StepId, UnitId, Way};
use switchboard_protocol::run::{
    AtCeiling, Budget, CheckAsked, Effect, EffectKey, HeldBy, PauseCause, PersonAnswer, RunEvent, RunOutcome,
    StartFrom, StopCause, TaskPauseCause, TaskState, TurnOutcome, Verdict,
};
use switchboard_protocol::time::Millis;

use super::checker::{Checker, starting};
use super::draw::{chance, pick};
use super::team::{self, AwaitedAnswer, Mistake};
use super::ways::{self, End, Kind, Subtask};

/// How the world treats the run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerBehaviour {
    /// Nothing fails.
    Kind,
    /// Everything fails now and then.
    Rough,
}

/// Work in progress outside of the run.
#[derive(Clone)]
enum Job {
    /// An effect that has not begun.
    Todo(Box<Effect>),
    /// A worker that was intended and may start.
    Spawn { task: TaskId, worker: WorkerId },
    /// An active worker.
    Work { task: TaskId, worker: WorkerId },
    /// Gates that are still running.
    Judge { key: EffectKey, task: TaskId, attempt: u32, checks: Vec<CheckAsked> },
    /// A merge that was intended.
    Merge { task: TaskId, attempt: u32, onto: String },
}

pub(crate) struct World {
    seed: u64,
    pub(super) rng: Rng,
    pub(super) behaviour: WorkerBehaviour,
    pub(super) mistake: Option<Mistake>,
    now: i64,
    pub(super) state: RunState,
    /// State folded from the log alone, event by event; only in one history of eight, since it is slow.
    replayed: Option<RunState>,
    log: Vec<(RunEvent, Millis)>,
    pub(super) checker: Checker,
    /// Correct ways, by the digest of those that the machine walks.
    ways: BTreeMap<Digest, Way>,
    /// Question to each worker of an answering step.
    pub(super) asked: BTreeMap<WorkerId, AwaitedAnswer>,
    /// The answers that the run waits for.
    pub(super) awaited: BTreeMap<TaskId, AwaitedAnswer>,
    /// Answers that were taken so far.
    pub(super) answers: Vec<RunEvent>,
    jobs: Vec<Job>,
    under_way: BTreeSet<EffectKey>,
    names: usize,
    retries: usize,
    /// True if an agent sometimes leads the run.
    is_led_at_times: bool,
    /// Probability per step, in thousandths, that the daemon is killed.
    pub(crate) restarts: usize,
    changed: bool,
    looked: Millis,
    /// Head of the run's branch.
    head: String,
    /// Start commit of each task's worker.
    pub(super) bases: BTreeMap<TaskId, String>,
    /// Last tree of each task.
    pub(super) trees: BTreeMap<TaskId, String>,
}

impl World {
    pub(crate) fn new(seed: u64, behaviour: WorkerBehaviour) -> Self {
        Self::with(seed, behaviour, None)
    }

    /// Creates a world whose machine makes a mistake.
    pub(crate) fn with(seed: u64, behaviour: WorkerBehaviour, mistake: Option<Mistake>) -> Self {
        let mut world = Self {
            seed,
            rng: Rng::with_seed(seed),
            behaviour,
            mistake,
            now: 0,
            state: RunState::new(),
            replayed: seed.is_multiple_of(8).then(RunState::new),
            log: Vec::new(),
            checker: Checker::default(),
            ways: BTreeMap::new(),
            asked: BTreeMap::new(),
            awaited: BTreeMap::new(),
            answers: Vec::new(),
            jobs: Vec::new(),
            under_way: BTreeSet::new(),
            names: 0,
            retries: 0,
            is_led_at_times: seed.is_multiple_of(5) && behaviour == WorkerBehaviour::Rough && mistake.is_none(),
            restarts: 5,
            changed: true,
            looked: Millis(0),
            head: "b".to_owned(),
            bases: BTreeMap::new(),
            trees: BTreeMap::new(),
        };
        for event in world.opening() {
            world.tell(event).expect("the opening is accepted");
        }
        if world.goes_wrong(300) {
            let budget = world.budget();
            world.surely(RunEvent::BudgetSet { budget, plan: None, day: false });
        }
        world
    }

    pub(super) const fn now(&self) -> i64 {
        self.now
    }

    pub(crate) fn state(&self) -> &RunState {
        &self.state
    }

    pub(crate) fn log(&self) -> &[(RunEvent, Millis)] {
        &self.log
    }

    /// Plays until the run is finished and no task is retried.
    pub(crate) fn play(&mut self) -> RunOutcome {
        for _ in 0..20_000 {
            self.look_around();
            if self.jobs.is_empty() && self.state.outcome().is_some() && !self.try_again() {
                self.compare_with_replay();
                self.checker.reviews.expect_no_one_held();
                return self.state.outcome().expect("it is finished");
            }
            self.interfere();
            self.work();
        }
        let states: Vec<_> = self.state.tasks().map(|view| (view.task, view.state)).collect();
        panic!("the history doesn't end: {states:?}");
    }

    fn opening(&mut self) -> Vec<RunEvent> {
        const PATHS: [&str; 9] =
            ["src/a.rs", "src/b.rs", "src", "src/*.rs", "lib/x.rs", "lib/**", "docs/a.md", "**/*.md", "d.txt"];
        let tasks = 1 + self.rng.usize(..18);
        let density = self.rng.usize(..400);
        let id = |n: usize| TaskId::new(format!("{}.{}", 1 + n / 7, 1 + n % 7)).expect("an id");
        let max_workers = 1 + self.rng.usize(..5) as u32;
        let mut events = Vec::new();
        let mut known = BTreeSet::new();
        let is_barrier = chance(&mut self.rng, 500);
        let phases = if chance(&mut self.rng, 500) { tasks.div_ceil(7) as u64 } else { 0 };
        for phase in 1..=phases {
            let after = if phase > 1 && is_barrier { vec![UnitId::Phase(phase - 1)] } else { Vec::new() };
            ways::record(&ways::group(), &mut known, &mut events);
            let way = ways::group().digest().expect("a way");
            let (unit, within, writes, reads) = (UnitId::Phase(phase), None, Vec::new(), Vec::new());
            events.push(RunEvent::UnitAdded { unit, within, way, after, writes, reads, timeout_ms: None });
        }
        for n in 0..tasks {
            let after = (0..n).filter(|_| chance(&mut self.rng, density)).map(id).map(UnitId::Task).collect();
            let mut paths = || (0..self.rng.usize(..3)).map(|_| (*pick(&mut self.rng, &PATHS)).to_owned()).collect();
            let (writes, reads) = (paths(), paths());
            let way = ways::task(self.rng.usize(..4));
            let way = self.record_way(way, &mut known, &mut events);
            let timeout_ms = self.goes_wrong(500).then_some(200);
            let within = (phases > 0).then_some(UnitId::Phase(1 + n as u64 / 7));
            let unit = UnitId::Task(id(n));
            let alone = RunEvent::UnitAdded { unit, within, way, after, writes, reads, timeout_ms };
            let added = match chance(&mut self.rng, 250) {
                true => self.shared(&id(n), alone, (&mut known, &mut events)),
                false => vec![alone],
            };
            events.extend(added);
        }
        let (title, plan_hash, base) = ("t".to_owned(), "h".to_owned(), "b".to_owned());
        let parts = events.len() as u32;
        events.insert(0, RunEvent::RunStarted { title, plan_hash, base, parts, max_workers });
        events
    }

    /// Records the way of a task, with a team in a third of the cases; returns its digest.
    fn record_way(&mut self, way: Way, known: &mut BTreeSet<Digest>, events: &mut Vec<RunEvent>) -> Digest {
        let is_merged = way.steps.iter().any(|step| step.does == StepAction::Merge);
        let way = if is_merged && chance(&mut self.rng, 400) { team::with_team(way, &mut self.rng) } else { way };
        let walked = self.mistake.map_or_else(|| way.clone(), |mistake| mistake.walks(way.clone()));
        ways::record(&walked, known, events);
        let digest = walked.digest().expect("a way");
        self.ways.insert(digest, way);
        digest
    }

    /// Returns a task that several workers share, as a chain, candidates, or a debate of two rounds; or one that
    /// results in a report.
    fn shared(
        &mut self,
        whole: &TaskId,
        mut added: RunEvent,
        (known, events): (&mut BTreeSet<Digest>, &mut Vec<RunEvent>),
    ) -> Vec<RunEvent> {
        let gates = self.rng.usize(..4);
        let count = 2 + self.rng.usize(..2);
        let (kind, subtasks) = match self.rng.usize(..4) {
            0 => ways::chain(whole, count),
            1 => ways::best_of(whole, count),
            2 => ways::debate(whole, count, 1 + self.rng.u32(..2)),
            _ => (Kind { end: End::Report, ..Kind::default() }, Vec::new()),
        };
        let mut digest = |kind: &Kind| self.record_way(ways::special(gates, kind), known, events);
        if let RunEvent::UnitAdded { way, .. } = &mut added {
            *way = digest(&kind);
        }
        let subtask = |(id, after, kind): Subtask| RunEvent::UnitAdded {
            unit: UnitId::Task(id),
            within: Some(UnitId::Task(whole.clone())),
            way: digest(&kind),
            after: after.into_iter().map(UnitId::Task).collect(),
            writes: Vec::new(),
            reads: Vec::new(),
            timeout_ms: None,
        };
        let subtasks: Vec<_> = subtasks.into_iter().map(subtask).collect();
        [added].into_iter().chain(subtasks).collect()
    }

    /// Folds an event that has happened, and records its consequences.
    pub(super) fn tell(&mut self, event: RunEvent) -> Result<(), Refused> {
        let now = Millis(self.now);
        let before = chance(&mut self.rng, 40).then(|| self.state.clone());
        let folded = self.mistake.map_or_else(|| event.clone(), |mistake| mistake.believes(&event, &self.awaited));
        let consequences = match self.state.step(&folded, now) {
            Ok(consequences) => consequences,
            Err(refused) => {
                assert!(before.is_none_or(|before| self.state == before), "a refused event changes nothing: {event:?}");
                return Err(refused);
            }
        };
        if let Some(before) = before.filter(|_| self.mistake.is_none()) {
            another_attempt_changes_nothing(&before, &event, now);
        }
        self.note(event, folded, &consequences);
        Ok(())
    }

    /// Records an event as it happened, as it was folded, and its consequences; checks that folding the log alone
    /// results in the same state.
    pub(super) fn note(&mut self, event: RunEvent, folded: RunEvent, consequences: &[RunEvent]) {
        self.replay(&folded);
        self.observe(event, folded);
        for consequence in consequences {
            let more = self.replay(consequence);
            assert!(more.is_empty(), "a consequence has none of its own: {consequence:?}");
            self.observe(consequence.clone(), consequence.clone());
        }
        assert!(
            self.replayed.as_ref().is_none_or(|replayed| *replayed == self.state),
            "folding the log rebuilds the state"
        );
    }

    fn replay(&mut self, event: &RunEvent) -> Vec<RunEvent> {
        let now = Millis(self.now);
        let Some(replayed) = &mut self.replayed else { return Vec::new() };
        replayed.step(event, now).expect("what was accepted once is accepted again")
    }

    fn observe(&mut self, mut event: RunEvent, folded: RunEvent) {
        if let RunEvent::WayRecorded { way, text, .. } = &mut event
            && let Some(meant) = self.ways.get(way)
        {
            *text = serde_json::to_string(meant).expect("a way");
        }
        self.checker.see(&event);
        let told: Vec<_> = match (&event, event.task()) {
            (RunEvent::RunStopRequested, _) => self.state.tasks().collect(),
            (_, task) => task.and_then(|task| self.state.task(task)).into_iter().collect(),
        };
        for task in told.iter().filter(|task| task.state.is_settled()) {
            self.checker.settled(&task.task);
            let holder = self.state.parent_of(&task.task).unwrap_or(&task.task).clone();
            let is_own = |id: &TaskId| *id == holder || self.state.parent_of(id) == Some(&holder);
            if self.state.tasks().filter(|task| is_own(&task.task)).all(|task| task.state.is_settled()) {
                self.checker.let_go(&holder);
            }
        }
        self.log.push((folded, Millis(self.now)));
        self.changed = true;
    }

    /// Reads the effects, and adds those that are not in progress.
    fn look_around(&mut self) {
        if !self.changed && self.state.next_deadline(self.looked).is_none_or(|deadline| deadline.0 > self.now) {
            return;
        }
        self.changed = false;
        self.looked = Millis(self.now);
        let effects = self.state.decide(self.looked);
        self.awaited = team::awaited(&effects);
        let keys: BTreeSet<_> = effects.iter().map(Effect::key).collect();
        assert_eq!(keys.len(), effects.len(), "an effect is named once");
        if !self.state.is_stopping() {
            let waits_for_seat = |task: &TaskId| self.state.is_led() && self.state.open_step(task).is_some();
            let ready = self.state.tasks().filter(|task| task.state == TaskState::Ready && !waits_for_seat(&task.task));
            let ready: Vec<_> = ready.map(|task| task.task).collect();
            self.checker.keeps_workers_busy(&ready, &effects);
        } else {
            assert!(effects.iter().all(|effect| starting(effect).is_none()), "a stopping run starts nothing");
        }
        for effect in effects {
            if self.under_way.insert(effect.key()) {
                self.jobs.push(Job::Todo(Box::new(effect)));
            }
        }
    }

    /// Advances one job.
    fn work(&mut self) {
        self.now += self.rng.usize(..30) as i64;
        if self.jobs.is_empty() {
            return;
        }
        let at = self.rng.usize(..self.jobs.len());
        match self.jobs.swap_remove(at) {
            Job::Todo(effect) => self.begin(*effect),
            Job::Spawn { task, worker } => self.spawn(task, worker),
            Job::Work { task, worker } => self.end_work(task, worker),
            Job::Judge { key, task, attempt, checks } => self.judge(key, task, attempt, checks),
            Job::Merge { task, attempt, onto } => self.merge(task, attempt, &onto),
        }
    }

    fn begin(&mut self, effect: Effect) {
        let key = effect.key();
        match effect {
            Effect::StartWorker { task, step, work, attempt, .. } if self.is_skipped(&task, &step) => {
                self.skip(task, step, attempt, work.input);
            }
            Effect::StartWorker { task, step, work, attempt, from, resume, .. } => {
                let worker = WorkerId::from_bits(self.rng.u64(..));
                self.begin_on(&task, from, resume);
                self.ask_about(
                    &worker,
                    AwaitedAnswer { step: step.clone(), attempt, worker: worker.clone(), input: work.input },
                );
                let intended = RunEvent::WorkerIntended { task: task.clone(), step, attempt, worker: worker.clone() };
                if self.tell(intended).is_ok() {
                    self.jobs.push(Job::Spawn { task, worker });
                }
            }
            Effect::Capture { task, worker, .. } if self.goes_wrong(30) => self.ask(task, worker),
            Effect::Capture { task, attempt, .. } => self.capture(task, attempt),
            Effect::TakeAnswer { task, worker, .. } if self.goes_wrong(30) => self.ask(task, worker),
            Effect::TakeAnswer { task, step, work, attempt, worker, input } => {
                self.take_answer(task, AwaitedAnswer { step, attempt, worker, input }, !work.writes.is_empty());
            }
            Effect::RunChecks { task, attempt, checks, .. } => {
                // In progress until the last gate has reported.
                self.jobs.push(Job::Judge { key, task, attempt, checks });
                return;
            }
            Effect::FixLint { task, attempt, .. } => self.fix_lint(task, attempt),
            Effect::RunCommand { task, attempt, .. } => self.rebase(task, attempt),
            Effect::Merge { task, attempt, base, .. } if base == self.head && self.goes_wrong(40) => {
                let _refused = self.tell(RunEvent::MergeHeld { task, attempt, lease: lease(attempt) });
            }
            Effect::AskPerson { task, attempt, input, .. } => {
                let need = NeedId::from_bits(self.rng.u64(..));
                let reason = "may it be merged?".to_owned();
                let _refused = self.tell(RunEvent::ConfirmationAsked { task, attempt, need, input, reason });
            }
            Effect::AwaitAnswer { task, need } => {
                const ANSWERS: [PersonAnswer; 4] =
                    [PersonAnswer::Allow, PersonAnswer::Retry, PersonAnswer::GiveUp, PersonAnswer::Expired];
                let yes = self.behaviour == WorkerBehaviour::Kind || chance(&mut self.rng, 600);
                let answer = if yes { PersonAnswer::Allow } else { *pick(&mut self.rng, &ANSWERS) };
                let _refused = self.tell(RunEvent::PersonAnswered { task, need, answer, note: String::new() });
            }
            Effect::WithdrawQuestion { task, need } => {
                let (answer, note) = (PersonAnswer::Withdrawn, String::new());
                let _refused = self.tell(RunEvent::PersonAnswered { task, need, answer, note });
            }
            Effect::AwaitLease { task, attempt, lease: known, .. } => {
                let again = self.goes_wrong(200) && known != lease(0);
                let event = match again {
                    true => RunEvent::MergeHeld { task, attempt, lease: lease(0) },
                    false => RunEvent::MergeReleased { task, attempt },
                };
                let _refused = self.tell(event);
            }
            Effect::Merge { task, attempt, commit, base } if base == self.head => {
                let onto = base;
                let intended = RunEvent::MergeIntended { task: task.clone(), attempt, commit, onto: onto.clone() };
                if self.tell(intended).is_ok() {
                    self.jobs.push(Job::Merge { task, attempt, onto });
                }
            }
            Effect::Merge { task, base, .. } => {
                let _refused = self.tell(RunEvent::BranchMoved { task, from: base, head: self.head.clone() });
            }
            Effect::RebaseTree { task, worker } => {
                let (onto, start) = (self.head.clone(), self.head.clone());
                let event = match chance(&mut self.rng, 700) {
                    true => RunEvent::TreeRebased { task, worker, onto, start },
                    false => RunEvent::TreeNotRebased { task, worker, onto, files: vec!["a".to_owned()] },
                };
                let _refused = self.tell(event);
            }
            Effect::StopWorker { task, worker, cause, grace_ms: _ } => self.stop(task, worker, cause),
            Effect::Finish { outcome } => {
                // A retry may have happened in between.
                let _refused = self.tell(RunEvent::RunFinished { outcome });
            }
        }
        self.under_way.remove(&key);
        self.changed = true;
    }

    fn spawn(&mut self, task: TaskId, worker: WorkerId) {
        if self.goes_wrong(60) {
            self.surely(RunEvent::WorkerLost { task, worker, reason: "no such program".to_owned() });
            return;
        }
        if self.goes_wrong(20) {
            self.surely(RunEvent::TreeSetupFailed { task, worker, reason: "no network".to_owned() });
            return;
        }
        self.surely(RunEvent::WorkerStarted { task: task.clone(), worker: worker.clone() });
        self.jobs.push(Job::Work { task, worker });
    }

    fn end_work(&mut self, task: TaskId, worker: WorkerId) {
        if self.goes_wrong(60) {
            self.answer_early(&task, &worker);
        }
        if self.goes_wrong(60) {
            self.surely(RunEvent::WorkerLost { task, worker, reason: "killed".to_owned() });
            return;
        }
        if self.goes_wrong(700) {
            let total_micro_usd = self.rng.u64(..60);
            let (task, worker) = (task.clone(), worker.clone());
            self.surely(RunEvent::CostCounted { task, worker, total_micro_usd, estimated: false });
        }
        if self.goes_wrong(200) {
            self.surely(RunEvent::TurnBegun { task: task.clone(), worker: worker.clone(), turn: 2 });
        }
        if self.goes_wrong(60) {
            self.ask(task, worker);
            return;
        }
        let outcome = match self.goes_wrong(200) {
            false => TurnOutcome::Finished,
            true => *pick(
                &mut self.rng,
                &[
                    TurnOutcome::Failed,
                    TurnOutcome::Refused,
                    TurnOutcome::Stopped,
                    TurnOutcome::RateLimited,
                    TurnOutcome::ModelFailed,
                ],
            ),
        };
        self.surely(RunEvent::TurnEnded { task, worker, outcome, reason: "so it was".to_owned() });
    }

    /// Ends a worker because something was denied to it.
    pub(super) fn ask(&mut self, task: TaskId, worker: WorkerId) {
        let need = NeedId::from_bits(self.rng.u64(..));
        let _refused = self.tell(RunEvent::PersonAsked { task, worker, need, reason: "npm test".to_owned() });
    }

    /// Stops a worker, if it still exists.
    fn stop(&mut self, task: TaskId, worker: WorkerId, cause: StopCause) {
        let theirs = |job: &Job| match job {
            Job::Spawn { worker: w, .. } | Job::Work { worker: w, .. } => *w == worker,
            Job::Todo(_) | Job::Judge { .. } | Job::Merge { .. } => false,
        };
        let Some(at) = self.jobs.iter().position(theirs) else { return };
        match self.jobs.swap_remove(at) {
            Job::Work { .. } if chance(&mut self.rng, 800) => {
                let outcome = match cause {
                    StopCause::Requested | StopCause::Ceiling | StopCause::Violation => TurnOutcome::Stopped,
                    StopCause::TimedOut => TurnOutcome::TimedOut,
                    StopCause::Budget => TurnOutcome::Paused,
                };
                self.surely(RunEvent::TurnEnded { task, worker, outcome, reason: "stopped".to_owned() });
            }
            Job::Todo(_) | Job::Spawn { .. } | Job::Work { .. } | Job::Judge { .. } | Job::Merge { .. } => {
                self.surely(RunEvent::WorkerLost { task, worker, reason: "killed".to_owned() });
            }
        }
    }

    /// Captures a change. If the task was stopped meanwhile, the event has no effect.
    fn capture(&mut self, task: TaskId, attempt: u32) {
        let task_of_capture = task.clone();
        let event = match self.goes_wrong(100) {
            true => RunEvent::NothingChanged { task, attempt, step: None, why: String::new() },
            false => RunEvent::ChangeCaptured {
                task,
                attempt,
                commit: self.name(),
                tree: self.tree(&task_of_capture),
                base: self.bases[&task_of_capture].clone(),
                files: vec!["src/a.rs".to_owned()],
                files_total: 1,
                lines: 1 + self.rng.u32(..3),
                left_out: Vec::new(),
            },
        };
        let _refused = self.tell(event);
    }

    fn fix_lint(&mut self, task: TaskId, attempt: u32) {
        let (commit, tree) = (self.name(), self.tree(&task));
        let (files, files_total, told) = (Vec::new(), 1, Vec::new());
        let _refused = self.tell(RunEvent::ChangeFixed { task, attempt, commit, tree, files, files_total, told });
    }

    /// Returns the tree of a change: in half of the cases the task's previous tree.
    fn tree(&mut self, task: &TaskId) -> String {
        let known = self.trees.get(task).cloned().filter(|_| self.behaviour == WorkerBehaviour::Rough);
        let known = known.filter(|_| chance(&mut self.rng, 500));
        let tree = known.unwrap_or_else(|| self.name());
        self.trees.insert(task.clone(), tree.clone());
        tree
    }

    fn judge(&mut self, key: EffectKey, task: TaskId, attempt: u32, mut checks: Vec<CheckAsked>) {
        let CheckAsked { gate, input, .. } = checks.swap_remove(self.rng.usize(..checks.len()));
        let verdict = match (self.goes_wrong(150), ways::need(&gate)) {
            (true, _) => *pick(&mut self.rng, &[Verdict::Fail, Verdict::Error, Verdict::NoReply]),
            (false, Need::Required) => *pick(&mut self.rng, &[Verdict::Pass, Verdict::Warn, Verdict::Skipped]),
            (false, Need::IfConfigured | Need::Advisory) => {
                *pick(&mut self.rng, &[Verdict::Pass, Verdict::NotConfigured])
            }
        };
        let (reasons, input) = (vec!["because".to_owned()], Some(input));
        let asks = verdict == Verdict::Warn && chance(&mut self.rng, 500);
        let halts = verdict == Verdict::Fail && chance(&mut self.rng, 20);
        let report = RunEvent::GateReported { task: task.clone(), attempt, gate, input, verdict, asks, halts, reasons };
        if self.tell(report).is_ok() && !checks.is_empty() {
            self.jobs.push(Job::Judge { key, task, attempt, checks });
        } else {
            self.under_way.remove(&key);
        }
    }

    /// Sets the commit that a worker's change is based on.
    fn begin_on(&mut self, task: &TaskId, from: StartFrom, resume: bool) {
        let base = match (from, self.bases.get(task)) {
            (_, Some(base)) if resume => base.clone(),
            (StartFrom::Change { base, .. }, _) if !base.is_empty() => base,
            (StartFrom::Change { .. } | StartFrom::RunHead | StartFrom::Rebased { .. }, _) => self.head.clone(),
        };
        self.bases.insert(task.clone(), base);
    }

    /// Rebases a change. The task may have been stopped meanwhile.
    /// A task that is being merged needs no rebase: an engine carries out only one of both at a time.
    fn rebase(&mut self, task: TaskId, attempt: u32) {
        if self.state.task(&task).is_some_and(|view| matches!(view.state, TaskState::Merging { .. })) {
            return;
        }
        let event = match self.goes_wrong(200) {
            true => RunEvent::MergeConflicted { task, attempt, files: vec!["src/a.rs".to_owned()] },
            false => {
                let (commit, tree, onto) = (self.name(), self.name(), self.head.clone());
                RunEvent::ChangeRebased { task, attempt, commit, tree, onto }
            }
        };
        let _refused = self.tell(event);
    }

    fn merge(&mut self, task: TaskId, attempt: u32, onto: &str) {
        if self.head != onto {
            let (from, head) = (onto.to_owned(), self.head.clone());
            return self.surely(RunEvent::BranchMoved { task, from, head });
        }
        let commit = self.name();
        self.head.clone_from(&commit);
        self.surely(RunEvent::TaskMerged { task, attempt, commit });
    }

    // === disturbances ===

    /// Disturbs the run: people stop things, events are repeated, the daemon is killed.
    fn interfere(&mut self) {
        if self.behaviour == WorkerBehaviour::Kind {
            return;
        }
        if chance(&mut self.rng, 8) {
            let task = self.some_task();
            self.surely(RunEvent::TaskStopRequested { task, grace_ms: None });
        }
        if chance(&mut self.rng, 1) {
            self.surely(RunEvent::RunStopRequested);
        }
        self.pause_and_resume();
        self.lead();
        if chance(&mut self.rng, 20) && self.retries < 12 {
            let task = self.some_task();
            self.retries += usize::from(self.tell(RunEvent::TaskRetryRequested { task, note: String::new() }).is_ok());
        }
        if chance(&mut self.rng, 20) {
            self.repeat_something();
        }
        if chance(&mut self.rng, 20) {
            self.lie();
        }
        if chance(&mut self.rng, 5) {
            // A person moves the run's branch.
            self.head = self.name();
        }
        if chance(&mut self.rng, self.restarts) {
            self.restart();
        }
    }

    /// Has an agent lead the run at times, in some histories: it begins steps, open or not, sooner or later.
    fn lead(&mut self) {
        if self.is_led_at_times && chance(&mut self.rng, 8) {
            let is_led = !self.state.is_led();
            self.surely(RunEvent::LedSet { is_led });
        }
        if !self.state.is_led() {
            return;
        }
        let open: Vec<_> = self.state.open_steps().collect();
        for OpenStep { task, step, attempt, answers } in open {
            if chance(&mut self.rng, 300) {
                let by = (!answers && chance(&mut self.rng, 300)).then(|| AgentName::new("ada").expect("a name"));
                self.surely(RunEvent::StepBegun { task, step, attempt, by });
            }
        }
        if chance(&mut self.rng, 20) {
            let (task, step) = (self.some_task(), StepId::work());
            let _refused = self.tell(RunEvent::StepBegun { task, step, attempt: 1, by: None });
        }
    }

    /// Returns a budget that a few workers use up.
    fn budget(&mut self) -> Option<Budget> {
        let at_ceiling = *pick(&mut self.rng, &[AtCeiling::Warn, AtCeiling::Pause, AtCeiling::Pause, AtCeiling::Halt]);
        let spent = self.state.spent();
        let task = chance(&mut self.rng, 300).then(|| 1 + self.rng.u64(..60));
        Some(Budget { ceiling: spent + 50 + self.rng.u64(..200), task, reserve: Some(self.rng.u64(..50)), at_ceiling })
    }

    /// Has people pause and resume, and raise the ceiling if it prevents that.
    fn pause_and_resume(&mut self) {
        if chance(&mut self.rng, 4) {
            let _refused = self.tell(RunEvent::RunPaused { cause: PauseCause::Requested });
        }
        if chance(&mut self.rng, 4) {
            // The total spending of a plan or a day and the space on the disk are known outside of this run.
            let cause = *pick(&mut self.rng, &[PauseCause::Plan, PauseCause::Day, PauseCause::Disk]);
            let _refused = self.tell(RunEvent::RunPaused { cause });
        }
        if chance(&mut self.rng, 4) {
            let task = self.some_task();
            let _refused = self.tell(RunEvent::TaskPaused { task, cause: TaskPauseCause::Requested });
        }
        if chance(&mut self.rng, 8) {
            let task = self.some_task();
            let _refused = self.tell(RunEvent::TaskRebaseRequested { task });
        }
        if chance(&mut self.rng, 4) {
            let (task, ceiling) = (self.some_task(), chance(&mut self.rng, 700).then(|| 1 + self.rng.u64(..60)));
            let _refused = self.tell(RunEvent::TaskBudgetSet { task, ceiling });
        }
        if !chance(&mut self.rng, 60) {
            return;
        }
        match self.state.pause() {
            Some(PauseCause::Budget) => {
                let budget = if chance(&mut self.rng, 900) { self.budget() } else { None };
                self.surely(RunEvent::BudgetSet { budget, plan: None, day: false });
            }
            Some(PauseCause::Requested | PauseCause::Plan | PauseCause::Day | PauseCause::Disk) => {
                // The remaining budget may be too small.
                let _refused = self.tell(RunEvent::RunResumed);
            }
            None => {
                let paused: Vec<_> = self.state.tasks().filter(|task| task.paused.is_some()).collect();
                let Some(task) = paused.first() else { return };
                if paused.iter().any(|task| task.paused == Some(TaskPauseCause::Budget)) && chance(&mut self.rng, 500) {
                    let task = task.task.clone();
                    self.surely(RunEvent::BudgetSet { budget: None, plan: None, day: false });
                    let _refused = self.tell(RunEvent::TaskBudgetSet { task, ceiling: None });
                } else {
                    let _refused = self.tell(RunEvent::TaskResumed { task: task.task.clone() });
                }
            }
        }
    }

    /// Retries a failed task after the end, as a person may.
    fn try_again(&mut self) -> bool {
        if self.behaviour == WorkerBehaviour::Kind || self.retries >= 12 || chance(&mut self.rng, 500) {
            return false;
        }
        let again = |state: &TaskState| matches!(state, TaskState::Blocked { .. } | TaskState::Stopped);
        let Some(task) = self.state.tasks().find(|task| again(&task.state)) else { return false };
        self.retries += 1;
        self.surely(RunEvent::TaskRetryRequested { task: task.task, note: String::new() });
        true
    }

    fn repeat_something(&mut self) {
        let (event, _) = pick(&mut self.rng, &self.log).clone();
        // After a retry, a repeated end of the run is accepted as the end if there is nothing left to do.
        if !is_repeatable(&event) || matches!(event, RunEvent::RunFinished { .. }) {
            return;
        }
        let before = self.state.clone();
        let consequences = self.state.step(&event, Millis(self.now)).unwrap_or_default();
        assert!(consequences.is_empty() && self.state == before, "seen twice, folded twice: {event:?}");
    }

    /// Kills the daemon: drops work in progress, folds the state anew, and resolves doubts first.
    fn restart(&mut self) {
        self.compare_with_replay();
        self.under_way.clear();
        self.changed = true;
        let jobs = std::mem::take(&mut self.jobs);
        for job in jobs {
            match job {
                // Workers outlive the daemon; whether one has started is found out later.
                Job::Spawn { .. } | Job::Work { .. } => self.jobs.push(job),
                Job::Merge { task, attempt, onto } => self.merge(task, attempt, &onto),
                Job::Todo(_) | Job::Judge { .. } => {}
            }
        }
        let merging = |state: &TaskState| matches!(state, TaskState::Merging { .. });
        assert!(!self.state.in_doubt().any(|task| merging(&task.state)), "no merge is left in doubt");
    }

    fn compare_with_replay(&self) {
        let mut replayed = RunState::new();
        for (event, at) in &self.log {
            replayed
                .step(event, *at)
                .unwrap_or_else(|refused| panic!("accepted once, refused again: {event:?}: {refused}"));
        }
        assert!(replayed == self.state, "replaying the log rebuilds the state");
    }

    pub(super) fn surely(&mut self, event: RunEvent) {
        let shown = format!("{event:?}");
        self.tell(event).unwrap_or_else(|refused| panic!("{shown}: {refused}"));
    }

    pub(super) fn goes_wrong(&mut self, per_mille: usize) -> bool {
        self.behaviour == WorkerBehaviour::Rough && chance(&mut self.rng, per_mille)
    }

    fn some_task(&mut self) -> TaskId {
        let tasks: Vec<_> = self.state.tasks().map(|task| task.task).collect();
        pick(&mut self.rng, &tasks).clone()
    }

    pub(super) fn name(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }
}

impl Drop for World {
    /// Prints which history broke a rule, and how it ended.
    fn drop(&mut self) {
        if std::thread::panicking() && self.mistake.is_none() {
            let last: Vec<_> = self.log.iter().rev().take(40).rev().map(|(event, _)| format!("{event:?}")).collect();
            eprintln!("seed {}:\n{}", self.seed, last.join("\n"));
        }
    }
}

/// Returns true if an event may be delivered twice because it records a fact, not a request (which has its own key): a
/// later repetition changes nothing. Events of states that begin and end repeatedly, such as a pause or a lease, take
/// effect again.
fn is_repeatable(event: &RunEvent) -> bool {
    !matches!(
        event,
        RunEvent::TaskStopRequested { .. }
            | RunEvent::RunStopRequested
            | RunEvent::TaskRetryRequested { .. }
            | RunEvent::BudgetSet { .. }
            | RunEvent::TaskBudgetSet { .. }
            | RunEvent::TaskRebaseRequested { .. }
            | RunEvent::TreeRebased { .. }
            | RunEvent::TreeNotRebased { .. }
            | RunEvent::TurnBegun { .. }
            | RunEvent::RunPaused { .. }
            | RunEvent::RunResumed
            | RunEvent::TaskPaused { .. }
            | RunEvent::TaskResumed { .. }
            | RunEvent::LedSet { .. }
            | RunEvent::StepBegun { .. }
            | RunEvent::ScopeDeclared { .. }
            | RunEvent::MergeHeld { .. }
    )
}

/// Returns a lease of another holder; leases are distinguished by their end.
fn lease(until: u32) -> HeldBy {
    let holder = AgentName::new("ann").expect("a name");
    HeldBy { holder, files: vec!["src/a.rs".to_owned()], until: Millis(until.into()) }
}

/// Checks that an event about the attempt before or after its own is refused, or changes nothing.
fn another_attempt_changes_nothing(before: &RunState, event: &RunEvent, now: Millis) {
    let (kind, facts) = event.write().expect("an event");
    let mut json = facts.to_value().expect("its facts");
    let Some(attempt) = json["attempt"].as_u64() else { return };
    for other in [attempt.saturating_sub(1), attempt + 1] {
        json["attempt"] = other.into();
        let stale = RunEvent::read(&kind, &json.clone().into()).expect("an event");
        let mut state = before.clone();
        let consequences = state.step(&stale, now).unwrap_or_default();
        assert!(consequences.is_empty() && state == *before, "it is about another attempt: {stale:?}");
    }
}
