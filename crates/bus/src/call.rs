//! Call of a verb, and the limits of an inbox.

use std::path::PathBuf;
use std::sync::Arc;

use switchboard_protocol::agent::Process;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::message::{INBOX_BYTES, INBOX_LIMIT};
use switchboard_store::{Batch, Durability, Idempotency};

/// Call as the bus receives it: caller, idempotency key, durability, and limits.
#[derive(Debug, Clone)]
pub struct Call {
    /// Caller of the verb.
    pub caller: Caller,
    /// Idempotency key of the call; `None` for one that is never repeated.
    pub idempotency: Option<Idempotency>,
    /// When the call may be answered, from the verb's row.
    pub durability: Durability,
    /// Folder for relative paths in a message.
    pub root: Option<PathBuf>,
    /// Limits of each inbox.
    pub limits: Limits,
    /// Checks whether a process still runs, or a token was used recently.
    pub is_alive: IsAlive,
}

/// Callback that returns true if the holder of a name is still running.
#[derive(Clone)]
pub struct IsAlive(pub Arc<dyn Fn(&Process) -> bool + Send + Sync>);

impl std::fmt::Debug for IsAlive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IsAlive")
    }
}

/// Maximum content of one inbox that is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of messages.
    pub messages: i64,
    /// Bytes of their payloads.
    pub bytes: i64,
}

// === impl Call ===

impl Call {
    /// Returns the call of an agent with a verified name, without a key or folder, with the default limits and no live
    /// processes; callers change the rest.
    #[must_use]
    pub fn of(name: AgentName) -> Self {
        Self {
            caller: Caller::agent(name),
            idempotency: None,
            durability: Durability::Synced,
            root: None,
            limits: Limits::default(),
            is_alive: IsAlive(Arc::new(|_| false)),
        }
    }

    /// Returns an empty batch with the call's key and durability.
    #[must_use]
    pub fn batch(&self) -> Batch {
        Batch { idempotency: self.idempotency.clone(), ..Batch::new(self.durability) }
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { messages: INBOX_LIMIT, bytes: INBOX_BYTES }
    }
}
