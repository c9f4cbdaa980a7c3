//! What happens to the record itself.

use serde::{Deserialize, Serialize};

use crate::event::Lsn;
use crate::id::Digest;

/// What happens to the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum RecordEvent {
    /// Somebody signed its head.
    HeadSigned {
        /// Last event that the signature covers.
        lsn: Lsn,
        /// Hash of that event.
        head_hash: Digest,
        /// Merkle root over the hashes of all events up to it.
        merkle_root: Digest,
        /// The public key in hex.
        public_key: String,
    },
}
