//! Messages that the coordinator of managed runs (the daemon) sends, and those that it understands.
//!
//! The payload of such a message is JSON with a `type`. The daemon commits each of its messages together with the event that the message reports.

mod control;

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, RunId, WorkerId};
use crate::plan::TaskId;
use crate::schema::JsonSchema;

pub use crate::id::COORDINATOR;
pub use control::{Control, ControlReply, UnitStatus};

/// Prefix of the address of the worker of a unit: `worker:1.2`, `worker:run_7f3a/1.2`.
pub const WORKER_PREFIX: &str = "worker:";

/// Message of the coordinator about a unit of a managed run, or to the unit's worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UnitMessage {
    /// A worker has started on a unit. Committed with `worker_started`.
    UnitStarted {
        /// Id of the run.
        run: RunId,
        /// Id of the task.
        unit: TaskId,
        /// Id of the worker.
        worker: WorkerId,
    },
    /// A unit is done: its change was merged, or its answer was kept. Committed with `task_merged` or `task_done`.
    UnitCompleted {
        /// Id of the run.
        run: RunId,
        /// Id of the task.
        unit: TaskId,
        /// Last commit of the run's branch, if a change was merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// A worker was lost, its turn failed, or a unit waits for a person. Committed with the event in `event`.
    Error {
        /// Id of the run.
        run: RunId,
        /// Id of the task.
        unit: TaskId,
        /// Name of the event: `worker_lost`, `turn_ended`, `tree_setup_failed`, `task_blocked`.
        event: String,
        /// Reason.
        reason: String,
    },
    /// Usage of a unit's worker so far, sent at the end of each turn that cost something. Committed with the end of the turn.
    Cost {
        /// Id of the run.
        run: RunId,
        /// Id of the task.
        unit: TaskId,
        /// Id of the worker.
        worker: WorkerId,
        /// Number of the turn that ended.
        turn: u32,
        /// Total cost in millionths of a US dollar; `None` if the agent reports no price.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micro_usd: Option<u64>,
        /// Total input tokens.
        input_tokens: u64,
        /// Total output tokens.
        output_tokens: u64,
    },
    /// A participant's turn in a debate begins. Sent to its worker and committed with `worker_intended`; the messages of one round are one broadcast.
    Debate {
        /// Id of the run.
        run: RunId,
        /// Task of the participant.
        unit: TaskId,
        /// Round, from 1.
        round: u32,
        /// Number of rounds.
        rounds: u32,
    },
    /// A step of a chain begins. Sent to its worker and committed with `worker_intended`.
    Chain {
        /// Id of the run.
        run: RunId,
        /// Task of the step.
        unit: TaskId,
        /// Step, from 1.
        step: u32,
        /// The step whose tree and answer this step starts with; `None` for the first.
        after: Option<TaskId>,
    },
}

/// A message of the coordinator to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Address shown as the sender.
    pub from: AgentName,
    /// Recipient of the message.
    pub to: AgentName,
    /// Content of the message.
    pub what: UnitMessage,
    /// Broadcast id that the messages of a round share.
    pub broadcast: Option<String>,
    /// True if the message is not delivered because its recipient needs no mail: the daemon itself, or a command that reads no mail.
    pub is_taken: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_a_type_and_flat_fields() {
        let round = UnitMessage::Debate {
            run: RunId::from_bits(1),
            unit: TaskId::new("1.1.r2.p1").unwrap(),
            round: 2,
            rounds: 3,
        };

        let json = serde_json::to_string(&round).unwrap();

        assert_eq!(json, r#"{"type":"debate","run":"run_0000000000000001","unit":"1.1.r2.p1","round":2,"rounds":3}"#);
        assert_eq!(serde_json::from_str::<UnitMessage>(&json).unwrap(), round);
    }
}
