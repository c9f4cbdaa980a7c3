//! in-toto statements (Statement v1): a predicate about subjects that are identified by digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_protocol::id::Digest;

use crate::Error;

/// Type of every statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// Claim: `{_type, subject: [{name, digest: {sha256}}], predicateType, predicate}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement<P> {
    /// Type of the statement: [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub kind: String,
    /// Subjects of the claim.
    pub subject: Vec<Subject>,
    /// Kind of the claim: a URI with a version.
    pub predicate_type: String,
    /// Content of the claim.
    pub predicate: P,
}

/// Subject of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Name within the statement.
    pub name: String,
    /// Digests in hex, by algorithm; ours is `sha256`.
    pub digest: BTreeMap<String, String>,
}

// === impl Statement ===

impl<P> Statement<P> {
    /// Returns a claim without subjects.
    #[must_use]
    pub fn new(predicate_type: impl Into<String>, predicate: P) -> Self {
        let predicate_type = predicate_type.into();
        Self { kind: STATEMENT_TYPE.to_owned(), subject: Vec::new(), predicate_type, predicate }
    }

    /// Adds a subject.
    #[must_use]
    pub fn about(mut self, name: impl Into<String>, digest: Digest) -> Self {
        let digest = BTreeMap::from([("sha256".to_owned(), digest.hex())]);
        self.subject.push(Subject { name: name.into(), digest });
        self
    }

    /// Returns true if a subject has this name and digest.
    #[must_use]
    pub fn is_about(&self, name: &str, digest: &Digest) -> bool {
        let hex = digest.hex();
        self.subject.iter().any(|subject| subject.name == name && subject.digest.get("sha256") == Some(&hex))
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.kind != STATEMENT_TYPE {
            return Err(Error::Malformed(format!("{:?} is not a statement's type", self.kind)));
        }
        if self.subject.is_empty() {
            return Err(Error::Malformed("the statement is about nothing".to_owned()));
        }
        Ok(())
    }
}
