//! Ids of the questions that a led run asks a person.

use switchboard_protocol::id::{NeedId, RunId};

/// Returns the id of the question that a step of a run's modes asks: the next daemon finds it by the same id.
pub(crate) fn question_id(run: &RunId, step: u32) -> NeedId {
    NeedId::derived(&[b"modes", run.as_str().as_bytes(), &step.to_le_bytes()])
}
