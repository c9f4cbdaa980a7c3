//! Verbs about questions to a person.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::NeedId;
use crate::need::Need;
use crate::schema::JsonSchema;

/// Questions to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListNeedsRequest {
    /// Also closed questions.
    #[serde(default)]
    pub include_settled: bool,
    /// Only the question with this id, or the beginning of it; open or closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The questions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListNeedsReply {
    /// Questions, oldest first.
    pub needs: Vec<Need>,
}

verb! {
    /// List the questions that wait for a person, oldest first.
    ListNeeds = "list_needs", Read, Inspect, Found,
    ListNeedsRequest => ListNeedsReply
}

/// The question to resolve.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// Id of the question, or its beginning if that is unambiguous.
    pub id: String,
}

/// The question and its answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// Id of the question, or its beginning if that is unambiguous.
    pub id: String,
    /// Id of the chosen option.
    pub option: String,
    /// Note for the next worker, at most 2,000 bytes; only for the option `retry` of a question about a task, and for `text` and `revise` of
    /// a team's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The closed question.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ResolveReply {
    /// Id of the question.
    pub id: NeedId,
    /// Outcome: `approved`, `denied` or `answered`.
    pub outcome: String,
}

verb! {
    /// Allow what a worker asks for, once.
    Approve = "approve", Synced, Approve, Never,
    ResolveRequest => ResolveReply
}

verb! {
    /// Deny what a worker asks for.
    Deny = "deny", Synced, Approve, Never,
    ResolveRequest => ResolveReply
}

verb! {
    /// Answer a question with one of the options it offers.
    Answer = "answer", Synced, Approve, Never,
    AnswerRequest => ResolveReply
}
