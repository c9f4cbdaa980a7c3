//! Finds workers that only write text, turn after turn, and call no tool.

use super::{Finding, FindingKind, Reaction};

/// Turns in a row of nothing but text that stop a worker: the first may be a plan, the second an excuse.
const RUNAWAY_TURNS: u32 = 5;

/// A turn of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Characters of text.
    pub chars: u64,
    /// Calls of tools, `report_step` among them.
    pub calls: u32,
}

/// Turns in a row that only had text.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    in_a_row: u32,
    chars: u64,
}

impl Turns {
    /// Takes a turn that has ended.
    pub fn step(&mut self, turn: Turn) -> Option<Finding> {
        if turn.calls > 0 || turn.chars == 0 {
            *self = Self::default();
            return None;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.chars = self.chars.saturating_add(turn.chars);
        (self.in_a_row >= RUNAWAY_TURNS).then(|| {
            let words = format!(
                "{} turns in a row had only text ({} characters), no tool call and no answer",
                self.in_a_row, self.chars
            );
            Finding::new(FindingKind::Runaway, Reaction::Stop, words)
        })
    }
}
