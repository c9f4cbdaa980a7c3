//! Files in requests.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// A list of files, or a single one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Files {
    /// One file or folder.
    One(String),
    /// Several files.
    List(Vec<ChangedFile>),
}

/// A file, with or without the number of added lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ChangedFile {
    /// Path of the file.
    Path(String),
    /// Path of the file and number of added lines.
    Counted {
        /// Path of the file.
        path: String,
        /// Number of lines that the change adds.
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
    /// Returns the paths, each with the number of added lines if it is known.
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

    /// Returns only the paths.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.list().into_iter().map(|(path, _)| path).collect()
    }

    /// Returns true if no file is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }
}
