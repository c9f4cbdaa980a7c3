//! Errors with keys and signatures.

use std::path::PathBuf;

use switchboard_protocol::error::Failure;

/// Error of the ledger. No variant ever holds key material.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A key file can't be read or written.
    #[error("{what} {}", path.display())]
    File {
        /// Operation that failed.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        source: std::io::Error,
    },
    /// A key file has wrong permissions, a wrong owner or invalid content.
    #[error("{} {what}", path.display())]
    KeyFile {
        /// Path of the file.
        path: PathBuf,
        /// Fault of the file.
        what: &'static str,
    },
    /// The system provided no random bytes.
    #[error("the system gave no random bytes: {0}")]
    Random(String),
    /// A public key is invalid.
    #[error("this is not an Ed25519 public key")]
    PublicKey,
    /// An envelope or its payload has another form.
    #[error("the envelope is malformed: {0}")]
    Malformed(String),
    /// No signature of the envelope is by this key.
    #[error("the envelope is not signed by the key {0}")]
    OtherKey(String),
    /// The signature doesn't match the payload.
    #[error("the signature does not fit")]
    BadSignature,
    /// The signed head belongs to another log.
    #[error("the signed head does not fit the record: {0}")]
    OtherHead(String),
}

impl Error {
    /// Returns the failure that every face shows.
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Self::File { path, .. } => Failure::new("io.denied", self.to_string())
                .at(path.display().to_string())
                .hint("check that the folder belongs to you and may be written")
                .because(self),
            Self::KeyFile { path, .. } => Failure::new("io.denied", self.to_string())
                .at(path.display().to_string())
                .hint("make it a file of yours that only you can read (`chmod 600`), or move it away for a new key"),
            Self::Random(_) => Failure::new("internal.bug", self.to_string()),
            Self::PublicKey | Self::Malformed(_) | Self::OtherKey(_) | Self::BadSignature | Self::OtherHead(_) => {
                Failure::new("store.corrupt", self.to_string()).hint("compare with a copy of the record that you trust")
            }
        }
    }
}
