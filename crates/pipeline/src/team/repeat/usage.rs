//! Usage of one worker, compared with the limits of its role.

use switchboard_protocol::role::RoleLimits;
use switchboard_protocol::time::Millis;

use super::{Finding, FindingKind, Reaction};

/// Number of calls in a row without a change after which a writing role is warned: it reads in circles.
const NO_CHANGE_WARNS: u32 = 15;
const MINUTE_MS: i64 = 60_000;

/// An action of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// A tool call begins.
    Call,
    /// A call succeeded.
    Succeeded {
        /// True if files have changed.
        has_changed: bool,
    },
    /// A call failed.
    Failed,
    /// Time has passed.
    Tick,
}

/// Usage of a worker. Each warning and each stop is reported once.
#[derive(Debug, Clone)]
pub struct Usage {
    role: String,
    limits: RoleLimits,
    /// Maximum number of minutes without a successful call.
    idle_minutes: i64,
    begun: Millis,
    last_success: Millis,
    calls: u32,
    errors: u32,
    unchanged: u32,
    said: Vec<(FindingKind, Reaction)>,
}

// === impl Usage ===

impl Usage {
    /// Returns the state of a worker that begins in a role. The limits are those of its role file, and the number of
    /// minutes without a successful call is a setting of the team.
    #[must_use]
    pub fn new(role: &str, limits: RoleLimits, idle_minutes: u32, now: Millis) -> Self {
        let (role, said, idle_minutes) = (role.to_owned(), Vec::new(), i64::from(idle_minutes));
        Self { role, limits, idle_minutes, begun: now, last_success: now, calls: 0, errors: 0, unchanged: 0, said }
    }

    /// Folds an action. If several limits are reached at once, the worst is returned first, and the others by later
    /// steps.
    pub fn step(&mut self, used: Used, now: Millis) -> Option<Finding> {
        match used {
            Used::Call => self.calls = self.calls.saturating_add(1),
            Used::Succeeded { has_changed } => {
                self.errors = 0;
                self.last_success = now;
                self.unchanged = if has_changed { 0 } else { self.unchanged.saturating_add(1) };
                self.said.retain(|(kind, _)| !matches!(kind, FindingKind::Errors | FindingKind::Idle));
                if has_changed {
                    self.said.retain(|(kind, _)| *kind != FindingKind::NoChange);
                }
            }
            Used::Failed => self.errors = self.errors.saturating_add(1),
            Used::Tick => {}
        }
        let found = self.findings(now).into_iter().filter(|found| !self.said.contains(&(found.kind, found.reaction)));
        let found = found.max_by_key(|found| found.reaction)?;
        self.said.push((found.kind, found.reaction));
        Some(found)
    }

    /// Extends the time limit by the time during which the worker was paused or the machine suspended.
    pub fn stood_still(&mut self, ms: i64) {
        (self.begun, self.last_success) = (self.begun.plus(ms), self.last_success.plus(ms));
    }

    /// Returns the next time at which a time limit is reached that was not reported yet.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        let RoleLimits { minutes, warn_at, .. } = self.limits;
        let at = |kind, reaction, from: Millis, minutes: i64| {
            (!self.said.contains(&(kind, reaction))).then(|| from.plus(minutes * MINUTE_MS))
        };
        let share = (i64::from(minutes) * i64::from(warn_at)).div_euclid(100).max(1);
        let share = if share * 100 < i64::from(minutes) * i64::from(warn_at) { share + 1 } else { share };
        let limited = (minutes > 0).then(|| {
            [
                at(FindingKind::Minutes, Reaction::Warn, self.begun, share).filter(|_| {
                    share < i64::from(minutes) && !self.said.contains(&(FindingKind::Minutes, Reaction::Stop))
                }),
                at(FindingKind::Minutes, Reaction::Stop, self.begun, i64::from(minutes)),
            ]
        });
        let idle =
            at(FindingKind::Idle, Reaction::Stop, self.last_success, self.idle_minutes).filter(|_| self.calls > 0);
        limited.into_iter().flatten().chain([idle]).flatten().min()
    }

    fn findings(&self, now: Millis) -> Vec<Finding> {
        let RoleLimits { tool_calls, minutes, errors, .. } = self.limits;
        let spent = u32::try_from(now.since(self.begun).max(0) / MINUTE_MS).unwrap_or(u32::MAX);
        let limited = [
            self.limited(FindingKind::Calls, self.calls, tool_calls, "calls"),
            self.limited(FindingKind::Minutes, spent, minutes, "minutes"),
            self.limited(FindingKind::Errors, self.errors, errors, "errors in a row"),
        ];
        let silent = now.since(self.last_success) / MINUTE_MS;
        // A command calls no tools, so only its time limit ends it.
        let idle = (self.calls > 0 && silent >= self.idle_minutes).then(|| {
            let words = format!("{} has had no call that succeeded for {silent} minutes", self.role);
            Finding::new(FindingKind::Idle, Reaction::Stop, words)
        });
        let writes = matches!(self.role.as_str(), "coder" | "test_engineer");
        let unchanged = (writes && self.unchanged >= NO_CHANGE_WARNS).then(|| {
            let words = format!("{} has made {} calls in a row that changed nothing", self.role, self.unchanged);
            Finding::new(FindingKind::NoChange, Reaction::Warn, words)
        });
        limited.into_iter().chain([idle, unchanged]).flatten().collect()
    }

    fn limited(&self, kind: FindingKind, spent: u32, limit: u32, what: &str) -> Option<Finding> {
        let words = format!("{} has used {spent} of {limit} {what}", self.role);
        let warns = (u64::from(limit) * u64::from(self.limits.warn_at)).div_ceil(100);
        if limit == 0 {
            None
        } else if spent >= limit {
            Some(Finding::new(kind, Reaction::Stop, words))
        } else if u64::from(spent) >= warns.max(1) {
            Some(Finding::new(kind, Reaction::Warn, words))
        } else {
            None
        }
    }
}
