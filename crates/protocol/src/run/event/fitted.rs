//! Shortens events of a run so that they fit into the log.

use super::RunEvent;
use crate::event::MAX_FACTS_BYTES;

/// Maximum size of free text in one event, in bytes of JSON; the rest is for ids, hashes and names.
pub const TEXT_BUDGET: usize = MAX_FACTS_BYTES - 480;

// === impl RunEvent ===

impl RunEvent {
    /// Returns the event with its free text shortened so that its facts fit into the log ([`MAX_FACTS_BYTES`]). Whole entries are removed
    /// from the end of lists and replaced by their number; the full text belongs in the event's body and in the evidence.
    #[must_use]
    pub fn fitted(mut self) -> Self {
        match &mut self {
            Self::ChangeCaptured { files, left_out, .. } if !left_out.is_empty() => {
                fit_list_to(left_out, TEXT_BUDGET / 2);
                fit_list_to(files, TEXT_BUDGET / 2 - CHANGE_BYTES);
            }
            Self::ChangeCaptured { files, .. }
            | Self::MergeConflicted { files, .. }
            | Self::TreeNotRebased { files, .. }
            | Self::ScopeDeclared { files, .. } => fit_list(files),
            Self::ChangeFixed { files, told, .. } => {
                fit_list_to(told, TEXT_BUDGET / 2);
                fit_list_to(files, TEXT_BUDGET / 2 - CHANGE_BYTES);
            }
            Self::MergeHeld { lease, .. } => fit_list(&mut lease.files),
            Self::StepAnswered { reasons, change: Some(_), .. } => fit_list_to(reasons, TEXT_BUDGET - CHANGE_BYTES),
            Self::GateReported { reasons, .. } | Self::StepAnswered { reasons, .. } => fit_list(reasons),
            Self::WorkerLost { reason, .. }
            | Self::TreeSetupFailed { reason, .. }
            | Self::TurnEnded { reason, .. }
            | Self::PersonAsked { reason, .. }
            | Self::ConfirmationAsked { reason, .. }
            | Self::PersonAnswered { note: reason, .. }
            | Self::TaskRetryRequested { note: reason, .. }
            | Self::AnswerRefused { reason, .. }
            | Self::StepSkipped { reason, .. }
            | Self::TaskBlocked { reason, .. } => *reason = cut(reason, TEXT_BUDGET),
            Self::LoopTurned { why, .. } => *why = cut(why, TEXT_BUDGET / 2),
            Self::RunStarted { title, .. } => *title = cut(title, TEXT_BUDGET / 2),
            Self::RunMergeAbandoned { why, .. } | Self::RunCleanAbandoned { why, .. } => *why = cut(why, TEXT_BUDGET),
            Self::NothingChanged { why, .. } => *why = cut(why, TEXT_BUDGET),
            Self::RunCleanIntended { worktree, .. } | Self::RunCleaned { worktree, .. } => {
                *worktree = cut(worktree, TEXT_BUDGET);
            }
            Self::RunConfigured { .. }
            | Self::SetupChosen { .. }
            | Self::RunMergeIntended { .. }
            | Self::RunMerged { .. }
            | Self::RunMergeUndone { .. }
            | Self::PlanRecorded { .. }
            | Self::WayRecorded { .. }
            | Self::UnitAdded { .. }
            | Self::UnitExtended { .. }
            | Self::WorkerIntended { .. }
            | Self::WorkerStarted { .. }
            | Self::TurnOmitted { .. }
            | Self::ChangeRebased { .. }
            | Self::BranchMoved { .. }
            | Self::MergeReleased { .. }
            | Self::MergeIntended { .. }
            | Self::TaskMerged { .. }
            | Self::TaskDone { .. }
            | Self::CandidateChosen { .. }
            | Self::TaskDepFailed { .. }
            | Self::TaskStopRequested { .. }
            | Self::TaskBudgetSet { .. }
            | Self::TaskRebaseRequested { .. }
            | Self::TreeRebased { .. }
            | Self::RunStopRequested
            | Self::BudgetSet { .. }
            | Self::CostCounted { .. }
            | Self::TurnBegun { .. }
            | Self::BudgetAlert { .. }
            | Self::RunPaused { .. }
            | Self::RunResumed
            | Self::TaskPaused { .. }
            | Self::TaskResumed { .. }
            | Self::LedSet { .. }
            | Self::StepBegun { .. }
            | Self::RunFinished { .. } => {}
        }
        self
    }
}

/// Maximum size of a change in an event without its texts, in bytes: two object ids of SHA-256, a number and the field names.
const CHANGE_BYTES: usize = 200;

fn fit_list(list: &mut Vec<String>) {
    fit_list_to(list, TEXT_BUDGET);
}

fn fit_list_to(list: &mut Vec<String>, budget: usize) {
    const ENTRY: usize = TEXT_BUDGET / 2;
    const MORE: usize = 24;
    let mut used = 0;
    let mut kept = 0;
    for entry in list.iter_mut() {
        *entry = cut(entry, ENTRY);
        used += json_len(entry) + 1;
        if used > budget - MORE {
            break;
        }
        kept += 1;
    }
    let dropped = list.len() - kept;
    if dropped > 0 {
        list.truncate(kept);
        list.push(format!("… and {dropped} more"));
    }
}

/// Cuts a text at a character boundary so that its JSON has at most `budget` bytes.
fn cut(text: &str, budget: usize) -> String {
    if json_len(text) <= budget {
        return text.to_owned();
    }
    let mut used = 2 + '…'.len_utf8();
    let mut out = String::new();
    for c in text.chars() {
        used += json_char_len(c);
        if used > budget {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

fn json_len(text: &str) -> usize {
    2 + text.chars().map(json_char_len).sum::<usize>()
}

fn json_char_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Fact;
    use crate::id::{Digest, WorkerId};
    use crate::plan::TaskId;
    use crate::run::way::StepId;
    use crate::run::{Change, Verdict};

    fn facts_len(event: &RunEvent) -> usize {
        event.write().unwrap().1.as_str().len()
    }

    #[test]
    fn long_texts_are_cut_to_fit_into_one_event() {
        let task = TaskId::new("9".repeat(64)).unwrap();
        let reasons = (0..1000).map(|n| format!("{n} \"\u{1}{}", "ü".repeat(600))).collect();
        let gate = "g".repeat(64);

        let input = Some(Digest::ZERO);
        let event = RunEvent::GateReported {
            task,
            attempt: 5,
            gate,
            input,
            verdict: Verdict::Fail,
            asks: false,
            halts: false,
            reasons,
        }
        .fitted();

        assert!(facts_len(&event) <= MAX_FACTS_BYTES, "{}", facts_len(&event));
        let RunEvent::GateReported { task, attempt, reasons, .. } = event else { panic!("another event") };
        assert!(reasons[0].ends_with('…') && reasons.last().unwrap().ends_with("more"));

        let id = "f".repeat(64);
        let change = Change { commit: id.clone(), tree: id, base: String::new(), files: u32::MAX, lines: 0 };
        let event = RunEvent::StepAnswered {
            task,
            step: StepId::new("s".repeat(64)).unwrap(),
            attempt,
            worker: WorkerId::from_bits(u64::MAX),
            input: Digest::ZERO,
            verdict: Verdict::Fail,
            reasons: (0..9).map(|_| "x".repeat(600)).collect(),
            change: Some(change),
        };
        assert!(facts_len(&event.clone().fitted()) <= MAX_FACTS_BYTES, "{}", facts_len(&event.fitted()));
    }

    #[test]
    fn short_texts_are_left_alone() {
        let task = TaskId::new("1.1").unwrap();
        let event = RunEvent::MergeConflicted { task, attempt: 1, files: vec!["a".to_owned(), "b".to_owned()] };

        assert_eq!(event.clone().fitted(), event);
    }
}
