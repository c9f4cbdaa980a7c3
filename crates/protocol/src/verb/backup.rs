//! A copy of the store while it works.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::Digest;

/// Where to.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupStoreRequest {
    /// Absolute path: of a file that does not exist yet, or of an earlier one of this record, which is replaced.
    pub path: String,
}

/// The backup, checked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BackupStoreReply {
    /// Where it lies.
    pub path: String,
    /// Events in it.
    pub events: u64,
    /// Hash of the last one.
    pub head: Digest,
    /// Its size in bytes.
    pub bytes: u64,
}

verb! {
    /// Copy the store into a new file while it works, and verify the copy; `switchboard restore FILE` puts it back.
    BackupStore = "backup_store", Read, Record, Never,
    BackupStoreRequest => BackupStoreReply
}
