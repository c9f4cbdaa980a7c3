//! `report_step` and `propose_task`: actions of a worker on its own task, while it has it.

use switchboard_protocol::action::WorkerAction;
use switchboard_protocol::answer::{Answer, AnswerKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, WorkerId};
use switchboard_protocol::verb::step::{Fence, StepReply};
use switchboard_store::{Batch, Guard, Idempotency, Row};

use crate::identity::{attempt, event, holds, run_of, stale};
use crate::work::WORKERS;
use crate::{Dispatch, Error};

/// Maximum number of actions that one worker may record by calls.
const MAX_ACTIONS: i64 = 200;

impl Dispatch {
    /// Records an action of a worker on its own task.
    ///
    /// # Errors
    /// `dispatch.stale-worker` if the task has gone on without the worker, and then nothing is recorded; an action that
    /// is out of bounds, or one too many.
    pub async fn act(
        &self,
        worker: &WorkerId,
        (action, fence): (WorkerAction, Fence),
        call: Option<Idempotency>,
    ) -> Result<StepReply, Error> {
        action.check()?;
        let row = self.world.store.get(WORKERS, &[worker.as_str().into()])?;
        let row = row.ok_or_else(|| stale(worker))?;
        holds(&row, worker, &fence)?;
        readable(&row, &action)?;
        let agent = AgentName::new(row.try_text("agent")?).map_err(|_| Error::Missing("a worker's name".to_owned()))?;
        let answer = StepReply {
            run: run_of(&row)?,
            task: row.try_text("task")?.to_owned(),
            worker: Some(worker.clone()),
            attempt: attempt(&row)?,
        };
        let too_many = Failure::new(
            "request.too-large",
            format!("{worker} has recorded {MAX_ACTIONS} actions, which is all it may"),
        );
        let key = || [worker.as_str().into()];
        let batch = Batch::synced()
            .event(event(worker, &agent, 0, &action)?)
            // The writer checks again: the turn may end between this check and the commit.
            .guard(Guard::equals(WORKERS, key(), "exited", 0_i64, stale(worker)))
            .guard(Guard::below(WORKERS, key(), "acted", MAX_ACTIONS, too_many))
            .reply(super::reply_value(&answer)?);
        let batch = match call {
            Some(call) => batch.idempotent(call),
            None => batch,
        };
        super::reply(self.world.commit(batch).await?.reply)
    }
}

/// Refuses an answer in the wrong form at once, while the worker can still correct it.
fn readable(row: &Row, action: &WorkerAction) -> Result<(), Failure> {
    let WorkerAction::ReportStep { answer: Some(answer), .. } = action else { return Ok(()) };
    let bad = |what: String| Failure::new("request.bad-args", what).at("answer");
    let Some(kind) = row.get_text("wanted").and_then(AnswerKind::of) else {
        return Err(bad("your step wants no answer: the gates judge what you leave".to_owned()));
    };
    Answer::read(kind, answer).map_or_else(|why| Err(bad(why.message(kind))), |_| Ok(()))
}
