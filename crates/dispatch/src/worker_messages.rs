//! Messages to workers of standalone runs. These have no mail, so the messages are kept with their run and shown with
//! the next turn.

use switchboard_protocol::id::{AgentName, MessageId, RunId};
use switchboard_protocol::message::{Action, DeliveryState, Message, MessageKind, Priority, QueueState};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::time::Millis;
use switchboard_store::{Query, Row};

use crate::Error;
use crate::work::WORKER_MESSAGES;
use crate::world::World;

/// Maximum number of messages that the workers of a task have not seen yet.
pub(crate) const MAX_UNSEEN: u64 = 64;

/// Returns the messages that no worker of the task has seen yet, oldest first.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn unseen(
    world: &World,
    (run, task): (&RunId, &TaskId),
    agent: &AgentName,
    limit: usize,
) -> Result<Vec<Message>, Error> {
    let query = of_task(run, task).eq("seen", 0_i64).asc("seq").limit(limit as u64);
    read(world, &query, agent)
}

/// Returns the newest `limit` messages to the workers of the task, oldest first.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn all(
    world: &World,
    (run, task): (&RunId, &TaskId),
    agent: &AgentName,
    limit: u64,
) -> Result<Vec<Message>, Error> {
    let mut all = read(world, &of_task(run, task).desc("seq").limit(limit), agent)?;
    all.reverse();
    Ok(all)
}

/// Returns the query for the messages of a task.
pub(crate) fn of_task(run: &RunId, task: &TaskId) -> Query {
    Query::table(WORKER_MESSAGES).eq("run", run.as_str()).eq("task", task.as_str())
}

fn read(world: &World, query: &Query, agent: &AgentName) -> Result<Vec<Message>, Error> {
    world.store.read(query)?.iter().map(|row| message(world, row, agent)).collect()
}

fn message(world: &World, row: &Row, agent: &AgentName) -> Result<Message, Error> {
    let seq = u64::try_from(row.try_int("seq")?).unwrap_or(0);
    let is_seen = row.get_bool("seen");
    Ok(Message {
        id: MessageId::new(row.try_text("id")?).map_err(|_| Error::Missing("the id of a message".to_owned()))?,
        action: Action::StatusUpdate,
        kind: MessageKind::Event,
        priority: Priority::Normal,
        topic: String::new(),
        sender: AgentName::new(row.try_text("by")?).map_err(|_| Error::Missing("who told it".to_owned()))?,
        // Only a person known to the policy may send a message to a worker.
        sender_verified: true,
        recipient: agent.clone(),
        payload: world.store.body(seq)?.unwrap_or_default(),
        is_preview: false,
        reply_to: None,
        is_late: false,
        team: String::new(),
        metadata: None,
        persona: String::new(),
        state: if is_seen { DeliveryState::Injected } else { DeliveryState::Accepted },
        queue: QueueState::Ready,
        attempt: 0,
        lease_token: None,
        lease_until: None,
        expires_at: None,
        cause: String::new(),
        created_at: Millis(row.try_int("sent_at")?),
        seq,
        number: 0,
    })
}
