//! A call of a verb, and the limits of an inbox.

use std::path::PathBuf;
use std::sync::Arc;

use switchboard_protocol::agent::Process;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::message::{INBOX_BYTES, INBOX_LIMIT};
use switchboard_store::{Batch, Durability, Idempotency};

/// A call as the bus gets it: who makes it, under which key, when it is answered, and the limits that hold.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who calls.
    pub caller: Caller,
    /// Names the call; `None` for one that is never repeated.
    pub idempotency: Option<Idempotency>,
    /// When it is answered, from the verb's row.
    pub durability: Durability,
    /// The folder to which relative paths in a message belong.
    pub root: Option<PathBuf>,
    /// How much an inbox holds.
    pub limits: Limits,
    /// Whether a process still runs, or a token was used lately.
    pub is_alive: IsAlive,
}

/// Returns whether whoever holds a name is there.
#[derive(Clone)]
pub struct IsAlive(pub Arc<dyn Fn(&Process) -> bool + Send + Sync>);

impl std::fmt::Debug for IsAlive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IsAlive")
    }
}

/// How much one inbox holds that is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Messages.
    pub messages: i64,
    /// Bytes of their payloads.
    pub bytes: i64,
}

// === impl Call ===

impl Call {
    /// An agent whose name is proven, with no key, no folder and the usual limits, to whom no process is alive; a caller says what else holds.
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

    /// An empty batch with the call's key and durability.
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
