//! What can go wrong with keys and signatures.

use std::path::PathBuf;

use switchboard_protocol::error::Failure;

/// What can go wrong in the ledger. No variant ever holds key material.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A key file can't be read or written.
    #[error("{what} {}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A key file is not what it should be: its permissions, its owner or its content.
    #[error("{} {what}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes: {0}")]
    Random(String),
    /// A public key is not one.
    #[error("this is not an Ed25519 public key")]
    PublicKey,
    /// An envelope or its payload has another shape.
    #[error("the envelope is malformed: {0}")]
    Malformed(String),
    /// No signature of the envelope is by this key.
    #[error("the envelope is not signed by the key {0}")]
    OtherKey(String),
    /// The signature doesn't fit the payload.
    #[error("the signature does not fit")]
    BadSignature,
    /// The signed head is not of this log.
    #[error("the signed head does not fit the record: {0}")]
    OtherHead(String),
}

impl Error {
    /// The failure that every face shows.
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
