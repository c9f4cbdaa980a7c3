//! Starts a worker: a work tree, a shim in it, and an agent under the shim.

mod spec;
mod tree;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_pipeline::settings::Settings;
use switchboard_pipeline::subtasks;
use switchboard_pipeline::team::retry::Retry;
use switchboard_pipeline::team::steps::{IMPACT, REVIEW, SECOND_REVIEW};
use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, Digest, WorkerId};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::plan::{Task, TaskId};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{Answered, Refusal, RefusalCause, RunEvent, StartFrom, StepWork};
use switchboard_protocol::verb::run::AgentChoice;
use switchboard_protocol::worker::{JudgingStep, PortRange, WorkerFact};

use self::tree::Tree;
use super::blocked::blocked;
use super::context::Ctx;
use super::contracts::{self, Contracts};
use super::replies::Replies;
use super::set_up::{TreeSetup, set_up};
use super::start_point::{StartPoint, group_head, run_head};
use crate::assignees::Assignee;
use crate::authorship::author;
use crate::error::shape;
use crate::flag::flagged;
use crate::handle::Outcome;
use crate::handle::{LastWorker, Record};
use crate::plan::RunPlan;
use crate::plan_state::plan_state;
use crate::watch::Reachable;
use crate::work::{RUNS, STAND_IN};
use crate::worker_names::Key;
use crate::world::World;
use crate::{Error, history, isolation, notes, plan, prompt};

/// First and longest pause after an agent failed.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Number of bytes of a change that are shown to a worker that judges it; the tree holds all of it.
const DIFF: usize = 48 << 10;

/// Prefix of a reviewer's reason that says what has to be done.
const REQUIRED_FIX: &str = "required fix: ";

/// Settings for the start of a worker.
pub(crate) struct Start {
    pub(crate) step: StepId,
    pub(crate) work: StepWork,
    pub(crate) attempt: u32,
    pub(crate) from: StartFrom,
    /// True to keep what a lost worker of the same attempt left.
    pub(crate) resume: bool,
    /// Fault of the last answer, if it is requested again.
    pub(crate) again: Option<String>,
    /// Number of consecutive transient model errors of the latest workers.
    pub(crate) transients: u32,
    /// Number of refusals of the change so far, and the maximum.
    pub(crate) tried: (u32, u32),
    /// States of the tasks whose answers may be shown to the worker.
    pub(crate) answers: Vec<Answered>,
    /// Agent that does the step by hand, if the one that leads the run does.
    pub(crate) by: Option<AgentName>,
    /// Files that the coder may change, if the agent that leads the run has declared them.
    pub(crate) declared: Vec<String>,
    /// Note for the retry; empty if there is none.
    pub(crate) note: String,
}

/// Step that needs a worker.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) step: &'a StepId,
    pub(crate) work: &'a StepWork,
    /// Agent that does the step by hand.
    pub(crate) by: Option<&'a AgentName>,
}

// === impl Part ===

impl Part<'_> {
    /// Returns the key under which the worker's name is claimed.
    fn key(self, task: &TaskId) -> Key {
        (task.clone(), self.work.answer.map(|_| self.step.clone()))
    }
}

/// Decisions about a worker, made before its start is recorded.
struct WorkerSetup {
    worker: WorkerId,
    token: String,
    choice: AgentChoice,
    task: Task,
    settings: Settings,
    start_point: StartPoint,
    /// Commit at which the run's branch is to be made; `None` once something was merged into it.
    first: Option<Oid>,
    ports: Option<PortRange>,
    isolation: Isolation,
    /// Replies of others that the worker is shown.
    replies: Replies,
    /// State of the plan, for a worker that can't look it up.
    plan_state: String,
    /// Change that the worker judges, if its answer is the verdict of a step.
    judged: Option<Judged>,
    /// Model set for the agent, and the explanation of that choice for a person.
    model: (Option<String>, Option<String>),
    /// Temperature set for the agent.
    temperature: Option<String>,
    /// Role text for a coder of a team.
    role_text: String,
    /// Reason for which a coder of a team is started again.
    retry: Option<Retry>,
    /// Architect's note when the task was retried; empty if there is none.
    note: String,
    /// True if the worker is a placeholder for work done by hand by the agent that leads the run.
    is_by_hand: bool,
}

/// Change that a worker is to judge.
struct Judged {
    step: StepId,
    work: StepWork,
    again: Option<String>,
    /// Text of the change.
    diff: String,
    /// Findings of others about the change's contracts.
    contracts: Option<String>,
}

/// Result of a worker's start.
enum Launched {
    Started,
    /// Its tree could not be set up, for this reason.
    NotSetUp(String),
}

pub(crate) async fn start_worker(ctx: Ctx, id: TaskId, start: Start, refusals: Vec<Refusal>) -> Outcome {
    let (attempt, step, tried) = (start.attempt, start.step.clone(), start.tried);
    // Failures of the coder don't delay a reviewer or test engineer.
    let failed = if start.work.answer.is_none() { refusals.as_slice() } else { &[] };
    if !pause(&ctx, failed).await || !await_model(&ctx, &id, &start).await {
        return Outcome::default();
    }
    let Some(_permit) = ctx.world.start_permit().await else {
        // The daemon is shutting down: the next one starts the worker.
        ctx.world.stop.cancelled().await;
        return Outcome::default();
    };
    match super::left_out::skipped(&ctx, &id, &start).await {
        Ok(None) => {}
        Ok(Some(skipped)) => return Outcome::step(skipped),
        Err(error) => return blocked(id, attempt, error),
    }
    let note = if start.work.answer.is_none() { start.note.clone() } else { String::new() };
    let mut setup = match prepare(&ctx, &id, start).await {
        Ok(setup) => setup,
        Err(error) => return blocked(id, attempt, error),
    };
    setup.retry = refusals.last().filter(|_| !setup.role_text.is_empty()).map(|last| retry(last, tried));
    setup.note = note;
    if ctx.plan.shape(&id).is_some_and(|shape| subtasks::is_over(shape, |task| setup.replies.of(task))) {
        return Outcome::step(RunEvent::TurnOmitted { task: id, step, attempt });
    }
    let worker = setup.worker.clone();
    // Before the intent is recorded: from then on the worker may be told to stop.
    let mut reachable = Reachable::new(Arc::clone(&ctx.world), &worker);
    if let Err(error) = intend(&ctx, &id, (step, attempt), &setup).await {
        return blocked(id, attempt, error);
    }
    ctx.world.crash("worker-intended");
    let StartPoint { base, start, .. } = &setup.start_point;
    let last = LastWorker { base: base.to_string(), start: start.to_string() };
    let last = setup.judged.is_none().then(|| (id.clone(), last));
    let step = match launch(&ctx, &id, attempt, setup, &refusals, &mut reachable).await {
        Ok(Launched::Started) => {
            ctx.world.crash("shim-spawned");
            reachable.watch(ctx.plan, id, ctx.engine);
            return Outcome { last, ..Outcome::default() };
        }
        // The next daemon finds the worker lost and starts another.
        Err(Error::Stopping) => return Outcome { last, ..Outcome::default() },
        Ok(Launched::NotSetUp(reason)) => RunEvent::TreeSetupFailed { task: id, worker, reason },
        Err(error) => {
            let is_disk_full = error.is_disk_full();
            let failure = Failure::from(error);
            let reason = format!("{failure} {}", failure.cause.join(": "));
            let lost = RunEvent::WorkerLost { task: id, worker, reason };
            if is_disk_full {
                let mut outcome = Outcome { last, ..Outcome::disk_full() };
                outcome.steps.push(lost);
                return outcome;
            }
            lost
        }
    };
    Outcome { steps: vec![step], last, ..Outcome::default() }
}

/// Waits after an agent's failure, twice as long after each failure in a row, for a cause that may pass. Returns true
/// if the daemon is still up.
async fn pause(ctx: &Ctx, refusals: &[Refusal]) -> bool {
    let failures = refusals.iter().rev().take_while(|refusal| refusal.cause == RefusalCause::AgentFailed).count();
    let Some(doublings) = u32::try_from(failures).ok().and_then(|failures| failures.checked_sub(1)) else {
        return true;
    };
    let pause = FIRST_PAUSE.saturating_mul(1 << doublings.min(10)).min(LONGEST_PAUSE);
    tokio::select! {
        biased;
        () = ctx.world.stop.cancelled() => false,
        () = tokio::time::sleep(pause) => true,
    }
}

/// Waits before the last of a role's models is asked once more, twice as long each time; the next model is asked at
/// once. Returns true if the daemon is still up.
async fn await_model(ctx: &Ctx, id: &TaskId, start: &Start) -> bool {
    let Some(before) = start.transients.checked_sub(1) else { return true };
    let chosen = ctx.plan.settings(id).ok().and_then(|(_, settings)| {
        let choice = ctx.plan.choice_of(id, &settings, &start.work).ok()?;
        Some(ctx.plan.models(&choice, &settings, &start.work))
    });
    if chosen.is_some_and(|models| models.after(before) != models.after(start.transients)) {
        return true;
    }
    let pause = FIRST_PAUSE.saturating_mul(1 << before.min(10)).min(LONGEST_PAUSE);
    tokio::select! {
        biased;
        () = ctx.world.stop.cancelled() => false,
        () = tokio::time::sleep(pause) => true,
    }
}

/// Claims the name of a task's workers on the bus, or returns the present one. The engine claims in the order of its
/// decisions, so that tasks that start together don't race for the first name.
pub(crate) fn claim_name(world: &World, plan: &RunPlan, id: &TaskId, part: Part<'_>) -> Result<AgentName, Error> {
    let (_, settings) = plan.settings(id)?;
    let mut choice = plan.choice_of(id, &settings, part.work)?;
    if let Some(by) = part.by {
        (choice.name, choice.scripted) = (by.clone(), false);
    }
    #[cfg(any(test, feature = "sim"))]
    if world.has_defect(crate::simulate::Defect::SharesNames) {
        return Ok(choice.name);
    }
    // The run has assigned its agent's own name to itself.
    let is_assigned = |name: &AgentName| name.folded() != choice.name.folded() && world.is_assigned(name);
    let is_taken = |name: &AgentName| Ok(is_assigned(name) || world.ports.mail.is_taken_by_other_agent(name)?);
    if part.work.answer.is_some() && world.worker_names.of(&plan.run, id).is_none() {
        keep_makers_name(world, plan, id)?;
    }
    world.worker_names.claim((&plan.run, &part.key(id)), &choice.name, choice.scripted, is_taken)
}

/// Claims again the name of the agent that made a task's change. It was released when the task was blocked, and a
/// worker that judges must not get it.
fn keep_makers_name(world: &World, plan: &RunPlan, id: &TaskId) -> Result<(), Error> {
    let Some(row) = history::last_worker(world, &plan.run, id)? else { return Ok(()) };
    let Some(name) = row.get_text("agent").and_then(|name| AgentName::new(name).ok()) else { return Ok(()) };
    let maker = Assignee { folded: name.folded(), name, is_scripted: row.get_bool("scripted") };
    world.worker_names.restore(&plan.run, &(id.clone(), None), maker);
    Ok(())
}

async fn prepare(ctx: &Ctx, id: &TaskId, start: Start) -> Result<WorkerSetup, Error> {
    let (mut task, settings) = ctx.plan.settings(id)?;
    if !start.declared.is_empty() {
        task.files_touched = start.declared;
    }
    let part = Part { step: &start.step, work: &start.work, by: start.by.as_ref() };
    let mut choice = match &start.by {
        // A placeholder is the worker while the work is done by hand.
        Some(by) => AgentChoice::new(by.clone(), stand_in(&ctx.world)),
        None => ctx.plan.choice_of(id, &settings, &start.work)?,
    };
    choice.tools = ctx.plan.tools(&choice, &settings, &start.work);
    // Leased before the name is claimed: if the task has ended meanwhile, the next commit after the claim releases
    // both.
    let ports = ctx.world.tree_ports.lease(&ctx.plan.run, id, settings.ports)?;
    choice.name = claim_name(&ctx.world, &ctx.plan, id, part)?;
    let token = format!("{:016x}{:016x}", ctx.world.random_bits()?, ctx.world.random_bits()?);
    let (branch, path) = (ctx.plan.branch.clone(), ctx.plan.worktree(id));
    let group = ctx.plan.group_branch(id);
    let (last, now) = (ctx.last.clone(), ctx.world.store.now());
    let judges = start.work.answer.is_some();
    let row = ctx.world.store.get(RUNS, &[ctx.plan.run.as_str().into()])?;
    let is_untouched = row.is_some_and(|row| row.get_int("merged") == Some(0));
    let first = if is_untouched { Some(Oid::parse(&ctx.plan.base)?) } else { None };
    let replies = Replies::read(ctx, id, start.answers).await?;
    let run_first = first.clone();
    let start_point = ctx.world.git(move |git| {
        // A reviewer or test engineer starts with the change as it is.
        let left = last.as_ref().filter(|_| start.resume && !judges);
        if let Some(kept) = left.map(|last| StartPoint::of_tree(git, &path, last)).transpose()?.flatten() {
            return Ok(kept);
        }
        let head = || {
            let head = run_head(git, &branch, run_first.as_ref())?;
            match group {
                Some(group) => group_head(git, &group, head),
                None => Ok(head),
            }
        };
        StartPoint::fresh(git, head, last, start.from, &author("Switchboard", now))
    });
    let isolation = ctx.plan.isolation(&settings, &choice);
    let plan_state = match isolation.is_full() {
        true => String::new(),
        false => plan_state(&ctx.plan, id, &ctx.engine.view().await?),
    };
    let start_point = start_point.await?;
    let models = ctx.plan.models(&choice, &settings, &start.work);
    let is_by_hand = start.by.is_some();
    let model = match is_by_hand {
        true => (None, None),
        false => (models.after(start.transients).map(str::to_owned), models.describe(start.transients)),
    };
    let temperature = ctx.plan.temperature(&settings, &start.work).filter(|_| !is_by_hand).map(str::to_owned);
    let is_coder = settings.team && start.work.role == RoleName::Coder.id() && settings.command.is_none();
    let role_text = if is_coder { ctx.plan.role_text(&start.work.role).to_owned() } else { String::new() };
    let judged = match judges {
        true => Some(Judged {
            diff: if ctx.plan.asks(id).is_some() { String::new() } else { diff(ctx, &start_point).await? },
            contracts: contracts_for(ctx, id, start.step.as_str(), &start_point).await?,
            step: start.step,
            work: start.work,
            again: start.again,
        }),
        false => None,
    };
    Ok(WorkerSetup {
        worker: ctx.world.fresh_worker()?,
        isolation,
        plan_state,
        token,
        choice,
        task,
        settings,
        start_point,
        first,
        ports,
        replies,
        judged,
        model,
        temperature,
        role_text,
        retry: None,
        note: String::new(),
        is_by_hand,
    })
}

/// Returns why a coder is started again, and what it has to do.
fn retry(refusal: &Refusal, (number, of): (u32, u32)) -> Retry {
    let gate = match &refusal.cause {
        RefusalCause::Gate { gate } => gate.clone(),
        RefusalCause::Step { step } => step.to_string(),
        RefusalCause::MergeConflict => "merge".to_owned(),
        RefusalCause::Person => "a person".to_owned(),
        RefusalCause::AgentFailed
        | RefusalCause::AgentRefused
        | RefusalCause::TimedOut
        | RefusalCause::NothingChanged
        | RefusalCause::FilesLeftOut => "work".to_owned(),
    };
    let fix = refusal.reasons.iter().find_map(|reason| reason.strip_prefix(REQUIRED_FIX));
    let reasons = refusal.reasons.iter().filter(|reason| !reason.starts_with(REQUIRED_FIX));
    let reason = reasons.map(String::as_str).collect::<Vec<_>>().join("; ");
    let required_fix = fix.map_or_else(|| format!("mend what {gate} found, in the change as it stands"), str::to_owned);
    Retry { number, of, gate, reason, required_fix, resume_at: StepId::work().to_string() }
}

/// Returns the change that a worker is to judge.
async fn diff(ctx: &Ctx, start_point: &StartPoint) -> Result<String, Error> {
    let (base, start) = (start_point.base.clone(), start_point.start.clone());
    ctx.world.git(move |git| git.diff_text(&base, &start, DIFF)).await
}

/// Returns the contract findings for a worker that judges: for the explorer those of the gate, for the reviewer those
/// of the explorer.
async fn contracts_for(ctx: &Ctx, id: &TaskId, step: &str, start_point: &StartPoint) -> Result<Option<String>, Error> {
    match step {
        IMPACT => Ok(match contracts::of_change(ctx, id).await? {
            Contracts::Altered(found) if !found.is_empty() => Some(found.join("\n")),
            Contracts::Altered(_) | Contracts::Kept(_) => None,
        }),
        REVIEW | SECOND_REVIEW => contracts::analysis(ctx, id, &start_point.start).await,
        _ => Ok(None),
    }
}

async fn intend(ctx: &Ctx, id: &TaskId, (step, attempt): (StepId, u32), setup: &WorkerSetup) -> Result<(), Error> {
    let worker = &setup.worker;
    let fact = WorkerFact::WorkerEquipped {
        worker: worker.clone(),
        run: ctx.plan.run.clone(),
        task: id.to_string(),
        attempt,
        agent: setup.choice.name.clone(),
        driver: if setup.is_by_hand { STAND_IN } else { driver_name(&setup.choice.driver) }.to_owned(),
        scripted: setup.choice.scripted,
        base: setup.start_point.base.to_string(),
        start: setup.start_point.start.to_string(),
        judges: setup.judged.as_ref().and_then(Judged::fact),
        worktree: plan::text(&setup.path(ctx, id)),
        token: Digest::of(setup.token.as_bytes()),
        ports: setup.ports,
        isolation: setup.isolation,
        model: setup.model.0.as_deref().map(|model| crate::event::cut(model, 80)),
    };
    let subject = format!("worker/{worker}");
    let fact = NewEvent::of(&fact, &subject, "daemon").map_err(shape("worker_equipped"))?;
    let unenforced = isolation::unenforced(&ctx.world.ports.shims.sandbox_gaps(), setup.isolation, worker)
        .map(|fact| NewEvent::of(&fact, &subject, "daemon").map_err(shape("worker_unenforced")))
        .transpose()?;
    let reads_mail = !matches!(setup.choice.driver, DriverSpec::Exec { .. });
    let fallback = setup.model.1.as_deref().map(|told| flagged(worker, "model-fallback", false, told));
    let fallback =
        fallback.map(|fact| NewEvent::of(&fact, &subject, "daemon").map_err(shape("worker_flagged"))).transpose()?;
    let again = setup.retry.as_ref().map(|retry| flagged(worker, "retry", false, &retry.line()));
    let again =
        again.map(|fact| NewEvent::of(&fact, &subject, "daemon").map_err(shape("worker_flagged"))).transpose()?;
    let begin = notes::of_begin(&ctx.world, &ctx.plan, (id, worker), (&setup.choice.name, reads_mail))?;
    let beside = std::iter::once(fact).chain(unenforced).chain(fallback).chain(again).chain(begin).collect();
    let step = RunEvent::WorkerIntended { task: id.clone(), step, attempt, worker: worker.clone() };
    ctx.engine.record(Record { steps: vec![step], beside, ..Record::default() }).await
}

const fn driver_name(driver: &DriverSpec) -> &'static str {
    match driver {
        DriverSpec::Acp { .. } => "acp",
        DriverSpec::Exec { .. } => "exec",
    }
}

async fn launch(
    ctx: &Ctx,
    id: &TaskId,
    attempt: u32,
    setup: WorkerSetup,
    refusals: &[Refusal],
    reachable: &mut Reachable,
) -> Result<Launched, Error> {
    if setup.is_thrown_away() {
        return launch_reader(ctx, id, attempt, setup).await;
    }
    let (path, branch) = (ctx.plan.worktree(id), ctx.plan.task_branch(id));
    let (base, content) = (setup.start_point.base.clone(), setup.start_point.content.clone());
    let files = Arc::clone(&ctx.world.ports.files);
    let of_run = setup.first.clone().map(|first| (ctx.plan.branch.clone(), first));
    let tree = Tree { path, branch, base, content, of_run };
    let tree = ctx.world.git(move |git| tree.make(git, &*files)).await?;
    ctx.world.crash("worktree-made");
    let limit = Duration::from_millis(setup.settings.setup_ms);
    let place = TreeSetup {
        mark: setup.worker.to_string(),
        ports: setup.ports,
        limit,
        stamp: plan::setup_stamp(&ctx.world.config, &ctx.plan.run, id),
        log: plan::setup_log(&ctx.world.config, &ctx.plan.run, id),
        tree,
    };
    if let Some(reason) = set_up(ctx, place, reachable.stop_asked()).await? {
        return Ok(Launched::NotSetUp(reason));
    }
    ctx.world.crash("tree-set-up");
    let spec = spec::spec(ctx, id, attempt, setup, refusals)?;
    let shims = Arc::clone(&ctx.world.ports.shims);
    ctx.world.blocking(move || shims.launch(&spec)).await?;
    Ok(Launched::Started)
}

/// Starts a worker that only reads, in a tree of the change that is discarded afterwards; in an empty folder if its role
/// may not read the repository.
async fn launch_reader(ctx: &Ctx, id: &TaskId, attempt: u32, setup: WorkerSetup) -> Result<Launched, Error> {
    let (path, at) = (setup.path(ctx, id), setup.start_point.start.clone());
    if setup.is_kept_out(ctx) {
        let files = Arc::clone(&ctx.world.ports.files);
        ctx.world.blocking(move || files.make_folder(&path)).await?;
    } else {
        ctx.world.git(move |git| git.worktree_detached(&path, &at)).await?;
    }
    ctx.world.crash("worktree-made");
    let spec = spec::spec(ctx, id, attempt, setup, &[])?;
    let shims = Arc::clone(&ctx.world.ports.shims);
    ctx.world.blocking(move || shims.launch(&spec)).await?;
    Ok(Launched::Started)
}

// === impl WorkerSetup ===

impl WorkerSetup {
    /// Returns true if nothing that the worker leaves in its tree is kept.
    fn is_thrown_away(&self) -> bool {
        self.judged.as_ref().is_some_and(|judged| !judged.work.is_in_task_tree())
    }

    /// Returns true if it gets an empty folder in place of a work tree.
    fn is_kept_out(&self, ctx: &Ctx) -> bool {
        self.judged.as_ref().is_some_and(|judged| ctx.plan.is_kept_out(&judged.work))
    }

    /// Returns the path of its work tree.
    fn path(&self, ctx: &Ctx, id: &TaskId) -> PathBuf {
        match self.is_thrown_away() {
            true => ctx.plan.reader_tree(&self.worker),
            false => ctx.plan.worktree(id),
        }
    }
}

// === impl Judged ===

impl Judged {
    fn prompt(&self, ctx: &Ctx, task: &Task, attempt: u32, instructions: &str, has_tools: bool) -> String {
        let judging = prompt::Judging {
            step: &self.step,
            work: &self.work,
            attempt,
            again: self.again.as_deref(),
            diff: &self.diff,
            contracts: self.contracts.as_deref(),
            instructions,
            has_tools,
        };
        match ctx.plan.asks(&task.id) {
            Some(_) => prompt::ask(&ctx.plan, task, &judging),
            None => prompt::judge(&ctx.plan, task, &judging),
        }
    }

    fn fact(&self) -> Option<JudgingStep> {
        let (step, role) = (self.step.clone(), self.work.role.clone());
        self.work.answer.map(|answer| JudgingStep { step, role, answer })
    }
}

/// Returns the placeholder program that waits until the work has been done by hand.
fn stand_in(world: &World) -> DriverSpec {
    DriverSpec::Exec { argv: vec![plan::text(&world.config.binary), "stand-in".to_owned()] }
}
