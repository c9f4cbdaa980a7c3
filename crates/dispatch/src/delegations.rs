//! Detects agents that delegate the same work repeatedly: warns first, then refuses.

use std::collections::BTreeMap;
use std::sync::Mutex;

use switchboard_pipeline::team::repeat::{Delegation, Delegations, Finding, Reaction};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::fold;
use switchboard_protocol::run::LoopLimits;
use switchboard_protocol::text::cut;

use crate::lock::lock;

/// Number of bytes of a task that are compared to detect a repeated delegation.
const ARGUMENT: usize = 1000;

/// Maximum number of callers remembered. Beyond it all are forgotten, which only lets a loop go on a little longer.
const CALLERS: usize = 1000;

/// Recent delegations of each caller.
#[derive(Debug, Default)]
pub(crate) struct DelegationLog {
    callers: Mutex<BTreeMap<String, Delegations>>,
    limits: Mutex<LoopLimits>,
}

// === impl DelegationLog ===

impl DelegationLog {
    /// Sets how often the same work may be delegated.
    pub(crate) fn limit(&self, limits: LoopLimits) {
        *lock(&self.limits) = limits;
    }

    /// Counts a task that a caller delegates to an agent; returns a warning if it repeats an earlier one.
    ///
    /// # Errors
    /// `agent.loop` if it was repeated too often.
    pub(crate) fn count(&self, by: &str, agent: &str, task: &str) -> Result<Option<String>, Failure> {
        let delegation =
            Delegation { role: "agent".to_owned(), agent: fold(agent), argument: cut(task.trim(), ARGUMENT) };
        let (mut callers, limits) = (lock(&self.callers), *lock(&self.limits));
        if callers.len() > CALLERS {
            callers.clear();
        }
        match callers.entry(fold(by)).or_default().step(delegation, limits) {
            None => Ok(None),
            Some(Finding { reaction: Reaction::Warn, words, .. }) => Ok(Some(words)),
            Some(Finding { reaction: Reaction::Stop, words, .. }) => {
                Err(Failure::new("agent.loop", words).hint("read what came of it before, and ask for something else"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_task_is_warned_of_and_refused_for_its_caller_alone() {
        let log = DelegationLog::default();
        let said: Vec<_> = (0..5).map(|_| log.count("ann", "Codex", " look ")).collect();

        let warned: Vec<_> = said.iter().take(4).map(|said| said.as_ref().unwrap().is_some()).collect();
        assert_eq!(warned, [false, false, true, false], "once, at the third");
        assert_eq!(said[4].as_ref().unwrap_err().code, "agent.loop");
        assert_eq!(log.count("ben", "codex", "look"), Ok(None));
        assert_eq!(log.count("ann", "codex", "look elsewhere"), Ok(None));
        log.limit(LoopLimits { warns: 2, stops: 3 });
        assert!(log.count("ann", "codex", "look elsewhere").unwrap().is_some());
        assert_eq!(log.count("ann", "codex", "look elsewhere").unwrap_err().code, "agent.loop");
    }

    #[test]
    fn only_so_many_callers_are_remembered() {
        for (others, is_known) in [(CALLERS - 1, true), (CALLERS, false)] {
            let log = DelegationLog::default();
            let count = |by: &str| log.count(by, "codex", "look").unwrap();
            assert_eq!((count("ann"), count("ann")), (None, None));

            for other in 0..others {
                assert_eq!(count(&format!("caller-{other}")), None);
            }

            assert_eq!(count("ann").is_some(), is_known, "the third of the same");
        }
    }
}
