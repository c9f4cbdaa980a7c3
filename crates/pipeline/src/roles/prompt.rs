//! What a worker in a role is told about its answer.

use switchboard_protocol::answer::{AnswerKind, example, outline};

/// What a worker is told about the form of its answer.
#[must_use]
pub fn form(kind: AnswerKind) -> String {
    format!(
        "End your answer with exactly one fenced JSON block (```json) of this shape, `?` marking what may be left out, and no other fields; what is \
         outside of the block does not count:\n\n    {}\n\nFor example:\n\n    {}\n",
        outline(kind),
        example(kind)
    )
}
