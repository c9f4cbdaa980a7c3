//! Projection of runs, workers and questions to people, read by status, boot and verbs.

use serde::Serialize;
use serde_json::Value;
use switchboard_pipeline::team::repeat::FindingKind;
use switchboard_protocol::action::{StepState, WorkerAction};
use switchboard_protocol::event::Event;
use switchboard_protocol::id::{RunId, WorkerId};
use switchboard_protocol::modes::ModeFact;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::worker::{PauseState, WorkerEvent, WorkerFact};
use switchboard_store::{Cell, Change, Column, Projection, Row, Table, Ty, Upcaster};

use crate::Error;
use crate::event::frame_key;

/// Runs, keyed by id.
pub(crate) const RUNS: &str = "runs";
/// Workers, keyed by id.
pub(crate) const WORKERS: &str = "workers";
/// Messages to workers of standalone runs, keyed by the id of the message.
pub(crate) const WORKER_MESSAGES: &str = "worker_told";
/// Driver of a placeholder worker for work done by hand.
pub(crate) const STAND_IN: &str = "stand-in";
/// Column of the step whose verdict a worker's answer is.
pub(crate) const JUDGES: &str = "judges";

const fn text(name: &'static str) -> Column {
    Column { name, ty: Ty::Text }
}

const fn int(name: &'static str) -> Column {
    Column { name, ty: Ty::Int }
}

/// Returns true if a worker has reported last that its step is done, or that it can't continue.
pub(crate) fn says_ended(worker: &Row) -> bool {
    let state = worker.get_text("step").and_then(|said| said.split(':').next());
    [StepState::Done, StepState::Stuck].iter().any(|ended| state == Some(ended.as_str()))
}

/// Returns what a worker needs that has reported last that it can't continue; `None` if it reported otherwise.
pub(crate) fn says_stuck(worker: &Row) -> Option<&str> {
    let (state, why) = worker.get_text("step")?.split_once(':')?;
    (state == StepState::Stuck.as_str()).then_some(why.trim())
}

static TABLES: [Table; 3] = [
    Table {
        name: RUNS,
        columns: &[
            text("id"),
            int("seq"),
            text("title"),
            text("plan_hash"),
            text("source"),
            text("target"),
            text("base"),
            text("branch"),
            text("worktrees"),
            text("default_agent"),
            int("merge"),
            text("state"),
            int("tasks"),
            int("merged"),
            int("blocked"),
            int("started_at"),
            int("ended_at"),
            int("configured"),
            text("merging_from"),
            text("merging_to"),
            int("is_merged"),
            text("setup"),
            text("budget"),
            text("paused"),
            text("isolation"),
            int("unenforced"),
            text("coordination"),
            text("tree"),
            text("merging_target"),
            int("merging_undo"),
            int("cleaning"),
            text("timeout"),
            int("plan_budget"),
            int("confirms_merge"),
            text("plan_key"),
            text("asked"),
            text("mode"),
            text("now"),
            text("part_of"),
            text("part"),
            text("part_work"),
        ],
        key: &["id"],
        indexes: &[&["seq"], &["state"], &["part_of"]],
        sparse: &[],
    },
    Table {
        name: WORKERS,
        columns: &[
            text("id"),
            int("seq"),
            text("run"),
            text("task"),
            int("attempt"),
            text("agent"),
            text("driver"),
            int("scripted"),
            text("base"),
            text("start"),
            text("worktree"),
            text("token"),
            int("frame"),
            text("stop"),
            int("said"),
            int("exited"),
            int("micro_usd"),
            int("estimated"),
            int("input_tokens"),
            int("output_tokens"),
            int("port"),
            int("ports"),
            int("lists_tools"),
            text("doing"),
            int("heard_at"),
            text("isolation"),
            text("pause"),
            int("acted"),
            text("step"),
            int("proposed"),
            text(JUDGES),
            text("role"),
            text("wanted"),
            int("answered"),
            int("failed"),
            text("failed_title"),
            int("asked"),
            int("has_worked"),
            int("taken_back"),
        ],
        key: &["id"],
        indexes: &[&["run", "task", "seq"], &["token"]],
        sparse: &[],
    },
    Table {
        name: WORKER_MESSAGES,
        columns: &[text("id"), int("seq"), text("run"), text("task"), text("by"), int("sent_at"), int("seen")],
        key: &["id"],
        indexes: &[&["run", "task", "seq"]],
        sparse: &[],
    },
];

/// Projector of runs and workers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work;

impl Projection for Work {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        17
    }

    fn upcasters(&self) -> &'static [Upcaster] {
        &[
            Upcaster { kind: "worker_reported", from: 1, lift: crate::fact_migration::reported },
            Upcaster { kind: "part_started", from: 1, lift: crate::fact_migration::part_started },
        ]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        if let Some(run) = event.subject.strip_prefix("run/") {
            return event.fact::<RunEvent>().map_or_else(Vec::new, |fact| progress(run, event, fact));
        }
        if let Some(run) = event.subject.strip_prefix("modes/") {
            return event.fact::<ModeFact>().map_or_else(Vec::new, |fact| of_modes(run, event, fact));
        }
        if event.subject.starts_with("worker/") {
            return event.fact::<WorkerFact>().map_or_else(Vec::new, |fact| worker(event, fact));
        }
        Vec::new()
    }
}

fn patch(table: &'static str, key: &str, set: Vec<(&'static str, Cell)>) -> Change {
    Change::Patch { table, key: vec![key.into()], set }
}

fn count(run: &str, column: &'static str, by: i64) -> Change {
    Change::add(RUNS, [run.into()], [(column, by)])
}

/// Returns the row changes for the mode of a run that a team leads, and for its parts.
fn of_modes(run: &str, event: &Event, fact: ModeFact) -> Vec<Change> {
    match fact {
        ModeFact::ModeStepped { event: _, mode, now, refused: _, outcome } => {
            let (state, ended) = match outcome {
                Some(outcome) => (word(outcome), event.ts.0.into()),
                None => ("running".into(), Cell::Null),
            };
            let set = vec![("mode", word(mode)), ("now", now.into()), ("state", state), ("ended_at", ended)];
            vec![patch(RUNS, run, set)]
        }
        ModeFact::PartStarted { run, part, what, work, .. } => {
            let set = vec![("part_of", run.as_str().into()), ("part", what.into()), ("part_work", word(work))];
            vec![patch(RUNS, part.as_str(), set)]
        }
    }
}

/// Returns a value's JSON string.
fn word(value: impl Serialize) -> Cell {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(Value::as_str).map_or(Cell::Null, Cell::from)
}

fn progress(run: &str, event: &Event, fact: RunEvent) -> Vec<Change> {
    match fact {
        RunEvent::TaskMerged { .. } | RunEvent::TaskDone { of: None, .. } => vec![count(run, "merged", 1)],
        RunEvent::TaskBlocked { .. } | RunEvent::TaskDepFailed { .. } => vec![count(run, "blocked", 1)],
        // The worker's token is no longer valid, even if its process still runs.
        RunEvent::WorkerLost { worker, .. }
        | RunEvent::TreeSetupFailed { worker, .. }
        | RunEvent::TurnEnded { worker, .. } => {
            vec![patch(WORKERS, worker.as_str(), vec![("exited", 1_i64.into())])]
        }
        RunEvent::TreeRebased { worker, onto, start, .. } => {
            vec![patch(WORKERS, worker.as_str(), vec![("base", onto.into()), ("start", start.into())])]
        }
        RunEvent::TaskRetryRequested { .. } => {
            vec![patch(RUNS, run, vec![("state", "running".into()), ("ended_at", Cell::Null)])]
        }
        RunEvent::RunFinished { outcome } => {
            vec![patch(RUNS, run, vec![("state", word(outcome)), ("ended_at", event.ts.0.into())])]
        }
        RunEvent::RunConfigured { .. } => configured(event, fact),
        RunEvent::SetupChosen { run, commands } => {
            let text = serde_json::to_string(&commands).unwrap_or_default();
            vec![patch(RUNS, run.as_str(), vec![("setup", text.into())])]
        }
        RunEvent::RunMergeIntended { run, target, from, to, undo } => {
            let set = vec![
                ("merging_target", target.into()),
                ("merging_from", from.into()),
                ("merging_to", to.into()),
                ("merging_undo", i64::from(undo).into()),
            ];
            vec![patch(RUNS, run.as_str(), set)]
        }
        RunEvent::RunMergeUndone { run, .. } => {
            let set = vec![("merging_from", Cell::Null), ("merging_to", "".into()), ("is_merged", 0_i64.into())];
            vec![patch(RUNS, run.as_str(), set)]
        }
        RunEvent::RunMerged { run, .. } => {
            let set = vec![("merging_from", Cell::Null), ("merging_to", "".into()), ("is_merged", 1_i64.into())];
            vec![patch(RUNS, run.as_str(), set)]
        }
        RunEvent::RunMergeAbandoned { run, .. } => {
            vec![patch(RUNS, run.as_str(), vec![("merging_from", Cell::Null), ("merging_to", "".into())])]
        }
        RunEvent::RunCleanIntended { run, .. } => vec![count(run.as_str(), "cleaning", 1)],
        RunEvent::RunCleaned { run, .. } | RunEvent::RunCleanAbandoned { run, .. } => {
            vec![count(run.as_str(), "cleaning", -1)]
        }
        RunEvent::LoopTurned { .. }
        | RunEvent::RunStarted { .. }
        | RunEvent::PlanRecorded { .. }
        | RunEvent::WayRecorded { .. }
        | RunEvent::UnitAdded { .. }
        | RunEvent::UnitExtended { .. }
        | RunEvent::TaskDone { of: Some(_), .. }
        | RunEvent::CandidateChosen { .. }
        | RunEvent::ChangeFixed { .. }
        | RunEvent::ChangeRebased { .. }
        | RunEvent::BranchMoved { .. }
        | RunEvent::WorkerIntended { .. }
        | RunEvent::WorkerStarted { .. }
        | RunEvent::ChangeCaptured { .. }
        | RunEvent::NothingChanged { .. }
        | RunEvent::TurnOmitted { .. }
        | RunEvent::StepAnswered { .. }
        | RunEvent::AnswerRefused { .. }
        | RunEvent::StepSkipped { .. }
        | RunEvent::GateReported { .. }
        | RunEvent::MergeHeld { .. }
        | RunEvent::MergeReleased { .. }
        | RunEvent::PersonAsked { .. }
        | RunEvent::ConfirmationAsked { .. }
        | RunEvent::PersonAnswered { .. }
        | RunEvent::MergeIntended { .. }
        | RunEvent::MergeConflicted { .. }
        | RunEvent::TaskStopRequested { .. }
        | RunEvent::TaskBudgetSet { .. }
        | RunEvent::TaskRebaseRequested { .. }
        | RunEvent::TreeNotRebased { .. }
        | RunEvent::BudgetAlert { .. }
        | RunEvent::CostCounted { estimated: false, .. }
        | RunEvent::TurnBegun { .. }
        | RunEvent::TaskPaused { .. }
        | RunEvent::TaskResumed { .. }
        | RunEvent::LedSet { .. }
        | RunEvent::StepBegun { .. }
        | RunEvent::ScopeDeclared { .. }
        | RunEvent::RunStopRequested => Vec::new(),
        RunEvent::BudgetSet { budget, plan, day: _ } => {
            let text = budget.map_or(Cell::Null, |budget| serde_json::to_string(&budget).unwrap_or_default().into());
            let plan = plan.map_or(Cell::Null, |ceiling| i64::try_from(ceiling).unwrap_or(i64::MAX).into());
            vec![patch(RUNS, run, vec![("budget", text), ("plan_budget", plan)])]
        }
        RunEvent::CostCounted { worker, total_micro_usd, estimated: true, .. } => {
            let estimate = i64::try_from(total_micro_usd).unwrap_or(i64::MAX);
            vec![patch(WORKERS, worker.as_str(), vec![("estimated", estimate.into())])]
        }
        RunEvent::RunPaused { cause } => {
            vec![patch(RUNS, run, vec![("paused", word(cause))])]
        }
        RunEvent::RunResumed => vec![patch(RUNS, run, vec![("paused", Cell::Null)])],
    }
}

/// Returns the row of a started run.
fn configured(event: &Event, fact: RunEvent) -> Vec<Change> {
    let RunEvent::RunConfigured {
        run,
        title,
        plan_hash,
        source,
        target,
        base,
        branch,
        worktrees,
        default_agent,
        merge,
        tasks,
        isolation,
        unenforced,
        coordination,
        tree,
        timeout,
        confirms_merge,
        plan_key,
        asked,
    } = fact
    else {
        return Vec::new();
    };
    let row = Row::new()
        .with("id", run.as_str())
        .with("seq", event.lsn)
        .with("title", title)
        .with("plan_hash", plan_hash)
        .with("source", source)
        .with("target", target)
        .with("base", base)
        .with("branch", branch)
        .with("worktrees", worktrees)
        .with("default_agent", default_agent.map_or(Cell::Null, |name| name.as_str().into()))
        .with("merge", merge)
        .with("merging_to", "")
        .with("state", "running")
        .with("tasks", tasks)
        .with("merged", 0_i64)
        .with("blocked", 0_i64)
        .with("started_at", event.ts.0)
        .with("configured", event.lsn)
        .with("is_merged", 0_i64)
        .with("isolation", isolation.map_or(Cell::Null, |isolation| isolation.as_str().into()))
        .with("unenforced", unenforced)
        .with("coordination", coordination.as_str())
        .with("tree", tree)
        .with("cleaning", 0_i64)
        .with("confirms_merge", confirms_merge)
        .with("plan_key", plan_key)
        .with("asked", asked)
        .with("timeout", serde_json::to_string(&timeout).unwrap_or_default());
    vec![Change::Put { table: RUNS, row }]
}

fn worker(event: &Event, fact: WorkerFact) -> Vec<Change> {
    match fact {
        WorkerFact::WorkerEquipped {
            worker,
            run,
            task,
            attempt,
            agent,
            driver,
            scripted,
            judges,
            base,
            start,
            worktree,
            token,
            ports,
            isolation,
            model: _,
        } => {
            let row = Row::new()
                .with("id", worker.as_str())
                .with("seq", event.lsn)
                .with("run", run.as_str())
                .with("task", task)
                .with("attempt", i64::from(attempt))
                .with("agent", agent.as_str())
                .with("driver", driver)
                .with("scripted", scripted)
                .with("base", base)
                .with("start", start)
                .with("worktree", worktree)
                .with("token", token.hex())
                .with("frame", 0_i64)
                .with("exited", 0_i64)
                .with("port", ports.map_or(Cell::Null, |ports| i64::from(ports.first).into()))
                .with("ports", ports.map_or(Cell::Null, |ports| i64::from(ports.count).into()))
                .with("isolation", isolation.as_str())
                .with(JUDGES, judges.as_ref().map_or(Cell::Null, |judges| judges.step.as_str().into()))
                .with("role", judges.as_ref().map_or(Cell::Null, |judges| judges.role.as_str().into()))
                .with("wanted", judges.as_ref().map_or(Cell::Null, |judges| judges.answer.as_str().into()));
            vec![Change::Put { table: WORKERS, row }]
        }
        WorkerFact::WorkerTold { worker: _, id, run, task, by } => {
            let row = Row::new()
                .with("id", id.as_str())
                .with("seq", event.lsn)
                .with("run", run.as_str())
                .with("task", task.as_str())
                .with("by", by.as_str())
                .with("sent_at", event.ts.0)
                .with("seen", 0_i64);
            vec![Change::Put { table: WORKER_MESSAGES, row }]
        }
        WorkerFact::WorkerToolsListed { worker } => {
            vec![patch(WORKERS, worker.as_str(), vec![("lists_tools", 1_i64.into())])]
        }
        WorkerFact::WorkerActed { worker, action, index: _ } => acted(event, &worker, &action),
        WorkerFact::WorkerFlagged { worker, rule, .. } if rule == FindingKind::Stale.as_str() => {
            vec![patch(WORKERS, worker.as_str(), vec![("taken_back", 1_i64.into())])]
        }
        WorkerFact::WorkerFlagged { .. }
        | WorkerFact::WorkerSuspended { .. }
        | WorkerFact::WorkerToolsMissed { .. }
        | WorkerFact::WorkerUnenforced { .. }
        | WorkerFact::CallDenied { .. } => Vec::new(),
        WorkerFact::WorkerReported { worker, epoch, seq, what } => {
            reported(event, worker.as_str(), frame_key(epoch, seq), &what)
        }
    }
}

fn acted(event: &Event, worker: &WorkerId, action: &WorkerAction) -> Vec<Change> {
    let count = |column| Change::add(WORKERS, [worker.as_str().into()], [(column, 1)]);
    match action {
        WorkerAction::ReportStep { state, note, answer } => {
            let step = format!("{}: {note}", state.as_str());
            let answered = answer.as_ref().map(|_| ("answered", event.lsn.into()));
            let set = std::iter::once(("step", step.into())).chain(answered).collect();
            vec![patch(WORKERS, worker.as_str(), set), count("acted")]
        }
        WorkerAction::ProposeTask { .. } => vec![count("acted"), count("proposed")],
    }
}

fn reported(event: &Event, worker: &str, frame: i64, what: &WorkerEvent) -> Vec<Change> {
    let mut set: Vec<(&'static str, Cell)> = vec![("frame", frame.into()), ("heard_at", event.ts.0.into())];
    let add =
        |column, by: u64| Change::add(WORKERS, [worker.into()], [(column, i64::try_from(by).unwrap_or(i64::MAX))]);
    let mut more = Vec::new();
    match what {
        WorkerEvent::TurnEnded { stop, .. } => {
            set.extend([("stop", stop.as_str().into()), ("said", event.lsn.into()), ("doing", "".into())]);
        }
        WorkerEvent::ToolCalled { title, status, tool_kind, .. } => {
            // Some agents report our own tools as commands.
            let is_work = matches!(tool_kind.as_str(), "edit" | "delete" | "move" | "execute");
            if is_work && !title.contains("switchboard") {
                set.push(("has_worked", 1_i64.into()));
            }
            let is_over = matches!(status.as_str(), "completed" | "failed");
            set.push(("doing", if is_over { "" } else { title.as_str() }.into()));
            if status == "failed" {
                set.extend([("failed", event.lsn.into()), ("failed_title", title.as_str().into())]);
            }
        }
        WorkerEvent::Faulted { code, .. } => set.extend([("stop", code.as_str().into()), ("said", event.lsn.into())]),
        WorkerEvent::AgentExited { .. } => set.push(("exited", 1_i64.into())),
        WorkerEvent::PauseChanged { state: PauseState::Resumed } => set.push(("pause", Cell::Null)),
        WorkerEvent::PauseChanged { state } => set.push(("pause", word(state))),
        WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens } => {
            more.extend(micro_usd.map(|by| add("micro_usd", by)));
            more.extend([add("input_tokens", *input_tokens), add("output_tokens", *output_tokens)]);
        }
        // A permission that no rule settled was a question to a person.
        WorkerEvent::PermissionSettled { rule: None, .. } => set.push(("asked", 1_i64.into())),
        // Messages of the mail have no such row.
        WorkerEvent::TurnStarted { mail, .. } => {
            more.extend(mail.iter().map(|id| patch(WORKER_MESSAGES, id.as_str(), vec![("seen", 1_i64.into())])));
        }
        WorkerEvent::AgentStarted { .. }
        | WorkerEvent::SessionOpened { .. }
        | WorkerEvent::PermissionAsked { .. }
        | WorkerEvent::PermissionSettled { rule: Some(_), .. }
        | WorkerEvent::Sealed { .. } => {}
    }
    more.insert(0, patch(WORKERS, worker, set));
    more
}

/// Returns the id in a row of [`RUNS`].
pub(crate) fn run_id(row: &Row) -> Result<RunId, Error> {
    RunId::new(row.try_text("id")?).map_err(|_| Error::Missing("the id of a run".to_owned()))
}
