//! Counts the attempts of each task.

use std::collections::BTreeMap;

use switchboard_protocol::plan::TaskId;

use super::{Finding, FindingKind, Reaction};
use crate::team::limits::{Limit, Limits};

/// The attempts of each task. A task has its own count, which only a person resets: a new delegation of the same task is one more attempt.
#[derive(Debug, Clone)]
pub struct Revisions {
    limit: u32,
    counts: BTreeMap<TaskId, u32>,
}

impl Revisions {
    /// No attempts yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { limit: limits.get(Limit::Revisions), counts: BTreeMap::new() }
    }

    /// Takes an attempt of a coder that has ended. From the limit on, a person is asked each time.
    pub fn step(&mut self, task: &TaskId) -> Option<Finding> {
        let count = self.counts.entry(task.clone()).or_default();
        *count = count.saturating_add(1);
        (*count >= self.limit).then(|| {
            let words = format!(
                "task {task} was tried {count} times, the limit is {}: re-scope it, or allow more attempts",
                self.limit
            );
            Finding::new(FindingKind::Revisions, Reaction::Ask, words)
        })
    }

    /// How often a task was tried.
    #[must_use]
    pub fn count(&self, task: &TaskId) -> u32 {
        self.counts.get(task).copied().unwrap_or(0)
    }

    /// Forgets the attempts of a task: a person has allowed more, or the task is another one now.
    pub fn reset(&mut self, task: &TaskId) {
        self.counts.remove(task);
    }
}
