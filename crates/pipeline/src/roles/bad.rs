//! Why a role file can't be used.

use std::fmt;

/// A role file that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", place(file, *line))]
pub struct BadRole {
    /// Name of the role according to the file, else according to the file's name.
    pub role: Box<str>,
    /// Path of the file.
    pub file: Box<str>,
    /// Line number, from 1; `None` for the whole file.
    pub line: Option<usize>,
    /// Error in the file.
    pub reason: Reason,
    /// How to fix it; may be empty.
    pub hint: Box<str>,
}

/// Error in a role file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The file exceeds the size limit.
    TooLarge {
        /// Size of the file in bytes.
        bytes: usize,
    },
    /// The file does not begin with a readable frontmatter.
    Frontmatter(String),
    /// The key does not exist.
    UnknownKey(String),
    /// A required key is missing.
    Missing(&'static str),
    /// The value of a key is invalid.
    BadValue {
        /// Name of the key.
        key: &'static str,
        /// Error in the value.
        what: String,
    },
    /// A project sets a key that only the user may set.
    ForUser(&'static str),
    /// The file changes the answers of a shipped role, which are fixed by the steps that ask it.
    AnswersOfShipped(String),
    /// A project's file is about a role that is neither shipped nor the user's.
    NotARole,
    /// A project requests more than the role has.
    Beyond {
        /// Name of the key.
        key: &'static str,
        /// The value requested.
        what: String,
    },
    /// Another file is about the same role.
    Twice {
        /// Path of the other file.
        other: String,
    },
}

/// Why a role can't be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownRole {
    /// No file defines the role.
    #[error("there is no role `{name}`{}", nearest(near))]
    None {
        /// Requested name.
        name: String,
        /// Similar names, best match first.
        near: Vec<String>,
    },
    /// The role's file can't be used.
    #[error("the role can't be used: {0}")]
    Bad(#[source] Box<BadRole>),
}

// === impl Reason ===

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => {
                write!(f, "it has {bytes} bytes, and at most {} are taken", super::MAX_ROLE_BYTES)
            }
            Self::Frontmatter(what) => f.write_str(what),
            Self::UnknownKey(key) => write!(f, "it has no key `{key}`"),
            Self::Missing(key) => write!(f, "it has no `{key}`"),
            Self::BadValue { key, what } => write!(f, "`{key}`: {what}"),
            Self::AnswersOfShipped(has) => write!(f, "`answers` of a role that ships are those of its steps: {has}"),
            Self::ForUser(key) => write!(f, "`{key}` is set in the user's own role file only"),
            Self::NotARole => f.write_str("a project narrows roles that ship or are the user's, and this is none"),
            Self::Beyond { key, what } => write!(f, "`{key}` asks for {what}, which the role doesn't have"),
            Self::Twice { other } => write!(f, "{other} is about the same role"),
        }
    }
}

fn place(file: &str, line: Option<usize>) -> String {
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

fn nearest(near: &[String]) -> String {
    near.first().map_or_else(String::new, |near| format!(": did you mean `{near}`?"))
}
