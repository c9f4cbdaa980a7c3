//! Runs: start, look, stop, retry, merge.

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

use schemars::JsonSchema;
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
use crate::time::Millis;
use crate::worker::PauseState;

/// A plan to run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRunRequest {
    /// The text of a plan.json or a plan.md; empty where a job is asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// Work that is in no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// How its workers work together; by default as the plan says, and for a job `debate` with a topic, `single` with one task, `parallel` with several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Whether its workers take part in the mail.
    #[serde(default, skip_serializing_if = "Coordination::is_managed")]
    pub coordination: Coordination,
    /// Where it came from, for people.
    #[serde(default)]
    pub source: String,
    /// The agents that its tasks name, and the one for those that name none (`*`).
    #[serde(default)]
    pub agents: Vec<AgentChoice>,
    /// Name of the agent for tasks that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<AgentName>,
    /// Whether a team carries the plan out: each change is reviewed and tested by others than who made it. A plan may say so itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub team: bool,
    /// Who is what in the team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleChoice>,
    /// Whether a change that is not critical has its gates only, without review and tests by others. A plan may say so itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turbo: bool,
    /// How often something may fail in the team before somebody else decides.
    #[serde(default, skip_serializing_if = "TeamLimits::is_usual")]
    pub team_limits: TeamLimits,
    /// Whether a team leads it through all modes: from a request, or from the plan, to the end of its last phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<Drive>,
    /// The part of the plan that is run; all of it by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<UnitId>,
    /// Folder in the user's work tree that the run belongs to, absolute; the one that the caller stands in by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_path: Option<String>,
    /// The branch, tag or commit that the run starts at; what is checked out by default. A branch is also what the run is merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// At most so many workers at once, 1 to 256; the plan's profile or two by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<u32>,
    /// Folder for work trees, absolute; by default what the settings say, else the state folder's `worktrees`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<String>,
    /// Merge into the user's branch when all tasks are merged; the same as `auto_merge: auto`.
    #[serde(default)]
    pub merge: bool,
    /// Whether its branch is merged into the user's when all tasks are merged; goes before what the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<AutoMerge>,
    /// So many workers try each task by which nobody else is said to share it, 2 to 8; the gates choose among their changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_of: Option<u32>,
    /// What it may cost; without it, whatever it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What all runs of its plan may cost together, in millionths of a US dollar; what the plan says without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_budget: Option<u64>,
    /// How long each attempt may take; goes before what the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_timeout_ms: Option<WorkerTimeout>,
    /// How all of its workers are held; goes before what plan and agents say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Start constrained workers also where this machine can't enforce all of it; the record then names what it can't.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unenforced: bool,
    /// Whether tasks that write the same files run one after the other (the default); else they are only shown, run beside each other, and are judged again
    /// on the merged tree.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub use_execution_graph: bool,
    /// What its workers should know of the work that it belongs to, at most 16 KiB: stands in each prompt and in the run's first event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_trace: Option<String>,
    /// The turn of the loop that starts it (`next_unit` says which): it begins at what earlier runs of the plan have merged, and does none of that again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AutoTurn>,
    /// Say what would happen and start nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The daemon ends with this run when nothing else needs it.
    #[serde(default)]
    pub ends_daemon: bool,
}

/// How a team leads a run through its modes (`docs/team.md`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Drive {
    /// What is wanted, at most 64 KiB, where there is no plan yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Which of the steps are taken that may be left out.
    pub steps: OptionalSteps,
    /// Whether the next phase begins without a person being asked.
    pub auto: bool,
    /// The agent that has the architect's seat from the start; the run needs a budget then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<AgentName>,
}

/// Most bytes of a request.
pub const MAX_REQUEST: usize = 64 << 10;

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_yes(flag: &bool) -> bool {
    *flag
}

/// Most bytes of [`StartRunRequest::parent_trace`].
pub const MAX_PARENT_TRACE: usize = 16 << 10;

/// What was started, or what would be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StartRunReply {
    /// The run; nothing on a dry run.
    pub run: Option<RunId>,
    /// Whether that run was there before: it was started by the same request, and is not over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// The branch that the run is merged into: the one that it starts at, or that the user's tree stands on.
    pub target: String,
    /// The commit that the run starts from.
    pub base: String,
    /// The run's own branch.
    pub branch: String,
    /// Whether its branch is merged into `target` when all tasks are merged.
    #[serde(default)]
    pub auto_merge: AutoMerge,
    /// Where its work trees lie.
    pub worktrees: String,
    /// Who named that folder: `request`, the path of a settings file, or `default`.
    #[serde(default)]
    pub worktrees_from: String,
    /// Tasks in the order in which they may start, those of one line side by side.
    pub waves: Vec<Vec<String>>,
    /// Pairs of tasks that nothing orders and of which one writes what the other writes or reads, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// Tasks that wait for others because of their `inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedEdge>,
    /// Tasks that are left out, and those that could start at once and have to wait for a worker or a file, each with its code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Agents and how they are driven, without the values of variables.
    pub agents: Vec<AgentChoice>,
    /// Tasks that are left out or deferred, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Tasks whose workers are constrained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constrained: Vec<String>,
    /// What of that this machine can't enforce, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// At most so many workers at once.
    pub max_workers: u32,
    /// Position in the log before the run's first event: follow from here.
    pub cursor: u64,
}

verb! {
    /// Start a plan: agents work on its tasks in work trees of their own, held to gates, merged into the run's branch.
    StartRun = "start_run", Synced, Work, Found,
    StartRunRequest => StartRunReply
}

/// Which run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRunRequest {
    /// Its id or the beginning of it; the newest run when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Also what its branch changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diff: bool,
    /// Also how large its work trees are, all files of which are looked at for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sizes: bool,
}

/// A gate's word on one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// Its name.
    pub gate: String,
    /// `pass`, `fail`, `skip`, `error` or `not_configured`.
    pub verdict: String,
    /// Why, in one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// A task of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    /// Its id.
    pub id: String,
    /// The task that it is a subtask of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What is to be done.
    pub description: String,
    /// Who does it.
    pub agent: String,
    /// Whether that is a script.
    pub scripted: bool,
    /// Why it is paused, in the state `paused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<TaskPauseCause>,
    /// How its worker is held.
    #[serde(default, skip_serializing_if = "Isolation::is_full")]
    pub isolation: Isolation,
    /// `pending`, `working`, `gating`, `held`, `paused`, `merging`, `merged`, `done` (not merged by itself), `blocked`, `dep_failed`, `stopped` …
    pub state: String,
    /// What a held task waits for: who has reserved which of its files, and until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<HeldBy>,
    /// Attempts so far.
    pub attempts: u32,
    /// What the gates said of the last attempt.
    pub gates: Vec<GateReport>,
    /// Why attempts were refused, oldest first.
    pub refusals: Vec<String>,
    /// What reviewers and test engineers of a team said about the present attempt, by the names of their steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<GateReport>,
    /// The step of a team that is at work or next: `review`, `tests` …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at_step: String,
    /// Where a team's task is in the words of the swarm: `idle`, `coder_delegated`, `pre_check_passed`, `reviewer_run`, `tests_run` or `complete`; empty for other tasks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub swarm_state: String,
    /// The commit that was merged into the run's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Ids of tasks it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<String>,
    /// Its work tree, while it has one: an absolute path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worktree: String,
    /// Bytes of the files in its work tree; only where that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_bytes: Option<u64>,
    /// Millionths of a US dollar; nothing when no agent named a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Tokens that its workers read; nothing when no agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that its workers wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The tool that its worker is using.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doing: String,
    /// Whether its worker was told to wait, or does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseState>,
    /// When its worker was last heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<Millis>,
    /// Why it has no worker, where it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_started: Option<Skipped>,
    /// What it waits for beside the other tasks of its run, though it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Wait>,
    /// Whether its worker waits for a person's answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_you: bool,
    /// What its last worker has said of how it stands (`report_step`); the gates decide.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// How many further tasks its last worker has proposed: `log` shows them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub proposed: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A run in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Its id.
    pub run: RunId,
    /// The plan's title.
    pub title: String,
    /// `running`, `succeeded`, `failed`, `stopped`.
    pub state: String,
    /// The run's branch.
    pub branch: String,
    /// The user's branch that it was started from.
    pub target: String,
    /// The commit that it started from.
    pub base: String,
    /// Tasks in all.
    pub tasks: u64,
    /// Merged ones.
    pub merged: u64,
    /// What a run is at that a team leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TeamMode>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub now: String,
    /// Blocked ones and those that wait for them in vain.
    pub blocked: u64,
    /// Whether its branch has been merged into the user's.
    pub is_merged: bool,
    /// When it started.
    pub started_at: Millis,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Millis>,
    /// Millionths of a US dollar; nothing when no agent named a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Tokens that its workers read; nothing when no agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that its workers wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// What workers count as having cost that told none, in millionths of a US dollar: their reservations. Only under a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_micro_usd: Option<u64>,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// How all of its workers are held, where the request said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Why nothing starts in it, if it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PauseCause>,
}

/// A run in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GetRunReply {
    /// In a line.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// What it has cost in all, in millionths of a US dollar, estimates included.
    pub total_micro_usd: u64,
    /// Whether a ceiling that holds for it is reached.
    pub is_budget_exceeded: bool,
    /// The ceilings that hold for it, each with what is spent of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
    /// Its tasks in plan order; of a run that a team leads, those of the phases that have begun.
    pub list: Vec<TaskReport>,
    /// The runs that a team has started for it, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RunPart>,
    /// Tasks of the plan that it has left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Messages that its agents sent and were sent while it ran.
    pub messages_sent: u64,
    /// Of these, acknowledged ones.
    pub messages_acked: u64,
    /// What to know before its branch is merged, a sentence each: links that lead out of the repository, large files that are no text,
    /// submodules. Empty while it is at work and after it was merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What its branch changes against the commit that it started from, if that was asked for and the branch is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A run that a team has started for another one: a question to a role, or the tasks of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunPart {
    /// Its id.
    pub run: RunId,
    /// What it does.
    pub what: String,
    /// `running`, `succeeded`, `failed`, `stopped`.
    pub state: String,
}

verb! {
    /// Show a run: each task with agent, attempts, gate verdicts and merged commit.
    GetRun = "get_run", Read, Run, Found,
    GetRunRequest => GetRunReply
}

/// Which task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowTaskRequest {
    /// `RUN/TASK`, or `TASK` of the newest run.
    pub task: String,
    /// Send the diff along.
    #[serde(default)]
    pub diff: bool,
    /// Send along what its last worker has said, from this byte on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_from: Option<u64>,
}

/// What a worker has said, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The text, at most 50 KiB of it: untrusted. Where more is there, ask again from the byte `next`.
    pub text: String,
    /// Bytes that there are in all.
    pub bytes: u64,
    /// The byte after the text, if more is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShowTaskReply {
    /// Its run.
    pub run: RunId,
    /// The task.
    pub task: TaskReport,
    /// What the task changes against the commit it started from, at most 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What its last worker has said, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Folder of the last worker: raw output and frames.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// What its workers were told (`tell_worker`), oldest first and at most 100; of a managed run that is mail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Message>,
}

verb! {
    /// Show one task of a run, with its diff or what its worker has said if asked for.
    ShowTask = "show_task", Read, Run, Found,
    ShowTaskRequest => ShowTaskReply
}
