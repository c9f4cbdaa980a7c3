//! The limits of a team: how often something may fail before somebody else decides.
//!
//! Rows whose default is a constant of `switchboard_protocol::run` are limits that every run has. Settings don't change them yet: nothing reads the
//! names and ranges of the table from a file.

use switchboard_protocol::error::near_matches;
use switchboard_protocol::run::{MAX_ANSWERS, MAX_ATTEMPTS, MAX_FAILURES, MAX_LOSSES, MAX_RATE_WAITS};

/// A limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// How often a task is tried again after a gate.
    GateRetries,
    /// How often the critic sends a plan back.
    CriticCycles,
    /// How often an answer that doesn't parse is asked for again.
    MalformedAnswers,
    /// How often an agent that fails or takes too long is started again.
    AgentErrors,
    /// How often a worker that is lost is started again.
    LostWorkers,
    /// How often a transient error of a model is waited out.
    TransientErrors,
    /// How often the coder of one task is asked before a person decides.
    Revisions,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Which limit.
    pub limit: Limit,
    /// Its name in settings.
    pub name: &'static str,
    /// Its value where no setting says.
    pub default: u32,
    /// The smallest value.
    pub min: u32,
    /// The largest value.
    pub max: u32,
    /// What happens when it is reached.
    pub then: &'static str,
}

/// The table. Gate retries and their range, critic cycles, revisions and their range, transient errors and the one retry of an agent are those of other
/// tools for the `.swarm/` format, so that settings carry over; two more questions are enough for an agent that can write the schema at all; a worker is lost by the machine and
/// not by its task, so that three are waited for. Maxima bound the money that one task can cost.
pub const TABLE: [Row; 7] = [
    row(Limit::GateRetries, "gate_retries", (MAX_ATTEMPTS, 1, 10), "a person decides about the task"),
    row(Limit::CriticCycles, "critic_cycles", (2, 1, 5), "a person decides about the plan"),
    row(Limit::MalformedAnswers, "malformed_answers", (MAX_ANSWERS - 1, 0, 5), "the task is held for a person"),
    row(Limit::AgentErrors, "agent_errors", (MAX_FAILURES - 1, 0, 5), "the task is held for a person"),
    row(Limit::LostWorkers, "lost_workers", (MAX_LOSSES, 0, 10), "the task is held for a person"),
    row(Limit::TransientErrors, "transient_errors", (MAX_RATE_WAITS, 0, 20), "the task is held for a person"),
    row(Limit::Revisions, "revisions", (MAX_ATTEMPTS, 1, 20), "a person decides about the task"),
];

const fn row(limit: Limit, name: &'static str, (default, min, max): (u32, u32, u32), then: &'static str) -> Row {
    Row { limit, name, default, min, max, then }
}

/// Why a setting is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// No limit has that name.
    #[error("there is no limit {name:?}{}", hint(near))]
    Unknown {
        /// The name.
        name: String,
        /// The names that are close to it, or all.
        near: Vec<&'static str>,
    },
    /// The value is too small or too large.
    #[error("{name} is {value}, it can be {min} to {max}")]
    OutOfRange {
        /// The name.
        name: &'static str,
        /// The value.
        value: i64,
        /// The smallest value.
        min: u32,
        /// The largest value.
        max: u32,
    },
}

/// The limits in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits([u32; TABLE.len()]);

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self(TABLE.map(|row| row.default))
    }
}

impl Limits {
    /// Returns a limit.
    #[must_use]
    pub fn get(&self, limit: Limit) -> u32 {
        TABLE.iter().zip(self.0).find(|(row, _)| row.limit == limit).map_or(0, |(_, value)| value)
    }

    /// Returns the limits with one of them overridden.
    ///
    /// # Errors
    /// When there is no limit of that name, or the value is out of its range.
    pub fn with(mut self, name: &str, value: i64) -> Result<Self, LimitError> {
        let at = TABLE.iter().position(|row| row.name == name).ok_or_else(|| unknown(name))?;
        let row = TABLE[at];
        let fits = u32::try_from(value).ok().filter(|value| (row.min..=row.max).contains(value));
        let out_of_range = || LimitError::OutOfRange { name: row.name, value, min: row.min, max: row.max };
        self.0[at] = fits.ok_or_else(out_of_range)?;
        Ok(self)
    }
}

fn unknown(name: &str) -> LimitError {
    let names = TABLE.map(|row| row.name);
    let near = near_matches(name, names);
    let near = if near.is_empty() { names.to_vec() } else { near };
    LimitError::Unknown { name: name.to_owned(), near }
}

fn hint(near: &[&str]) -> String {
    format!(", perhaps {}", near.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_table_has_each_limit_once_and_defaults_in_range() {
        let defaults: Vec<_> = TABLE.iter().map(|row| (row.name, row.default)).collect();

        assert_eq!(
            defaults,
            [
                ("gate_retries", 5),
                ("critic_cycles", 2),
                ("malformed_answers", 2),
                ("agent_errors", 1),
                ("lost_workers", 3),
                ("transient_errors", 5),
                ("revisions", 5),
            ]
        );
        for row in TABLE {
            assert!((row.min..=row.max).contains(&row.default));
            assert_eq!(Limits::default().get(row.limit), row.default);
        }
        let revisions = TABLE.iter().find(|row| row.limit == Limit::Revisions).unwrap();
        assert_eq!((revisions.min, revisions.max), (1, 20));
    }

    #[test]
    fn an_unknown_name_is_refused_with_a_near_match() {
        let error = Limits::default().with("revision", 3).unwrap_err();

        assert_eq!(error.to_string(), "there is no limit \"revision\", perhaps revisions");
        assert!(Limits::default().with("xyz", 3).unwrap_err().to_string().contains("gate_retries"));
    }

    proptest! {
        #[test]
        fn a_value_is_taken_in_its_range_and_refused_outside(at in 0..TABLE.len(), value in -5_i64..30) {
            let row = TABLE[at];
            let is_in_range = (i64::from(row.min)..=i64::from(row.max)).contains(&value);

            let limits = Limits::default().with(row.name, value);

            prop_assert_eq!(limits.is_ok(), is_in_range);
            if let Ok(limits) = limits {
                prop_assert_eq!(i64::from(limits.get(row.limit)), value);
                let others = TABLE.iter().filter(|other| other.limit != row.limit);
                prop_assert!(others.clone().all(|other| limits.get(other.limit) == other.default));
            }
        }
    }
}
