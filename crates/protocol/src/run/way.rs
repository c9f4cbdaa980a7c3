//! A way: the graph of steps that a unit of work walks, as it is recorded. What the steps mean is in `switchboard_pipeline::way`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::answer::AnswerKind;
use crate::id;
use crate::id::Digest;
use crate::plan::{Plan, RetryFrom, Task, TaskId};

id!(StepId, "", "The name of a step, unique in its way: `work`, `secretscan`, `merge`.");
id!(GateId, "", "The name of a gate: `syntax_check`, `test_runner`.");
id!(RoleId, "", "What a worker is in a step: `coder`, `reviewer`.");

impl StepId {
    /// The step of ways in which one worker does all the work, and of runs that were recorded before steps had names.
    #[must_use]
    pub fn work() -> Self {
        Self("work".to_owned())
    }
}

/// A unit of work: what walks a way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnitId {
    /// A task.
    Task(TaskId),
    /// A slice: a named group of tasks in a phase.
    Slice {
        /// Its phase.
        phase: u64,
        /// Its name.
        name: String,
    },
    /// A phase.
    Phase(u64),
}

impl UnitId {
    /// The task, or `None` for a group of tasks.
    #[must_use]
    pub const fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Task(task) => Some(task),
            Self::Slice { .. } | Self::Phase(_) => None,
        }
    }

    /// Whether a task of a phase is this unit or belongs to it.
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

    /// The plan with nothing but the tasks of this unit, in their phases.
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

/// A way: steps in an order in which each comes after all that it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Way {
    /// The steps.
    pub steps: Vec<Step>,
}

impl Way {
    /// SHA-256 of the way's JSON: what units refer to it by.
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
    /// Its name.
    pub id: StepId,
    /// What is done in it.
    #[serde(rename = "do")]
    pub does: Do,
    /// Steps that must have passed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<StepId>,
    /// What its verdict depends on: when one of these changes, the step is open again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Input>,
    /// Whether it applies to this unit.
    #[serde(default, skip_serializing_if = "When::is_always")]
    pub when: When,
    /// Which verdicts let the unit go on.
    pub need: Need,
    /// The step that mends what this one refuses; `None` where only a person can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<StepId>,
    /// When the step is given up.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
}

/// What is done in a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Do {
    /// A worker in a role, or whoever holds the seat of a led run.
    Work {
        /// The role.
        role: RoleId,
        /// What it may change; nothing for one that only answers.
        writes: Vec<Zone>,
        /// What its tree begins as after a refusal.
        #[serde(default, skip_serializing_if = "RetryFrom::is_change")]
        retry_from: RetryFrom,
        /// The task whose change its tree begins with; `None` begins with the head of the run's branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begins_on: Option<TaskId>,
        /// Whether it may leave the tree as it began.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_keep: bool,
        /// What it has to answer with, where its answer is the step's verdict.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<AnswerKind>,
    },
    /// The best of the changes of other tasks becomes the unit's change; the next best where that was refused.
    Choose {
        /// The tasks.
        among: Vec<TaskId>,
    },
    /// A gate judges the captured tree.
    Check {
        /// Name of the gate.
        gate: GateId,
    },
    /// A command of our own.
    Command {
        /// Which.
        kind: CommandStep,
        /// What it may change.
        writes: Vec<Zone>,
    },
    /// A question to a person about the change.
    Ask {
        /// The question; `None` asks only where a gate has found what a person should look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
    },
    /// Units below this one.
    Units {
        /// How many of them must have passed.
        join: Join,
    },
    /// The run's branch moves to the tree that was judged.
    Merge,
}

impl Do {
    /// The gate that judges in it, or `None` if it is no check.
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

    /// Whether it makes the change or the report that the other steps are about.
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

    /// What a worker has to answer with in it, where the answer is its verdict.
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

    /// What the step may change.
    #[must_use]
    pub fn writes(&self) -> &[Zone] {
        match self {
            Self::Work { writes, .. } | Self::Command { writes, .. } => writes,
            Self::Choose { .. } => &[Zone::Source, Zone::Tests],
            Self::Check { .. } | Self::Ask { .. } | Self::Units { .. } | Self::Merge => &[],
        }
    }
}

/// A command of our own in a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandStep {
    /// Runs the plan's `lint_fix` command on the change.
    LintFix,
    /// Puts the change on top of the run branch's head.
    Rebase,
    /// Takes what a group has merged into its own branch as the change, put on top of the run branch's head.
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

/// What a verdict may depend on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// What the unit is to do.
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
    /// What another step came to.
    Output(StepId),
}

/// Whether a step applies to a unit; decided when the way is compiled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// It does.
    #[default]
    Always,
    /// It was left out, and is recorded as [`Verdict::Skipped`].
    Never {
        /// Reason.
        reason: String,
    },
    /// Nobody said how to do it: recorded as [`Verdict::NotConfigured`].
    NotConfigured {
        /// What is missing.
        reason: String,
    },
}

impl When {
    /// Whether the step applies.
    #[must_use]
    pub const fn is_always(&self) -> bool {
        match self {
            Self::Always => true,
            Self::Never { .. } | Self::NotConfigured { .. } => false,
        }
    }
}

/// Which verdicts of a step let the unit go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// It must judge, and not refuse.
    Required,
    /// It must not refuse; it may say that it is not configured.
    IfConfigured,
    /// Its verdict is shown and stops nothing.
    Advisory,
}

impl Need {
    /// Whether the unit goes on past a step with this verdict.
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

/// When a step is given up and the unit held for a person; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// How often its outcome may be refused, by itself or by a step that it mends.
    #[serde(default)]
    pub attempts: u32,
    /// How many workers may be lost; a loss is no attempt.
    #[serde(default)]
    pub losses: u32,
    /// How often it may be done at all.
    #[serde(default)]
    pub runs: u32,
    /// How often its worker may fail in the same way, one attempt after the other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
    /// How often its outcome may be refused for the same tree with the same words, one attempt after the other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refusals: u32,
    /// How often the worker of a step that answers may fail, or run out of time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// How many transient errors of its models, one after the other, are waited out or go to a fallback model.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub transients: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Limits {
    /// Whether there is no limit.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        let Self { attempts, losses, runs, repeats, refusals, failures, transients } = *self;
        attempts == 0 && losses == 0 && runs == 0 && repeats == 0 && refusals == 0 && failures == 0 && transients == 0
    }
}

/// How many units must have passed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// All units below this one.
    All,
    /// So many of these tasks, once none of them is at work any more.
    Quorum {
        /// The tasks.
        of: Vec<TaskId>,
        /// How many must be done.
        least: u32,
    },
}
