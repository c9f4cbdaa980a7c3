//! Limits of failures in a team's run: one table, each row a setting.

use serde::{Deserialize, Serialize};

use super::{LoopLimits, MAX_ANSWERS, MAX_ATTEMPTS, MAX_CRITIC_CYCLES, MAX_FAILURES, MAX_LOSSES, MAX_RATE_WAITS};

/// Minutes without a sign of life: as long as an agent may be silent in a turn elsewhere, longer than most builds.
const STALE_MINUTES: u32 = 20;

/// Minutes without a successful call: longer than the slowest build that a role waits for.
const IDLE_MINUTES: u32 = 60;

/// Number of equal calls in the window that stops a worker. A failing build that is being fixed is called less often.
const REPEATED_CALLS: u32 = 10;

/// Number of text-only turns in a row that stops a worker: the first may be a plan, the second an excuse.
const TEXT_TURNS: u32 = 5;

/// Limits of a team. Ranges and defaults of refused changes, critic cycles and transient errors are those of other tools for the `.swarm/`
/// format, so that settings carry over. The maxima bound what one task can cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TeamLimits {
    /// Maximum number of refused changes of a task before a person decides, if neither its plan nor its agent sets it: 1 to 20. Default: 5.
    pub gate_retries: u32,
    /// Maximum number of plan revisions that the critic may ask for before a person decides: 0 to 5. Default: 2.
    pub critic_cycles: u32,
    /// Maximum number of times an unusable answer is asked for again: 0 to 5. Default: 2.
    pub malformed_answers: u32,
    /// Maximum number of replacements for a worker of a step that fails or takes too long: 0 to 5. Default: 1.
    pub agent_errors: u32,
    /// Maximum number of lost workers of a step: 1 to 10. Default: 3.
    pub lost_workers: u32,
    /// Maximum number of transient model errors in a row that are waited out or passed to a fallback model: 1 to 20. Default: 5.
    pub transient_errors: u32,
    /// Minutes without a sign of life after which a worker's step is taken back, and the worker counts as lost: 1 to 240. Default: 20.
    pub stale_minutes: u32,
    /// Minutes without a successful tool call after which a worker is stopped: 5 to 600. Default: 60.
    pub idle_minutes: u32,
    /// Number of equal tool calls among the last 20, with no file changed in between, that stops a worker: 2 to 20. Default: 10.
    pub repeated_calls: u32,
    /// Number of turns in a row with nothing but text that stops a worker: 2 to 50. Default: 5.
    pub text_turns: u32,
    /// Number of equal delegations of an agent among its last ten that causes a warning: 2 to 10. Default: 3.
    pub loop_warns: u32,
    /// Number of equal delegations of an agent among its last ten from which on they are refused: 2 to 10. Default: 5.
    pub loop_stops: u32,
}

/// A row of the table: name, value, and range (minimum, maximum).
type Row = (&'static str, u32, (u32, u32));

// === impl TeamLimits ===

impl Default for TeamLimits {
    fn default() -> Self {
        Self {
            gate_retries: MAX_ATTEMPTS,
            critic_cycles: MAX_CRITIC_CYCLES,
            malformed_answers: MAX_ANSWERS - 1,
            agent_errors: MAX_FAILURES - 1,
            lost_workers: MAX_LOSSES,
            transient_errors: MAX_RATE_WAITS,
            stale_minutes: STALE_MINUTES,
            idle_minutes: IDLE_MINUTES,
            repeated_calls: REPEATED_CALLS,
            text_turns: TEXT_TURNS,
            loop_warns: LoopLimits::default().warns,
            loop_stops: LoopLimits::default().stops,
        }
    }
}

impl TeamLimits {
    /// Returns the limits of equal delegations.
    #[must_use]
    pub const fn loops(&self) -> LoopLimits {
        LoopLimits { warns: self.loop_warns, stops: self.loop_stops }
    }

    /// Returns true if all limits have their defaults.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the rows of the table.
    #[must_use]
    pub const fn rows(&self) -> [Row; 12] {
        [
            ("gate_retries", self.gate_retries, (1, 20)),
            ("critic_cycles", self.critic_cycles, (0, 5)),
            ("malformed_answers", self.malformed_answers, (0, 5)),
            ("agent_errors", self.agent_errors, (0, 5)),
            ("lost_workers", self.lost_workers, (1, 10)),
            ("transient_errors", self.transient_errors, (1, 20)),
            ("stale_minutes", self.stale_minutes, (1, 240)),
            ("idle_minutes", self.idle_minutes, (5, 600)),
            ("repeated_calls", self.repeated_calls, (2, 20)),
            ("text_turns", self.text_turns, (2, 50)),
            ("loop_warns", self.loop_warns, (2, 10)),
            ("loop_stops", self.loop_stops, (2, 10)),
        ]
    }

    /// Returns a message about a value that is out of range.
    #[must_use]
    pub fn out_of_range(&self) -> Option<String> {
        let bad = self.rows().into_iter().find(|(_, value, (min, max))| value < min || value > max);
        bad.map(|(name, value, (min, max))| format!("`{name}` is {value}, not {min} to {max}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_limits_are_in_their_ranges_and_a_value_outside_is_named() {
        let usual = TeamLimits::default();

        assert_eq!(usual.rows().map(|(_, value, _)| value), [5, 2, 2, 1, 3, 5, 20, 60, 10, 5, 3, 5]);
        assert_eq!(usual.out_of_range(), None);
        let bad = TeamLimits { gate_retries: 21, ..usual };
        assert_eq!(bad.out_of_range().as_deref(), Some("`gate_retries` is 21, not 1 to 20"));
        assert!(TeamLimits { lost_workers: 0, ..usual }.out_of_range().is_some());
    }
}
