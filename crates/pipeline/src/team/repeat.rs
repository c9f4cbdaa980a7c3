//! Rules that find workers without progress. Each is a state with one `step`, which returns a [`Finding`] if a worker
//! must be warned or stopped.
//!
//! | rule | warns | stops |
//! |---|---|---|
//! | [`Delegations`]: the same role, agent and first argument among the last 10 | 3 times | 5 times |
//! | [`ToolCalls`]: the same call among the last 20 | 8 times | 10 times |
//! | [`Usage`]: calls, minutes, errors in a row, idle time, calls without a change | at a share | at the limit |
//! | [`Turns`]: turns of nothing but text | | 5 in a row |
//! | [`Window`]: no sign of life | | 20 minutes |
//!
//! The numbers are the defaults of [`TeamLimits`](switchboard_protocol::run::TeamLimits), where each is a setting.
//! [`Guard`] combines all rules about one worker, fed by the worker's own events.

mod finding;
mod guard;
mod output;
mod usage;
mod window;

use std::collections::VecDeque;

pub use finding::{Finding, FindingKind, Reaction};
pub(super) use guard::CHANGING;
pub use guard::Guard;
pub use output::{Turn, Turns};
use switchboard_protocol::run::LoopLimits;
pub use usage::{Usage, Used};
pub use window::Window;

/// Number of recent delegations that are checked for a loop. This and the number below match other tools for the
/// `.swarm/` format.
pub const LOOP_WINDOW: usize = 10;
/// Number of recent tool calls that are checked for repetition.
pub const CALL_WINDOW: usize = 20;
/// Share of the limit of equal calls that causes a warning, in percent: the usual share of all limits.
const CALL_WARNS_AT: usize = 75;

/// A delegation, as compared to find loops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// Role that is asked.
    pub role: String,
    /// Agent in the role.
    pub agent: String,
    /// First argument: the task, or the beginning of the text.
    pub argument: String,
}

/// Recent delegations of a run.
#[derive(Debug, Clone, Default)]
pub struct Delegations(VecDeque<Delegation>);

impl Delegations {
    /// Folds a delegation that is about to begin. A stopped delegation counts too, so repeating the request doesn't
    /// help.
    pub fn step(&mut self, delegation: Delegation, limits: LoopLimits) -> Option<Finding> {
        let same = remember(&mut self.0, delegation, LOOP_WINDOW);
        let last = self.0.back()?;
        let what = format!("{} ({}) was asked for `{}`", last.role, last.agent, shown(&last.argument));
        let words = format!("{what} {same} times in the last {} delegations", self.0.len());
        if same >= limits.stops as usize {
            let words = format!("{words}: it is not started; change the task, or ask another role");
            return Some(Finding::new(FindingKind::Loop, Reaction::Stop, words));
        }
        (same == limits.warns as usize).then(|| Finding::new(FindingKind::Loop, Reaction::Warn, words))
    }
}

/// Recent tool calls of a worker.
#[derive(Debug, Clone, Default)]
pub struct ToolCalls(VecDeque<(String, String)>);

impl ToolCalls {
    /// Clears the window after files have changed, because the same call then has another meaning, such as a build
    /// after a fix.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// Folds a call: the tool, and its arguments or a digest of them. `stops` is the number of equal calls in the window
    /// that stops the worker.
    pub fn step(&mut self, tool: &str, arguments: &str, stops: u32) -> Option<Finding> {
        let same = remember(&mut self.0, (tool.to_owned(), arguments.to_owned()), CALL_WINDOW);
        let words =
            format!("`{tool}` was called {same} times with the same arguments in the last {} calls", self.0.len());
        let stops = stops as usize;
        if same >= stops {
            return Some(Finding::new(FindingKind::Repetition, Reaction::Stop, words));
        }
        let warns = (stops * CALL_WARNS_AT).div_ceil(100);
        (same == warns).then(|| Finding::new(FindingKind::Repetition, Reaction::Warn, words))
    }
}

/// Appends an item to a window and returns how often the window contains it.
fn remember<T: PartialEq>(window: &mut VecDeque<T>, new: T, len: usize) -> usize {
    window.push_back(new);
    while window.len() > len {
        window.pop_front();
    }
    window.back().map_or(0, |new| window.iter().filter(|old| *old == new).count())
}

fn shown(argument: &str) -> String {
    switchboard_protocol::text::cut(argument, 80)
}

#[cfg(test)]
mod tests;
