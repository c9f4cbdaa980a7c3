//! Interprets the end of an agent. An exit code alone never means that the work is done: the captured tree and the
//! gates decide.

use switchboard_protocol::run::{StopCause, TurnOutcome};
use switchboard_protocol::worker::STDERR_TAIL;

use crate::event::cut;

/// Error code of a service that asks its clients to wait.
pub(super) const RATE_LIMITED: &str = "agent.rate-limited";

/// Maximum length of a reason, in bytes.
const REASON: usize = 400;

/// How an agent ended, and its last words.
pub(super) struct End<'a> {
    /// True if its driver is `exec`: a command, whose exit ends its turn.
    pub(super) is_exec: bool,
    /// Why we asked it to end, if we did.
    pub(super) asked: Option<StopCause>,
    /// True if its last turn ended by itself, before it was asked to end.
    pub(super) is_turn_over: bool,
    /// True if it was told to finish before.
    pub(super) is_told: bool,
    /// How its last turn ended, or the code of the failure.
    pub(super) stop: Option<&'a str>,
    /// Its last text.
    pub(super) said: &'a str,
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) stderr: &'a str,
    /// True if its shim ended it: exit code and signal then result from that.
    pub(super) by_us: bool,
}

// === impl End ===

impl End<'_> {
    pub(super) fn outcome(&self) -> (TurnOutcome, String) {
        let said = cut(self.said.trim(), REASON);
        match self.asked.filter(|_| !self.is_turn_over) {
            Some(StopCause::Requested) => return (TurnOutcome::Stopped, "it was asked to stop".to_owned()),
            Some(StopCause::Ceiling) => {
                return (TurnOutcome::Stopped, "a ceiling of cost is reached, and work is stopped there".to_owned());
            }
            Some(StopCause::Violation) => {
                let why = "a task changed files beyond its scope, and the plan stops the run for that";
                return (TurnOutcome::Stopped, why.to_owned());
            }
            Some(StopCause::TimedOut) => {
                let why = if self.is_told { "it was told to finish and went on" } else { "it was ended" };
                return (TurnOutcome::TimedOut, why.to_owned());
            }
            Some(StopCause::Budget) => return (TurnOutcome::Paused, "the run's budget is spent".to_owned()),
            None => {}
        }
        match self.stop {
            Some("end_turn") => (TurnOutcome::Finished, said),
            Some("cancelled") => (TurnOutcome::Stopped, said),
            Some("refusal") => (TurnOutcome::Refused, said),
            Some("agent.timeout") => (TurnOutcome::TimedOut, said),
            Some(RATE_LIMITED) => (TurnOutcome::RateLimited, said),
            Some("exit") | None if self.is_exec && self.code == Some(0) => (TurnOutcome::Finished, said),
            // How a process ends after its last turn does not affect the turn.
            Some("exit") => (TurnOutcome::Failed, self.joined_reason(&format!("exit, {}", self.how()), &said)),
            Some(other) => (TurnOutcome::Failed, self.joined_reason(other, &said)),
            None if self.by_us => {
                (TurnOutcome::Failed, self.joined_reason("it was ended in the middle of its turn", &said))
            }
            None => {
                let what = format!("it ended in the middle of its turn, {}", self.how());
                (TurnOutcome::Failed, self.joined_reason(&what, &said))
            }
        }
    }

    fn how(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit state".to_owned(),
        }
    }

    /// Joins what happened, the agent's own words, and the end of its standard error.
    fn joined_reason(&self, what: &str, said: &str) -> String {
        let stderr = self.stderr.trim();
        let stderr = cut(&stderr[stderr.ceil_char_boundary(stderr.len().saturating_sub(REASON))..], REASON);
        match (said.is_empty(), stderr.is_empty()) {
            (true, true) => what.to_owned(),
            (true, false) => format!("{what}: {stderr}"),
            (false, true) => format!("{what}: {said}"),
            // A command reports the reason of its failure on standard error.
            (false, false) if self.is_exec => format!("{what}: {stderr}"),
            (false, false) if stderr.contains(said) || said.contains(&stderr) => format!("{what}: {said}"),
            (false, false) => format!("{what}: {said}{STDERR_TAIL}{stderr}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end() -> End<'static> {
        End {
            is_exec: false,
            asked: None,
            is_turn_over: false,
            is_told: false,
            stop: None,
            said: "did it",
            code: Some(0),
            signal: None,
            stderr: "",
            by_us: false,
        }
    }

    #[test]
    fn an_agent_has_finished_only_when_its_turn_has() {
        assert_eq!(End { stop: Some("end_turn"), ..end() }.outcome(), (TurnOutcome::Finished, "did it".to_owned()));
        assert_eq!(End { stop: Some("end_turn"), code: Some(1), ..end() }.outcome().0, TurnOutcome::Finished);
        assert_eq!(End { stop: Some("exit"), ..end() }.outcome().0, TurnOutcome::Failed);
        let (outcome, reason) = end().outcome();
        assert_eq!(outcome, TurnOutcome::Failed);
        assert_eq!(reason, "it ended in the middle of its turn, exit code 0: did it");
    }

    #[test]
    fn a_command_has_finished_when_it_exits_with_zero() {
        let exec = || End { is_exec: true, ..end() };

        assert_eq!(exec().outcome().0, TurnOutcome::Finished);
        assert_eq!(End { stop: Some("exit"), ..exec() }.outcome().0, TurnOutcome::Finished);
        let failed = End { stop: Some("exit"), code: Some(2), stderr: "no such file\n", ..exec() }.outcome();
        assert_eq!(failed, (TurnOutcome::Failed, "exit, exit code 2: no such file".to_owned()));
        let killed = End { code: None, signal: Some(9), said: "", ..exec() }.outcome();
        assert_eq!(killed, (TurnOutcome::Failed, "it ended in the middle of its turn, signal 9".to_owned()));
    }

    #[test]
    fn who_was_asked_to_end_has_not_failed() {
        let asked = |cause| End { asked: Some(cause), stop: Some("error"), ..end() }.outcome().0;

        assert_eq!(asked(StopCause::Requested), TurnOutcome::Stopped);
        assert_eq!(asked(StopCause::Ceiling), TurnOutcome::Stopped);
        assert_eq!(asked(StopCause::Violation), TurnOutcome::Stopped);
        assert_eq!(asked(StopCause::TimedOut), TurnOutcome::TimedOut);
        let told = End { asked: Some(StopCause::TimedOut), is_told: true, ..end() }.outcome();
        assert_eq!(told, (TurnOutcome::TimedOut, "it was told to finish and went on".to_owned()));
        assert_eq!(asked(StopCause::Budget), TurnOutcome::Paused);
        assert_eq!(End { stop: Some("cancelled"), ..end() }.outcome().0, TurnOutcome::Stopped);
        assert_eq!(End { stop: Some("refusal"), ..end() }.outcome().0, TurnOutcome::Refused);
        assert_eq!(End { stop: Some("agent.timeout"), ..end() }.outcome().0, TurnOutcome::TimedOut);
        assert_eq!(End { stop: Some(RATE_LIMITED), ..end() }.outcome().0, TurnOutcome::RateLimited);
        let broken = End { stop: Some("agent.protocol"), code: None, said: "", ..end() }.outcome();
        assert_eq!(broken, (TurnOutcome::Failed, "agent.protocol".to_owned()));
    }

    #[test]
    fn who_was_asked_to_end_after_its_turn_has_finished() {
        for cause in [StopCause::Requested, StopCause::TimedOut, StopCause::Budget] {
            let over = End { asked: Some(cause), stop: Some("end_turn"), is_turn_over: true, code: None, ..end() };
            assert_eq!(over.outcome(), (TurnOutcome::Finished, "did it".to_owned()), "{cause:?}");
            // An agent may answer a cancel as if it had finished.
            let cancelled = End { is_turn_over: false, ..over };
            assert_ne!(cancelled.outcome().0, TurnOutcome::Finished, "{cause:?}");
        }
    }

    #[test]
    fn the_agents_own_error_goes_before_its_standard_error_and_our_signal_is_not_told() {
        let failed = End { stop: Some("error"), said: "quota (429)", signal: Some(15), by_us: true, ..end() };

        assert_eq!(failed.outcome().1, "error: quota (429)");
        let noisy = End { stderr: "a warning\n", ..failed };
        assert_eq!(noisy.outcome().1, "error: quota (429); its standard error ends with: a warning");
        for (said, stderr) in [("quota (429)", "error: quota (429)\n"), ("error: quota (429)", "quota (429)")] {
            let repeated = End { said, stderr, stop: Some("error"), ..end() };
            assert_eq!(repeated.outcome().1, format!("error: {said}"), "it is told once");
        }
        let ended = End { stop: None, said: "", code: None, signal: Some(15), by_us: true, ..end() };
        assert_eq!(ended.outcome().1, "it was ended in the middle of its turn");
    }
}
