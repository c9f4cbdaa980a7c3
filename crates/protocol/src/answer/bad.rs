//! Reasons why a text is not a valid answer, worded for the agent that wrote it.

use super::{AnswerKind, MAX_ANSWER_BYTES};

/// Maximum length, in bytes, of an agent's own text in a reason, so that several reasons fit into the facts of one event.
pub(super) const MAX_SHOWN: usize = 200;

/// Reason why a text is not a valid answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// The text has no fenced JSON block.
    #[error("the answer has no fenced JSON block")]
    NoBlock,
    /// The last block is not closed.
    #[error("the JSON block that begins in line {line} has no closing fence")]
    Unclosed {
        /// Line of the text, from 1.
        line: usize,
    },
    /// One fence contains another, so the start or end of the answer is ambiguous.
    #[error("a fenced block stands inside of the one that begins in line {line}")]
    Nested {
        /// Line of the outer fence, from 1.
        line: usize,
    },
    /// Two blocks are both answers and differ.
    #[error("the answer has several JSON blocks that answer the question differently")]
    Several,
    /// The answer is larger than [`MAX_ANSWER_BYTES`].
    #[error("the JSON block has {bytes} bytes, and at most {MAX_ANSWER_BYTES} are read")]
    TooLarge {
        /// Size of the answer, in bytes.
        bytes: usize,
    },
    /// The block is not valid JSON.
    #[error("the JSON block is no valid JSON near line {line}: {what}")]
    NotJson {
        /// Line of the text, from 1.
        line: usize,
        /// Message of the parser.
        what: String,
    },
    /// The JSON does not match the schema.
    #[error("{}: expected {expected}, found {found}", place(pointer))]
    WrongShape {
        /// JSON pointer to the field; empty for the whole answer.
        pointer: String,
        /// Expected value.
        expected: String,
        /// Value found.
        found: String,
        /// Closest valid name.
        near: Option<String>,
    },
    /// Two fields contradict each other.
    #[error("the answer contradicts itself: {what}")]
    Contradiction {
        /// The contradiction.
        what: String,
    },
    /// The answer is the example from the prompt.
    #[error("the answer is the example of the prompt")]
    Example,
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the answer" } else { pointer }
}

// === impl BadAnswer ===

impl BadAnswer {
    /// Returns the message to the agent: the problem and its remedy.
    #[must_use]
    pub fn message(&self, kind: AnswerKind) -> String {
        format!("{self}; {}", self.remedy(kind))
    }

    /// Returns what the agent should do about the problem.
    #[must_use]
    pub(super) fn remedy(&self, kind: AnswerKind) -> String {
        match self {
            Self::NoBlock => {
                format!("end with one block of the schema `{kind}`: a line ```json, the JSON, and a line ```")
            }
            Self::Unclosed { .. } => "end the block with a line ```".to_owned(),
            Self::Nested { .. } => {
                "give the JSON block by itself, not inside of another fenced block, and without fences in it".to_owned()
            }
            Self::Several => "give exactly one JSON block, the one that counts".to_owned(),
            Self::TooLarge { .. } => "name files instead of quoting them".to_owned(),
            Self::NotJson { .. } => {
                "write plain JSON: double quotes, no comments, no comma at the end of a list".to_owned()
            }
            Self::WrongShape { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::WrongShape { near: None, .. } => format!("give all fields of the schema `{kind}`, and no others"),
            Self::Contradiction { .. } => "decide for one of the two, and give the answer again".to_owned(),
            Self::Example => "give your own answer in its shape".to_owned(),
        }
    }
}
