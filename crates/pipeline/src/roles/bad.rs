//! Why a role file can't be used.

use std::fmt;

/// A role file that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", place(file, *line))]
pub struct BadRole {
    /// The role that it is about: its name, or the file's where it has none.
    pub role: Box<str>,
    /// The file.
    pub file: Box<str>,
    /// The line, from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub reason: Reason,
    /// What to do; may be empty.
    pub hint: Box<str>,
}

/// What is wrong with a role file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It has more bytes than are read.
    TooLarge {
        /// How many it has.
        bytes: usize,
    },
    /// It does not begin with a frontmatter that can be read.
    Frontmatter(String),
    /// A key does not exist.
    UnknownKey(String),
    /// A key that it needs is not there.
    Missing(&'static str),
    /// The value of a key is not one that it takes.
    BadValue {
        /// The key.
        key: &'static str,
        /// What is wrong with the value.
        what: String,
    },
    /// A project sets what only the user may set.
    ForUser(&'static str),
    /// What a role that ships answers is fixed by the steps that ask it.
    AnswersOfShipped(String),
    /// A project's file is about a role that neither ships nor is the user's.
    NotARole,
    /// A project asks for more than the role has.
    Beyond {
        /// The key.
        key: &'static str,
        /// What it asks for.
        what: String,
    },
    /// Another file is about the same role.
    Twice {
        /// That file.
        other: String,
    },
}

/// Why there is no role of a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownRole {
    /// No file defines it.
    #[error("there is no role `{name}`{}", nearest(near))]
    None {
        /// The name.
        name: String,
        /// Names like it, best first.
        near: Vec<String>,
    },
    /// A file does that can't be used.
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
