//! Settings for Switchboard in a plan, beyond the format of `plan.json`: the `x-switchboard` objects.

use serde::{Deserialize, Serialize};

use super::Extra;
use crate::answer::AnswerKind;
use crate::isolation::Isolation;
use crate::permission::Permissions;
use crate::role::RoleName;
use crate::schema::JsonSchema;

/// What the work tree of an attempt starts from after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryFrom {
    /// The refused change, to be corrected.
    #[default]
    Change,
    /// The head of the run's branch.
    Clean,
}

impl RetryFrom {
    /// Returns true for the refused change, the behaviour of runs recorded before this setting existed.
    #[must_use]
    pub const fn is_change(&self) -> bool {
        matches!(self, Self::Change)
    }
}

/// A command: an argument list that is run as it is, or one line for `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandLine {
    /// Program and arguments.
    Argv(Vec<String>),
    /// A line for the shell.
    Shell(String),
}

impl CommandLine {
    /// Returns the argument list to spawn; a shell line becomes an argument of `sh -c`.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Argv(argv) => argv.clone(),
            Self::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
        }
    }
}

/// What a task without declared files is assumed to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownWrites {
    /// Nothing: the task runs beside others, and its change is judged again on what they merged.
    #[default]
    Judged,
    /// What its scope allows, or everything: no task that writes the same files runs beside it.
    Serial,
}

/// Which changes are merged into the run's branch together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeBy {
    /// Each task separately.
    #[default]
    Task,
    /// All tasks of a slice.
    Slice,
    /// All tasks of a phase.
    Milestone,
}

/// Whether the run's branch is merged into the user's when all tasks are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoMerge {
    /// The branch is merged.
    Auto,
    /// A person is asked first.
    Confirm,
    /// Merged only by `merge_run`.
    #[default]
    Manual,
}

// === impl AutoMerge ===

impl AutoMerge {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Confirm, Self::Manual];

    /// Returns the word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Confirm => "confirm",
            Self::Manual => "manual",
        }
    }

    /// Returns the value with this word; `None` if there is none.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

/// What happens when a change touches files outside of those that its task declares in `scope` and `files_touched`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnViolation {
    /// The attempt is refused.
    #[default]
    Refuse,
    /// The gate `scope` warns, and the change proceeds.
    Warn,
    /// A person is asked before the change is merged.
    Pause,
    /// The attempt is refused and the run stops.
    Halt,
}

/// Whether a person has to approve a change before it is merged into the run's branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Confirm {
    /// True to ask, false not to ask.
    Always(bool),
    /// The question to ask.
    Question(String),
}

impl Confirm {
    /// Returns the question; `None` if nothing is asked.
    #[must_use]
    pub fn question(&self) -> Option<&str> {
        match self {
            Self::Always(false) => None,
            Self::Always(true) => Some("merge this change into the run's branch?"),
            Self::Question(question) => Some(question),
        }
    }
}

/// What happens to a task's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskResult {
    /// The change is judged by the gates and merged.
    #[default]
    Change,
    /// The worker's last message is kept; the contents of its work tree are not.
    Report,
}

/// A question to a role: the task's description is the question, and the answer is data of one schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskSettings {
    /// Role that is asked.
    pub role: RoleName,
    /// Kind of answer.
    pub answer: AnswerKind,
}

/// One of several workers of a task. Fields that are left out are as for the task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkerSettings {
    /// Name of the configured agent. A command runs under that agent's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Command that the `exec` driver runs. It comes with the repository, so it needs trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// Model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Instruction for the worker. In a chain: its part of the work, in which `{previous}` stands for the last answer of the step before,
    /// `{step:2}` for that of the second step, and `{task}` for the task's description. In a debate: the position to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// A debate about a task: in each round all participants answer, and each knows the answers of the round before. The task's own agent
/// then decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebateSettings {
    /// Participants, 2 to 8.
    pub participants: Vec<WorkerSettings>,
    /// Number of rounds, 1 to 5; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Number of participants that have to reply in a round; by default half of them, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// Time limit of a round in minutes: a participant that has not replied by then is noted as absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_minutes: Option<u32>,
}

/// How many workers, or which agents, try a task: the best of their changes is merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BestOf {
    /// Number of workers with the task's agent, 2 to 8.
    Count(u32),
    /// Names of agents, one worker each, 2 to 8.
    Agents(Vec<String>),
}

/// Settings of a plan in `x-switchboard`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlanSettings {
    /// Gates that every task must pass in addition to the default ones: `syntax_check`, `secretscan`, `test_integrity`, and `build_check`,
    /// `test_runner` and `lint` where the plan has their commands. `-name` leaves a gate out, `-all` leaves out every default gate; the run
    /// reports this at its start and shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<String>>,
    /// Command of the test gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<CommandLine>,
    /// Command of the build gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<CommandLine>,
    /// Command of the lint gate, which every task must then pass, and of the lint in `pre_check_batch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint: Option<CommandLine>,
    /// Command that fixes what a linter or formatter can fix automatically, such as `ruff check --fix`. It is run once on each change
    /// before its gates. Its edits to files of the change become part of the change; edits to other files are discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint_fix: Option<CommandLine>,
    /// Command that is run once in each new work tree, before its worker, such as `npm ci`. An empty list means none. By default lock files
    /// decide (`docs/worktrees.md`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<CommandLine>,
    /// Time limit for the set-up of one tree, in minutes; 10 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_minutes: Option<u32>,
    /// Number of TCP ports reserved for each work tree, 0 to 100; 10 by default. Commands in the tree find the first port in
    /// `SWITCHBOARD_PORT` and the number of ports in `SWITCHBOARD_PORT_COUNT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u32>,
    /// Globs that no task may write, such as `vendor/**`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
    /// Name of the agent for tasks whose phase and task settings name none. A task with a command needs no agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Budget of all runs of the plan together, in US dollars. When it is spent, the run is paused until a person raises it; an edited plan
    /// is another plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Maximum number of workers at once, 1 to 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<u32>,
    /// Time limit of one attempt, in minutes; 60 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_minutes: Option<u32>,
    /// Time at which the agent is told to finish, in minutes from the start of the attempt; by default four fifths of the time limit. A
    /// command is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_up_minutes: Option<u32>,
    /// Which groups wait for each other as a whole: by default each phase waits for the one before; with `true` slices do, too; with `false`
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barrier: Option<bool>,
    /// Debate about a part of the plan, for runs in the mode `debate`: the decision is passed to the workers of all its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate: Option<DebateSettings>,
    /// Which changes are merged into the run's branch together: those of each task separately (`task`, the default), or those of all tasks
    /// of a `slice` or a `milestone`, which are first merged into a branch of the group and judged once more together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeBy>,
    /// Whether the run's branch is merged into yours when all tasks are merged: `auto` merges it, `confirm` asks a person first, `manual`
    /// (the default) leaves it to `switchboard merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<AutoMerge>,
    /// What tasks without `files_touched` are assumed to write. `judged` (the default): nothing, so that they run beside others and their
    /// changes are judged again on the merged tree. `serial`: what their `scope` allows, or everything, so that no task that writes the
    /// same files runs beside them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_writes: Option<UnknownWrites>,
    /// Maximum number of attempts: 5 by default, 1 for a command. The values of the phase and the plan are defaults of their tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// What the work tree of the next attempt starts from: `clean` (the default) is the head of the run's branch, `change` the refused
    /// change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_from: Option<RetryFrom>,
    /// Whether a person has to approve a change that has passed its gates before it is merged into the run's branch: `true`, or the
    /// question to ask. `false` never asks, not even about findings of medium severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// What happens when a change touches files outside of `scope` and `files_touched`: the attempt is refused (`refuse`, the default), the
    /// gate warns (`warn`), a person is asked (`pause`), or the run stops (`halt`). Changes to files that `exclude` names are always
    /// refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_violation: Option<OnViolation>,
    /// Isolation of the worker: `full`, or `constrained` to four tools in a sandbox; never looser than the agent's own settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Hosts that the worker may connect to, each with its port, out of those that its agent's settings list for constrained work; an empty
    /// list means none. Hosts that the settings don't list stay closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// What the agent may do without asking a person: `ask`, `edits` or `all`. `all` needs trust in the plan; `edits` narrows `all` and
    /// does not widen `ask`. A command can't ask: a task with a command and `ask` is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether a team carries out the plan: each change is reviewed and tested by agents other than its author (`docs/team.md`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<bool>,
    /// Whether each change gets the security review, whichever files it touches; only with `team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always_security_review: Option<bool>,
    /// Whether a change that is not critical passes only its gates, without review and tests by other agents; only with `team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turbo: Option<bool>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Settings of a phase in `x-switchboard`: defaults of its tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PhaseSettings {
    /// Gates that the phase's tasks must pass in addition to the plan's; `-name` leaves one out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<String>>,
    /// Command of the test gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<CommandLine>,
    /// Debate about a part of the plan, for runs in the mode `debate`: the decision is passed to the workers of all its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate: Option<DebateSettings>,
    /// Name of the agent for tasks that name none. A task with a command needs no agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Maximum number of attempts: 5 by default, 1 for a command. The values of the phase and the plan are defaults of their tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// What the work tree of the next attempt starts from: `clean` (the default) is the head of the run's branch, `change` the refused
    /// change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_from: Option<RetryFrom>,
    /// Whether a person has to approve a change that has passed its gates before it is merged into the run's branch: `true`, or the
    /// question to ask. `false` never asks, not even about findings of medium severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// What happens when a change touches files outside of `scope` and `files_touched`: the attempt is refused (`refuse`, the default), the
    /// gate warns (`warn`), a person is asked (`pause`), or the run stops (`halt`). Changes to files that `exclude` names are always
    /// refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_violation: Option<OnViolation>,
    /// Isolation of the worker: `full`, or `constrained` to four tools in a sandbox; never looser than the agent's own settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Hosts that the worker may connect to, each with its port, out of those that its agent's settings list for constrained work; an empty
    /// list means none. Hosts that the settings don't list stay closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// What the agent may do without asking a person: `ask`, `edits` or `all`. `all` needs trust in the plan; `edits` narrows `all` and
    /// does not widen `ask`. A command can't ask: a task with a command and `ask` is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Settings of a task in `x-switchboard`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TaskSettings {
    /// Name of the configured agent. A command runs under that agent's settings: with its isolation, environment and instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Command that the `exec` driver runs. It comes with the repository, so it needs trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// Name of the slice, a group of tasks in the task's phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// What happens to the work: `change` (the default) is judged by the gates and merged; `report` keeps the worker's last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<TaskResult>,
    /// Role that the task asks, and the kind of answer: its worker changes nothing, and its answer is kept. Only where the result is a
    /// report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<AskSettings>,
    /// Workers that do the task one after the other, 2 to 16, each in the tree that the one before left; the gates judge the last one's
    /// result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<Vec<WorkerSettings>>,
    /// Debate about the task before its own agent does it or, where its result is a report, decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate: Option<DebateSettings>,
    /// Number of workers, or names of agents, that try the task, each in a separate tree. Of the changes that pass their gates the one with
    /// the fewest warnings is merged; among equals the smallest, then the cheapest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_of: Option<BestOf>,
    /// Command of the test gate for this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<CommandLine>,
    /// Gates that the task must pass in addition to those of the phase and the plan; `-name` leaves one out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<String>>,
    /// Globs that the task may write; by default anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Vec<String>>,
    /// Globs that the task may not write, in addition to the plan's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
    /// Files, folders and globs that the task reads: no task that writes them runs beside it, unless one waits for the other anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<Vec<String>>,
    /// Files, folders and globs that the task needs: it waits for the tasks that list them as `outputs`. Those that no task makes must be in
    /// the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<String>>,
    /// Files, folders and globs that the task makes, in addition to `files_touched`: tasks that list them as `inputs` wait for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<String>>,
    /// Time limit of one attempt, in minutes; 60 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_minutes: Option<u32>,
    /// Time at which the agent is told to finish, in minutes from the start of the attempt; by default four fifths of the time limit. A
    /// command is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_up_minutes: Option<u32>,
    /// Author of the task's commit, `Name <address>` or a name alone; by default the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Maximum number of attempts: 5 by default, 1 for a command. The values of the phase and the plan are defaults of their tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// What the work tree of the next attempt starts from: `clean` (the default) is the head of the run's branch, `change` the refused
    /// change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_from: Option<RetryFrom>,
    /// Whether a person has to approve a change that has passed its gates before it is merged into the run's branch: `true`, or the
    /// question to ask. `false` never asks, not even about findings of medium severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// What happens when a change touches files outside of `scope` and `files_touched`: the attempt is refused (`refuse`, the default), the
    /// gate warns (`warn`), a person is asked (`pause`), or the run stops (`halt`). Changes to files that `exclude` names are always
    /// refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_violation: Option<OnViolation>,
    /// Isolation of the worker: `full`, or `constrained` to four tools in a sandbox; never looser than the agent's own settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Hosts that the worker may connect to, each with its port, out of those that its agent's settings list for constrained work; an empty
    /// list means none. Hosts that the settings don't list stay closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// What the agent may do without asking a person: `ask`, `edits` or `all`. `all` needs trust in the plan; `edits` narrows `all` and
    /// does not widen `ask`. A command can't ask: a task with a command and `ask` is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub extra: Extra,
}

// === impl TaskSettings ===

impl TaskSettings {
    /// Returns true if the result is a report, of which nothing is merged.
    #[must_use]
    pub fn is_report(&self) -> bool {
        self.result == Some(TaskResult::Report)
    }
}

// === impl PlanSettings ===

impl PlanSettings {
    /// Returns the budget of all runs of the plan together, in millionths of a US dollar.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a plan's check has it between 0 and a million dollars"
    )]
    pub fn budget_micro_usd(&self) -> Option<u64> {
        self.budget.map(|dollars| (dollars * 1e6).round() as u64)
    }
}
