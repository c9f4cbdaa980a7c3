//! Simulates runs under simulated time: the real engine, effects and watches on the store in memory, with simulated
//! git, shims, checks, mail, files and commits that fail as a seed decides. The same seed gives the same history.
//!
//! A history consists of a few lives of the daemon, each in its own runtime with paused time. A crash drops the runtime
//! with everything in progress; the next life reads the log and takes up what it finds. Shims survive in between. An
//! observer sees every commit and checks the invariants; [`simulate`] fails with the one that was broken.

mod answers;
mod approval;
mod architect;
mod clock;
mod connection;
mod files;
mod finished_run;
mod folded;
mod git;
mod judges;
mod launched;
mod modes;
mod observer;
mod people;
mod ports;
mod repo;
mod request;
mod script;
mod seen;
mod shim;
mod shims;
mod shown;
mod spec;
mod stage;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod trace;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_pipeline::run::RunState;
use switchboard_protocol::frame::WorkerLimits;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::TaskState;
use switchboard_store::{Query, Row, Store};
use tokio_util::sync::CancellationToken;

pub(crate) use self::approval::approval;
pub use self::modes::{ModesReport, die_at_each_step, simulate_modes};
pub use self::spec::{Defect, FullDisk, Refusal, Refuse, SimReport, SimSpec};

use self::shim::BAD;
use self::stage::Stage;
use crate::config::{ReadLimits, ReadWorktrees, Trust};
use crate::lock::lock;
use crate::work::{RUNS, Work, run_id};
use crate::world::World;
use crate::{Config, Dispatch, Error, history};

/// Maximum number of lives of a daemon in a history.
const LIVES: u64 = 400;

/// Maximum simulated time, in milliseconds: two days.
const MAX_SIMULATED_MS: i64 = 48 * 3_600_000;

/// Outcome of a life of the daemon.
enum End {
    Crashed,
    Over,
}

/// Simulates one history.
///
/// # Errors
/// The broken invariant, in a sentence.
pub fn simulate(seed: u64, spec: SimSpec) -> Result<SimReport, String> {
    play(seed, spec).map(|(report, _)| report)
}

/// Simulates one history, and returns its log in addition to its report.
fn play(seed: u64, spec: SimSpec) -> Result<(SimReport, Store), String> {
    let stage = Arc::new(Stage::new(seed, spec));
    lock(&stage.observer).has_usual_plan = true;
    let store = Store::in_memory(vec![Box::new(Work), Box::new(switchboard_needs::Needs)], stage.clock.for_store());
    let drawn_from = spec.plan_seed.map(|seed| Stage::new(seed, spec));
    let plans: Vec<_> = (1..=spec.runs).map(|phase| plan(drawn_from.as_ref().unwrap_or(&stage), phase)).collect();
    live_until(&stage, &store, async |daemon| people::work(&stage, &daemon, &plans).await)?;
    let report = conclude(&stage, &store)?;
    if spec.afterwards {
        let run = the_run(&store)?;
        live_until(&stage, &store, async |daemon| finished_run::work(&stage, &daemon, &run).await)?;
    }
    Ok((report, store))
}

/// Runs daemons one after the other until everything that people want of it is done.
fn live_until(
    stage: &Arc<Stage>,
    store: &Store,
    work: impl AsyncFn(Dispatch) -> Result<(), String>,
) -> Result<(), String> {
    for life in 0..LIVES {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        let end = runtime.block_on(async {
            let end = live(stage, store, &work).await;
            stage.clock.end_life();
            end
        });
        *lock(&stage.daemon) = None;
        drop(runtime);
        let down = i64::try_from(stage.below(if stage.chance(100) { 3_600_000 } else { 3_000 })).unwrap_or(0);
        stage.clock.pass(down);
        if let Some(broken) = lock(&stage.observer).broken() {
            return Err(format!("{broken} (life {life})"));
        }
        match end? {
            End::Crashed => lock(&stage.report).crashes += 1,
            End::Over => return Ok(()),
        }
    }
    Err(format!("the run has not ended after {LIVES} lives"))
}

/// Runs one life of the daemon.
async fn live(
    stage: &Arc<Stage>,
    store: &Store,
    work: &impl AsyncFn(Dispatch) -> Result<(), String>,
) -> Result<End, String> {
    stage.clock.begin_life();
    let world = World::new(store.clone(), config(stage), ports::ports(stage, store), CancellationToken::new());
    world.set_defect(stage.spec.defect);
    let at = Arc::clone(stage);
    world.set_panics(move || {
        let wants = at.chance(at.spec.panics);
        lock(&at.report).panics += u64::from(wants);
        wants
    });
    let daemon = Dispatch::with(world);
    *lock(&stage.daemon) = Some(daemon.clone());
    let mut folders: Vec<PathBuf> = lock(&stage.shims).paths().collect();
    folders.sort_unstable();
    folders.into_iter().for_each(|folder| connection::keep(stage, folder));
    let left = u64::try_from(MAX_SIMULATED_MS - stage.clock.ms()).unwrap_or(0);
    tokio::select! {
        biased;
        () = stage.crashed() => Ok(End::Crashed),
        over = work(daemon) => over.map(|()| End::Over),
        () = tokio::time::sleep(Duration::from_millis(left)) => {
            Err(format!("the run hangs: {}", describe(store)))
        }
    }
}

fn describe(store: &Store) -> String {
    let Ok(Some(row)) = store.read(&Query::table(RUNS).desc("seq").limit(1)).map(|rows| rows.into_iter().next()) else {
        return "it was never started".to_owned();
    };
    let views = run_id(&row).and_then(|run| history::fold(store, &run));
    let state = |state| views.as_ref().map_or_else(|_| String::new(), state);
    state(|folded: &RunState| {
        let tasks = folded.tasks().filter(|view| !view.state.is_settled());
        let tasks: Vec<_> = tasks.map(|view| format!("{} {:?}", view.task, view.state)).collect();
        format!("{:?}; {}", folded.outcome(), tasks.join(", "))
    })
}

/// Checks the state after the history.
fn conclude(stage: &Stage, store: &Store) -> Result<SimReport, String> {
    let rows = store.read(&Query::table(RUNS).desc("seq")).map_err(|error| error.to_string())?;
    if rows.len() as u64 != stage.spec.runs {
        return Err(format!("there are {} runs, and {} were started", rows.len(), stage.spec.runs));
    }
    let mut outcomes = BTreeSet::new();
    let (mut hasher, mut tasks) = (DefaultHasher::new(), 0);
    for row in rows.iter().rev() {
        let (outcome, count) = conclude_run(stage, store, row, &mut hasher)?;
        outcomes.insert(outcome);
        tasks += count;
    }
    let observer = lock(&stage.observer);
    let mut report = lock(&stage.report).clone();
    (report.tasks, report.tree, report.order) = (tasks, hasher.finish(), observer.order());
    report.merged = observer.merged().len() as u64;
    (report.answers, report.unusable) = (observer.judges.answers, observer.judges.unusable);
    (report.rebased, report.failed_rebases) = (observer.rebased, observer.failed_rebases);
    (report.lost, report.waited, report.most_live) = (observer.lost, observer.waited, observer.most_live);
    drop(observer);
    report.simulated_ms = stage.clock.ms().unsigned_abs();
    report.events = store.head().lsn;
    report.digest = digest(store).map_err(|error| error.to_string())?;
    report.outcome = outcomes.into_iter().collect::<Vec<_>>().join(", ");
    Ok(report)
}

/// Checks the state after one run; returns its outcome and its number of tasks.
fn conclude_run(stage: &Stage, store: &Store, row: &Row, tree: &mut DefaultHasher) -> Result<(String, u64), String> {
    let run = run_id(row).map_err(|error| error.to_string())?;
    let folded = lock(&stage.folded).remove(&run).unwrap_or_default();
    let state = folded.into_end(store, &run).map_err(|error| error.to_string())?;
    let outcome = state.outcome().ok_or_else(|| format!("{run} has no outcome"))?;
    let repo = lock(&stage.repo);
    let base = repo.branch(repo::MAIN).ok_or("the user's branch is gone")?;
    // The branch is made when the first worker starts.
    let has_begun = lock(&stage.observer).has_begun(&history::subject(&run));
    let head = repo.branch(row.get_text("branch").unwrap_or_default());
    let head = head.or_else(|| (!has_begun).then(|| base.clone())).ok_or("the run's branch is gone")?;
    let mut commits: BTreeMap<String, u64> = BTreeMap::new();
    for task in repo
        .messages(&base, &head)
        .iter()
        .flat_map(|message| message.lines().filter_map(|line| line.strip_prefix("Switchboard-Task: ")))
    {
        *commits.entry(task.to_owned()).or_default() += 1;
    }
    let files = repo.files(&head).map_err(|error| error.to_string())?;
    if let Some((path, _)) = files.iter().find(|(_, content)| content.contains(BAD)) {
        return Err(format!("{path} was merged with a defect that the gates find"));
    }
    let merged = lock(&stage.observer).merged().clone();
    for view in state.tasks() {
        let commits = commits.get(view.task.as_str()).copied().unwrap_or_default();
        if !view.state.is_settled() {
            return Err(format!("{} is lost in state {:?}", view.task, view.state));
        }
        if !matches!(view.state, TaskState::Merged { .. }) {
            continue;
        }
        let is_in = |landing: &TaskId| merged.contains(landing);
        let is_in_branch = state.lands_with(&view.task).is_none_or(is_in);
        let has_change = files.has(&format!("t/{}", view.task));
        if !is_in_branch && has_change {
            return Err(format!("{} is in the branch before its group", view.task));
        }
        if commits > 1 {
            return Err(format!("{} was merged {commits} times", view.task));
        }
        if is_in_branch && !has_change && !state.is_landing(&view.task) {
            return Err(format!("{} is merged and its change is not in the branch", view.task));
        }
        if is_in_branch && files.has(&repo::removed_by(view.task.as_str())) {
            return Err(format!("{} is merged and what it removed is in the branch", view.task));
        }
        if !merged.contains(&view.task) {
            return Err(format!("nobody saw {} merged", view.task));
        }
    }
    for (path, content) in files.iter() {
        let words = content.split(' ').filter(|word| !word.starts_with("wrk_")).collect::<Vec<_>>();
        (path, words).hash(tree);
    }
    Ok((format!("{outcome:?}").to_lowercase(), state.tasks().count() as u64))
}

/// Returns the run of a history.
fn the_run(store: &Store) -> Result<RunId, String> {
    let rows = store.read(&Query::table(RUNS).limit(1)).map_err(|error| error.to_string())?;
    rows.first().ok_or("there is no run".to_owned()).and_then(|row| run_id(row).map_err(|error| error.to_string()))
}

fn digest(store: &Store) -> Result<u64, Error> {
    let mut hasher = DefaultHasher::new();
    let mut after = 0;
    loop {
        let page = store.raw_events(after, 1000)?;
        let Some((_, last)) = page.last() else { return Ok(hasher.finish()) };
        after = last.lsn;
        for (subject, event) in &page {
            (event.ts.0, &event.kind, subject, event.facts.as_str()).hash(&mut hasher);
        }
    }
}

fn config(stage: &Arc<Stage>) -> Config {
    config_with(shared(stage))
}

/// Returns the simulated configuration with these limits over all runs.
pub(crate) fn config_with(shared: ReadLimits) -> Config {
    Config {
        trusts: Trust(Arc::new(|_| true)),
        state: "/state".into(),
        worktrees: "/worktrees".into(),
        named_worktrees: ReadWorktrees(Arc::new(|| Ok(None))),
        git_dir: "/repo/.git".into(),
        home: None,
        private: Vec::new(),
        tree_ports: "/tree-ports".into(),
        socket: "/socket".into(),
        binary: "/switchboard".into(),
        env: Vec::new(),
        limits: WorkerLimits::default(),
        shared,
        usual_workers: 8,
        shim_grace: Duration::from_secs(3),
        heartbeat: Duration::from_secs(60),
        gate_limit: Duration::from_secs(600),
        crash_at: None,
    }
}

/// Returns the simulated user's settings for all runs.
fn shared(stage: &Arc<Stage>) -> ReadLimits {
    let stage = Arc::clone(stage);
    ReadLimits(Arc::new(move || Ok(*lock(&stage.limits))))
}

/// Returns a plan of one phase with random dependencies, shared files and time limits of its tasks.
fn plan(stage: &Stage, phase: u64) -> String {
    let spec = &stage.spec;
    let count = spec.min_tasks + stage.below(spec.max_tasks - spec.min_tasks + 1);
    let is_big = count > 100;
    // With many workers, only few wait for each other.
    let sharing = if spec.runs > 1 { 20 } else { 300 };
    let density = if is_big { 0 } else { stage.below(300) };
    let id = |n: u64| format!("{phase}.{}", n + 1);
    let by_slice = !is_big && spec.slices > 0 && stage.chance(spec.slices);
    let tasks: Vec<Value> = (0..count)
        .map(|n| {
            let depends: Vec<_> = (0..n).filter(|_| stage.chance(density)).map(id).collect();
            let mut settings = serde_json::Map::new();
            if spec.bad_workers > 0 && stage.chance(500) {
                settings.insert("timeout_minutes".to_owned(), json!(1 + stage.below(5)));
            }
            if stage.chance(200) {
                settings.insert("agent".to_owned(), json!("ben"));
            }
            if by_slice && n * 5 < count * 4 {
                // Tasks need no later task, so that no slices wait for each other.
                settings.insert("slice".to_owned(), json!(if n < count / 2 { "first" } else { "second" }));
            }
            if !is_big && stage.chance(150) {
                settings.insert("command".to_owned(), json!(["make", "it"]));
            }
            if !is_big && stage.chance(spec.modes) {
                settings.extend(mode(stage));
            }
            let mut files = match stage.chance(sharing) {
                true => vec![format!("src/{}.rs", stage.below(3)), format!("t/{}", id(n))],
                false => vec![format!("t/{}", id(n))],
            };
            files.extend((phase == 1 && n < repo::REMOVERS).then(|| repo::removed_by(&id(n))));
            // A team accepts at most two files in one task.
            if stage.team.is_some() && files.len() > 2 {
                files.remove(0);
            }
            json!({
                "id": id(n), "phase": phase, "description": format!("do {n}"), "acceptance": "it is done", "depends": depends,
                "files_touched": files, "x-switchboard": settings,
            })
        })
        .collect();
    let mut settings = if stage.wants_setup() { json!({ "setup": ["make", "deps"] }) } else { json!({}) };
    if let Some(is_secured) = stage.team {
        settings["team"] = json!(true);
        settings["always_security_review"] = json!(is_secured);
    }
    if stage.fixes_lint && !is_big {
        settings["lint_fix"] = json!(["make", "tidy"]);
    }
    if by_slice {
        settings["merge"] = json!("slice");
    }
    if spec.runs > 1 {
        // There are not enough ports for so many trees.
        settings["ports"] = json!(0);
    }
    json!({
        "schema_version": "1.0.0", "title": "A simulated plan", "swarm": "sim", "x-switchboard": settings,
        "phases": [{ "id": phase, "name": "one", "tasks": tasks }],
    })
    .to_string()
}

/// Returns a setting by which several agents work on a task, or by which it is a report.
fn mode(stage: &Stage) -> Option<(String, Value)> {
    let workers = 2 + stage.below(2);
    let list = |item: Value| (0..workers).map(|_| item.clone()).collect::<Vec<_>>();
    let (name, value) = match stage.below(4) {
        0 => ("best_of", json!(workers)),
        1 => ("chain", json!(list(json!({ "prompt": "go on with {task}" })))),
        2 => ("debate", json!({ "participants": list(json!({ "agent": "ben" })), "rounds": 1 + stage.below(3) })),
        _ => ("result", json!("report")),
    };
    Some((name.to_owned(), value))
}
