//! Simulated people: they start the run, stop and retry tasks, answer questions, move the run's branch, and check what
//! they see.

use std::sync::Arc;
use std::time::Duration;

use switchboard_needs::Decision;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::id::{AgentName, Digest, RunId};
use switchboard_protocol::need::NeedKind;
use switchboard_protocol::run::{AtCeiling, Budget, TaskPauseCause};
use switchboard_protocol::verb::run::{
    MergeRunRequest, PauseRunRequest, RebaseRunRequest, ResumeRunRequest, RetryTaskRequest, SetBudgetRequest,
    StopRunRequest,
};
use switchboard_store::{Batch, Idempotency, Query};
use tokio::sync::watch;

use super::folded::compare;
use super::request::request;
use super::spec::COST;
use super::stage::Stage;
use crate::lock::lock;
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error};

/// Time after which people try again what the budget did not allow.
const LATER: Duration = Duration::from_secs(3 * 3600);

/// Maximum number of retries in a history.
const RETRIES: u64 = 6;

/// Waits for a while, which is long if people are away. Returns true as soon as no run is live.
pub(super) async fn look_away(stage: &Stage, live: &mut watch::Receiver<usize>) -> bool {
    let is_near = stage.spec.people + stage.spec.rebases > 0;
    let pause = Duration::from_millis(1 + stage.below(if is_near { 60_000 } else { 3_600_000 }));
    tokio::select! {
        biased;
        over = live.wait_for(|live| *live == 0) => over.is_ok(),
        () = tokio::time::sleep(pause) => false,
    }
}

/// Acts until all runs are over and no further request is due.
pub(super) async fn work(stage: &Arc<Stage>, daemon: &Dispatch, plans: &[String]) -> Result<(), String> {
    boot(stage, daemon).await;
    let runs = start(stage, daemon, plans).await?;
    let mut live = daemon.live_runs();
    loop {
        let is_over = look_away(stage, &mut live).await;
        if is_over && !look_at_all(stage, daemon, &runs).await? {
            return Ok(());
        }
        // One at a time; a single run needs no choice.
        let at = if runs.len() > 1 { stage.below(runs.len() as u64) as usize } else { 0 };
        if !is_over {
            look(stage, daemon, &runs[at]).await?;
        }
        if !is_over && stage.chance(500) {
            resume(stage, daemon, &runs[at]).await?;
        }
        if !is_over && stage.chance(stage.spec.rebases) {
            rebase(stage, daemon, runs[at].to_string()).await?;
        }
        if stage.chance(stage.spec.people) {
            interfere(stage, daemon, &runs[at], at + 1).await?;
        }
    }
}

/// Checks each run once all are over; returns true if one of them is to continue.
async fn look_at_all(stage: &Stage, daemon: &Dispatch, runs: &[RunId]) -> Result<bool, String> {
    let mut goes_on = false;
    for run in runs {
        look(stage, daemon, run).await?;
        goes_on |= go_on(stage, daemon, run).await?;
    }
    Ok(goes_on)
}

/// Boots a daemon; one that can't boot is started again.
pub(super) async fn boot(stage: &Stage, daemon: &Dispatch) {
    while daemon.boot().await.is_err() {
        stage.delay(1_000).await;
    }
    let world = &daemon.world;
    let holds = |run: &RunId, name: &str| world.worker_names.all(run).iter().any(|held| held.folded() == name);
    lock(&stage.observer).took_over(holds, |name| world.is_assigned(name));
    tokio::spawn(switchboard_needs::expire(world.store.clone(), world.stop.clone()));
}

/// Starts the runs that no earlier life did, one after the other; the idempotency key ensures that each is only one.
/// Returns them in the order of their plans.
async fn start(stage: &Stage, daemon: &Dispatch, plans: &[String]) -> Result<Vec<RunId>, String> {
    loop {
        let known = daemon.world.store.read(&Query::table(RUNS).desc("seq"));
        let known = known.map_err(|error| error.to_string())?;
        if known.len() > plans.len() {
            return Err("a plan was started twice".to_owned());
        }
        let Some((n, plan)) = plans.iter().enumerate().nth(known.len()) else {
            return known.iter().rev().map(|row| run_id(row).map_err(|error| error.to_string())).collect();
        };
        let request = request(stage, plan).map_err(|failure| failure.to_string())?;
        let started = daemon.start_run(request, &ann()?, Some(call("start", n as u64, "start_run"))).await;
        match started {
            Ok(reply) if reply.run.is_none() => return Err("the start of a run names none".to_owned()),
            Ok(_) => {}
            Err(_) => stage.delay(1_000).await,
        }
    }
}

pub(super) fn ann() -> Result<Caller, String> {
    AgentName::new("ann").map(Caller::person).map_err(|error| error.to_string())
}

fn call(key: &str, n: u64, verb: &'static str) -> Idempotency {
    Idempotency { key: format!("{key}-{n}"), caller: "ann".to_owned(), verb, args: Digest::of(b"args") }
}

/// Checks that what people see agrees with the log, and that what has ended has no authority.
async fn look(stage: &Stage, daemon: &Dispatch, run: &RunId) -> Result<(), String> {
    // A crash in between drops it: the next check then folds the whole log.
    let mut folded = lock(&stage.folded).remove(run).unwrap_or_default();
    compare(daemon, run, &mut folded).await?;
    lock(&stage.folded).insert(run.clone(), folded);
    let tokens: Vec<_> = {
        let observer = lock(&stage.observer);
        observer.dead_tokens().rev().take(20).map(|(worker, token)| (worker.clone(), token.clone())).collect()
    };
    for (worker, token) in &tokens {
        if matches!(daemon.worker_of(token), Ok(Some(_))) {
            return Err(format!("the token of {worker} is good after its end"));
        }
    }
    Ok(())
}

/// Shows the end of a finished run, and sometimes retries what failed.
async fn go_on(stage: &Stage, daemon: &Dispatch, run: &RunId) -> Result<bool, String> {
    let (state, ann) = (state(daemon, run)?, ann()?.name);
    no_question_is_left(daemon)?;
    if state == "running" && daemon.world.troubles.of(run).is_some_and(|failure| failure.hint.contains("run --resume"))
    {
        // It has panicked as often as one daemon restarts it: the advice of the hint is followed.
        let request =
            ResumeRunRequest { run: Some(run.to_string()), tasks: Vec::new(), ends_daemon: false, env: Vec::new() };
        if !repeated(stage, |call| daemon.resume_run(&request, &ann, Some(call)), "resume_run").await? {
            // Refused for want of budget: a ceiling is raised, or the next day has a new one.
            tokio::time::sleep(LATER).await;
        }
        return Ok(true);
    }
    if state == "running" {
        return Err("the run is said to be running, and nobody works on it".to_owned());
    }
    let retries = lock(&stage.report).calls;
    if state == "succeeded" || retries >= RETRIES || !stage.chance(stage.spec.people) {
        return Ok(false);
    }
    let request = RetryTaskRequest { what: run.to_string(), tasks: Vec::new(), turn: None, env: Vec::new() };
    // The store may refuse it; then the run stays as it is.
    repeated(stage, |call| daemon.retry_task(&request, Some(call)), "retry_task").await
}

/// Checks that questions about tasks end with what they concern.
fn no_question_is_left(daemon: &Dispatch) -> Result<(), String> {
    let open = switchboard_needs::list(&daemon.world.store, false).map_err(|error| error.to_string())?;
    let left = open.iter().find(|need| matches!(need.kind, NeedKind::Denied | NeedKind::Change));
    left.map_or(Ok(()), |need| Err(format!("{} of task {} is open though the run is over", need.id, need.task)))
}

fn state(daemon: &Dispatch, run: &RunId) -> Result<String, String> {
    let row = daemon.world.store.get(RUNS, &[run.as_str().into()]).map_err(|error| error.to_string())?;
    Ok(row.and_then(|row| row.get_text("state").map(str::to_owned)).unwrap_or_default())
}

/// Makes a call, and repeats it with the same idempotency key: the answer must be the first one. Returns true if it was
/// answered.
async fn repeated<T: serde::Serialize, F: Future<Output = Result<T, Error>>>(
    stage: &Stage,
    make: impl Fn(Idempotency) -> F,
    verb: &'static str,
) -> Result<bool, String> {
    let n = {
        let mut report = lock(&stage.report);
        report.calls += 1;
        report.calls
    };
    let shown = |reply: &T| serde_json::json!(reply).to_string();
    let Ok(first) = make(call("call", n, verb)).await.map(|reply| shown(&reply)) else { return Ok(false) };
    loop {
        match make(call("call", n, verb)).await.map(|reply| shown(&reply)) {
            Ok(second) if second == first => return Ok(true),
            Ok(second) => return Err(format!("{verb} answered {first}, and {second} when it was repeated")),
            // The store is busy; the call is repeated later.
            Err(Error::Store(_) | Error::Stopping) => stage.delay(1_000).await,
            Err(error) => return Err(format!("{verb} succeeded, and failed when it was repeated: {error}")),
        }
    }
}

/// Resumes paused work; raises the budget if that is the cause.
async fn resume(stage: &Stage, daemon: &Dispatch, run: &RunId) -> Result<(), String> {
    let by = ann()?.name;
    let row = daemon.world.store.get(RUNS, &[run.as_str().into()]).map_err(|error| error.to_string())?;
    match row.as_ref().and_then(|row| row.get_text("paused")) {
        Some("budget") => {
            let spent: u64 = lock(&stage.observer).spent_by(&crate::history::subject(run));
            let budget = Budget {
                ceiling: spent + COST * (1 + stage.below(4)),
                task: None,
                reserve: None,
                at_ceiling: AtCeiling::Pause,
            };
            let request = SetBudgetRequest {
                run: Some(run.to_string()),
                budget: stage.chance(900).then_some(budget),
                plan: None,
                task: None,
            };
            repeated(stage, |call| daemon.set_budget(&request, Some(call)), "set_budget").await?;
        }
        Some("day") => {
            let spent: u64 = lock(&stage.observer).spent();
            lock(&stage.limits).day = Some(spent + COST * (1 + stage.below(4)));
            let request =
                ResumeRunRequest { run: Some(run.to_string()), tasks: Vec::new(), ends_daemon: false, env: Vec::new() };
            repeated(stage, |call| daemon.resume_run(&request, &by, Some(call)), "resume_run").await?;
        }
        Some(_) => {
            let request =
                ResumeRunRequest { run: Some(run.to_string()), tasks: Vec::new(), ends_daemon: false, env: Vec::new() };
            repeated(stage, |call| daemon.resume_run(&request, &by, Some(call)), "resume_run").await?;
        }
        None => {}
    }
    let Some(engine) = daemon.engine(run) else { return Ok(()) };
    let Ok(views) = engine.state().await else { return Ok(()) };
    let paused: Vec<_> = views.paused_tasks().map(|(task, cause)| (task.clone(), cause)).collect();
    drop(views);
    if paused.iter().any(|(_, cause)| *cause == TaskPauseCause::Budget) {
        let request = SetBudgetRequest { run: Some(run.to_string()), budget: None, plan: None, task: None };
        repeated(stage, |call| daemon.set_budget(&request, Some(call)), "set_budget").await?;
    }
    for (task, _) in paused {
        let request = ResumeRunRequest {
            run: Some(format!("{run}/{task}")),
            tasks: Vec::new(),
            ends_daemon: false,
            env: Vec::new(),
        };
        repeated(stage, |call| daemon.resume_run(&request, &by, Some(call)), "resume_run").await?;
    }
    Ok(())
}

async fn interfere(stage: &Stage, daemon: &Dispatch, run: &RunId, phase: usize) -> Result<(), String> {
    let by = ann()?.name;
    let task = format!("{run}/{phase}.{}", 1 + stage.below(8));
    match stage.below(12) {
        10 => {
            let what = if stage.chance(300) { run.to_string() } else { task };
            rebase(stage, daemon, what).await?;
        }
        9 => {
            let what = if stage.chance(300) { run.to_string() } else { task };
            let request = PauseRunRequest { what, tasks: Vec::new() };
            repeated(stage, |call| daemon.pause_run(&request, Some(call)), "pause_run").await?;
        }
        0 => {
            let request = StopRunRequest { what: task, tasks: Vec::new(), grace_ms: None };
            repeated(stage, |call| daemon.stop_run(&request, &by, Some(call)), "stop_run").await?;
        }
        1 if stage.chance(300) => {
            let request = StopRunRequest { what: run.to_string(), tasks: Vec::new(), grace_ms: None };
            repeated(stage, |call| daemon.stop_run(&request, &by, Some(call)), "stop_run").await?;
        }
        2 | 3 => {
            let request = RetryTaskRequest { what: task, tasks: Vec::new(), turn: None, env: Vec::new() };
            repeated(stage, |call| daemon.retry_task(&request, Some(call)), "retry_task").await?;
        }
        4 => {
            let request =
                ResumeRunRequest { run: Some(run.to_string()), tasks: Vec::new(), ends_daemon: false, env: Vec::new() };
            repeated(stage, |call| daemon.resume_run(&request, &by, Some(call)), "resume_run").await?;
        }
        5 => lock(&stage.repo).commit_by_hand(&format!("switchboard/{run}"), stage.below(1_000)),
        6 => {
            let ann = ann()?;
            let request = MergeRunRequest { run: Some(run.to_string()), partial: stage.chance(700) };
            repeated(stage, |call| daemon.merge_run(&request, &ann, Some(call)), "merge_run").await?;
        }
        _ => answer(stage, daemon).await?,
    }
    Ok(())
}

/// Requests a rebase of the trees of a run or of a task.
async fn rebase(stage: &Stage, daemon: &Dispatch, what: String) -> Result<(), String> {
    let request = RebaseRunRequest { what: Some(what), tasks: Vec::new() };
    repeated(stage, |call| daemon.rebase_run(&request, Some(call)), "rebase_run").await?;
    Ok(())
}

async fn answer(stage: &Stage, daemon: &Dispatch) -> Result<(), String> {
    let world = &daemon.world;
    let open = switchboard_needs::list(&world.store, false).map_err(|error| error.to_string())?;
    if let Some(need) = open.first() {
        let retry = || Decision::Answer { option: "retry".to_owned(), note: None };
        let how = if matches!(need.kind, NeedKind::Denied | NeedKind::Change) && stage.chance(400) {
            retry()
        } else if stage.chance(600) {
            Decision::Approve
        } else {
            Decision::Deny
        };
        let (outcome, option) = switchboard_needs::choose(need, how).map_err(|error| error.to_string())?;
        let (event, guard) =
            switchboard_needs::resolved(&need.id, outcome, option, "ann").map_err(|error| error.to_string())?;
        // It may have been settled, or the store may refuse it: then it expires.
        drop(world.commit(Batch::synced().event(event).guard(guard)).await);
    }
    Ok(())
}
