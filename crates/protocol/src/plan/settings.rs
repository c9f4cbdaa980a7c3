//! What a plan says to Switchboard beyond the format of `plan.json`: the `x-switchboard` objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Extra;
use crate::answer::AnswerKind;
use crate::isolation::Isolation;
use crate::permission::Permissions;
use crate::role::RoleName;

/// What the work tree of an attempt begins as after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryFrom {
    /// The refused change, to be mended.
    #[default]
    Change,
    /// The head of the run's branch.
    Clean,
}

impl RetryFrom {
    /// Whether it is the refused change, as runs that were recorded before this was a setting have it.
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
    /// The argument list to spawn; a shell line goes to `sh -c`.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Argv(argv) => argv.clone(),
            Self::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
        }
    }
}

/// What a task that does not say which files it writes is taken to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownWrites {
    /// Nothing: it runs beside others, and its change is judged again on what they merged.
    #[default]
    Judged,
    /// What its scope allows, or everything: nobody who writes the same runs beside it.
    Serial,
}

/// What reaches the run's branch together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeBy {
    /// Each task by itself.
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
    /// It is.
    Auto,
    /// A person is asked first.
    Confirm,
    /// Only by `merge_run`.
    #[default]
    Manual,
}

// === impl AutoMerge ===

impl AutoMerge {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Confirm, Self::Manual];

    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Confirm => "confirm",
            Self::Manual => "manual",
        }
    }

    /// The one of a word; `None` if none has it.
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
    /// The gate `scope` warns, and the change goes on.
    Warn,
    /// A person is asked before the change is merged.
    Pause,
    /// The attempt is refused and the run stops.
    Halt,
}

/// Whether a person has to say yes to a change before it is merged into the run's branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Confirm {
    /// Whether at all.
    Always(bool),
    /// The question that is asked.
    Question(String),
}

impl Confirm {
    /// The question; `None` where nothing is asked.
    #[must_use]
    pub fn question(&self) -> Option<&str> {
        match self {
            Self::Always(false) => None,
            Self::Always(true) => Some("merge this change into the run's branch?"),
            Self::Question(question) => Some(question),
        }
    }
}

/// What becomes of a task's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskResult {
    /// Its change is judged by the gates and merged.
    #[default]
    Change,
    /// What its worker says last is kept; what it leaves in its work tree is not.
    Report,
}

/// A question to a role: the task's description is what is asked, and the answer is data of one schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskSettings {
    /// Who is asked.
    pub role: RoleName,
    /// Which answer is wanted.
    pub answer: AnswerKind,
}

/// One worker of a task that several work on. What is not said here is as the task has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkerSettings {
    /// Who: a configured agent's name. Beside a command, it runs under that agent's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the `exec` driver runs. It comes with the repository, so it needs trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// The model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is told. In a chain: its part of the work, in which `{previous}` stands for what the step before said last, `{step:2}` for what the
    /// second step said, and `{task}` for the task's description. In a debate: the position that it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// A debate about a task: rounds in which all participants speak, each knowing what was said in the round before. The task's own agent then decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebateSettings {
    /// Who takes part, 2 to 8.
    pub participants: Vec<WorkerSettings>,
    /// Rounds, 1 to 5; 2 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// How many have to reply in a round; half of the participants, rounded up, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// Longest time of a round in minutes: who has not replied by then is noted as absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_minutes: Option<u32>,
}

/// How many workers try a task, or which agents do: the best of their changes is merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BestOf {
    /// So many of the task's agent, 2 to 8.
    Count(u32),
    /// One of each, 2 to 8.
    Agents(Vec<String>),
}

/// What a plan says to Switchboard in `x-switchboard`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlanSettings {
    /// Gates that every task must pass beside the default ones, which are `syntax_check`, `secretscan`, `test_integrity`, and `build_check`,
    /// `test_runner` and `lint` where the plan brings their commands. `-name` leaves a gate out, `-all` every default; the run says
    /// so at its start and shows it.
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
    /// Command that mends what a linter or formatter can mend by itself, such as `ruff check --fix`. It is run once on each change before its gates, and what it
    /// does to the files of the change becomes part of it; other files stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint_fix: Option<CommandLine>,
    /// Command that is run once in each new work tree, before its worker: what `npm ci` is to a project. An empty list means none. Where nothing
    /// is said, lock files decide (`docs/worktrees.md`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<CommandLine>,
    /// Longest time of the set-up of one tree, in minutes; 10 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_minutes: Option<u32>,
    /// TCP ports that each work tree has to itself, 0 to 100; 10 where nothing is said. Commands in it find the first in `SWITCHBOARD_PORT`, their
    /// number in `SWITCHBOARD_PORT_COUNT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u32>,
    /// Globs that no task may write, such as `vendor/**`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
    /// Who works where neither phase nor task says so. A task with a command needs nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What all runs of the plan may cost together, in US dollars. It is paused there until a person raises it; an edited plan is another plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Most workers at once, 1 to 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<u32>,
    /// Longest time of one attempt, in minutes; 60 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_minutes: Option<u32>,
    /// When its agent is told to finish, in minutes from the start of the attempt; four fifths of its longest time where nothing is said. A command is not
    /// told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_up_minutes: Option<u32>,
    /// What waits for what as a whole: a phase for the one before it by default; nothing if false; slices, too, if true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barrier: Option<bool>,
    /// Who debates a part of the plan, where a run is asked for in the mode `debate`: what is decided is told to the workers of all its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate: Option<DebateSettings>,
    /// What reaches the run's branch together: each task by itself (`task`, the default), or all tasks of a `slice` or a `milestone`, which merge into a branch
    /// of their own first and are judged once more together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeBy>,
    /// Whether the run's branch is merged into yours when all tasks are merged: `auto`, `confirm` asks a person first, `manual` (the default) leaves it to
    /// `switchboard merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<AutoMerge>,
    /// What tasks without `files_touched` are taken to write: nothing (`judged`, the default), so that they run beside others and their changes are
    /// judged again on the merged tree; or what their `scope` allows, or everything (`serial`), so that nobody who writes the same runs beside them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_writes: Option<UnknownWrites>,
    /// How often it is tried: 5 times, a command once; the phase's and the plan's word holds for tasks that say nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// What the work tree of the next attempt begins as: `clean` by default, or `change`, the refused change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_from: Option<RetryFrom>,
    /// Whether a person has to say yes to a change that has passed its gates before it is merged into the run's branch: `true`, or the question. `false` asks nobody, not even about findings of
    /// medium severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// What happens when a change touches files outside of `scope` and `files_touched`: the attempt is refused (`refuse`, the default), the gate warns
    /// (`warn`), a person is asked (`pause`), or the run stops (`halt`). What `exclude` names is always refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_violation: Option<OnViolation>,
    /// How its worker is held: `full`, or `constrained` to four tools in a sandbox; never looser than the agent's own settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Of the hosts that its agent's settings list for constrained work, those that it reaches, each with its port; an empty list means none. A host
    /// that they don't list is not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// What its agent may do without asking a person: `ask`, `edits` or `all`; never more than the agent's own settings allow. A command asks nobody: a task
    /// that has one and says `ask` is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether a team carries it out: each change is reviewed and tested by others than who made it (`docs/team.md`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<bool>,
    /// Whether each change gets the security review, whatever files it touches; only with `team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always_security_review: Option<bool>,
    /// Whether a change that is not critical has its gates only, without review and tests by others; only with `team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turbo: Option<bool>,
    /// Fields that this version doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a phase says to Switchboard in `x-switchboard`: defaults of its tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PhaseSettings {
    /// Gates that its tasks must pass beside the plan's; `-name` leaves one out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<String>>,
    /// Command of the test gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<CommandLine>,
    /// Who debates a part of the plan, where a run is asked for in the mode `debate`: what is decided is told to the workers of all its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate: Option<DebateSettings>,
    /// Who works where the task doesn't say so. A task with a command needs nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How often it is tried: 5 times, a command once; the phase's and the plan's word holds for tasks that say nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// What the work tree of the next attempt begins as: `clean` by default, or `change`, the refused change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_from: Option<RetryFrom>,
    /// Whether a person has to say yes to a change that has passed its gates before it is merged into the run's branch: `true`, or the question. `false` asks nobody, not even about findings of
    /// medium severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// What happens when a change touches files outside of `scope` and `files_touched`: the attempt is refused (`refuse`, the default), the gate warns
    /// (`warn`), a person is asked (`pause`), or the run stops (`halt`). What `exclude` names is always refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_violation: Option<OnViolation>,
    /// How its worker is held: `full`, or `constrained` to four tools in a sandbox; never looser than the agent's own settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Of the hosts that its agent's settings list for constrained work, those that it reaches, each with its port; an empty list means none. A host
    /// that they don't list is not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// What its agent may do without asking a person: `ask`, `edits` or `all`; never more than the agent's own settings allow. A command asks nobody: a task
    /// that has one and says `ask` is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Fields that this version doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a task says to Switchboard in `x-switchboard`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TaskSettings {
    /// Who does it: a configured agent's name. Beside a command, it runs under that agent's settings: held as it is, with its environment and instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the `exec` driver runs. It comes with the repository, so it needs trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// The group of tasks in its phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// What becomes of its work: `change` by default, or `report`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<TaskResult>,
    /// The role that it asks, and for which answer: its worker changes nothing, and what it answers is kept. Only where its result is a report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<AskSettings>,
    /// Workers that do it one after the other, 2 to 16, each in the tree that the one before left; the gates judge what the last one leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<Vec<WorkerSettings>>,
    /// Agents that discuss it before its own agent does it or, where its result is a report, decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate: Option<DebateSettings>,
    /// Several try it, each in a tree of its own. Of the changes that pass their gates the one with the fewest warnings is merged; among equals the
    /// smallest, then the cheapest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_of: Option<BestOf>,
    /// Command of the test gate for this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<CommandLine>,
    /// Gates that it must pass beside the phase's and the plan's; `-name` leaves one out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<String>>,
    /// Globs that it may write; nothing said means anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Vec<String>>,
    /// Globs that it may not write, beside the plan's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
    /// Files, folders and globs that it reads: no task that writes them runs beside it, unless one waits for the other anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<Vec<String>>,
    /// Files, folders and globs that it needs: it waits for the tasks whose `outputs` they are. What no task makes must be in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<String>>,
    /// Files, folders and globs that it makes, beside `files_touched`: tasks that have them as `inputs` wait for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<String>>,
    /// Longest time of one attempt, in minutes; 60 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_minutes: Option<u32>,
    /// When its agent is told to finish, in minutes from the start of the attempt; four fifths of its longest time where nothing is said. A command is not
    /// told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_up_minutes: Option<u32>,
    /// Who is named as author of its commit, `Name <address>`; else the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// How often it is tried: 5 times, a command once; the phase's and the plan's word holds for tasks that say nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// What the work tree of the next attempt begins as: `clean` by default, or `change`, the refused change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_from: Option<RetryFrom>,
    /// Whether a person has to say yes to a change that has passed its gates before it is merged into the run's branch: `true`, or the question. `false` asks nobody, not even about findings of
    /// medium severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// What happens when a change touches files outside of `scope` and `files_touched`: the attempt is refused (`refuse`, the default), the gate warns
    /// (`warn`), a person is asked (`pause`), or the run stops (`halt`). What `exclude` names is always refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_violation: Option<OnViolation>,
    /// How its worker is held: `full`, or `constrained` to four tools in a sandbox; never looser than the agent's own settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Of the hosts that its agent's settings list for constrained work, those that it reaches, each with its port; an empty list means none. A host
    /// that they don't list is not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// What its agent may do without asking a person: `ask`, `edits` or `all`; never more than the agent's own settings allow. A command asks nobody: a task
    /// that has one and says `ask` is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Fields that this version doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

// === impl TaskSettings ===

impl TaskSettings {
    /// Whether the result is a report: nothing of it is merged.
    #[must_use]
    pub fn is_report(&self) -> bool {
        self.result == Some(TaskResult::Report)
    }
}

// === impl PlanSettings ===

impl PlanSettings {
    /// What all runs of the plan may cost together, in millionths of a US dollar.
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
