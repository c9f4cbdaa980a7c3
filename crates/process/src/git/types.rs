//! Types that the git calls take and return.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;

use crate::{Error, Result};

/// Id of an object: 40 hex digits, or 64 in a SHA-256 repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(Arc<str>);

switchboard_protocol::text_serde!(Oid);

/// Target of `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// A branch.
    Branch {
        /// Name without `refs/heads/`.
        name: String,
        /// Head of the branch.
        commit: Oid,
    },
    /// A commit.
    Detached(Oid),
    /// A branch that has no commit yet.
    Unborn {
        /// Name without `refs/heads/`.
        name: String,
    },
}

/// Author of a change, with the time: the same change with the same author makes the same commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Name; characters that a commit can't contain are left out.
    pub name: String,
    /// Address; characters that a commit can't contain are left out.
    pub email: String,
    /// Time of the commit, for author and committer.
    pub at: Millis,
}

/// A path that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Path relative to the top of the tree.
    pub path: PathBuf,
    /// Entry before; `None` if it is new.
    pub before: Option<Entry>,
    /// Entry after; `None` if it was deleted.
    pub after: Option<Entry>,
}

/// A file, a link or a submodule in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// File mode: `100644`, `100755`, `120000` (symbolic link) or `160000` (submodule).
    pub mode: String,
    /// Id of its content.
    pub oid: Oid,
}

// === impl Oid ===

impl Oid {
    /// Parses 40 or 64 lower-case hex digits.
    ///
    /// # Errors
    /// [`Error::BadName`].
    pub fn parse(text: &str) -> Result<Self> {
        let is_hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && matches!(text.len(), 40 | 64) {
            return Ok(Self(text.into()));
        }
        Err(Error::BadName { text: cut(text, 100), expected: "an object id" })
    }

    /// Returns the digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first ten digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..10]
    }

    /// Returns the null id, all zeros, with the length of this one.
    pub(super) fn zero(&self) -> String {
        "0".repeat(self.0.len())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0.to_string()
    }
}

// === impl Author ===

impl Author {
    /// Returns the variables from which git reads names, addresses and times.
    pub(super) fn variables(&self) -> [(&'static str, String); 6] {
        let at = format!("@{} +0000", self.at.0.div_euclid(1000).max(0));
        [
            ("GIT_AUTHOR_NAME", plain(&self.name, "agent")),
            ("GIT_AUTHOR_EMAIL", plain(&self.email, "agent@localhost")),
            ("GIT_AUTHOR_DATE", at.clone()),
            ("GIT_COMMITTER_NAME", super::COMMITTER.0.to_owned()),
            ("GIT_COMMITTER_EMAIL", super::COMMITTER.1.to_owned()),
            ("GIT_COMMITTER_DATE", at),
        ]
    }
}

fn plain(text: &str, otherwise: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).take(100).collect();
    // Git strips these characters at both ends and refuses a name that is then empty.
    let kept = kept.trim_matches(|c: char| c.is_whitespace() || ".,:;\"'\\".contains(c));
    if kept.is_empty() { otherwise.to_owned() } else { kept.to_owned() }
}

// === impl Entry ===

impl Entry {
    /// Returns true for a submodule.
    #[must_use]
    pub fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }

    /// Returns true for a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.mode == "120000"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oid_is_hex_of_the_right_length_and_nothing_else() {
        assert!(Oid::parse(&"a1".repeat(20)).is_ok());
        assert!(Oid::parse(&"0f".repeat(32)).is_ok());
        for bad in ["", "HEAD", "--all", &"A1".repeat(20), &"a".repeat(41)] {
            assert!(Oid::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_that_a_commit_cannot_hold_are_made_plain() {
        assert_eq!(plain("Coder <x@y>\n", "agent"), "Coder x@y");
        assert_eq!(plain(" .,;", "agent"), "agent");
        assert_eq!(plain("Zoë", "agent"), "Zoë");
    }
}
