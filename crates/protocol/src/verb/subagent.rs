//! The verb that uses other agents as a tool: a job, its results, and a follow-up.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::definition::AgentScope;
use crate::id::{AgentName, RunId, WorkerId};
use crate::isolation::Isolation;
use crate::job::{JobTask, Mode};
use crate::plan::TaskResult;
use crate::schema::JsonSchema;

/// Action on a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubagentAction {
    /// Starts a job.
    #[default]
    Launch,
    /// Shows the state of a job, with its results.
    Status,
    /// Continues a job: asks a follow-up, or retries what failed.
    Resume,
}

/// A debate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubagentDebate {
    /// Topic of the debate.
    pub topic: String,
    /// Participants, 2 to 8; `task` is the position to take, and may be empty.
    pub participants: Vec<JobTask>,
    /// Number of rounds, 1 to 5; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Number of participants that have to reply in a round; by default half of them, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// Name of the agent that decides; by default `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<AgentName>,
}

/// A job for other agents, with exactly one of `task`, `tasks`, `chain` and `debate`; or an earlier job.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubagentRequest {
    /// Action; `launch` by default.
    #[serde(default)]
    pub action: SubagentAction,
    /// Name of the agent: a configured agent or a definition; tasks may name others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Single task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Parallel tasks, up to 8, 4 at once; one that fails or returns nothing is tried once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<JobTask>,
    /// Steps of a chain, 2 to 16; `{previous}` is the answer of the step before. The first failure ends it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<JobTask>,
    /// Debate in rounds, and the agent that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debate: Option<SubagentDebate>,
    /// `report` keeps the answers (default); with `change` the edited files are also judged and merged into the run's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TaskResult>,
    /// Isolation: `constrained` to four tools in a sandbox (default), or `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Which agent definitions apply.
    #[serde(default)]
    pub agent_scope: AgentScope,
    /// Whether the agents have an inbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub use_message_bus: bool,
    /// Context about your work, at most 16 KiB, for their prompts; to be read only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_trace: Option<String>,
    /// For `status` and `resume`: the run, or `RUN/TASK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// For `resume`: a question to the agent that did the task, which is also given its earlier answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<String>,
    /// Maximum wait for results, in milliseconds: 45000 by default, 600000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Result of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentResult {
    /// Task, as `RUN/TASK`: `show_task` with `answer_from` reads the whole text.
    pub artifact: String,
    /// Name of the agent.
    pub agent: String,
    /// Id of its last worker; none before it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// State of the task: `done` or `merged` on success; `no-reply` for a participant of a debate that gave no answer in a round, `omitted`
    /// for a turn that was not held because all agreed.
    pub status: String,
    /// Answer of the worker; untrusted. If it is long, its middle is left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Number of bytes left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elided: u64,
    /// Number of attempts.
    pub attempts: u32,
    /// Error code of the failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Reason for the failure, or what the task waits for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Cost in millionths of a US dollar; none if no agent reported a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Number of input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Number of output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// State of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentReply {
    /// Id of the job's run.
    pub run: RunId,
    /// How its workers work together.
    pub mode: Mode,
    /// State: `running`, `succeeded`, `failed` or `stopped`.
    pub state: String,
    /// One result for each task in the order of the request; for a chain, for each step; for a debate, by rounds and participants, and then
    /// the verdict.
    pub results: Vec<SubagentResult>,
    /// What to do next, if the job is not over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next: String,
    /// Remarks for the caller, one sentence each, such as that it repeats the same request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

verb! {
    /// Have other agents do work and return their answers: one task, several in parallel, a chain, or a debate. Also shows the state of such
    /// a job, and continues it.
    Subagent = "subagent", Synced, Delegate, Found,
    SubagentRequest => SubagentReply
}
