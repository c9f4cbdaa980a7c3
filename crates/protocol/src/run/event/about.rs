//! The task and worker of a run's event.

use super::RunEvent;
use crate::id::WorkerId;
use crate::plan::TaskId;

// === impl RunEvent ===

impl RunEvent {
    /// Returns true if the event is progress of the run's work; false for events about its set-up, the user's branch, and clean-up after its
    /// end.
    #[must_use]
    pub const fn is_progress(&self) -> bool {
        !matches!(
            self,
            Self::RunConfigured { .. }
                | Self::SetupChosen { .. }
                | Self::LoopTurned { .. }
                | Self::RunMergeIntended { .. }
                | Self::RunMerged { .. }
                | Self::RunMergeUndone { .. }
                | Self::RunMergeAbandoned { .. }
                | Self::RunCleanIntended { .. }
                | Self::RunCleaned { .. }
                | Self::RunCleanAbandoned { .. }
        )
    }

    /// Returns the id of the event's task, if it has one.
    #[must_use]
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::RunConfigured { .. }
            | Self::SetupChosen { .. }
            | Self::LoopTurned { .. }
            | Self::RunStarted { .. }
            | Self::PlanRecorded { .. }
            | Self::WayRecorded { .. }
            | Self::RunStopRequested
            | Self::BudgetSet { .. }
            | Self::BudgetAlert { .. }
            | Self::RunPaused { .. }
            | Self::RunResumed
            | Self::LedSet { .. }
            | Self::RunFinished { .. }
            | Self::RunMergeIntended { .. }
            | Self::RunMerged { .. }
            | Self::RunMergeUndone { .. }
            | Self::RunMergeAbandoned { .. } => None,
            Self::RunCleanIntended { task, .. }
            | Self::RunCleaned { task, .. }
            | Self::RunCleanAbandoned { task, .. } => task.as_ref(),
            Self::UnitAdded { unit, .. } | Self::UnitExtended { unit, .. } => unit.task(),
            Self::WorkerIntended { task, .. }
            | Self::WorkerStarted { task, .. }
            | Self::WorkerLost { task, .. }
            | Self::TreeSetupFailed { task, .. }
            | Self::TurnEnded { task, .. }
            | Self::PersonAsked { task, .. }
            | Self::ConfirmationAsked { task, .. }
            | Self::PersonAnswered { task, .. }
            | Self::ChangeCaptured { task, .. }
            | Self::NothingChanged { task, .. }
            | Self::TurnOmitted { task, .. }
            | Self::StepAnswered { task, .. }
            | Self::AnswerRefused { task, .. }
            | Self::StepSkipped { task, .. }
            | Self::GateReported { task, .. }
            | Self::ChangeFixed { task, .. }
            | Self::ChangeRebased { task, .. }
            | Self::BranchMoved { task, .. }
            | Self::MergeHeld { task, .. }
            | Self::MergeReleased { task, .. }
            | Self::MergeIntended { task, .. }
            | Self::TaskMerged { task, .. }
            | Self::TaskDone { task, .. }
            | Self::CandidateChosen { task, .. }
            | Self::MergeConflicted { task, .. }
            | Self::TaskBlocked { task, .. }
            | Self::TaskDepFailed { task, .. }
            | Self::TaskStopRequested { task, .. }
            | Self::TaskBudgetSet { task, .. }
            | Self::TaskRebaseRequested { task }
            | Self::TreeRebased { task, .. }
            | Self::TreeNotRebased { task, .. }
            | Self::TaskRetryRequested { task, .. }
            | Self::CostCounted { task, .. }
            | Self::TurnBegun { task, .. }
            | Self::TaskPaused { task, .. }
            | Self::StepBegun { task, .. }
            | Self::ScopeDeclared { task, .. }
            | Self::TaskResumed { task } => Some(task),
        }
    }

    /// Returns the id of the event's worker, if it has one.
    #[must_use]
    pub const fn worker(&self) -> Option<&WorkerId> {
        match self {
            Self::WorkerIntended { worker, .. }
            | Self::WorkerStarted { worker, .. }
            | Self::WorkerLost { worker, .. }
            | Self::TreeSetupFailed { worker, .. }
            | Self::TurnEnded { worker, .. }
            | Self::PersonAsked { worker, .. }
            | Self::StepAnswered { worker, .. }
            | Self::AnswerRefused { worker, .. }
            | Self::TreeRebased { worker, .. }
            | Self::TreeNotRebased { worker, .. }
            | Self::CostCounted { worker, .. }
            | Self::TurnBegun { worker, .. } => Some(worker),
            Self::RunConfigured { .. }
            | Self::SetupChosen { .. }
            | Self::LoopTurned { .. }
            | Self::RunStarted { .. }
            | Self::PlanRecorded { .. }
            | Self::WayRecorded { .. }
            | Self::UnitAdded { .. }
            | Self::UnitExtended { .. }
            | Self::ChangeCaptured { .. }
            | Self::ConfirmationAsked { .. }
            | Self::PersonAnswered { .. }
            | Self::TurnOmitted { .. }
            | Self::StepSkipped { .. }
            | Self::NothingChanged { .. }
            | Self::GateReported { .. }
            | Self::ChangeFixed { .. }
            | Self::ChangeRebased { .. }
            | Self::BranchMoved { .. }
            | Self::MergeHeld { .. }
            | Self::MergeReleased { .. }
            | Self::MergeIntended { .. }
            | Self::TaskMerged { .. }
            | Self::TaskDone { .. }
            | Self::CandidateChosen { .. }
            | Self::MergeConflicted { .. }
            | Self::TaskBlocked { .. }
            | Self::TaskDepFailed { .. }
            | Self::TaskStopRequested { .. }
            | Self::TaskBudgetSet { .. }
            | Self::TaskRebaseRequested { .. }
            | Self::RunStopRequested
            | Self::BudgetSet { .. }
            | Self::BudgetAlert { .. }
            | Self::RunPaused { .. }
            | Self::RunResumed
            | Self::TaskPaused { .. }
            | Self::TaskResumed { .. }
            | Self::LedSet { .. }
            | Self::StepBegun { .. }
            | Self::ScopeDeclared { .. }
            | Self::TaskRetryRequested { .. }
            | Self::RunFinished { .. }
            | Self::RunMergeIntended { .. }
            | Self::RunMerged { .. }
            | Self::RunMergeUndone { .. }
            | Self::RunMergeAbandoned { .. }
            | Self::RunCleanIntended { .. }
            | Self::RunCleaned { .. }
            | Self::RunCleanAbandoned { .. } => None,
        }
    }
}
