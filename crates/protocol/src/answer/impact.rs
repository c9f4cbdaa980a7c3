//! Who is affected by what a change alters of its contracts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::planning::MAX_REPORT;
use super::{MAX_LIST, MAX_PATH, MAX_TEXT};

/// An analysis of what a change alters that others may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impact {
    /// The report, in the sections of the explorer's contract.
    #[schemars(length(min = 1, max = MAX_REPORT))]
    pub report: String,
    /// What is altered, each once.
    #[schemars(length(min = 1, max = MAX_LIST))]
    pub changes: Vec<ContractChange>,
}

/// Something that others may call, and that a change alters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractChange {
    /// What is altered, by its name and signature.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub change: String,
    /// The file that it is in.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub file: String,
    /// What it is to its consumers.
    pub class: ChangeClass,
    /// Files and lines that use it; none where nobody was found.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub consumers: Vec<String>,
}

/// What a changed contract is to its consumers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeClass {
    /// A consumer that is left as it is does not work any more.
    Breaking,
    /// Every consumer works as it is.
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
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Breaking => "BREAKING",
            Self::Compatible => "COMPATIBLE",
        }
    }
}
