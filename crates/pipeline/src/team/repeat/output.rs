//! Finds workers that only write text in every turn and call no tool.

use super::{Finding, FindingKind, Reaction};

/// A turn of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of characters of text.
    pub chars: u64,
    /// Number of tool calls, including `report_step`.
    pub calls: u32,
}

/// Counts turns in a row that had only text.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    in_a_row: u32,
    chars: u64,
}

impl Turns {
    /// Folds a completed turn; `limit` is the number of turns in a row that stops a worker.
    pub fn step(&mut self, turn: Turn, limit: u32) -> Option<Finding> {
        if turn.calls > 0 || turn.chars == 0 {
            *self = Self::default();
            return None;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.chars = self.chars.saturating_add(turn.chars);
        (self.in_a_row >= limit).then(|| {
            let words = format!(
                "{} turns in a row had only text ({} characters), no tool call and no answer",
                self.in_a_row, self.chars
            );
            Finding::new(FindingKind::Runaway, Reaction::Stop, words)
        })
    }
}
