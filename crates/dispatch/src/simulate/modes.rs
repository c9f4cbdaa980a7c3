//! Simulates runs led by a team: from a request to the end of the last phase, with roles that lie, are late and die,
//! daemons that die, and people who answer or don't. The record and the repository show whether the final invariants
//! hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use switchboard_pipeline::modes::State;
use switchboard_process::git::Oid;
use switchboard_protocol::id::{Digest, RunId};
use switchboard_protocol::modes::{ModeEvent, ModeFact, OptionalSteps, PersonAnswer};
use switchboard_protocol::need::{Need, NeedKind};
use switchboard_protocol::run::WorkerTimeout;
use switchboard_protocol::verb::run::{Drive, ResumeRunRequest, StartRunRequest};
use switchboard_store::{Batch, Idempotency, Query, Row, Store};

use super::request::request;
use super::shim::BAD;
use super::spec::SimSpec;
use super::stage::Stage;
use super::{architect, live_until, people};
use crate::Dispatch;
use crate::drive::question_id;
use crate::lock::lock;
use crate::work::{RUNS, Work, run_id};

/// Maximum number of times people resume a stopped run.
const RESUMES: u64 = 4;

/// Report on a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModesReport {
    /// Outcome of the run: `succeeded` or `stopped`.
    pub outcome: String,
    /// Number of daemons that died.
    pub crashes: u64,
    /// Number of engines and drivers that panicked.
    pub panics: u64,
    /// Number of times an agent was given the architect's seat.
    pub seats: u64,
    /// Number of calls from the seat that had an effect.
    pub led: u64,
    /// Number of steps at which a crash is possible.
    pub steps: u64,
    /// Number of parts of the run.
    pub parts: u64,
    /// Number of questions to a person.
    pub asked: u64,
    /// Number of questions that expired.
    pub expired: u64,
    /// Number of plans that the critic sent back.
    pub revised: u64,
    /// Number of events of the modes.
    pub events: u64,
}

/// Simulates the history of a run led by a team.
///
/// # Errors
/// The broken invariant, in a sentence.
pub fn simulate_modes(seed: u64, spec: SimSpec) -> Result<ModesReport, String> {
    play_modes(seed, spec).map(|(report, _)| report)
}

/// Simulates the history of a run led by a team, and returns its log in addition to its report.
pub(super) fn play_modes(seed: u64, spec: SimSpec) -> Result<(ModesReport, Store), String> {
    play_on(&Arc::new(Stage::new(seed, spec)), seed)
}

/// Same as [`play_modes`], on a stage that the caller can look at afterwards.
pub(super) fn play_on(stage: &Arc<Stage>, seed: u64) -> Result<(ModesReport, Store), String> {
    let store = Store::in_memory(vec![Box::new(Work), Box::new(switchboard_needs::Needs)], stage.clock.for_store());
    // Drawn separately, so that a crash doesn't change the request.
    let mut rng = Rng::with_seed(seed);
    let steps = OptionalSteps { specify: rng.bool(), hallucination: rng.u8(..3) == 0, ..OptionalSteps::default() };
    let drive = Drive { lead: None, request: Some("Add numbers".to_owned()), steps, auto: rng.bool() };
    live_until(stage, &store, async |daemon| lead(stage, &daemon, &drive, 0).await)?;
    Ok((conclude(stage, &store)?, store))
}

/// Simulates a run led by a team once for each `every`-th step, with a crash of the daemon at that step. Returns the
/// number of steps.
///
/// # Errors
/// The broken invariant, with the step; a different end of a history counts as one.
pub fn die_at_each_step(seed: u64, spec: SimSpec, every: usize) -> Result<u64, String> {
    let spec = SimSpec { people: 1000, ..spec };
    let whole = simulate_modes(seed, spec)?;
    for step in (0..whole.steps).step_by(every) {
        let report = simulate_modes(seed, SimSpec { crash_at: Some(step), ..spec })
            .map_err(|broken| format!("step {step}: {broken}"))?;
        if (report.crashes, report.outcome.as_str(), report.parts) != (1, "succeeded", whole.parts) {
            return Err(format!("step {step}: {report:?}, without a crash {whole:?}"));
        }
    }
    Ok(whole.steps)
}

/// Acts until the run is over and will not be resumed; `before` is the number of earlier led runs.
pub(super) async fn lead(stage: &Stage, daemon: &Dispatch, drive: &Drive, before: usize) -> Result<(), String> {
    people::boot(stage, daemon).await;
    let run = start(stage, daemon, drive, before).await?;
    let mut live = daemon.live_runs();
    loop {
        if !people::look_away(stage, &mut live).await {
            architect::act(stage, daemon, &run).await?;
            answer(stage, daemon).await?;
            resume_without_room(daemon, &run).await?;
            continue;
        }
        let state = daemon.state_of(&run).map_err(|error| error.to_string())?;
        if state == "running" {
            return Err("the run is said to be running, and nobody leads it".to_owned());
        }
        let calls = lock(&stage.report).calls;
        if state == "succeeded" || calls >= RESUMES || !stage.chance(stage.spec.people) {
            return Ok(());
        }
        lock(&stage.report).calls += 1;
        let request =
            ResumeRunRequest { run: Some(run.to_string()), tasks: Vec::new(), ends_daemon: false, env: Vec::new() };
        // The store may refuse it; then the run stays as it is.
        drop(daemon.resume_run(&request, &people::ann()?.name, None).await);
    }
}

/// Starts the run unless an earlier life did; the idempotency key ensures that it is only one.
async fn start(stage: &Stage, daemon: &Dispatch, drive: &Drive, before: usize) -> Result<RunId, String> {
    loop {
        let query = Query::table(RUNS).asc("seq");
        let known = daemon.world.store.read(&query).map_err(|error| error.to_string())?;
        let whole: Vec<&Row> = known.iter().filter(|row| row.get_text("mode").is_some()).collect();
        match whole.get(before..) {
            Some([]) => {}
            Some([row]) => return run_id(row).map_err(|error| error.to_string()),
            Some(_) | None => return Err("the run was started twice".to_owned()),
        }
        let asked = request(stage, "").map_err(|failure| failure.to_string())?;
        // Simulated shims have no limits of their own.
        let timeout = WorkerTimeout { soft: None, hard: Some(3_600_000) };
        let asked = StartRunRequest {
            source: String::new(),
            budget: None,
            drive: Some(drive.clone()),
            worker_timeout_ms: Some(timeout),
            ..asked
        };
        let call = Idempotency {
            key: format!("start {before}"),
            caller: "ann".to_owned(),
            verb: "start_run",
            args: Digest::of(b"args"),
        };
        if daemon.start_run(asked, &people::ann()?, Some(call)).await.is_err() {
            stage.delay(1_000).await;
        }
    }
}

/// Resumes a run that is paused because the disk was full.
async fn resume_without_room(daemon: &Dispatch, run: &RunId) -> Result<(), String> {
    let rows = daemon.world.store.read(&Query::table(RUNS)).map_err(|error| error.to_string())?;
    let waits = |row: &Row| row.get_text("state") == Some("running") && row.get_text("paused") == Some("disk");
    if rows.iter().any(waits) {
        let request =
            ResumeRunRequest { run: Some(run.to_string()), tasks: Vec::new(), ends_daemon: false, env: Vec::new() };
        // The part may have ended meanwhile.
        drop(daemon.resume_run(&request, &people::ann()?.name, None).await);
    }
    Ok(())
}

/// Answers the oldest question, or lets it expire.
pub(super) async fn answer(stage: &Stage, daemon: &Dispatch) -> Result<(), String> {
    let world = &daemon.world;
    let open = switchboard_needs::list(&world.store, false).map_err(|error| error.to_string())?;
    let Some(need) = open.first().filter(|_| stage.chance(600)) else { return Ok(()) };
    let (option, note) = match need.kind == NeedKind::Team {
        true => choice(stage, need),
        false => (need.options.first().map(|option| option.id.clone()).unwrap_or_default(), None),
    };
    let settled = switchboard_needs::resolved(&need.id, "answered", Some(option), "ann");
    let (event, guard) = settled.map_err(|error| error.to_string())?;
    let event = note.map_or(event.clone(), |note| event.with_body(note));
    // It may have been settled, or the store may refuse it: then it expires.
    drop(world.commit(Batch::synced().event(event).guard(guard)).await);
    Ok(())
}

/// Chooses an option, usually one with which the run continues. Never repeats merged work, which would be another
/// history.
fn choice(stage: &Stage, need: &Need) -> (String, Option<String>) {
    let is_of_phase = need.title.starts_with("phase ")
        || need.title.starts_with("evidence ")
        || need.title.starts_with("Ready")
        || need.title.contains("finds what does not hold");
    let is_left = |id: &str| id != "redo" && (id != "revise" || !is_of_phase);
    let ids: Vec<_> = need.options.iter().map(|option| option.id.clone()).filter(|id| is_left(id)).collect();
    let id = ids[stage.below(ids.len() as u64) as usize].clone();
    let id = if id == "stop" && stage.chance(800) { ids[0].clone() } else { id };
    let note = (id == "text" || id == "revise").then(|| "with care".to_owned());
    (id, note)
}

/// Checks the state after the history.
fn conclude(stage: &Stage, store: &Store) -> Result<ModesReport, String> {
    let rows = store.read(&Query::table(RUNS).asc("seq")).map_err(|error| error.to_string())?;
    let (whole, parts): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.get_text("mode").is_some());
    let [row] = whole.as_slice() else { return Err(format!("{} runs are led", whole.len())) };
    let run = run_id(row).map_err(|error| error.to_string())?;
    let mut report =
        ModesReport { outcome: row.get_text("state").unwrap_or_default().to_owned(), ..ModesReport::default() };
    let open = parts.iter().find(|part| part.get_text("state") == Some("running"));
    if let Some(part) = open {
        return Err(format!("{:?} is at work though the run is over", part.get_text("id")));
    }
    let stray = parts.iter().find(|part| part.get_text("part_of") != Some(run.as_str()));
    if let Some(part) = stray {
        return Err(format!("{:?} belongs to no run", part.get_text("id")));
    }
    let merging = parts.iter().find(|part| part.get_bool("merge") || part.get_bool("confirms_merge"));
    if let Some(part) = merging {
        return Err(format!("{:?} would be merged without the rest of its run", part.get_text("id")));
    }
    let mut events = Vec::new();
    let mut started: BTreeMap<u32, RunId> = BTreeMap::new();
    for event in store.events_of(&format!("modes/{run}"), 0, 100_000).map_err(|error| error.to_string())? {
        match event.fact::<ModeFact>() {
            Some(ModeFact::ModeStepped { event, .. }) => events.push(event),
            Some(ModeFact::PartStarted { step, part, .. }) => {
                if let Some(other) = started.insert(step, part.clone()) {
                    return Err(format!("step {step} has started {other} and {part}"));
                }
            }
            None => return Err(format!("{} is no fact of a mode", event.kind)),
        }
    }
    let state = State::fold(&events);
    let is_done = matches!(state.at(), switchboard_pipeline::modes::At::Done);
    if !state.is_over() || is_done != (report.outcome == "succeeded") {
        return Err(format!("the run is {}, and its modes are at {}", report.outcome, state.at()));
    }
    let needs = switchboard_needs::list(store, true).map_err(|error| error.to_string())?;
    if let Some(need) = needs.iter().find(|need| need.kind == NeedKind::Team && need.outcome.is_none()) {
        return Err(format!("{} is open though the run is over", need.id));
    }
    answers_are_those_given(store, &run, &events)?;
    if is_done {
        let base =
            Oid::parse(row.try_text("base").map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
        has_merged_all(stage, &base, &format!("switchboard/{run}"))?;
    }
    report.parts = parts.len() as u64;
    report.asked = needs.iter().filter(|need| need.kind == NeedKind::Team).count() as u64;
    report.expired = events.iter().filter(|event| matches!(event, ModeEvent::PersonExpired { .. })).count() as u64;
    report.revised = state.known().map_or(0, |known| known.refused.len() as u64);
    report.events = events.len() as u64;
    let played = lock(&stage.report);
    (report.crashes, report.panics, report.steps) = (played.crashes, played.panics, played.steps);
    (report.seats, report.led) = (played.seats, played.led);
    Ok(report)
}

/// Checks that what a person chose or wrote is what the run goes on with.
fn answers_are_those_given(store: &Store, run: &RunId, events: &[ModeEvent]) -> Result<(), String> {
    for event in events {
        let ModeEvent::PersonAnswered { step, answer, .. } = event else { continue };
        let id = question_id(run, *step);
        let row = store.get(switchboard_needs::NEEDS, &[id.as_str().into()]).map_err(|error| error.to_string())?;
        let option = row.as_ref().and_then(|row| row.get_text("option")).unwrap_or_default();
        let is_given = match answer {
            PersonAnswer::Text { .. } => option == "text" || option.parse::<usize>().is_ok(),
            PersonAnswer::Chose { choice, .. } => option == choice.as_str(),
        };
        if !is_given {
            return Err(format!("{option:?} was answered to {id}, and the run goes on with {answer:?}"));
        }
    }
    Ok(())
}

/// Checks that the run's branch has the change of each task of the plan once, and nothing that the gates reject.
fn has_merged_all(stage: &Stage, base: &Oid, branch: &str) -> Result<(), String> {
    let repo = lock(&stage.repo);
    let head = repo.branch(branch).ok_or("the run's branch is gone")?;
    let (messages, files) = (repo.messages(base, &head), repo.files(&head).map_err(|error| error.to_string())?);
    for task in ["1.1", "2.1"].into_iter().take(stage.spec.phases) {
        let trailer = format!("Switchboard-Task: {task}\n");
        let count = messages.iter().filter(|message| message.contains(&trailer)).count();
        if count != 1 || !files.has(&format!("t/{task}")) {
            return Err(format!("task {task} is {count} times in the run's branch"));
        }
    }
    match files.iter().find(|(_, content)| content.contains(BAD)) {
        Some((path, _)) => Err(format!("{path} was merged with a defect that the gates find")),
        None => Ok(()),
    }
}
