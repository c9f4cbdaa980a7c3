//! Reports on runs and tasks, with the evidence of their gates.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use switchboard_pipeline::run::{describe, words_of};
use switchboard_pipeline::settings::Settings;
use switchboard_pipeline::team::swarm_state::SwarmState;
use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::id::RunId;
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::modes::Mode;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{
    AtCeiling, Budget, BudgetScope, Ceiling, PauseCause, Refusal, RunEvent, SkipCode, Skipped, StepReport, TaskState,
    TaskView, Verdict, Wait,
};
use switchboard_protocol::spool::SPOOL_FOLDER;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::run::{Answer, GateReport, RunSummary, TaskReport};
use switchboard_protocol::worker::PauseState;
use switchboard_store::{Query, Row};

use crate::error::{io, shape};
use crate::identity::worker_id;
use crate::plan::RunPlan;
use crate::work::WORKERS;
use crate::world::World;
use crate::{Error, history};

/// Maximum number of bytes of a worker's answer that are sent at once.
const ANSWER_BYTES: u64 = 50 << 10;

pub(crate) fn summary(world: &World, row: &Row) -> Result<RunSummary, Error> {
    let run = crate::work::run_id(row)?;
    // The tasks of a run that a team leads are those of its phases.
    let phases = row.get_text("mode").map(|_| crate::parts::last_of_phases(world, &run)).transpose()?;
    let mut workers = workers(world, &run)?;
    if row.get_text("mode").is_some() {
        for part in crate::parts::parts_of(world, &run)? {
            workers.extend(self::workers(world, &crate::work::run_id(&part)?)?);
        }
    }
    let count = |column: &str| {
        Ok::<_, Error>(match &phases {
            Some(phases) => phases.iter().map(|phase| phase.try_u64(column)).sum::<Result<_, _>>()?,
            None => row.try_u64(column)?,
        })
    };
    Ok(RunSummary {
        run,
        title: row.try_text("title")?.to_owned(),
        state: row.try_text("state")?.to_owned(),
        branch: row.try_text("branch")?.to_owned(),
        target: row.try_text("target")?.to_owned(),
        base: row.try_text("base")?.to_owned(),
        tasks: count("tasks")?,
        merged: count("merged")?,
        mode: mode(row)?,
        now: row.get_text("now").unwrap_or_default().to_owned(),
        blocked: count("blocked")?,
        is_merged: row.get_bool("is_merged"),
        started_at: Millis(row.try_int("started_at")?),
        ended_at: row.get_int("ended_at").map(Millis),
        micro_usd: sum(&workers, "micro_usd"),
        input_tokens: sum(&workers, "input_tokens"),
        output_tokens: sum(&workers, "output_tokens"),
        estimated_micro_usd: sum(&workers, "estimated"),
        budget: row.get_text("budget").map(serde_json::from_str).transpose().map_err(shape("a budget"))?,
        isolation: row.get_text("isolation").and_then(Isolation::of),
        paused: match paused(row)? {
            None if row.get_text("mode").is_some() => paused(&crate::parts::at_work(world, row.clone())?)?,
            own => own,
        },
    })
}

fn workers(world: &World, run: &RunId) -> Result<Vec<Row>, Error> {
    Ok(world.store.read(&Query::table(WORKERS).eq("run", run.as_str()))?)
}

/// Returns what is left of the budget of a run that a team leads; `None` if it has none.
pub(crate) fn budget_left(world: &World, row: &Row) -> Result<Option<Budget>, Error> {
    let summary = summary(world, row)?;
    Ok(summary.budget.map(|budget| rest(budget, spent(&summary))))
}

/// Returns the cost of a run so far, as reported or estimated.
pub(crate) fn spent(summary: &RunSummary) -> u64 {
    summary.micro_usd.unwrap_or(0).saturating_add(summary.estimated_micro_usd.unwrap_or(0))
}

/// Returns the rest of a budget of which this much is spent.
pub(crate) fn rest(budget: Budget, spent: u64) -> Budget {
    let ceiling = budget.ceiling.saturating_sub(spent);
    let most = |one: Option<u64>| one.map(|one| one.min(ceiling));
    Budget { ceiling, task: most(budget.task), reserve: most(budget.reserve), ..budget }
}

/// Returns the cost ceilings of a run: its own, its plan's and the day's.
pub(crate) fn ceilings(world: &World, row: &Row, summary: &RunSummary, spent: u64) -> Result<Vec<Ceiling>, Error> {
    let own = summary.budget.map(|budget| {
        let Budget { ceiling, at_ceiling, .. } = budget;
        Ceiling { of: BudgetScope::Run, ceiling, spent, at_ceiling }
    });
    let plan = row.get_int("plan_budget").and_then(|ceiling| u64::try_from(ceiling).ok());
    let plan = plan.map(|ceiling| {
        let spent = crate::shared::spent_by_plan(&world.store, row.try_text("plan_hash")?)?;
        let at_ceiling = summary.budget.map_or(AtCeiling::default(), |budget| budget.at_ceiling);
        Ok::<_, Error>(Ceiling { of: BudgetScope::Plan, ceiling, spent, at_ceiling })
    });
    let day = world.shared.state().day_at(world.store.now());
    Ok(own.into_iter().chain(plan.transpose()?).chain(day).collect())
}

/// Returns the current mode of a run that a team leads; `None` for other runs.
pub(crate) fn mode(row: &Row) -> Result<Option<Mode>, Error> {
    let word = row.get_text("mode").map(|word| serde_json::from_value(word.into()));
    word.transpose().map_err(shape("a mode"))
}

/// Returns why no worker starts in a live run.
pub(crate) fn paused(row: &Row) -> Result<Option<PauseCause>, Error> {
    let word = row.get_text("paused").filter(|_| row.get_text("state") == Some("running"));
    word.map(|word| serde_json::from_value(word.into())).transpose().map_err(shape("a pause"))
}

/// Files of each task's last captured change.
pub(crate) type Files = BTreeMap<TaskId, Vec<String>>;

/// Returns the report on a task; `files` come from [`files`], read once for all tasks of a run.
pub(crate) fn task(world: &World, plan: &RunPlan, files: &Files, view: &TaskView) -> Result<TaskReport, Error> {
    let (task, settings) = plan.settings(&view.task)?;
    let query = Query::table(WORKERS).eq("run", plan.run.as_str()).eq("task", view.task.as_str()).desc("seq");
    let workers = world.store.read(&query)?;
    let last = workers.iter().find(|row| history::makes(row));
    let newest = workers.first();
    let working = if let TaskState::Working { worker } = &view.state { Some(worker) } else { None };
    let live = newest.filter(|_| working.is_some());
    let paused = view.paused.filter(|_| live.is_none() && !view.state.is_settled());
    let open = working.map(|worker| switchboard_needs::open_of(&world.store, worker)).transpose()?;
    let worktree = plan.worktree(&view.task);
    let waits = world.shared.state().wait_of(&plan.run, &view.task);
    // The work on a task with subtasks is done by their workers.
    let is_done = view.state.is_done();
    let was_tried = !workers.is_empty() || !view.gates.is_empty() || is_done;
    Ok(TaskReport {
        id: view.task.to_string(),
        of: plan.shape(&view.task).and_then(|shape| shape.of.as_ref()).map(ToString::to_string),
        description: task.description,
        agent: last
            .and_then(|row| row.get_text("agent").map(str::to_owned))
            .or_else(|| plan.agent_name(&settings))
            .unwrap_or_default(),
        scripted: last.is_some_and(|row| row.get_bool("scripted")),
        isolation: isolation(plan, &view.task, &settings, last),
        state: if paused.is_some() { "paused" } else { state_word(&view.state) }.to_owned(),
        paused,
        held_by: if let TaskState::Held { lease, .. } = &view.state { Some(lease.clone()) } else { None },
        attempts: if was_tried { view.attempt } else { 0 },
        gates: view.gates.iter().map(gate).collect(),
        judged: view.steps.iter().map(judged).collect(),
        swarm_state: if settings.team { SwarmState::of(view).as_str().to_owned() } else { String::new() },
        at_step: view.step.as_ref().map(ToString::to_string).unwrap_or_default(),
        refusals: view.refusals.iter().map(refusal).chain(ending_after(&view.refusals, &view.state)).collect(),
        commit: if let TaskState::Merged { commit } = &view.state { Some(commit.clone()) } else { None },
        files: files.get(&view.task).cloned().unwrap_or_default(),
        depends: task.depends.iter().map(ToString::to_string).collect(),
        worktree: if world.ports.files.is_folder(&worktree) { crate::plan::text(&worktree) } else { String::new() },
        worktree_bytes: None,
        micro_usd: sum(&workers, "micro_usd"),
        input_tokens: sum(&workers, "input_tokens"),
        output_tokens: sum(&workers, "output_tokens"),
        doing: live.and_then(|row| row.get_text("doing")).unwrap_or_default().to_owned(),
        pause: live.and_then(|row| row.get_text("pause")).and_then(PauseState::of),
        heard_at: live.map(|row| heard_at(world, &plan.run, row)).transpose()?.flatten(),
        step: last.and_then(|row| row.get_text("step")).unwrap_or_default().to_owned(),
        proposed: last.and_then(|row| row.get_int("proposed")).and_then(|count| u64::try_from(count).ok()).unwrap_or(0),
        not_started: view.not_started.clone().or_else(|| waits.and_then(|wait| put_off(view, wait))),
        waits,
        waits_for_you: open.is_some_and(|open| !open.is_empty()) || matches!(view.state, TaskState::Waiting { .. }),
    })
}

/// Returns why a task that could start waits for a limit over all runs.
fn put_off(view: &TaskView, wait: Wait) -> Option<Skipped> {
    if view.state != TaskState::Ready {
        return None;
    }
    let (code, detail) = match wait {
        Wait::Settings => (SkipCode::SettingsUnreadable, "the settings of all runs can't be read".to_owned()),
        Wait::Workers { most } => (SkipCode::CapacityDeferred, format!("{most} workers are alive, over all runs")),
        Wait::RateLimit { until } => (SkipCode::RateLimited, format!("its account is at a rate limit until {until}")),
        Wait::Budget { of: BudgetScope::Plan } => {
            (SkipCode::Budget, "what is left for its plan is set aside".to_owned())
        }
        Wait::Budget { of: BudgetScope::Day } => (SkipCode::Budget, "what is left for today is set aside".to_owned()),
        Wait::Budget { of: BudgetScope::Run } => {
            (SkipCode::Budget, "what is left of its budget is set aside".to_owned())
        }
    };
    Some(Skipped { id: view.task.clone(), code, detail })
}

/// Returns the isolation of a task's last worker, or that of its first one to come.
fn isolation(plan: &RunPlan, task: &TaskId, settings: &Settings, last: Option<&Row>) -> Isolation {
    let held = last.and_then(|row| row.get_text("isolation")).and_then(Isolation::of);
    let planned = || plan.choice(task, settings).map(|choice| plan.isolation(settings, &choice));
    held.unwrap_or_else(|| planned().unwrap_or_default())
}

/// Returns the sum of a column that some workers have; `None` if none has it.
fn sum(workers: &[Row], column: &str) -> Option<u64> {
    let counts: Vec<_> = workers.iter().filter_map(|row| row.get_int(column)).collect();
    (!counts.is_empty()).then(|| counts.iter().map(|count| u64::try_from(*count).unwrap_or(0)).sum())
}

/// Returns when a worker was last active: its last report, or the last output of its agent.
fn heard_at(world: &World, run: &RunId, row: &Row) -> Result<Option<Millis>, Error> {
    let printed = printed_at(&crate::plan::worker_folder(&world.config, run, &worker_id(row)?));
    Ok(row.get_int("heard_at").map(Millis).max(printed))
}

/// Returns when the agent of the worker with this folder last printed anything.
pub(crate) fn printed_at(folder: &Path) -> Option<Millis> {
    let segments = std::fs::read_dir(folder.join(SPOOL_FOLDER)).into_iter().flatten();
    let printed = segments.filter_map(|segment| segment.ok()?.metadata().ok()?.modified().ok());
    let printed = printed.filter_map(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    printed.filter_map(|at| i64::try_from(at.as_millis()).ok()).max().map(Millis)
}

pub(crate) fn state_word(state: &TaskState) -> &'static str {
    match state {
        TaskState::Pending => "pending",
        TaskState::Ready => "ready",
        TaskState::Starting { .. } => "starting",
        TaskState::Working { .. } => "working",
        TaskState::Waiting { .. } => "waiting",
        TaskState::Capturing { .. } => "capturing",
        TaskState::Captured { .. } | TaskState::Gating { .. } => "gating",
        TaskState::Passed { .. } | TaskState::Merging { .. } => "merging",
        TaskState::Held { .. } => "held",
        TaskState::Merged { .. } => "merged",
        TaskState::Done { .. } => "done",
        TaskState::Blocked { .. } => "blocked",
        TaskState::DepFailed { .. } => "dep_failed",
        TaskState::Stopped => "stopped",
    }
}

pub(crate) fn ending(state: &TaskState) -> Option<String> {
    match state {
        TaskState::Blocked { reason } => Some(format!("blocked: {reason}")),
        TaskState::Waiting { need, reason } => Some(format!("waits for you ({need}): {reason}")),
        TaskState::DepFailed { root } => Some(format!("task {root}, which it needs, is not done")),
        TaskState::Pending
        | TaskState::Ready
        | TaskState::Starting { .. }
        | TaskState::Working { .. }
        | TaskState::Capturing { .. }
        | TaskState::Captured { .. }
        | TaskState::Gating { .. }
        | TaskState::Passed { .. }
        | TaskState::Held { .. }
        | TaskState::Merging { .. }
        | TaskState::Merged { .. }
        | TaskState::Done { .. }
        | TaskState::Stopped => None,
    }
}

/// Number of characters by which a refusal is recognised in the reason of a block, which may be cut.
const RECOGNISED_CHARS: usize = 60;

/// Returns the [`ending`] to show below all refusals. If the reason of a block repeats the last refusal, returns only
/// what precedes the repetition.
fn ending_after(refusals: &[Refusal], state: &TaskState) -> Option<String> {
    let whole = ending(state)?;
    let (TaskState::Blocked { reason }, Some(last)) = (state, refusals.last()) else { return Some(whole) };
    let last: String = describe(&last.cause, &last.reasons).chars().take(RECOGNISED_CHARS).collect();
    let Some((before, _)) = reason.split_once(&last) else { return Some(whole) };
    let before = before.split("; ").next().unwrap_or_default().trim_end_matches(": ");
    (!before.is_empty()).then(|| format!("blocked: {before}"))
}

fn gate(report: &switchboard_protocol::run::GateReport) -> GateReport {
    let verdict = verdict_word(report.verdict).to_owned();
    GateReport { gate: report.gate.clone(), verdict, reasons: report.reasons.clone() }
}

/// Returns the report on a step that judges.
fn judged(report: &StepReport) -> GateReport {
    let verdict = verdict_word(report.verdict).to_owned();
    GateReport { gate: report.step.to_string(), verdict, reasons: report.reasons.clone() }
}

const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Warn => "warn",
        Verdict::Fail => "fail",
        Verdict::Error => "error",
        Verdict::Skipped => "skipped",
        Verdict::NotConfigured => "not_configured",
        Verdict::NoReply => "no_reply",
    }
}

fn refusal(refusal: &Refusal) -> String {
    format!("attempt {}: {}: {}", refusal.attempt, words_of(&refusal.cause), refusal.reasons.join("; "))
}

/// Reads the files of each task's last captured change, in one pass over the run's events.
pub(crate) fn files(world: &World, run: &RunId) -> Result<Files, Error> {
    let mut found = Files::new();
    crate::history::events(&world.store, run, |event| {
        if let Some(RunEvent::ChangeCaptured { task, files, .. }) = event.fact() {
            found.insert(task, files);
        }
        true
    })?;
    Ok(found)
}

/// Returns how many messages the agents of a run sent or received between its start and its end, and how many of these
/// are acknowledged.
pub(crate) fn mail(world: &World, row: &Row) -> Result<(u64, u64), Error> {
    let run = crate::work::run_id(row)?;
    let agents = crate::history::agents(&world.store, &run)?;
    world.ports.mail.counted(&agents, row.try_u64("configured")?, row.get_int("ended_at").map(Millis))
}

/// Returns a worker's answer from a byte offset on; `None` if there is no answer yet.
pub(crate) fn answer(folder: &str, from: u64) -> Result<Option<Answer>, Error> {
    let path = Path::new(folder).join(ANSWER_FILE);
    let mut file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(&path)(error)),
    };
    let bytes = file.metadata().map_err(io(&path))?.len();
    file.seek(SeekFrom::Start(from.min(bytes))).map_err(io(&path))?;
    let mut text = Vec::new();
    file.take(ANSWER_BYTES).read_to_end(&mut text).map_err(io(&path))?;
    // A character cut in two comes with the next part.
    let whole = match std::str::from_utf8(&text) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => text.len(),
    };
    text.truncate(whole);
    let next = from.min(bytes) + whole as u64;
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(Some(Answer { text, bytes, next: (next < bytes && whole > 0).then_some(next) }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use switchboard_protocol::run::RefusalCause;

    use super::*;
    use crate::tests::view;

    #[test]
    fn the_last_output_of_an_agent_is_that_of_its_newest_segment() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(printed_at(folder.path()), None);
        let spool = folder.path().join(SPOOL_FOLDER);
        fs::create_dir(&spool).unwrap();
        for (name, ms) in [("1", 5_000), ("2", 9_000), ("3", 7_000)] {
            let segment = fs::File::create(spool.join(name)).unwrap();
            segment.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms)).unwrap();
        }

        assert_eq!(printed_at(folder.path()), Some(Millis(9_000)));
    }

    #[test]
    fn a_ready_task_that_is_put_off_says_by_what() {
        let waits = [
            (Wait::Settings, SkipCode::SettingsUnreadable),
            (Wait::Workers { most: 3 }, SkipCode::CapacityDeferred),
            (Wait::RateLimit { until: Millis(0) }, SkipCode::RateLimited),
            (Wait::Budget { of: BudgetScope::Plan }, SkipCode::Budget),
            (Wait::Budget { of: BudgetScope::Day }, SkipCode::Budget),
        ];

        for (wait, code) in waits {
            assert_eq!(put_off(&view("1.1", TaskState::Ready), wait).unwrap().code, code);
            assert_eq!(put_off(&view("1.1", TaskState::Stopped), wait), None);
        }
        let detail = put_off(&view("1.1", TaskState::Ready), Wait::Workers { most: 3 }).unwrap().detail;
        assert!(detail.starts_with("3 workers"), "{detail}");
    }

    #[test]
    fn a_sum_is_of_those_that_have_the_column() {
        let row = |cost: Option<i64>| Row::new().with("micro_usd", cost);

        assert_eq!(sum(&[row(Some(2)), row(None), row(Some(3))], "micro_usd"), Some(5));
        assert_eq!(sum(&[row(None)], "micro_usd"), None);
        assert_eq!(sum(&[row(Some(-1))], "micro_usd"), Some(0));
    }

    #[test]
    fn the_rest_of_a_budget_bounds_what_a_task_may_cost_and_what_is_set_aside() {
        let budget = |ceiling, task, reserve| Budget { ceiling, task, reserve, at_ceiling: AtCeiling::Halt };

        assert_eq!(rest(budget(10, Some(8), Some(2)), 4), budget(6, Some(6), Some(2)));
        assert_eq!(rest(budget(10, None, None), 12), budget(0, None, None));
    }

    #[test]
    fn a_run_that_is_over_is_not_shown_as_paused() {
        let row = |state: &str| Row::new().with("state", state).with("paused", "budget");

        assert_eq!(paused(&row("running")).unwrap(), Some(PauseCause::Budget));
        assert_eq!(paused(&row("failed")).unwrap(), None);
    }

    #[test]
    fn how_a_task_ended_or_why_it_waits_is_said_once() {
        let reason = || "no tests".to_owned();
        let root = TaskId::new("1.0").unwrap();

        assert_eq!(ending(&TaskState::Blocked { reason: reason() }).unwrap(), "blocked: no tests");
        assert!(ending(&TaskState::DepFailed { root }).unwrap().contains("1.0"));
        assert_eq!(ending(&TaskState::Stopped), None);
        assert_eq!(ending(&TaskState::Merged { commit: reason() }), None);
    }

    #[test]
    fn the_reason_of_a_block_does_not_repeat_the_refusals_above_it() {
        let refused = |attempt: u32, why: &str| Refusal {
            attempt,
            cause: RefusalCause::NothingChanged,
            reasons: vec![why.to_owned()],
        };
        let ends = |refusals: &[Refusal], reason: &str| {
            ending_after(refusals, &TaskState::Blocked { reason: reason.to_owned() })
        };
        let two = [refused(1, "none: a"), refused(2, "none: b")];

        assert_eq!(ends(&two[..1], "nothing changed: none: a"), None);
        let many = "2 attempts were refused; the first: nothing changed: none: a; the last: nothing changed: none: b";
        assert_eq!(ends(&two, many).as_deref(), Some("blocked: 2 attempts were refused"));
        let same = "the same refusal twice: nothing changed: none: b";
        assert_eq!(ends(&two, same).as_deref(), Some("blocked: the same refusal twice"));
        let failed = "step review: 3 workers failed; the last: nothing changed: none: b";
        assert_eq!(ends(&two, failed).as_deref(), Some("blocked: step review: 3 workers failed"));
        let long = [refused(1, &"x".repeat(500))];
        assert_eq!(ends(&long, &format!("nothing changed: {}…", "x".repeat(100))), None);
        for other in ["3 workers were lost; the last: gone", "the disk is full", "step test was refused: none: b"] {
            assert_eq!(ends(&two, other), Some(format!("blocked: {other}")));
        }
        assert_eq!(ends(&[], "the disk is full").as_deref(), Some("blocked: the disk is full"));
        assert_eq!(ending_after(&two, &TaskState::Stopped), None);
    }

    #[test]
    fn a_refusal_names_its_attempt_what_refused_it_and_all_reasons() {
        let (attempt, reasons) = (2, vec!["a".to_owned(), "b".to_owned()]);
        let cause = RefusalCause::Gate { gate: "lint".to_owned() };

        assert_eq!(refusal(&Refusal { attempt, cause, reasons }), "attempt 2: gate lint: a; b");
    }

    #[test]
    fn what_a_worker_said_is_read_from_a_byte_on_and_no_character_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_string_lossy().into_owned();
        let read = |from| answer(&path, from).unwrap();
        let most = usize::try_from(ANSWER_BYTES).unwrap();

        assert_eq!(read(0), None, "nothing yet");
        fs::write(folder.path().join(ANSWER_FILE), format!("{}üz", "a".repeat(most - 1))).unwrap();
        let first = read(0).unwrap();
        let rest = read(first.next.unwrap()).unwrap();
        let beyond = read(u64::MAX).unwrap();

        assert_eq!((first.text.len(), first.bytes, first.next), (most - 1, ANSWER_BYTES + 2, Some(ANSWER_BYTES - 1)));
        assert_eq!((rest.text.as_str(), rest.next), ("üz", None));
        assert_eq!((beyond.text.as_str(), beyond.next), ("", None));
        for (bytes, text) in [(&b"a\xc3"[..], "a"), (b"\xc3", ""), (b"a\xffb", "a\u{fffd}b"), (b"", "")] {
            fs::write(folder.path().join(ANSWER_FILE), bytes).unwrap();
            let cut = read(0).unwrap();
            // What is written of a character is read once it is whole.
            let next = (text == "a").then_some(1);
            assert_eq!((cut.text.as_str(), cut.next), (text, next), "{bytes:?}");
        }
    }
}
