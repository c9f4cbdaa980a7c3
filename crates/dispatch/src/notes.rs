//! Messages about units in the mail of a managed run, one for each reported event.

use switchboard_pipeline::subtasks::{PromptSource, Shape};
use switchboard_protocol::coordination::{Note, UnitMessage};
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId, RunId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, TurnOutcome};

use crate::event::cut;
use crate::plan::RunPlan;
use crate::work::WORKERS;
use crate::world::World;
use crate::{Error, history};

/// Maximum length of a reason in a message, in bytes.
const REASON: usize = 2_000;

/// Returns the message about an event of a run; `None` if the event is not reported.
pub(crate) fn unit_message(run: &RunId, event: &RunEvent) -> Option<UnitMessage> {
    let error = |unit: &TaskId, name: &str, reason: &str| UnitMessage::Error {
        run: run.clone(),
        unit: unit.clone(),
        event: name.to_owned(),
        reason: cut(reason, REASON),
    };
    let completed = |unit: &TaskId, commit: Option<&String>| UnitMessage::UnitCompleted {
        run: run.clone(),
        unit: unit.clone(),
        commit: commit.cloned(),
    };
    match event {
        RunEvent::WorkerStarted { task, worker } => {
            Some(UnitMessage::UnitStarted { run: run.clone(), unit: task.clone(), worker: worker.clone() })
        }
        RunEvent::TaskMerged { task, commit, .. } => Some(completed(task, Some(commit))),
        RunEvent::TaskDone { task, .. } => Some(completed(task, None)),
        RunEvent::WorkerLost { task, reason, .. } => Some(error(task, "worker_lost", reason)),
        RunEvent::TreeSetupFailed { task, reason, .. } => Some(error(task, "tree_setup_failed", reason)),
        RunEvent::TaskBlocked { task, reason, .. } => Some(error(task, "task_blocked", reason)),
        RunEvent::TurnEnded { task, outcome, reason, .. } => match outcome {
            TurnOutcome::Failed
            | TurnOutcome::Refused
            | TurnOutcome::TimedOut
            | TurnOutcome::RateLimited
            | TurnOutcome::ModelFailed => Some(error(task, "turn_ended", reason)),
            TurnOutcome::Finished | TurnOutcome::Stopped | TurnOutcome::Paused => None,
        },
        RunEvent::RunConfigured { .. }
        | RunEvent::SetupChosen { .. }
        | RunEvent::RunStarted { .. }
        | RunEvent::PlanRecorded { .. }
        | RunEvent::WayRecorded { .. }
        | RunEvent::UnitAdded { .. }
        | RunEvent::UnitExtended { .. }
        | RunEvent::WorkerIntended { .. }
        | RunEvent::ChangeCaptured { .. }
        | RunEvent::PersonAsked { .. }
        | RunEvent::ConfirmationAsked { .. }
        | RunEvent::PersonAnswered { .. }
        | RunEvent::TurnOmitted { .. }
        | RunEvent::StepAnswered { .. }
        | RunEvent::AnswerRefused { .. }
        | RunEvent::StepSkipped { .. }
        | RunEvent::NothingChanged { .. }
        | RunEvent::GateReported { .. }
        | RunEvent::ChangeFixed { .. }
        | RunEvent::ChangeRebased { .. }
        | RunEvent::BranchMoved { .. }
        | RunEvent::MergeHeld { .. }
        | RunEvent::MergeReleased { .. }
        | RunEvent::MergeIntended { .. }
        | RunEvent::CandidateChosen { .. }
        | RunEvent::MergeConflicted { .. }
        | RunEvent::TaskDepFailed { .. }
        | RunEvent::TaskStopRequested { .. }
        | RunEvent::TaskBudgetSet { .. }
        | RunEvent::TaskRebaseRequested { .. }
        | RunEvent::TreeRebased { .. }
        | RunEvent::TreeNotRebased { .. }
        | RunEvent::RunStopRequested
        | RunEvent::BudgetSet { .. }
        | RunEvent::CostCounted { .. }
        | RunEvent::TurnBegun { .. }
        | RunEvent::BudgetAlert { .. }
        | RunEvent::RunPaused { .. }
        | RunEvent::RunResumed
        | RunEvent::TaskPaused { .. }
        | RunEvent::TaskResumed { .. }
        | RunEvent::LedSet { .. }
        | RunEvent::StepBegun { .. }
        | RunEvent::ScopeDeclared { .. }
        | RunEvent::TaskRetryRequested { .. }
        | RunEvent::RunFinished { .. }
        | RunEvent::RunMergeIntended { .. }
        | RunEvent::RunMerged { .. }
        | RunEvent::RunMergeUndone { .. }
        | RunEvent::RunMergeAbandoned { .. }
        | RunEvent::RunCleanIntended { .. }
        | RunEvent::RunCleaned { .. }
        | RunEvent::RunCleanAbandoned { .. }
        | RunEvent::LoopTurned { .. } => None,
    }
}

/// Returns the message for the worker of a debate's turn or of a chain's step, in addition to its prompt.
pub(crate) fn begun(run: &RunId, unit: &TaskId, shape: Option<&Shape>) -> Option<(UnitMessage, Option<String>)> {
    match &shape?.told {
        PromptSource::Turn { round, rounds, .. } => {
            let (round, rounds) = (*round, *rounds);
            let of = shape.and_then(|shape| shape.of.as_ref()).unwrap_or(unit);
            let what = UnitMessage::Debate { run: run.clone(), unit: unit.clone(), round, rounds };
            Some((what, Some(format!("{run}.{of}.r{round}"))))
        }
        PromptSource::Step { before, .. } => {
            let step = u32::try_from(before.len()).unwrap_or(u32::MAX).saturating_add(1);
            let after = before.last().cloned();
            Some((UnitMessage::Chain { run: run.clone(), unit: unit.clone(), step, after }, None))
        }
        PromptSource::Task | PromptSource::Informed { .. } | PromptSource::Decision { .. } => None,
    }
}

/// Returns the sender of the message about a step: the worker that the step names, else the one that made the task's
/// change. The latter's name may be released, for example when a blocked task goes on with its reviewer.
fn teller(world: &World, plan: &RunPlan, step: &RunEvent) -> Result<Option<AgentName>, Error> {
    let Some(task) = step.task() else { return Ok(None) };
    let row = match step.worker() {
        Some(worker) => world.store.get(WORKERS, &[worker.as_str().into()])?,
        None => match world.worker_names.of(&plan.run, task) {
            Some(name) => return Ok(Some(name)),
            None => history::last_worker(world, &plan.run, task)?,
        },
    };
    Ok(row.and_then(|row| AgentName::new(row.get_text("agent")?).ok()))
}

/// Returns the messages about steps of a managed run, to be committed with them. `rev` is the revision of the run's
/// subject before the first.
pub(crate) fn of_steps(world: &World, plan: &RunPlan, steps: &[RunEvent], rev: u64) -> Result<Vec<NewEvent>, Error> {
    if !plan.coordination.is_managed() {
        return Ok(Vec::new());
    }
    let mut notes = Vec::new();
    for (rev, step) in (rev + 1..).zip(steps) {
        if let Some(what) = unit_message(&plan.run, step) {
            let to = AgentName::coordinator();
            let from = teller(world, plan, step)?.unwrap_or_else(|| to.clone());
            let note = Note { from, to, what, broadcast: None, is_taken: true };
            notes.push(world.ports.mail.noted(&note, id(format!("{}.{rev}", plan.run))?)?);
        }
    }
    Ok(notes)
}

/// Returns the message that announces a round or step to its worker, to be committed with its intent.
pub(crate) fn of_begin(
    world: &World,
    plan: &RunPlan,
    (unit, worker): (&TaskId, &WorkerId),
    (agent, reads_mail): (&AgentName, bool),
) -> Result<Option<NewEvent>, Error> {
    let Some((what, broadcast)) = begun(&plan.run, unit, plan.shape(unit)).filter(|_| plan.coordination.is_managed())
    else {
        return Ok(None);
    };
    let note = Note { from: AgentName::coordinator(), to: agent.clone(), what, broadcast, is_taken: !reads_mail };
    world.ports.mail.noted(&note, id(format!("{worker}.begin"))?).map(Some)
}

pub(crate) fn id(text: String) -> Result<MessageId, Error> {
    MessageId::new(text).map_err(|error| Error::Missing(format!("the id of a message: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        RunId::from_bits(1)
    }

    fn task(id: &str) -> TaskId {
        TaskId::new(id).unwrap()
    }

    #[test]
    fn start_end_and_failure_of_a_unit_are_told_and_nothing_else_is() {
        let worker = WorkerId::from_bits(1);
        let ended = |outcome| RunEvent::TurnEnded {
            task: task("1.1"),
            worker: worker.clone(),
            outcome,
            reason: "exit code 3".to_owned(),
        };
        let told = |event: &RunEvent| {
            unit_message(&run(), event)
                .map(|what| serde_json::to_value(what).unwrap()["type"].as_str().unwrap().to_owned())
        };
        let merged = RunEvent::TaskMerged { task: task("1.1"), attempt: 1, commit: "c".to_owned() };
        let done = RunEvent::TaskDone { task: task("1.1"), attempt: 1, of: None };
        let lost = RunEvent::WorkerLost { task: task("1.1"), worker: worker.clone(), reason: String::new() };
        let blocked = RunEvent::TaskBlocked { task: task("1.1"), attempt: 1, retries: None, reason: String::new() };
        let unset = RunEvent::TreeSetupFailed { task: task("1.1"), worker: worker.clone(), reason: String::new() };

        assert_eq!(
            told(&RunEvent::WorkerStarted { task: task("1.1"), worker: worker.clone() }).unwrap(),
            "unit_started"
        );
        assert_eq!([told(&merged), told(&done)].map(Option::unwrap), ["unit_completed", "unit_completed"]);
        for event in [lost, blocked, unset, ended(TurnOutcome::Failed), ended(TurnOutcome::TimedOut)] {
            assert_eq!(told(&event).unwrap(), "error", "{event:?}");
        }
        for event in [
            ended(TurnOutcome::Finished),
            ended(TurnOutcome::Stopped),
            ended(TurnOutcome::Paused),
            RunEvent::RunResumed,
            RunEvent::TaskResumed { task: task("1.1") },
        ] {
            assert_eq!(told(&event), None, "{event:?}");
        }
    }

    #[test]
    fn turns_of_a_round_are_one_broadcast_and_a_step_names_the_one_before() {
        let turn = PromptSource::Turn {
            name: "ada".to_owned(),
            position: None,
            task: String::new(),
            round: 2,
            rounds: 3,
            before: Vec::new(),
        };
        let turn = Shape { of: Some(task("1.1")), told: turn, ..Shape::default() };
        let step = |before: Vec<TaskId>| Shape {
            told: PromptSource::Step { template: String::new(), task: String::new(), before },
            ..Shape::default()
        };

        let (what, broadcast) = begun(&run(), &task("1.1.r2.p1"), Some(&turn)).unwrap();
        assert!(matches!(what, UnitMessage::Debate { round: 2, rounds: 3, .. }));
        assert_eq!(broadcast.unwrap(), format!("{}.1.1.r2", run()));
        let (first, _) = begun(&run(), &task("1.1.s1"), Some(&step(Vec::new()))).unwrap();
        let (second, _) = begun(&run(), &task("1.1.s2"), Some(&step(vec![task("1.1.s1")]))).unwrap();
        assert!(matches!(first, UnitMessage::Chain { step: 1, after: None, .. }));
        assert!(matches!(second, UnitMessage::Chain { step: 2, after: Some(after), .. } if after == task("1.1.s1")));
        assert_eq!(begun(&run(), &task("1.1"), Some(&Shape::default())), None);
        assert_eq!(begun(&run(), &task("1.1"), None), None);
    }
}
