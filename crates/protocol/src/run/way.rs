//! Ways as they are recorded: the graph of steps that a unit of work walks. What the steps mean is defined in
//! `switchboard_pipeline::way`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::answer::AnswerKind;
use crate::id;
use crate::id::Digest;
use crate::plan::{Plan, RetryFrom, Task, TaskId};
use crate::schema::JsonSchema;

id!(StepId, "", "The name of a step, unique in its way: `work`, `secretscan`, `merge`.");
id!(GateId, "", "The name of a gate: `syntax_check`, `test_runner`.");
id!(RoleId, "", "What a worker is in a step: `coder`, `reviewer`.");

impl StepId {
    /// Returns the step of ways in which one worker does all the work, and of runs that were recorded before steps had names.
    #[must_use]
    pub fn work() -> Self {
        Self("work".into())
    }
}

/// Id of a unit of work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnitId {
    /// A task.
    Task(TaskId),
    /// A slice: a named group of tasks in a phase.
    Slice {
        /// Number of its phase.
        phase: u64,
        /// Name of the slice.
        name: String,
    },
    /// A phase.
    Phase(u64),
}

impl UnitId {
    /// Returns the id of the task, or `None` for a group of tasks.
    #[must_use]
    pub const fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Task(task) => Some(task),
            Self::Slice { .. } | Self::Phase(_) => None,
        }
    }

    /// Returns true if a task of the given phase is this unit or belongs to it.
    #[must_use]
    pub fn has(&self, phase: u64, task: &Task) -> bool {
        match self {
            Self::Task(id) => task.id == *id,
            Self::Slice { phase: of, name } => {
                let slice = task.switchboard.as_ref().and_then(|settings| settings.slice.as_deref());
                phase == *of && slice == Some(name.as_str())
            }
            Self::Phase(of) => phase == *of,
        }
    }

    /// Returns the plan reduced to the tasks of this unit, in their phases.
    #[must_use]
    pub fn of_plan(&self, plan: &Plan) -> Plan {
        let mut only = plan.clone();
        for phase in &mut only.phases {
            let id = phase.id;
            phase.tasks.retain(|task| self.has(id, task));
        }
        only.phases.retain(|phase| !phase.tasks.is_empty());
        only
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => task.fmt(f),
            Self::Slice { phase, name } => write!(f, "slice {name} of phase {phase}"),
            Self::Phase(phase) => write!(f, "phase {phase}"),
        }
    }
}

/// A way: steps, ordered so that each comes after all that it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Way {
    /// The steps.
    pub steps: Vec<Step>,
}

impl Way {
    /// Returns the SHA-256 of the way's JSON, by which units refer to it.
    ///
    /// # Errors
    /// When the way doesn't serialise: a defect of its type.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        Ok(Digest::of(serde_json::to_string(self)?.as_bytes()))
    }
}

/// One step of a way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Id of the step.
    pub id: StepId,
    /// What the step does.
    #[serde(rename = "do")]
    pub does: StepAction,
    /// Steps that must have passed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<StepId>,
    /// Inputs of its verdict: when one of these changes, the step is open again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Input>,
    /// Whether the step applies to this unit.
    #[serde(default, skip_serializing_if = "When::is_always")]
    pub when: When,
    /// Verdicts with which the unit can continue.
    pub need: Need,
    /// Step that fixes what this one refuses; `None` if only a person can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<StepId>,
    /// Limits at which the step is given up.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepAction {
    /// A worker in a role, or the agent in the seat of a led run.
    Work {
        /// Role of the worker.
        role: RoleId,
        /// Zones that the worker may change; empty for one that only answers.
        writes: Vec<Zone>,
        /// What its tree starts from after a refusal.
        #[serde(default, skip_serializing_if = "RetryFrom::is_change")]
        retry_from: RetryFrom,
        /// Task whose change its tree starts from; `None` for the head of the run's branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begins_on: Option<TaskId>,
        /// True if the worker may leave the tree unchanged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_keep: bool,
        /// Kind of answer, if the answer is the step's verdict.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<AnswerKind>,
    },
    /// Makes the best of the changes of other tasks the unit's change, or the next best if that was refused.
    Choose {
        /// Ids of the tasks.
        among: Vec<TaskId>,
    },
    /// A gate judges the captured tree.
    Check {
        /// Name of the gate.
        gate: GateId,
    },
    /// One of Switchboard's own commands.
    Command {
        /// The command.
        kind: CommandStep,
        /// Zones that it may change.
        writes: Vec<Zone>,
    },
    /// A question to a person about the change.
    Ask {
        /// The question; `None` asks only if a gate has found something that a person should look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
    },
    /// The units below this one.
    Units {
        /// How many of them must have passed.
        join: Join,
    },
    /// Moves the run's branch to the judged tree.
    Merge,
}

impl StepAction {
    /// Returns the gate of the step, or `None` if it is no check.
    #[must_use]
    pub const fn gate(&self) -> Option<&GateId> {
        match self {
            Self::Check { gate } => Some(gate),
            Self::Work { .. }
            | Self::Choose { .. }
            | Self::Command { .. }
            | Self::Ask { .. }
            | Self::Units { .. }
            | Self::Merge => None,
        }
    }

    /// Returns true if the step makes the change or report that the other steps are about.
    #[must_use]
    pub const fn makes_change(&self) -> bool {
        match self {
            Self::Work { answer: None, .. } | Self::Choose { .. } | Self::Command { kind: CommandStep::Gather, .. } => {
                true
            }
            Self::Work { answer: Some(_), .. }
            | Self::Command { kind: CommandStep::LintFix | CommandStep::Rebase, .. }
            | Self::Check { .. }
            | Self::Ask { .. }
            | Self::Units { .. }
            | Self::Merge => false,
        }
    }

    /// Returns the kind of answer of the step's worker, if the answer is its verdict.
    #[must_use]
    pub const fn answer(&self) -> Option<AnswerKind> {
        match self {
            Self::Work { answer, .. } => *answer,
            Self::Choose { .. }
            | Self::Check { .. }
            | Self::Command { .. }
            | Self::Ask { .. }
            | Self::Units { .. }
            | Self::Merge => None,
        }
    }

    /// Returns the zones that the step may change.
    #[must_use]
    pub fn writes(&self) -> &[Zone] {
        match self {
            Self::Work { writes, .. } | Self::Command { writes, .. } => writes,
            Self::Choose { .. } => &[Zone::Source, Zone::Tests],
            Self::Check { .. } | Self::Ask { .. } | Self::Units { .. } | Self::Merge => &[],
        }
    }
}

/// One of Switchboard's own commands in a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandStep {
    /// Runs the plan's `lint_fix` command on the change.
    LintFix,
    /// Rebases the change onto the head of the run's branch.
    Rebase,
    /// Takes what a group has merged into its own branch as the change, rebased onto the head of the run's branch.
    Gather,
}

/// A part of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// Everything but tests.
    Source,
    /// Tests.
    Tests,
}

/// An input of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The unit's description and settings.
    Spec,
    /// The plan.
    Plan,
    /// The captured tree without its tests.
    Source,
    /// The captured tests.
    Tests,
    /// The captured tree.
    Tree,
    /// The head of the run's branch.
    Head,
    /// The verdict of another step.
    Output(StepId),
}

/// Whether a step applies to a unit; decided when the way is compiled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The step applies.
    #[default]
    Always,
    /// The step was left out, and is recorded as [`Verdict::Skipped`].
    Never {
        /// Reason.
        reason: String,
    },
    /// The step has no configuration and is recorded as [`Verdict::NotConfigured`].
    NotConfigured {
        /// What is missing.
        reason: String,
    },
}

impl When {
    /// Returns true if the step applies.
    #[must_use]
    pub const fn is_always(&self) -> bool {
        match self {
            Self::Always => true,
            Self::Never { .. } | Self::NotConfigured { .. } => false,
        }
    }
}

/// Verdicts of a step with which the unit can continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The step must judge, and not refuse.
    Required,
    /// The step must not refuse; it may be not configured.
    IfConfigured,
    /// The verdict is shown and stops nothing.
    Advisory,
}

impl Need {
    /// Returns true if the unit continues past a step with this verdict.
    #[must_use]
    pub const fn accepts(self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Pass | Verdict::Warn | Verdict::Skipped => true,
            Verdict::NotConfigured => match self {
                Self::Required => false,
                Self::IfConfigured | Self::Advisory => true,
            },
            Verdict::Fail | Verdict::Error | Verdict::NoReply => match self {
                Self::Required | Self::IfConfigured => false,
                Self::Advisory => true,
            },
        }
    }
}

/// Limits at which a step is given up and the unit waits for a person; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Maximum number of refusals of its outcome, by itself or by a step whose refusals it fixes.
    #[serde(default)]
    pub attempts: u32,
    /// Maximum number of lost workers; a loss is no attempt.
    #[serde(default)]
    pub losses: u32,
    /// Maximum number of executions.
    #[serde(default)]
    pub runs: u32,
    /// Maximum number of times in a row that its worker fails in the same way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
    /// Whether two failures count as the same although ids, times and standard error differ; false in ways that were recorded before this
    /// field, so that their runs are folded as they were.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_lenient: bool,
    /// Maximum number of times in a row that its outcome is refused for the same tree with the same words.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refusals: u32,
    /// Maximum number of times that the worker of an answering step fails or runs out of time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// Maximum number of transient model errors in a row that are waited out or passed to a fallback model.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub transients: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Limits {
    /// Returns true if there is no limit.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        let Self { attempts, losses, runs, repeats, is_lenient: _, refusals, failures, transients } = *self;
        attempts == 0 && losses == 0 && runs == 0 && repeats == 0 && refusals == 0 && failures == 0 && transients == 0
    }
}

/// How many units must have passed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// All units below this one.
    All,
    /// A number of these tasks, once no worker works on any of them.
    Quorum {
        /// Ids of the tasks.
        of: Vec<TaskId>,
        /// Minimum number of tasks that must be done.
        least: u32,
    },
}
