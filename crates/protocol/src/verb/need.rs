//! Questions to a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::NeedId;
use crate::need::Need;

/// Which questions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListNeedsRequest {
    /// Also those that were settled.
    #[serde(default)]
    pub include_settled: bool,
}

/// The questions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListNeedsReply {
    /// Oldest first.
    pub needs: Vec<Need>,
}

verb! {
    /// List the questions that wait for a person, oldest first.
    ListNeeds = "list_needs", Read, Inspect, Found,
    ListNeedsRequest => ListNeedsReply
}

/// Which question.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// Its id, or the beginning of it if that is unambiguous.
    pub id: String,
}

/// Which question, and what to say.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// Its id, or the beginning of it if that is unambiguous.
    pub id: String,
    /// The id of the option to choose.
    pub option: String,
    /// What to tell the next worker, at most 2,000 bytes; only for the option `retry` of a question about a task, and for `text` and `revise` of a team's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The question is settled.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ResolveReply {
    /// Its id.
    pub id: NeedId,
    /// `approved`, `denied` or `answered`.
    pub outcome: String,
}

verb! {
    /// Allow what a worker asks for, once.
    Approve = "approve", Synced, Approve, Never,
    ResolveRequest => ResolveReply
}

verb! {
    /// Refuse what a worker asks for.
    Deny = "deny", Synced, Approve, Never,
    ResolveRequest => ResolveReply
}

verb! {
    /// Answer a question with one of the options it offers.
    Answer = "answer", Synced, Approve, Never,
    AnswerRequest => ResolveReply
}
