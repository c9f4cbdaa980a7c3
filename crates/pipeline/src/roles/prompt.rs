//! What a worker in a role is told besides its task.

use switchboard_protocol::answer::{AnswerKind, example, outline};

use super::Role;

/// What a text costs a model, roughly: tokens per character, the estimate of opencode-swarm's context budget.
const TOKENS_PER_CHARACTER: f64 = 0.33;

/// The frame of a prompt: the role's own text, and the answer that its step wants. The task and its inputs come after it.
#[must_use]
pub fn frame(role: &Role, kind: AnswerKind) -> String {
    format!("You are the {} of a team.\n\n{}\n\n# Answer\n\n{}", role.id, role.prompt.trim(), form(kind))
}

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

/// Estimate of the tokens of a text.
#[must_use]
pub fn tokens(text: &str) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of characters, positive and far below 2^52"
    )]
    let tokens = (text.chars().count() as f64 * TOKENS_PER_CHARACTER).ceil() as u64;
    tokens
}
