//! Simulated agent that leads a run from the architect's seat: it does open steps, tries closed ones, falls silent, and
//! gives the seat back. Another agent tries what only the holder may do.

use switchboard_protocol::action::StepState;
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::plan::{TaskId, TaskStatus};
use switchboard_protocol::run::{AtCeiling, Budget};
use switchboard_protocol::verb::lead::{
    BeginStepReply, BeginStepRequest, LeadRunRequest, LeaveSeatRequest, OpenStep, SavePlanRequest, SeatReply,
    SeatStatusRequest, SetQaGatesRequest, StepExecutor, UpdateTaskStatusRequest,
};
use switchboard_protocol::verb::run::GetRunRequest;
use switchboard_protocol::verb::step::ReportStepRequest;

use super::answers::answer_of;
use super::people;
use super::stage::Stage;
use crate::drive::{SeatAsk, SeatCaller};
use crate::lock::lock;
use crate::{Dispatch, Error};

/// Ceiling that no history comes near.
const CEILING: u64 = 1_000_000;

/// Returns an agent whose name is verified.
pub(super) fn agent(name: &str) -> Result<SeatCaller, String> {
    let name = AgentName::new(name).map_err(|error| error.to_string())?;
    Ok(SeatCaller { name, is_person: false, is_proven: true })
}

/// Acts once on the run: a person may give the seat away, and its holder may do something from it.
pub(super) async fn act(stage: &Stage, daemon: &Dispatch, run: &RunId) -> Result<(), String> {
    if !stage.chance(stage.spec.seats) {
        return Ok(());
    }
    let lea = agent("lea")?;
    let ask = SeatAsk::Status(SeatStatusRequest { run: run.to_string(), wait_ms: None });
    // A finished run has no seat, and a daemon that shuts down doesn't answer.
    let Ok(status) = daemon.ask_seat::<SeatReply>(ask, lea.clone(), None).await else { return Ok(()) };
    let Some(fence) = status.fence else {
        if status.form != "led" && stage.chance(400) {
            give_away(stage, daemon, run).await?;
        }
        return Ok(());
    };
    let seat = Seat { stage, daemon, run, lea, fence };
    match stage.below(20) {
        0 => seat.leave().await,
        1..=4 => seat.try_what_is_not_open(&status).await,
        5 => Ok(()),
        _ => seat.do_what_is_open(&status.open).await,
    }
}

/// Has a person make lea lead the run.
async fn give_away(stage: &Stage, daemon: &Dispatch, run: &RunId) -> Result<(), String> {
    let ann = SeatCaller { name: people::ann()?.name, is_person: true, is_proven: true };
    let budget = Budget { ceiling: CEILING, task: None, reserve: None, at_ceiling: AtCeiling::Pause };
    let request = LeadRunRequest {
        run: run.to_string(),
        agent: Some(agent("lea")?.name),
        budget: Some(budget),
        lease_ms: Some(1_000 + stage.below(15 * 60_000)),
    };
    let taken = daemon.ask_seat::<SeatReply>(SeatAsk::Lead(request), ann, None).await;
    lock(&stage.report).seats += u64::from(taken.is_ok());
    Ok(())
}

/// The seat as known to its holder.
struct Seat<'a> {
    stage: &'a Stage,
    daemon: &'a Dispatch,
    run: &'a RunId,
    lea: SeatCaller,
    fence: u64,
}

// === impl Seat ===

impl Seat<'_> {
    async fn leave(&self) -> Result<(), String> {
        let request = LeaveSeatRequest { run: self.run.to_string(), fence: Some(self.fence) };
        drop(self.daemon.ask_seat::<SeatReply>(SeatAsk::Leave(request), self.lea.clone(), None).await);
        Ok(())
    }

    /// Does an open step. The store may refuse it, and the state may have changed since the status call.
    async fn do_what_is_open(&self, open: &[OpenStep]) -> Result<(), String> {
        if open.is_empty() {
            return Ok(());
        }
        let step = &open[self.stage.below(open.len() as u64) as usize];
        let (run, fence, stage) = (self.run.to_string(), self.fence, self.stage);
        let done = match step.verb.as_str() {
            "save_plan" => {
                let mut answer = answer_of(AnswerKind::PlanDraft, 1, stage.spec.phases, stage.bits());
                let request = SavePlanRequest { run, fence, plan: answer["plan"].take() };
                self.ask::<SeatReply>(SeatAsk::SavePlan(request)).await.is_ok()
            }
            "report_step" => {
                let asked = step.question.as_deref().unwrap_or_default();
                let phase = asked.split_once("Look back at phase ").and_then(|(_, rest)| rest.split(':').next());
                let phase = phase.and_then(|phase| phase.parse().ok()).unwrap_or(1);
                // On a task that it does by hand it only reports that it is done.
                let answer = step.answer.map(|kind| answer_of(kind, phase, stage.spec.phases, 0));
                let request = ReportStepRequest {
                    state: StepState::Done,
                    note: "as asked".to_owned(),
                    answer,
                    task: step.task.clone(),
                    attempt: None,
                    run: Some(run),
                    fence: Some(fence),
                };
                self.daemon.report_from_seat(request, self.lea.clone(), None).await.is_ok()
            }
            "begin_step" => {
                let is_work = step.task.is_some() && step.step == "work";
                let by = if is_work && stage.chance(300) { StepExecutor::Seat } else { StepExecutor::Worker };
                let request =
                    BeginStepRequest { run, fence, task: step.task.clone(), step: Some(step.step.clone()), by };
                self.ask::<BeginStepReply>(SeatAsk::Begin(request)).await.is_ok()
            }
            other => return Err(format!("{other} is open from the seat")),
        };
        lock(&stage.report).led += u64::from(done);
        Ok(())
    }

    /// Tries what no agent may do, even the holder of the seat.
    async fn try_what_is_not_open(&self, status: &SeatReply) -> Result<(), String> {
        let (run, fence) = (self.run.to_string(), self.fence);
        let task = TaskId::new("1.1").map_err(|error| error.to_string())?;
        let completed = |fence| {
            let (task, status) = (task.clone(), TaskStatus::Completed);
            SeatAsk::SetStatus(UpdateTaskStatusRequest { run: run.clone(), fence, task, status, reason: None })
        };
        let begin = |fence, step: Option<&str>| {
            let (run, step) = (run.clone(), step.map(str::to_owned));
            SeatAsk::Begin(BeginStepRequest {
                run,
                fence,
                task: step.as_ref().map(|_| task.clone()),
                step,
                by: StepExecutor::Worker,
            })
        };
        let done = match self.stage.below(6) {
            0 => self.ask::<SeatReply>(completed(fence)).await.is_ok() && !self.is_merged(&task).await,
            1 => self.ask::<BeginStepReply>(begin(fence - 1, None)).await.is_ok(),
            2 => {
                let eve = agent("eve")?;
                self.daemon.ask_seat::<BeginStepReply>(begin(fence, None), eve, None).await.is_ok()
            }
            3 => self.ask::<BeginStepReply>(begin(fence, Some("coffee"))).await.is_ok(),
            4 => {
                // Allowed only while a worker is on it, which may be the case: it is tried for the invariants that the
                // observer checks.
                let (task, status) = (task.clone(), TaskStatus::InProgress);
                let request = UpdateTaskStatusRequest { run: run.clone(), fence, task, status, reason: None };
                drop(self.ask::<SeatReply>(SeatAsk::SetStatus(request)).await);
                false
            }
            _ => {
                let add = vec!["-syntax_check".to_owned()];
                self.ask::<SeatReply>(SeatAsk::AddGates(SetQaGatesRequest { run, fence, add })).await.is_ok()
            }
        };
        if done {
            Err(format!("what is not open was done from the seat, which waited for {}", status.waits_for))
        } else {
            Ok(())
        }
    }

    /// Returns true if a phase of the run has merged a task; git may fail at random to show the run.
    async fn is_merged(&self, task: &TaskId) -> bool {
        let request = GetRunRequest { run: Some(self.run.to_string()), diff: false, sizes: false };
        let Ok(shown) = self.daemon.get_run(&request).await else { return true };
        shown.list.iter().any(|shown| shown.id == task.as_str() && matches!(shown.state.as_str(), "merged" | "done"))
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, ask: SeatAsk) -> Result<T, Error> {
        self.daemon.ask_seat(ask, self.lea.clone(), None).await
    }
}
