//! Combines all rules about one worker of a team, fed by its events: tool calls, turns and time.

use std::collections::VecDeque;

use switchboard_protocol::role::RoleLimits;
use switchboard_protocol::run::TeamLimits;
use switchboard_protocol::time::Millis;
use switchboard_protocol::worker::{PauseState, WorkerEvent};

use super::{Finding, ToolCalls, Turn, Turns, Usage, Used, Window};
use crate::roles::tool_of;

/// Maximum number of concurrent calls that are tracked; agents run a few in parallel.
const CALLS_KNOWN: usize = 64;

/// Kinds of tool calls that change files, named as in ACP.
pub(in crate::team) const CHANGING: [&str; 3] = ["edit", "delete", "move"];

/// State of a worker for the rules.
#[derive(Debug, Clone)]
pub struct Guard {
    team: TeamLimits,
    usage: Usage,
    calls: ToolCalls,
    turns: Turns,
    /// `None` for work by hand, whose window is the lease of the architect's seat.
    window: Option<Window>,
    /// Ids of the last counted calls.
    known: VecDeque<String>,
    /// Number of calls in the current turn.
    in_turn: u32,
    /// True if mail began the current turn: text is a proper answer to it, and the number of such turns is limited
    /// elsewhere.
    is_of_mail: bool,
    paused_since: Option<Millis>,
}

// === impl Guard ===

impl Guard {
    /// Creates the state of a worker that begins in a role with these limits.
    #[must_use]
    pub fn new(role: &str, limits: RoleLimits, team: TeamLimits, now: Millis) -> Self {
        Self {
            team,
            usage: Usage::new(role, limits, team.idle_minutes, now),
            calls: ToolCalls::default(),
            turns: Turns::default(),
            window: Some(Window::new(role, team.stale_minutes, now)),
            known: VecDeque::new(),
            in_turn: 0,
            is_of_mail: false,
            paused_since: None,
        }
    }

    /// Same for work by hand.
    #[must_use]
    pub fn by_hand(role: &str, limits: RoleLimits, team: TeamLimits, now: Millis) -> Self {
        Self { window: None, ..Self::new(role, limits, team, now) }
    }

    /// Records output of the agent, which is a sign of life.
    pub fn heard(&mut self, at: Millis) {
        self.window.iter_mut().for_each(|window| window.heard(at));
    }

    /// Leaves out time during which the machine was suspended: it counts for no limit.
    pub fn suspended(&mut self, ms: i64) {
        self.usage.stood_still(ms);
        self.window.iter_mut().for_each(|window| window.stood_still(ms));
        self.paused_since = self.paused_since.map(|since| since.plus(ms));
    }

    /// Folds an event of the worker; returns its findings.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events say nothing about progress")]
    pub fn step(&mut self, event: &WorkerEvent, now: Millis) -> Vec<Finding> {
        self.heard(now);
        match event {
            WorkerEvent::PermissionAsked { ask, .. } => {
                self.window.iter_mut().for_each(|window| window.asked(ask));
                Vec::new()
            }
            WorkerEvent::PermissionSettled { ask, .. } => {
                self.window.iter_mut().for_each(|window| window.settled(ask));
                Vec::new()
            }
            // Shortened as in the record, so that a worker restored from the record counts the same.
            WorkerEvent::ToolCalled { .. } => self.called(&event.clone().fitted(), now),
            WorkerEvent::TurnStarted { mail, .. } => {
                self.is_of_mail = !mail.is_empty();
                Vec::new()
            }
            WorkerEvent::TurnEnded { .. } if std::mem::take(&mut self.is_of_mail) => {
                self.in_turn = 0;
                Vec::new()
            }
            WorkerEvent::TurnEnded { text, .. } => {
                let turn = Turn { chars: text.chars().count() as u64, calls: std::mem::take(&mut self.in_turn) };
                self.turns.step(turn, self.team.text_turns).into_iter().collect()
            }
            WorkerEvent::PauseChanged { state: PauseState::Paused } => {
                self.paused_since.get_or_insert(now);
                Vec::new()
            }
            WorkerEvent::PauseChanged { state: PauseState::Resumed } => {
                if let Some(since) = self.paused_since.take() {
                    self.usage.stood_still(now.since(since));
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn called(&mut self, event: &WorkerEvent, now: Millis) -> Vec<Finding> {
        let WorkerEvent::ToolCalled { call, title, tool_kind, status, paths, why: _ } = event else {
            return Vec::new();
        };
        let arguments = format!("{} {}", tool_of(title), paths.join(" "));
        let mut found = self.begin(call, tool_kind, arguments.trim_end(), now);
        found.extend(self.end(tool_kind, status, now));
        found
    }

    /// Checks the limits of time.
    pub fn tick(&mut self, now: Millis) -> Vec<Finding> {
        match self.paused_since {
            Some(_) => Vec::new(),
            None => {
                let stale = self.window.as_mut().and_then(|window| window.step(now));
                stale.into_iter().chain(self.usage.step(Used::Tick, now)).collect()
            }
        }
    }

    /// Returns the next time at which the clock alone causes a finding; `None` while the worker waits.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        let window = self.window.as_ref().and_then(Window::due);
        self.usage.due().into_iter().chain(window).min().filter(|_| self.paused_since.is_none())
    }

    /// Counts a call at its first event.
    fn begin(&mut self, call: &str, kind: &str, arguments: &str, now: Millis) -> Vec<Finding> {
        if self.known.iter().any(|known| known == call) {
            return Vec::new();
        }
        self.known.push_back(call.to_owned());
        if self.known.len() > CALLS_KNOWN {
            self.known.pop_front();
        }
        self.in_turn = self.in_turn.saturating_add(1);
        let repeated = self.calls.step(kind, arguments, self.team.repeated_calls);
        self.usage.step(Used::Call, now).into_iter().chain(repeated).collect()
    }

    fn end(&mut self, kind: &str, status: &str, now: Millis) -> Option<Finding> {
        let has_changed = CHANGING.contains(&kind);
        match status {
            "completed" => {
                if has_changed {
                    self.calls.forget();
                }
                self.usage.step(Used::Succeeded { has_changed }, now)
            }
            "failed" => self.usage.step(Used::Failed, now),
            _ => None,
        }
    }
}
