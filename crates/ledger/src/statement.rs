//! in-toto statements (Statement v1): a predicate about subjects that are named by digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_protocol::id::Digest;

use crate::Error;

/// The type of every statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// A claim: `{_type, subject: [{name, digest: {sha256}}], predicateType, predicate}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement<P> {
    /// [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub kind: String,
    /// What it is about.
    pub subject: Vec<Subject>,
    /// What kind of claim it is: a URI with a version.
    pub predicate_type: String,
    /// The claim.
    pub predicate: P,
}

/// Something that a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its name within the statement.
    pub name: String,
    /// Its digests in hex, by algorithm; ours is `sha256`.
    pub digest: BTreeMap<String, String>,
}

// === impl Statement ===

impl<P> Statement<P> {
    /// A claim about nothing yet.
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

    /// Whether a subject with this digest is among those it is about.
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
