//! `start_run`: starts a run; all refusals happen before anything starts.

mod repeated_start;
pub(crate) mod roles;
mod sizes;
mod start_point;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use switchboard_pipeline::dataflow::{self, Files};
use switchboard_pipeline::mode::{InMode, ModeRequest, in_mode, with_best_of};
use switchboard_pipeline::paths::Pattern;
use switchboard_pipeline::plan_hash;
use switchboard_pipeline::prepare::{Opening, opening, prepare, prepare_together};
use switchboard_pipeline::scope::{self, Part};
use switchboard_pipeline::subtasks::{Expanded, expand};
use switchboard_pipeline::way::{Compiled, compile, failure};
use switchboard_process::env::PROXIES;
use switchboard_process::git::Oid;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{Digest, RunId};
use switchboard_protocol::plan::{AutoMerge, Plan, PlanSettings, TaskId};
use switchboard_protocol::run::way::{StepAction, UnitId};
use switchboard_protocol::run::{AutoTurn, DerivedEdge, MAX_WORKERS, Prepared, RunEvent, StepWork, WorkerTimeout};
use switchboard_protocol::verb::run::{AgentChoice, MAX_PARENT_TRACE, StartRunReply, StartRunRequest};
use switchboard_store::{Batch, Durability, Idempotency};

use crate::assignees::Roster;
use crate::drive::PartOf;
use crate::error::shape;
use crate::event::cut;
use crate::future::BoxFuture;
use crate::plan::{self, RunPart, RunPlan, TaskPositions};
use crate::port::{Git, Shims};
use crate::progress::{self, Progress};
use crate::world::World;
use crate::{Dispatch, Error, ineffective_settings, isolation, unit_claims};
use start_point::StartPoint;
pub(crate) use start_point::tree;
use switchboard_protocol::text::quoted;

/// Maximum number of derived dependencies in the reply.
const MAX_DERIVED: usize = 1_000;

/// Maximum number of dirty files named in a refusal.
const MAX_NAMED: usize = 10;

impl Dispatch {
    /// Starts a plan from the caller's work tree; a dry run returns what would happen.
    ///
    /// # Errors
    /// A fault in the plan, the repository or the agents, before anything has started; or a failure of the store.
    pub async fn start_run(
        &self,
        request: StartRunRequest,
        caller: &Caller,
        call: Option<Idempotency>,
    ) -> Result<StartRunReply, Error> {
        // A repeated call gets the first answer, although its plan is running by now.
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return super::reply(answered);
        }
        of_a_proxy(&request.setup_env)?;
        match request.drive {
            Some(_) => self.start_driven(request, caller, call).await,
            None => self.start_plan(request, None, caller, call).await,
        }
    }

    /// Starts a plan, independently or as a part of a run that a team leads.
    pub(crate) fn start_plan<'a>(
        &'a self,
        request: StartRunRequest,
        of: Option<&'a PartOf>,
        caller: &'a Caller,
        call: Option<Idempotency>,
    ) -> BoxFuture<'a, Result<StartRunReply, Error>> {
        Box::pin(async move {
            let world = &self.world;
            request.budget.as_ref().map_or(Ok(()), super::set_budget::check)?;
            super::set_budget::check_plan(request.plan_budget)?;
            world.read_limits().await?;
            bounded(request.parent_trace.as_deref())?;
            countable(request.max_workers)?;
            distinct(&request.agents)?;
            let (written, unread) = written(&request)?;
            let tree = start_point::tree(world, &request, caller).await?;
            let hash = plan_hash::whole(&written);
            let (left, progress) = rest(world, &tree, (written.clone(), &hash), &request).await?;
            let (resolved, derived) = dataflow::resolve(left);
            let Part { plan, notes } = part(&resolved, &request)?;
            let asked = ModeRequest { unit: request.scope.as_ref(), mode: request.mode, is_job: request.job.is_some() };
            let InMode { mut plan, max_workers } = in_mode(plan, &asked)?;
            if request.team {
                plan.switchboard.get_or_insert_default().team = Some(true);
            }
            if request.turbo {
                plan.switchboard.get_or_insert_default().turbo = Some(true);
            }
            let is_team = plan.switchboard.as_ref().is_some_and(|settings| settings.team == Some(true));
            roles::check(&request.roles, &plan)?;
            roles::check_limits(&request.team_limits)?;
            let plan = match request.best_of {
                Some(count) => with_best_of(plan, count)?,
                None => plan,
            };
            let max_workers = request.max_workers.or(max_workers);
            let mut expanded = expand(&plan).map_err(|failure| failure.at(&request.source))?;
            if let Some(of) = of {
                of.mark_optional_changes(&mut expanded);
            }
            let mut start_point = StartPoint::look(world, &tree, &expanded.plan, &request).await?;
            let mut follows = None;
            if let Some(progress) = progress {
                (start_point.base, follows) = (progress.base, progress.follows);
            }
            inputs_are_there(world, &resolved, &start_point.base, &request.source).await?;
            let blockers = match (is_team, of) {
                (true, None) => self.check_team(&tree, (&written, &hash), &plan, &start_point.base, &request).await?,
                // The needs of its phase were checked before.
                (true, Some(of)) if of.is_phase() => {
                    sizes::check(world, &plan, &start_point.base, &request.source).await?;
                    Vec::new()
                }
                (true | false, _) => Vec::new(),
            };
            let run = world.fresh_run()?;
            let mut run_plan = run_plan(run, &request, &expanded, &start_point)?;
            let prepare = if request.use_execution_graph { prepare } else { prepare_together };
            let prepared = prepare(&expanded.plan, &BTreeSet::new(), max_workers);
            let compiled = compile(&expanded, &prepared, &request.team_limits, |settings| run_plan.attempts(settings));
            let compiled = compiled.map_err(|refusals| failure(&refusals).at(&request.source))?;
            let compiled = limited(compiled, &run_plan)?;
            let judges = judges(&compiled);
            let parts = run_plan.parts(&prepared.eligible, &judges)?;
            let agents = agents(&*world.ports.shims, &parts)?;
            roles::applicable(&request.roles, &parts)?;
            let held = isolation::Held::judge(world, &run_plan, &parts)?;
            let setup = setup(world, &tree, &mut run_plan, &start_point.locks).await?;
            // A dry run starts nothing, so nothing has to be trusted for it.
            if !request.dry_run {
                trusted(world, &start_point.locks, &written)?;
            }
            let ineffective_settings =
                ineffective_settings::judge(&plan, &run_plan, &parts, of.is_some() || request.drive.is_some())?;
            let notes = [unread, notes, expanded.notes, blockers, ineffective_settings].concat();
            let mut decided = Decided { plan, hash, follows, notes, derived, prepared, compiled, agents, setup, held };
            let mut reply = reply(world, &run_plan, &start_point, &decided);
            clean(&start_point.dirty, &decided.writes())?;
            if request.dry_run {
                reply.skipped.extend(self.worked_on(&request, &decided).await?);
                return Ok(reply);
            }
            start_point.make_folder(world).await?;
            if !request.use_execution_graph {
                decided.compiled.units.iter_mut().for_each(|unit| (unit.writes, unit.reads) = (Vec::new(), Vec::new()));
            }
            let _one_at_a_time = world.starting.lock().await;
            let call = StartCall { by: caller.name.as_str(), of, call, reply };
            self.open(&request, run_plan, &start_point, &decided, call).await
        })
    }

    /// Refuses tasks unsuitable for a team, and a phase that can't begin; returns what blocks some of them.
    async fn check_team(
        &self,
        tree: &Arc<dyn Git>,
        whole: (&Plan, &str),
        plan: &Plan,
        base: &Oid,
        request: &StartRunRequest,
    ) -> Result<Vec<String>, Error> {
        sizes::check(&self.world, plan, base, &request.source).await?;
        // A task or a slice that is named begins without its phase.
        if !matches!(request.scope, None | Some(UnitId::Phase(_))) {
            return Ok(Vec::new());
        }
        let of_wrap = request.drive.as_ref().map(|drive| drive.steps.of_wrap()).unwrap_or_default();
        sizes::preflight(&self.world, tree, whole, plan, (base, &request.source), &of_wrap).await
    }

    async fn open(
        &self,
        request: &StartRunRequest,
        run_plan: RunPlan,
        start_point: &StartPoint,
        decided: &Decided,
        caller: StartCall<'_>,
    ) -> Result<StartRunReply, Error> {
        let world = &self.world;
        let hash = &decided.hash;
        if let Some(answer) = self.repeated_start(request, decided, &caller).await? {
            return Ok(answer);
        }
        write_agents(world, &run_plan).await?;
        write_setup_env(world, &run_plan.run, &request.setup_env).await?;
        let is_whole = |id: &&TaskId| run_plan.shape(id).is_none_or(|shape| shape.of.is_none());
        let tasks = decided.prepared.eligible.iter().filter(is_whole).count();
        let configured = configured(&run_plan, request, start_point, (hash, tasks), caller.by)?;
        let mut batch = Batch::new(Durability::Synced);
        if let Some(turn) = &request.turn {
            let fact = turned(&run_plan.run, turn, request, decided);
            let subject = format!("run/{}", run_plan.run);
            batch = batch.event(NewEvent::of(&fact, subject, caller.by).map_err(shape("a turn"))?);
        }
        batch = batch.event(configured);
        if let Some(of) = caller.of {
            batch = batch.event(of.event(&run_plan.run)?);
        }
        if switchboard_pipeline::setup::planned(&decided.plan).is_none() && !run_plan.setup.is_empty() {
            let fact = RunEvent::SetupChosen { run: run_plan.run.clone(), commands: run_plan.setup.clone() };
            let subject = format!("run/{}", run_plan.run);
            batch = batch.event(NewEvent::of(&fact, subject, caller.by).map_err(shape("a set-up"))?);
        }
        let planned = decided.plan.switchboard.as_ref().and_then(PlanSettings::budget_micro_usd);
        let (budget, plan, day) = (request.budget, request.plan_budget.or(planned), world.shared.state().has_day());
        let is_limited = budget.is_some() || plan.is_some() || day;
        let budget = is_limited.then_some(RunEvent::BudgetSet { budget, plan, day });
        let led = caller.of.is_some_and(|of| of.is_led && of.is_phase()).then_some(RunEvent::LedSet { is_led: true });
        for step in decided.opening(hash, start_point)?.into_iter().chain(budget).chain(led) {
            batch =
                batch.event(NewEvent::of(&step, format!("run/{}", run_plan.run), caller.by).map_err(shape("a step"))?);
        }
        for agent in each_name(&decided.agents) {
            // An agent that a person started keeps its name.
            if run_plan.coordination.is_managed() && !world.ports.mail.is_taken_by_other_agent(&agent.name)? {
                batch = batch.event(world.ports.mail.joined(&agent.name, agent.scripted)?);
            }
        }
        let reply = StartRunReply { run: Some(run_plan.run.clone()), ..caller.reply };
        batch.idempotency = caller.call;
        batch.reply = serde_json::to_value(&reply).map_err(shape("a reply"))?;
        // Before the commit: an agent that the commit adds must not be taken for one that has left.
        world.assign(&run_plan.run, each_name(&decided.agents).map(|agent| agent.name.folded()).collect());
        let committed = world.commit(batch).await;
        if committed.as_ref().map_or(true, |committed| committed.repeated) {
            world.assign(&run_plan.run, Roster::default());
        }
        let committed = committed?;
        world.crash("run-recorded");
        let reply: StartRunReply = serde_json::from_value(committed.reply).map_err(shape("a reply"))?;
        if let Some(run) = &reply.run
            && !committed.repeated
        {
            self.start_engine(run)?;
        }
        Ok(reply)
    }
}

/// Returns the plan as it was given, or the one made from the job, and the lines of its text that say nothing to a run.
fn written(request: &StartRunRequest) -> Result<(Plan, Vec<String>), Failure> {
    let bad = |field: &str, why: String| Err(Failure::new("request.bad-args", why).at(field.to_owned()));
    let Some(job) = &request.job else { return plan::read_with_notes(&request.plan, &request.source) };
    if !request.plan.is_empty() {
        return bad("plan", "a run carries out a plan or a job, not both".to_owned());
    }
    if request.scope.is_some() {
        return bad("scope", "a job is run as a whole: it has no parts to choose from".to_owned());
    }
    let mode = request.mode.unwrap_or_else(|| job.usual_mode());
    if let Some((field, why)) = job.unsupported_field(mode) {
        return bad(field, why);
    }
    // The plan is ours: the caller knows the job alone.
    plan::read_with_notes(&job.plan(mode), "job.json").or_else(|failure| bad("job", failure.what))
}

/// Applies the request's time limits; refuses limits under which a task's agent would not be told to finish before its
/// time is over.
fn limited(mut compiled: Compiled, run_plan: &RunPlan) -> Result<Compiled, Error> {
    let WorkerTimeout { soft, hard } = run_plan.timeout;
    let bad = |field: &str, what: String| Err(Failure::new("request.bad-args", what).at(field.to_owned()).into());
    for (field, ms) in [("worker_timeout_ms.hard", hard), ("worker_timeout_ms.soft", soft)] {
        if ms.is_some_and(|ms| ms == 0 || ms > WorkerTimeout::MAX_MS) {
            return bad(field, format!("a time limit is 1 to {} milliseconds", WorkerTimeout::MAX_MS));
        }
    }
    for unit in &mut compiled.units {
        let Some(task) = unit.unit.task() else { continue };
        let (_, settings) = run_plan.settings(task)?;
        let (told_at, ends_at) = settings.limits_ms();
        if soft.is_some() && told_at >= ends_at {
            let what = format!(
                "the agent of task {task} would be told to finish after {told_at} ms, and is ended after {ends_at} ms"
            );
            return bad("worker_timeout_ms.soft", what);
        }
        unit.timeout_ms = settings.timeout_ms;
    }
    Ok(compiled)
}

fn bounded(parent_trace: Option<&str>) -> Result<(), Failure> {
    if parent_trace.is_none_or(|trace| trace.len() <= MAX_PARENT_TRACE) {
        return Ok(());
    }
    let what = format!("what the workers should know has more than {MAX_PARENT_TRACE} bytes");
    Err(Failure::new("request.bad-args", what).at("parent_trace"))
}

/// Refuses an agent that is described in two ways: one of them would be ignored.
fn distinct(agents: &[AgentChoice]) -> Result<(), Failure> {
    let mut seen = BTreeMap::new();
    for choice in agents {
        let other = seen.insert(choice.name.folded(), choice);
        if other.is_some_and(|other| AgentChoice { name: choice.name.clone(), ..other.clone() } != *choice) {
            let what = format!("the agent {} is described twice; upper and lower case are the same", choice.name);
            return Err(Failure::new("request.bad-args", what).at("agents"));
        }
    }
    Ok(())
}

/// Refuses more workers than the maximum, rather than reducing the number silently.
fn countable(max_workers: Option<u32>) -> Result<(), Failure> {
    if max_workers.is_none_or(|workers| (1..=MAX_WORKERS).contains(&workers)) {
        return Ok(());
    }
    let what = format!("a run has 1 to {MAX_WORKERS} workers at once");
    Err(Failure::new("request.bad-args", what).at("max_workers"))
}

/// Returns what a plan leaves to the loop, and where it continues; without a loop, the plan unchanged.
async fn rest(
    world: &World,
    tree: &Arc<dyn Git>,
    (written, hash): (Plan, &str),
    request: &StartRunRequest,
) -> Result<(Plan, Option<Progress>), Error> {
    if request.turn.is_none() {
        return Ok((written, None));
    }
    if request.job.is_some() {
        let what = "a loop runs a plan, and a job is none";
        return Err(Failure::new("request.bad-args", what).at("turn").into());
    }
    let (runs, base) = (progress::earlier(world, &written, hash)?, request.base.clone());
    let found = world.git_on(tree, move |git| progress::resolve(git, runs, base.as_deref())).await?;
    let (eligible, _) = super::next_unit::eligible(&written);
    let unit = request.scope.as_ref().map_or_else(|| written.clone(), |unit| unit.of_plan(&written));
    let is_left = |id: &TaskId| eligible.contains(id) && !found.done.contains(id);
    if !unit.phases.is_empty() && !unit.tasks().any(|task| is_left(&task.id)) {
        let what = "everything that can be done in it is merged already";
        return Err(Failure::new("request.conflict", what).at("scope").into());
    }
    Ok((progress::rest_of(written, &found.done, &eligible), Some(found)))
}

/// Returns the event of the loop's turn that starts a run.
fn turned(run: &RunId, turn: &AutoTurn, request: &StartRunRequest, decided: &Decided) -> RunEvent {
    let AutoTurn { number, kind, why } = turn.clone();
    let (unit, follows) = (request.scope.clone(), decided.follows.clone());
    let fact = RunEvent::LoopTurned { run: run.clone(), turn: number, turn_kind: kind, unit, follows, why };
    fact.fitted()
}

/// Returns the part of the plan to run.
fn part(written: &Plan, request: &StartRunRequest) -> Result<Part, Failure> {
    match &request.scope {
        Some(unit) => scope::part(written, unit).map_err(|failure| failure.at(&request.source)),
        None => Ok(Part { plan: written.clone(), notes: Vec::new() }),
    }
}

/// Checks that the commit from which the run starts contains the inputs that tasks need and none of them makes.
async fn inputs_are_there(world: &World, plan: &Plan, base: &Oid, source: &str) -> Result<(), Error> {
    if !dataflow::has_inputs(plan) {
        return Ok(());
    }
    let base = base.clone();
    let files = world.git(move |git| git.files_of(&base)).await?;
    let files = Files::new(files.iter().map(|path| plan::text(path)).collect());
    Ok(dataflow::check_inputs(plan, &files).map_err(|failure| failure.at(source))?)
}

/// Writes how the agents are started to a file beside the log: it may hold secrets.
pub(super) async fn write_agents(world: &World, run_plan: &RunPlan) -> Result<(), Error> {
    let text = serde_json::to_vec(&run_plan.all_agents()).map_err(shape("agents.json"))?;
    let roles = serde_json::to_vec(&run_plan.roles.values().collect::<Vec<_>>()).map_err(shape("roles.json"))?;
    let limits = serde_json::to_vec(&run_plan.limits).map_err(shape("limits.json"))?;
    let (has_limits, limits_path) = (!run_plan.limits.is_usual(), plan::limits_file(&world.config, &run_plan.run));
    let (has_roles, roles_path) = (!run_plan.roles.is_empty(), plan::roles_file(&world.config, &run_plan.run));
    let folder = plan::folder(&world.config, &run_plan.run);
    let (path, files) = (plan::agents_file(&world.config, &run_plan.run), Arc::clone(&world.ports.files));
    let written = world.blocking(move || {
        files.make_folder(&folder)?;
        if has_roles {
            files.write(&roles_path, &roles)?;
        }
        if has_limits {
            files.write(&limits_path, &limits)?;
        }
        files.write(&path, &text)
    });
    written.await
}

/// Refuses variables for set-ups that are none of a proxy: another could change what a trusted command does.
fn of_a_proxy(env: &[(String, String)]) -> Result<(), Failure> {
    let other = env.iter().find(|(name, _)| !PROXIES.contains(&name.as_str()));
    other.map_or(Ok(()), |(name, _)| {
        let what = format!("{} is no variable of a proxy", cut(name, 100));
        Err(Failure::new("request.bad-args", what).at("setup_env").hint(PROXIES.join(", ")))
    })
}

/// Writes the variables for set-ups to a file beside the log: a proxy's address may hold a password.
async fn write_setup_env(world: &World, run: &RunId, env: &[(String, String)]) -> Result<(), Error> {
    if env.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_vec(env).map_err(shape("setup-env.json"))?;
    let (path, files) = (plan::setup_env_file(&world.config, run), Arc::clone(&world.ports.files));
    world.blocking(move || files.write(&path, &text)).await
}

/// Decisions about a run, made before anything starts.
struct Decided {
    /// Part of the plan to run, without subtasks.
    plan: Plan,
    /// Hash of the plan as it was given, the same for all of its parts.
    hash: String,
    /// Run whose work it begins at, if that is not the user's branch.
    follows: Option<RunId>,
    /// Notes about the part, and about tasks with several workers.
    notes: Vec<String>,
    /// Dependencies that follow from inputs.
    derived: Vec<DerivedEdge>,
    prepared: Prepared,
    compiled: Compiled,
    agents: Vec<AgentChoice>,
    /// Notes about the set-up of the run's trees.
    setup: Vec<String>,
    held: isolation::Held,
}

// === impl Decided ===

impl Decided {
    /// Returns all files that the run's tasks declare to write.
    fn writes(&self) -> Vec<Pattern> {
        let declared = self.compiled.units.iter().flat_map(|unit| &unit.writes);
        declared.filter_map(|path| Pattern::parse(path).ok()).collect()
    }

    fn opening(&self, hash: &str, start_point: &StartPoint) -> Result<Vec<RunEvent>, Error> {
        let max_workers = self.prepared.max_workers;
        let begin = Opening { plan_hash: hash, base: start_point.base.as_str(), max_workers };
        opening(&self.plan, &self.compiled, begin).map_err(shape("the run's beginning"))
    }
}

/// Caller of the start, its idempotency key, and the reply without the run's id.
struct StartCall<'a> {
    by: &'a str,
    /// Step of another run for which it is started.
    of: Option<&'a PartOf>,
    call: Option<Idempotency>,
    reply: StartRunReply,
}

/// Returns whether the run's branch is merged at the end: as the request says, else as the plan does.
fn auto_merge(request: &StartRunRequest, plan: &Plan) -> AutoMerge {
    let asked = request.auto_merge.or_else(|| request.merge.then_some(AutoMerge::Auto));
    asked.or_else(|| plan.switchboard.as_ref()?.auto_merge).unwrap_or_default()
}

fn run_plan(
    run: RunId,
    request: &StartRunRequest,
    expanded: &Expanded,
    start_point: &StartPoint,
) -> Result<RunPlan, Error> {
    let auto_merge = auto_merge(request, &expanded.plan);
    Ok(RunPlan {
        branch: format!("switchboard/{run}"),
        base: start_point.base.to_string(),
        agents: request.agents.iter().map(|choice| (choice.name.folded(), choice.clone())).collect(),
        renewed_env: Mutex::default(),
        roles: request.roles.iter().map(|choice| (choice.role.clone(), choice.clone())).collect(),
        default_agent: request.default_agent.clone(),
        merge: auto_merge == AutoMerge::Auto,
        confirms_merge: auto_merge == AutoMerge::Confirm,
        positions: TaskPositions::of(&expanded.plan),
        run,
        plan: expanded.plan.clone(),
        shapes: expanded.shapes.clone(),
        worktrees: start_point.worktrees.0.clone(),
        setup: Vec::new(),
        timeout: request.worker_timeout_ms.unwrap_or_default(),
        limits: request.team_limits,
        isolation: request.isolation,
        unenforced: request.unenforced,
        coordination: request.coordination,
        tree: start_point.tree.clone(),
        parent_trace: request.parent_trace.clone().unwrap_or_default(),
    })
}

/// Chooses the set-up of new work trees; returns the notes about it.
async fn setup(
    world: &World,
    tree: &Arc<dyn Git>,
    run_plan: &mut RunPlan,
    locks: &[String],
) -> Result<Vec<String>, Error> {
    let (setups, shims) = (Arc::clone(&world.ports.setups), Arc::clone(&world.ports.shims));
    let (plan, locks) = (run_plan.plan.clone(), locks.to_vec());
    let chosen = world.git_on(tree, move |git| {
        let chosen = crate::setup::chosen(&plan, &locks, &*shims);
        Ok((chosen, crate::setup::included(git, &*setups)?))
    });
    let (chosen, included) = chosen.await?;
    let notes = crate::setup::notes(&chosen.commands, &included);
    run_plan.setup = chosen.commands;
    Ok(notes.into_iter().chain(chosen.notes).collect())
}

/// Returns the first of the agents with each name, which are one after the other.
fn each_name(agents: &[AgentChoice]) -> impl Iterator<Item = &AgentChoice> {
    agents.chunk_by(|one, next| one.name.folded() == next.name.folded()).filter_map(<[_]>::first)
}

/// Returns the agents that the tasks need, each with an installed program, by their names: each agent before the
/// commands that run under its name, each of which is there once. Tasks that the run leaves out need none.
fn agents(shims: &dyn Shims, parts: &[RunPart<'_>]) -> Result<Vec<AgentChoice>, Error> {
    let mut needed: BTreeMap<String, Vec<AgentChoice>> = BTreeMap::new();
    for RunPart { task: id, settings, work, choice } in parts {
        if choice.instructions.len() > AgentChoice::MAX_INSTRUCTIONS {
            let (size, most) = (choice.instructions.len(), AgentChoice::MAX_INSTRUCTIONS);
            let what = format!("the instructions of {} have {size} bytes, {most} are allowed", choice.name);
            return Err(Failure::new("config.bad-value", what)
                .hint("shorten them, or let the agent read a file")
                .into());
        }
        let (DriverSpec::Acp { argv } | DriverSpec::Exec { argv }) = &choice.driver;
        let program = argv.first().cloned().unwrap_or_default();
        if !shims.has_program(&program) {
            let what = format!("task {id} needs the program {:?}, which is not there", cut(&program, 100));
            return Err(Failure::new("agent.missing", what)
                .hint("install it, or name another agent with --agent")
                .into());
        }
        let planned = settings.model.as_deref().filter(|_| work.is_none());
        let model = choice.model_for(planned).filter(|_| !choice.takes_model());
        if let (DriverSpec::Exec { .. }, Some(model)) = (&choice.driver, model) {
            let what =
                format!("task {id} wants the model {:?}, and its command has no way to choose one", cut(&model, 100));
            return Err(Failure::new("agent.no-model", what)
                .hint("leave the model out, or put it into the command")
                .into());
        }
        let of_name = needed.entry(choice.name.folded()).or_default();
        let known = of_name.iter_mut().find(|known| known.driver == choice.driver);
        match (known, settings.command.is_some()) {
            (Some(_), true) => {}
            (Some(known), false) => *known = choice.clone(),
            (None, true) => of_name.push(choice.clone()),
            (None, false) => of_name.insert(0, choice.clone()),
        }
    }
    Ok(needed.into_values().flatten().collect())
}

/// Returns the steps of the run in which a worker judges, each with its task.
fn judges(compiled: &Compiled) -> Vec<(TaskId, StepWork)> {
    let ways: BTreeMap<_, _> = compiled.ways.iter().map(|way| (way.digest(), way)).collect();
    let mut found = Vec::new();
    for unit in &compiled.units {
        let (Some(task), Some(way)) = (unit.unit.task(), ways.get(&unit.way)) else { continue };
        let applying = way.steps().iter().filter(|step| step.when.is_always());
        found.extend(applying.filter_map(|step| {
            let StepAction::Work { role, writes, answer: Some(answer), .. } = &step.does else { return None };
            let (role, writes, answer) = (role.clone(), writes.clone(), Some(*answer));
            Some((task.clone(), StepWork { role, writes, answer, input: Digest::ZERO }))
        }));
    }
    found
}

fn trusted(world: &World, locks: &[String], plan: &Plan) -> Result<(), Error> {
    let mut commands = plan::commands(plan);
    commands.extend(crate::setup::commands_of_locks(plan, locks));
    if commands.is_empty() || (world.config.trusts.0)(&plan::commands_digest(&commands)) {
        return Ok(());
    }
    let list: Vec<_> =
        commands.iter().take(20).map(|(what, argv)| format!("{what}: {}", cut(&quoted(argv), 200))).collect();
    let count = if commands.len() == 1 { "a command".to_owned() } else { format!("{} commands", commands.len()) };
    let what = format!("the plan brings {count} that you have not trusted");
    let mut failure = Failure::new("config.untrusted", what).hint("look at what it runs, then: switchboard trust PLAN");
    failure.cause = list;
    Err(failure.into())
}

/// Refuses the user's uncommitted changes in files that the plan declares: the merge would be refused in the end.
fn clean(dirty: &[String], writes: &[Pattern]) -> Result<(), Failure> {
    let touched: Vec<_> = dirty.iter().filter(|path| writes.iter().any(|pattern| pattern.covers(path))).collect();
    if touched.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = touched.iter().take(MAX_NAMED).map(|path| path.as_str()).collect();
    let count = if touched.len() == 1 { "a file".to_owned() } else { format!("{} files", touched.len()) };
    let what = format!("changes of yours are in {count} that the plan touches: {}", names.join(", "));
    Err(Failure::new("dispatch.dirty", what).hint("commit or stash them first"))
}

fn configured(
    run_plan: &RunPlan,
    request: &StartRunRequest,
    start_point: &StartPoint,
    (hash, tasks): (&str, usize),
    by: &str,
) -> Result<NewEvent, Error> {
    let fact = RunEvent::RunConfigured {
        run: run_plan.run.clone(),
        title: cut(&run_plan.plan.title, progress::TITLE),
        plan_hash: hash.to_owned(),
        source: cut(&request.source, 150),
        target: start_point.target.clone(),
        base: start_point.base.to_string(),
        branch: run_plan.branch.clone(),
        worktrees: plan::text(&run_plan.worktrees),
        default_agent: run_plan.default_agent.clone(),
        merge: run_plan.merge,
        tasks: tasks as u64,
        isolation: run_plan.isolation,
        unenforced: run_plan.unenforced,
        coordination: run_plan.coordination,
        tree: run_plan.tree.clone(),
        timeout: run_plan.timeout,
        confirms_merge: run_plan.confirms_merge,
        plan_key: unit_claims::plan_key(&run_plan.plan, request.job.is_some()),
        asked: unit_claims::request_digest(request),
    };
    let event = NewEvent::of(&fact, format!("run/{}", run_plan.run), by).map_err(shape("a run"))?;
    let trace = &run_plan.parent_trace;
    Ok(if trace.is_empty() { event } else { event.with_body(trace) })
}

fn reply(world: &World, run_plan: &RunPlan, start_point: &StartPoint, decided: &Decided) -> StartRunReply {
    let Decided { plan, notes, derived, prepared, compiled, agents, setup, held, hash: _, follows: _ } = decided;
    let takes_part = |edge: &&DerivedEdge| [&edge.task, &edge.on].iter().all(|id| prepared.eligible.contains(id));
    StartRunReply {
        run: None,
        already: false,
        target: start_point.target.clone(),
        base: start_point.base.to_string(),
        branch: run_plan.branch.clone(),
        worktrees: plan::text(&run_plan.worktrees.join(run_plan.run.as_str())),
        worktrees_from: start_point.worktrees.1.clone(),
        auto_merge: match (run_plan.merge, run_plan.confirms_merge) {
            (true, _) => AutoMerge::Auto,
            (false, true) => AutoMerge::Confirm,
            (false, false) => AutoMerge::Manual,
        },
        waves: prepared.waves.iter().map(|wave| wave.iter().map(ToString::to_string).collect()).collect(),
        conflicts: prepared.conflicts.clone(),
        derived: derived.iter().filter(takes_part).take(MAX_DERIVED).cloned().collect(),
        skipped: prepared.skipped.iter().chain(&prepared.deferred).cloned().collect(),
        agents: agents.iter().map(|choice| AgentChoice { env: Vec::new(), ..choice.clone() }).collect(),
        notes: setup
            .iter()
            .cloned()
            .chain(compiled.notes.iter().cloned())
            .chain(notes.iter().cloned())
            .chain(crate::plan::ignored(plan))
            .chain(held.notes.iter().cloned())
            .collect(),
        constrained: held.constrained.clone(),
        gaps: held.gaps.clone(),
        max_workers: prepared.max_workers,
        cursor: world.store.head().lsn,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_says_whether_a_run_is_merged_at_its_end_and_else_its_plan() {
        let of = |asked: Option<AutoMerge>, merge: bool, planned: Option<&str>| {
            let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [],
                "x-switchboard": planned.map(|planned| json!({ "auto_merge": planned })) });
            let request = json!({ "auto_merge": asked, "merge": merge });
            auto_merge(&serde_json::from_value(request).unwrap(), &serde_json::from_value(plan).unwrap())
        };

        assert_eq!(of(None, false, None), AutoMerge::default());
        assert_eq!(of(None, false, Some("confirm")), AutoMerge::Confirm);
        assert_eq!(of(None, true, Some("confirm")), AutoMerge::Auto);
        assert_eq!(of(Some(AutoMerge::Manual), true, Some("confirm")), AutoMerge::Manual);
    }
}
