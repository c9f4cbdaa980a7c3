//! `tell_worker`: sends a message to the worker of a task, shown with its next turn.

use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId, RunId, WorkerId};
use switchboard_protocol::message::MAX_PAYLOAD_BYTES;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::TaskState;
use switchboard_protocol::verb::run::{TellWorkerReply, TellWorkerRequest};
use switchboard_protocol::worker::WorkerFact;
use switchboard_store::{Batch, Guard, Idempotency};

use super::{find_target, reply, reply_value};
use crate::error::shape;
use crate::work::{STAND_IN, WORKERS, run_id};
use crate::{Dispatch, Error, worker_messages};

/// Handling of a message to a worker.
#[derive(Debug)]
pub enum Telling {
    /// The run is managed: the message is sent as mail to the present worker of the task.
    Mail {
        /// Run of the task.
        run: RunId,
        /// Task of the worker.
        task: TaskId,
    },
    /// The message is recorded with the run.
    Told(Box<TellWorkerReply>),
}

impl Dispatch {
    /// Records a message to the worker of a task of a standalone run; for a managed run, returns the address of the
    /// worker's mail. `id` is the id of the message. A call repeated under its idempotency key gets the first answer.
    ///
    /// # Errors
    /// An unknown run or task, a task that is over or has no worker, a worker that takes no further prompts, too many
    /// unseen messages, or a failure of the store.
    pub async fn tell_worker(
        &self,
        request: &TellWorkerRequest,
        caller: &Caller,
        id: MessageId,
        call: Option<Idempotency>,
    ) -> Result<Telling, Error> {
        check(&request.text)?;
        let (row, task) = find_target(&self.world, &request.task)?;
        let run = run_id(&row)?;
        let Some(task) = task else {
            return Err(Failure::new("request.bad-args", "name a task: RUN/TASK").at("task").into());
        };
        if self.plan_of(&run)?.coordination.is_managed() {
            return Ok(Telling::Mail { run, task });
        }
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered).map(Box::new).map(Telling::Told);
        }
        let state = self.state(&run).await?.task(&task).map(|view| view.state);
        let worker = at_work(&format!("{run}/{task}"), state.as_ref())?;
        let row = self.world.store.get(WORKERS, &[worker.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(format!("the worker {worker}")))?;
        let agent = AgentName::new(row.try_text("agent")?).map_err(|_| Error::Missing("a worker's name".to_owned()))?;
        if let Some(driver @ ("exec" | STAND_IN)) = row.get_text("driver") {
            let who = if driver == STAND_IN { "who leads the run, with its own hands" } else { "a command" };
            let what = format!("{run}/{task} is done by {who}: it takes no further prompts");
            return Err(Failure::new("request.conflict", what).into());
        }
        let answer = TellWorkerReply { run: run.clone(), task: task.to_string(), agent, id: id.clone() };
        let by = caller.name.clone();
        let fact = WorkerFact::WorkerTold { worker: worker.clone(), id, run: run.clone(), task: task.clone(), by };
        let event = NewEvent::of(&fact, format!("worker/{worker}"), caller.name.as_str());
        let too_many =
            Failure::new("bus.inbox-full", format!("{run}/{task} has {} messages unseen", worker_messages::MAX_UNSEEN));
        let unseen = worker_messages::of_task(&run, &task).eq("seen", 0_i64);
        let mut batch = Batch::synced()
            .event(event.map_err(shape("what a worker is told"))?.with_body(request.text.clone()))
            .guard(Guard::Fewer { query: unseen, than: worker_messages::MAX_UNSEEN, refusal: too_many })
            .reply(reply_value(&answer)?);
        batch.idempotency = call;
        reply(self.world.commit(batch).await?.reply).map(Box::new).map(Telling::Told)
    }
}

fn check(text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::new("request.bad-args", "`text` is empty").at("text"));
    }
    if text.len() > MAX_PAYLOAD_BYTES {
        let what = format!("`text` has {} bytes, at most {MAX_PAYLOAD_BYTES} are carried", text.len());
        return Err(Failure::new("bus.payload-too-large", what).hint("put the text into a file and send its path"));
    }
    Ok(())
}

/// Returns the running worker of a unit.
fn at_work<'a>(unit: &str, state: Option<&'a TaskState>) -> Result<&'a WorkerId, Failure> {
    match state {
        Some(TaskState::Starting { worker } | TaskState::Working { worker }) => Ok(worker),
        Some(state) if !state.is_settled() => {
            let failure = Failure::new("bus.unknown-recipient", format!("{unit} has no worker now"));
            Err(failure.hint(format!("switchboard show {unit} says what it waits for")))
        }
        Some(_) | None => {
            let failure = Failure::new("bus.recipient-closed", format!("{unit} is over: nobody works on it"));
            Err(failure.hint(format!("switchboard show {unit}")))
        }
    }
}
