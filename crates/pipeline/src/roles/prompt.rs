//! Prompt text about the answer of a worker in a role.

use switchboard_protocol::answer::{AnswerKind, example, outline};

/// Returns the prompt text about the form of an answer.
#[must_use]
pub fn form(kind: AnswerKind) -> String {
    format!(
        "End your answer with exactly one fenced JSON block (```json) of this shape, `?` marking what may be left out, and no other fields; what is \
         outside of the block does not count:\n\n    {}\n\nFor example:\n\n    {}\n",
        outline(kind),
        example(kind)
    )
}
