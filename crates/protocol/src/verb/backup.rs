//! The verb that copies the store while the daemon runs.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::Digest;
use crate::schema::JsonSchema;

/// Target of the backup.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupStoreRequest {
    /// Absolute path of a file that does not exist yet, or of an earlier backup of this record, which is replaced.
    pub path: String,
}

/// The verified backup.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BackupStoreReply {
    /// Path of the backup.
    pub path: String,
    /// Number of events.
    pub events: u64,
    /// Hash of the last event.
    pub head: Digest,
    /// Size in bytes.
    pub bytes: u64,
}

verb! {
    /// Copy the store into a new file while the daemon runs, and verify the copy; `switchboard restore FILE` restores it.
    BackupStore = "backup_store", Read, Record, Never,
    BackupStoreRequest => BackupStoreReply
}
