//! The consumers that are affected when a change alters contracts.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schemas")]
use super::limits::{MAX_LIST, MAX_PATH, MAX_REPORT, MAX_TEXT};
use crate::schema::JsonSchema;

/// Analysis of the contracts that a change alters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impact {
    /// The report, in the sections that the explorer's role prescribes.
    #[schemars(length(min = 1, max = MAX_REPORT))]
    pub report: String,
    /// Altered contracts, each once.
    #[schemars(length(min = 1, max = MAX_LIST))]
    pub changes: Vec<ContractChange>,
}

/// A contract that a change alters: something that other code may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractChange {
    /// Name and signature of what is altered.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub change: String,
    /// File that contains it.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub file: String,
    /// Effect on its consumers.
    pub class: ChangeClass,
    /// Files and lines that use it; empty if none were found.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub consumers: Vec<String>,
}

/// Effect of a changed contract on its consumers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeClass {
    /// A consumer that is not adapted stops working.
    Breaking,
    /// Every consumer works unchanged.
    Compatible,
}

// === impl Impact ===

impl Impact {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let is_twice = |(at, one): (usize, &ContractChange)| {
            self.changes[..at].iter().any(|other| (&other.file, &other.change) == (&one.file, &one.change))
        };
        self.changes.iter().enumerate().any(is_twice).then_some("a change is given twice")
    }
}

// === impl ChangeClass ===

impl ChangeClass {
    /// Returns the class as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Breaking => "BREAKING",
            Self::Compatible => "COMPATIBLE",
        }
    }
}
