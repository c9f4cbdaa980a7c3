//! Verbs that read much of the record at once; each on a thread of its own.

use std::path::Path;

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::Verb as _;
use switchboard_protocol::verb::backup::{BackupStore, BackupStoreReply};
use switchboard_protocol::verb::search::SearchMessages;

use super::{Call, typed, value};
use crate::record::backup_reply;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn record(&self, args: Value) -> Result<Value, Failure> {
        let store = self.verbs.store.clone();
        if self.verb == SearchMessages::NAME {
            let request = typed::<SearchMessages>(args)?;
            let found = aside(move || Ok(switchboard_bus::search_messages(&store, &request)?)).await?;
            return value::<SearchMessages>(found);
        }
        let path = typed::<BackupStore>(args)?.path;
        let made = aside(move || backup(&store, &path)).await?;
        value::<BackupStore>(made)
    }
}

fn backup(store: &switchboard_store::Store, path: &str) -> Result<BackupStoreReply, Failure> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err(Failure::new("request.bad-args", "the path must be absolute").at(path.display().to_string()));
    }
    let report = store.backup(path).map_err(|error| error.failure())?;
    backup_reply(path, &report)
}

/// Runs something that blocks.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new("internal.bug", error.to_string()))?
}
