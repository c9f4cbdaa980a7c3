//! What the coordinator of managed runs, which is the daemon, writes into the mail, and what it understands.
//!
//! The payload of such a message is JSON with a `type`. What the daemon writes is in the same commit as the event that it tells of.

mod control;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AgentName, RunId, WorkerId};
use crate::plan::TaskId;

pub use crate::id::COORDINATOR;
pub use control::{Control, ControlReply, UnitStatus};

/// Begins the address of whoever works on a unit: `worker:1.2`, `worker:run_7f3a/1.2`.
pub const WORKER_PREFIX: &str = "worker:";

/// What the coordinator writes about a unit of a managed run, or to its worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UnitMessage {
    /// A worker is at work on a unit. In the commit of `worker_started`.
    UnitStarted {
        /// The run.
        run: RunId,
        /// The task.
        unit: TaskId,
        /// Who works on it.
        worker: WorkerId,
    },
    /// A unit is done: its change is merged, or what was said is kept. In the commit of `task_merged` or `task_done`.
    UnitCompleted {
        /// The run.
        run: RunId,
        /// The task.
        unit: TaskId,
        /// The commit that the run's branch ends with, where a change was merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// A worker was lost or its turn failed, or a unit waits for a person. In the commit of the event that says so.
    Error {
        /// The run.
        run: RunId,
        /// The task.
        unit: TaskId,
        /// The event: `worker_lost`, `turn_ended`, `tree_setup_failed`, `task_blocked`.
        event: String,
        /// Why.
        reason: String,
    },
    /// What a unit's worker has used so far; once at the end of each turn that cost something. In the commit of the turn's end.
    Cost {
        /// The run.
        run: RunId,
        /// The task.
        unit: TaskId,
        /// Who.
        worker: WorkerId,
        /// The turn that has ended.
        turn: u32,
        /// Millionths of a US dollar in all; `None` where the agent tells no price.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micro_usd: Option<u64>,
        /// Tokens read in all.
        input_tokens: u64,
        /// Tokens written in all.
        output_tokens: u64,
    },
    /// A participant's turn in a debate begins. To its worker, in the commit of `worker_intended`; the messages of one round are one broadcast.
    Debate {
        /// The run.
        run: RunId,
        /// The participant's task.
        unit: TaskId,
        /// Which round, from 1.
        round: u32,
        /// How many there are.
        rounds: u32,
    },
    /// A step of a chain begins. To its worker, in the commit of `worker_intended`.
    Chain {
        /// The run.
        run: RunId,
        /// The step's task.
        unit: TaskId,
        /// Which step, from 1.
        step: u32,
        /// The step whose tree and answer it has; `None` for the first.
        after: Option<TaskId>,
    },
}

/// A message of the coordinator on its way into the mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Whose address is named as sender.
    pub from: AgentName,
    /// Whose inbox it is put into.
    pub to: AgentName,
    /// What it says.
    pub what: UnitMessage,
    /// What this and the other messages of a round have in common.
    pub broadcast: Option<String>,
    /// Whether its recipient has it already, so that nothing is delivered: the daemon itself, or a command that reads no mail.
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
