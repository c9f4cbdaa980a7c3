//! Events about the record itself.

use serde::{Deserialize, Serialize};

use crate::event::Lsn;
use crate::id::Digest;

/// Events about the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum RecordEvent {
    /// The head of the log was signed.
    HeadSigned {
        /// Last event that the signature covers.
        lsn: Lsn,
        /// Hash of that event.
        head_hash: Digest,
        /// Merkle root over the hashes of all events up to it.
        merkle_root: Digest,
        /// Public key in hex.
        public_key: String,
    },
}
