//! Verbs about runs: start, show, stop, retry, merge.

mod choice;
mod clean;
mod control;
mod merge;
mod output;

pub use choice::*;
pub use clean::*;
pub use control::*;
pub use merge::*;
pub use output::*;

use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::{AgentName, RunId};
use crate::isolation::Isolation;
use crate::job::{Coordination, Job, Mode};
use crate::message::Message;
use crate::modes::{Mode as TeamMode, OptionalSteps};
use crate::plan::AutoMerge;
use crate::run::way::UnitId;
use crate::run::{
    AutoTurn, Budget, Ceiling, Conflict, DerivedEdge, HeldBy, PauseCause, Skipped, TaskPauseCause, TeamLimits, Wait,
    WorkerTimeout,
};
use crate::schema::JsonSchema;
use crate::time::Millis;
use crate::worker::PauseState;

/// The plan or job to run, and its settings.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRunRequest {
    /// Text of a plan.json or a plan.md; empty for a job.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// Work without a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// How the workers work together; by default as the plan says, and for a job `debate` with a topic, `single` with one task, `parallel`
    /// with several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Whether the workers take part in the mail.
    #[serde(default, skip_serializing_if = "Coordination::is_managed")]
    pub coordination: Coordination,
    /// Where the plan came from, for people.
    #[serde(default)]
    pub source: String,
    /// Agents that the tasks name, and the one for tasks that name none (`*`).
    #[serde(default)]
    pub agents: Vec<AgentChoice>,
    /// Environment variables for the set-up of work trees, as name and value: those of a proxy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup_env: Vec<(String, String)>,
    /// Name of the agent for tasks that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<AgentName>,
    /// Whether a team carries the plan out: each change is reviewed and tested by agents other than its author. A plan can set this itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub team: bool,
    /// Agents and settings of the team's roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleChoice>,
    /// Whether a change that is not critical passes only its gates, without review and tests by other agents. A plan can set this itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turbo: bool,
    /// Limits of failures in a team.
    #[serde(default, skip_serializing_if = "TeamLimits::is_usual")]
    pub team_limits: TeamLimits,
    /// Set if a team leads the run through all modes: from a request, or from the plan, to the end of its last phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<Drive>,
    /// Unit of the plan to run; the whole plan by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<UnitId>,
    /// Folder in the user's work tree that the run belongs to, absolute; by default the caller's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_path: Option<String>,
    /// Branch, tag or commit that the run starts at; by default what is checked out. If it is a branch, the run is merged into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Maximum number of workers at once, 1 to 256; by default from the plan's profile, else two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<u32>,
    /// Folder for work trees, absolute; by default from the settings, else the state folder's `worktrees`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<String>,
    /// Whether to merge into the user's branch when all tasks are merged; the same as `auto_merge: auto`.
    #[serde(default)]
    pub merge: bool,
    /// Whether the run's branch is merged into the user's when all tasks are merged; takes precedence over the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<AutoMerge>,
    /// Number of workers that try each task that has no other workers sharing it, 2 to 8; the gates choose among their changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_of: Option<u32>,
    /// Budget of the run; by default unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Budget of all runs of the plan together, in millionths of a US dollar; by default as the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_budget: Option<u64>,
    /// Time limits of each attempt; take precedence over the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_timeout_ms: Option<WorkerTimeout>,
    /// Isolation of all workers; takes precedence over plan and agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Whether to start constrained workers even if this machine can't enforce all restrictions; the record then names those it can't.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unenforced: bool,
    /// Whether tasks that write the same files run one after the other (the default). If false, the conflicts are only shown: the tasks run
    /// in parallel and are judged again on the merged tree.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub use_execution_graph: bool,
    /// Context for the workers about the larger task, at most 16 KiB: part of each prompt and of the run's first event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_trace: Option<String>,
    /// Turn of the loop that starts the run (from `next_unit`): the run starts at what earlier runs of the plan have merged, and repeats
    /// none of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AutoTurn>,
    /// Whether to only report what would happen and start nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether the daemon ends with this run when nothing else needs it.
    #[serde(default)]
    pub ends_daemon: bool,
}

/// How a team leads a run through its modes (`docs/team.md`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Drive {
    /// Request, at most 64 KiB, if there is no plan yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Which of the optional steps are taken.
    pub steps: OptionalSteps,
    /// Whether the next phase begins without asking a person.
    pub auto: bool,
    /// Agent that has the architect's seat from the start; the run then needs a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<AgentName>,
}

/// Maximum size of a request, in bytes.
pub const MAX_REQUEST: usize = 64 << 10;

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_yes(flag: &bool) -> bool {
    *flag
}

/// Maximum size of [`StartRunRequest::parent_trace`], in bytes.
pub const MAX_PARENT_TRACE: usize = 16 << 10;

/// The run that was started, or what a dry run would do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StartRunReply {
    /// Id of the run; none for a dry run.
    pub run: Option<RunId>,
    /// True if the run existed: the same request had started it, and it is not over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// Branch that the run is merged into: the one that it starts at, or that is checked out in the user's tree.
    pub target: String,
    /// Commit that the run starts from.
    pub base: String,
    /// Name of the run's own branch.
    pub branch: String,
    /// Whether its branch is merged into `target` when all tasks are merged.
    #[serde(default)]
    pub auto_merge: AutoMerge,
    /// Folder of its work trees.
    pub worktrees: String,
    /// Where that folder was set: `request`, the path of a settings file, or `default`.
    #[serde(default)]
    pub worktrees_from: String,
    /// Tasks in the order in which they may start; those of one entry run in parallel.
    pub waves: Vec<Vec<String>>,
    /// Pairs of tasks without an order, of which one writes what the other writes or reads; at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// Tasks that wait for others because of their `inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedEdge>,
    /// Tasks that are left out, and those that could start at once but have to wait for a worker or a file, each with its code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Agents and how they are driven, without the values of variables: an agent before the commands that run under its
    /// name.
    pub agents: Vec<AgentChoice>,
    /// Tasks that are left out or deferred, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Tasks with constrained workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constrained: Vec<String>,
    /// Restrictions that this machine can't enforce, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// At most so many workers at once.
    pub max_workers: u32,
    /// Position in the log before the run's first event, from which to follow it.
    pub cursor: u64,
}

verb! {
    /// Start a plan: agents work on its tasks in separate work trees, gates judge their changes, and changes that pass are merged into the
    /// run's branch.
    StartRun = "start_run", Synced, Work, Found,
    StartRunRequest => StartRunReply
}

/// The run to show.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRunRequest {
    /// Id of the run, or its beginning; the newest run by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Whether to include the changes of its branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diff: bool,
    /// Whether to include the sizes of its work trees, for which all their files are examined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sizes: bool,
}

/// Report of a gate on one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// Name of the gate.
    pub gate: String,
    /// Verdict: `pass`, `fail`, `skip`, `error` or `not_configured`.
    pub verdict: String,
    /// Reasons, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// A task of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    /// Id of the task.
    pub id: String,
    /// Id of the task that it is a subtask of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What the task is to do.
    pub description: String,
    /// Name of its agent.
    pub agent: String,
    /// True if the agent is a script.
    pub scripted: bool,
    /// Reason for the pause, in the state `paused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<TaskPauseCause>,
    /// Isolation of its worker.
    #[serde(default, skip_serializing_if = "Isolation::is_full")]
    pub isolation: Isolation,
    /// State: `pending`, `working`, `gating`, `held`, `paused`, `merging`, `merged`, `done` (not merged separately), `blocked`,
    /// `dep_failed`, `stopped` …
    pub state: String,
    /// Lease that a held task waits for: which agent has reserved which of its files, and until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<HeldBy>,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Reports of the gates on the last attempt.
    pub gates: Vec<GateReport>,
    /// Reasons why attempts were refused, oldest first.
    pub refusals: Vec<String>,
    /// Reports of a team's reviewers and test engineers on the present attempt, by the names of their steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<GateReport>,
    /// Current or next step of a team: `review`, `tests` …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at_step: String,
    /// State of a team's task in the words of the swarm: `idle`, `coder_delegated`, `pre_check_passed`, `reviewer_run`, `tests_run` or
    /// `complete`; empty for other tasks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub swarm_state: String,
    /// Commit that was merged into the run's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files that the task changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Ids of the tasks it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<String>,
    /// Absolute path of its work tree, while it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worktree: String,
    /// Size of the files in its work tree, in bytes; only on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_bytes: Option<u64>,
    /// Cost in millionths of a US dollar; none if no agent reported a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Input tokens of its workers; none if no agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens of its workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tool that its worker is using.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doing: String,
    /// Set if its worker is pausing or paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseState>,
    /// Time of the last sign of life from its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<Millis>,
    /// Reason why a task that needs a worker has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_started: Option<Skipped>,
    /// What the ready task waits for, apart from the other tasks of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Wait>,
    /// True if its worker waits for a person's answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_you: bool,
    /// Last report of its worker about its state (`report_step`); the gates decide.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// Number of tasks that its last worker has proposed; `log` shows them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub proposed: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A run in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Id of the run.
    pub run: RunId,
    /// Title of the plan.
    pub title: String,
    /// State: `running`, `succeeded`, `failed`, `stopped`.
    pub state: String,
    /// Name of the run's branch.
    pub branch: String,
    /// Name of the user's branch that it was started from.
    pub target: String,
    /// Commit that it started from.
    pub base: String,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of merged tasks.
    pub merged: u64,
    /// Mode of a run that a team leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TeamMode>,
    /// What the run waits for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub now: String,
    /// Number of tasks that are blocked or wait for a blocked one.
    pub blocked: u64,
    /// True if its branch was merged into the user's.
    pub is_merged: bool,
    /// Time of its start.
    pub started_at: Millis,
    /// Time of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Millis>,
    /// Cost in millionths of a US dollar; none if no agent reported a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Input tokens of its workers; none if no agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens of its workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Estimated cost of workers that reported none, in millionths of a US dollar: their reservations. Only with a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_micro_usd: Option<u64>,
    /// Budget of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Isolation of all of its workers, if the request set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Reason for the pause, if the run is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PauseCause>,
}

/// A run with all details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GetRunReply {
    /// Summary of the run.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// Total cost in millionths of a US dollar, estimates included.
    pub total_micro_usd: u64,
    /// True if a ceiling that applies to it is reached.
    pub is_budget_exceeded: bool,
    /// Ceilings that apply to it, each with the amount spent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
    /// Tasks in plan order; of a run that a team leads, those of the phases that have begun.
    pub list: Vec<TaskReport>,
    /// Runs that a team has started for it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RunPart>,
    /// Tasks of the plan that it has left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Number of messages to and from its agents while it ran.
    pub messages_sent: u64,
    /// Number of those that were acknowledged.
    pub messages_acked: u64,
    /// Remarks to read before its branch is merged, one sentence each: links that lead out of the repository, large binary files,
    /// submodules. Empty while it runs and after it was merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Changes of its branch since the commit that it started from, on request and if the branch exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A run that a team has started for another one: a question to a role, or the tasks of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunPart {
    /// Id of the run.
    pub run: RunId,
    /// What the run does.
    pub what: String,
    /// State: `running`, `succeeded`, `failed`, `stopped`.
    pub state: String,
}

verb! {
    /// Show a run: each task with agent, attempts, gate verdicts and merged commit.
    GetRun = "get_run", Read, Run, Found,
    GetRunRequest => GetRunReply
}

/// The task to show.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowTaskRequest {
    /// Task, as `RUN/TASK`, or `TASK` of the newest run.
    pub task: String,
    /// Whether to include the diff.
    #[serde(default)]
    pub diff: bool,
    /// Byte offset from which to include the output of its last worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_from: Option<u64>,
}

/// Output of a worker, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The text, at most 50 KiB; untrusted. If there is more, ask again from the byte `next`.
    pub text: String,
    /// Total size in bytes.
    pub bytes: u64,
    /// Offset of the byte after the text, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A task with details.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShowTaskReply {
    /// Id of its run.
    pub run: RunId,
    /// The task.
    pub task: TaskReport,
    /// Changes of the task since the commit it started from, at most 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Output of its last worker, on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Folder of the last worker, with raw output and frames.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Texts sent to its workers (`tell_worker`), oldest first and at most 100; in a managed run these are mail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Message>,
}

verb! {
    /// Show one task of a run, with its diff or the output of its worker on request.
    ShowTask = "show_task", Read, Run, Found,
    ShowTaskRequest => ShowTaskReply
}
