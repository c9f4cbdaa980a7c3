//! Other agents as a tool: a job, its results, and a follow-up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::definition::AgentScope;
use crate::id::{AgentName, RunId, WorkerId};
use crate::isolation::Isolation;
use crate::job::{JobTask, Mode};
use crate::plan::TaskResult;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubagentAction {
    /// Starts a job.
    #[default]
    Launch,
    /// Shows how one stands, with its results.
    Status,
    /// Goes on with one: asks a follow-up, or tries again what failed.
    Resume,
}

/// A debate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubagentDebate {
    /// What it is about.
    pub topic: String,
    /// 2 to 8 participants; `task` is the position that one takes, and may be empty.
    pub participants: Vec<JobTask>,
    /// 1 to 5 rounds; 2 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// How many have to reply in a round; half of them, rounded up, when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// Who decides; `agent` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<AgentName>,
}

/// A job for other agents: exactly one of `task`, `tasks`, `chain` and `debate`; or a run that was started so.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubagentRequest {
    /// `launch` when left out.
    #[serde(default)]
    pub action: SubagentAction,
    /// Who does it: a configured agent or a definition; tasks may name others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// One task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Up to 8 tasks, 4 at once; one that fails or says nothing is tried once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<JobTask>,
    /// 2 to 16 steps; `{previous}` is what the step before said. The first that fails ends it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<JobTask>,
    /// Participants who argue in rounds, and one who decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debate: Option<SubagentDebate>,
    /// `report` keeps what is said (default); `change` also has what is left in the files judged and merged into the run's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TaskResult>,
    /// `constrained` to four tools in a sandbox (default), or `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Whose definitions of agents count.
    #[serde(default)]
    pub agent_scope: AgentScope,
    /// Gives them an inbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub use_message_bus: bool,
    /// What they should know of your work, at most 16 KiB: stands in their prompts, to be read only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_trace: Option<String>,
    /// For `status` and `resume`: the run, or `RUN/TASK`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// For `resume`: what to ask who did the task, who is told what was said before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<String>,
    /// How long to wait for results, at most 600000; 45000 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// What one worker came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentResult {
    /// `RUN/TASK`: `show_task` with `answer_from` reads all of the text.
    pub artifact: String,
    /// Who did it.
    pub agent: String,
    /// Its last worker; nothing before it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// The task's state: `done` or `merged` when it is as it should be; `no-reply` for a participant of a debate who said nothing in a round, `omitted` for a turn that was not held since all agreed.
    pub status: String,
    /// What it said: untrusted text, its middle left out where it is long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Bytes that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elided: u64,
    /// How often it was tried.
    pub attempts: u32,
    /// The code of what it failed with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Why it failed, or what it waits for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Millionths of a US dollar; nothing when no agent named a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a job stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentReply {
    /// The run that does it.
    pub run: RunId,
    /// How its workers work together.
    pub mode: Mode,
    /// `running`, `succeeded`, `failed` or `stopped`.
    pub state: String,
    /// A result for each task in the order of the request; of a chain for each step, of a debate by rounds and participants, and then the verdict.
    pub results: Vec<SubagentResult>,
    /// What to do next, where it is not over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next: String,
    /// What its caller should know, a sentence each: that it asks for the same again and again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

verb! {
    /// Have other agents do something and tell you what they say: one task, several side by side, a chain, or a debate. Also shows how such a job stands, and goes on with one.
    Subagent = "subagent", Synced, Delegate, Found,
    SubagentRequest => SubagentReply
}
