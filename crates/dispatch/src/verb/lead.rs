//! Verbs of the architect's seat: its calls go to the driver of the run, one after the other.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::TASK_FILE;
use switchboard_protocol::id::{RunId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::TaskState;
use switchboard_protocol::verb::lead::{
    BeginStepReply, BeginStepRequest, MAX_WAIT_MS, SeatReply, SeatStatusRequest, StepExecutor,
};
use switchboard_protocol::verb::step::{ReportStepRequest, StepReply};
use switchboard_store::{Idempotency, Interest};
use tokio::sync::oneshot;

use super::{find_run, reply};
use crate::drive::{SeatAsk, SeatCall, SeatCaller};
use crate::parts::at_work;
use crate::work::{WORKERS, run_id};
use crate::{Dispatch, Error, plan, report};

/// How long to wait for the start of the placeholder worker of a by-hand step: its work tree may have to be set up.
const START: Duration = Duration::from_secs(120);

impl Dispatch {
    /// Passes a call from the architect's seat to the driver of a run.
    ///
    /// # Errors
    /// A call that is not from the seat; a call for what can't be done now or for which a task is not ready, with what
    /// is missing; an unknown or finished run; or a failure of the store.
    pub async fn ask_seat<T: DeserializeOwned>(
        &self,
        ask: SeatAsk,
        by: SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<T, Error> {
        reply(self.seat_answer(ask, by, call).await?)
    }

    /// Returns who leads a run and what its leader may do now; waits as long as the request allows until there is
    /// something to do.
    ///
    /// # Errors
    /// A wait that is too long, an unknown or finished run, or a failure of the store.
    pub async fn seat_status(&self, request: &SeatStatusRequest, by: SeatCaller) -> Result<SeatReply, Error> {
        let wait = request.wait_ms.unwrap_or(0);
        if wait > MAX_WAIT_MS {
            let what = format!("a call waits at most {MAX_WAIT_MS} milliseconds");
            return Err(Failure::new("request.bad-args", what).at("wait_ms").into());
        }
        let run = run_id(&find_run(&self.world, Some(&request.run))?)?;
        let deadline = tokio::time::Instant::now() + Duration::from_millis(wait);
        loop {
            let part = run_id(&at_work(&self.world, find_run(&self.world, Some(run.as_str()))?)?)?;
            let interests = [format!("modes/{run}"), format!("run/{part}")].map(Interest::Subject);
            let mut changes = self.world.store.subscribe(interests);
            let status: SeatReply = self.ask_seat(SeatAsk::Status(request.clone()), by.clone(), None).await?;
            if !status.open.is_empty() || wait == 0 {
                return Ok(status);
            }
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(changed) => changed.map_err(Error::from).map(drop)?,
                Err(_) => return Ok(status),
            }
        }
    }

    /// Begins a step. If the caller does it by hand, returns once its work tree exists.
    ///
    /// # Errors
    /// A step that is not open, with what is missing; a call that is not from the seat; or a failure of the store.
    pub async fn begin_step(
        &self,
        request: BeginStepRequest,
        by: SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<BeginStepReply, Error> {
        let is_by_hand = request.by == StepExecutor::Seat;
        let begun: BeginStepReply = self.ask_seat(SeatAsk::Begin(request), by, call).await?;
        match begun.task.clone() {
            Some(task) if is_by_hand => self.with_tree(begun, &task).await,
            Some(_) | None => Ok(begun),
        }
    }

    /// Answers for the architect, or reports on a task that the caller does by hand.
    ///
    /// # Errors
    /// An answer of another form, a call that is not from the seat, a run that asks nothing now; or a failure of the
    /// store.
    pub async fn report_from_seat(
        &self,
        request: ReportStepRequest,
        by: SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<StepReply, Error> {
        if request.task.is_some() {
            return self.ask_seat(SeatAsk::Report(request), by, call).await;
        }
        let SeatReply { run, .. } = self.ask_seat(SeatAsk::Report(request), by, call).await?;
        Ok(StepReply { run, task: String::new(), worker: None, attempt: 0 })
    }

    /// Passes a call to the driver of a run that a team leads; returns its reply.
    async fn seat_answer(&self, ask: SeatAsk, by: SeatCaller, call: Option<Idempotency>) -> Result<Value, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return Ok(answered);
        }
        let named = ask.run().ok_or_else(|| Failure::new("request.bad-args", "name the run").at("run"))?;
        let row = find_run(&self.world, Some(named))?;
        let run = run_id(&row)?;
        if row.get_text("mode").is_none() {
            let what = format!("{run} has no architect's seat: no team carries it out");
            return Err(Failure::new("seat.not-open", what).hint("start it with --team").into());
        }
        let over = || {
            let failure = Failure::new("seat.not-open", format!("{run} is over, or stopped"));
            failure.hint(format!("a stopped run goes on by: switchboard run --resume {run}"))
        };
        let driver = match self.driver(&run) {
            Some(driver) => driver,
            None => {
                // The run may be about to start.
                drop(self.world.starting.lock().await);
                self.driver(&run).ok_or_else(over)?
            }
        };
        let (answer, answered) = oneshot::channel();
        driver.ask(SeatCall { ask, by, call, answer }).await.map_err(|_| over())?;
        answered.await.unwrap_or_else(|_| Err(over().into()))
    }

    /// Adds the work tree in which the caller does a task, once the placeholder worker has started.
    async fn with_tree(&self, begun: BeginStepReply, task: &TaskId) -> Result<BeginStepReply, Error> {
        let deadline = tokio::time::Instant::now() + START;
        let run = begun.run.clone();
        loop {
            let mut changes = self.world.store.subscribe([Interest::Subject(format!("run/{run}"))]);
            let state = self.state(&run).await?.task(task).map(|view| view.state);
            if let Some(TaskState::Working { worker }) = &state {
                let folder = plan::worker_folder(&self.world.config, &run, worker);
                return self.in_tree(begun, &run, task, (worker.clone(), folder.join(TASK_FILE)));
            }
            let goes_on = matches!(state, Some(TaskState::Ready | TaskState::Starting { .. }));
            let word = state.as_ref().map_or("unknown", report::state_word).to_owned();
            if !goes_on {
                return Ok(BeginStepReply { state: word, ..begun });
            }
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(changed) => changed.map_err(Error::from).map(drop)?,
                Err(_) => return Ok(BeginStepReply { state: word, ..begun }),
            }
        }
    }

    fn in_tree(
        &self,
        begun: BeginStepReply,
        run: &RunId,
        task: &TaskId,
        (worker, prompt): (WorkerId, PathBuf),
    ) -> Result<BeginStepReply, Error> {
        let row = self.world.store.get(WORKERS, &[worker.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(format!("worker {worker}")))?;
        let prompt = self.world.ports.files.read(&prompt)?;
        Ok(BeginStepReply {
            state: "working".to_owned(),
            worktree: row.get_text("worktree").map(str::to_owned),
            branch: Some(self.plan_of(run)?.task_branch(task)),
            prompt: prompt.map(|text| String::from_utf8_lossy(&text).into_owned()),
            worker: Some(worker),
            ..begun
        })
    }
}
