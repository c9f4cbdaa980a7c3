//! Files as callers name them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files as a list, or one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Files {
    /// One file or folder.
    One(String),
    /// Several.
    List(Vec<ChangedFile>),
}

/// A file, with or without the number of its new lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ChangedFile {
    /// Its path.
    Path(String),
    /// Its path and how many lines the change adds.
    Counted {
        /// Path.
        path: String,
        /// Added lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        additions: Option<u64>,
    },
}

impl Default for Files {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Files {
    /// Paths, each with how many lines were added if that is known.
    #[must_use]
    pub fn list(&self) -> Vec<(String, Option<u64>)> {
        match self {
            Self::One(path) => vec![(path.clone(), None)],
            Self::List(files) => files
                .iter()
                .map(|file| match file {
                    ChangedFile::Path(path) => (path.clone(), None),
                    ChangedFile::Counted { path, additions } => (path.clone(), *additions),
                })
                .collect(),
        }
    }

    /// Paths only.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.list().into_iter().map(|(path, _)| path).collect()
    }

    /// Whether none is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }
}
