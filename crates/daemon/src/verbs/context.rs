//! Input of a handler: the caller, the key, and a batch with key and durability.

use std::sync::Arc;

use switchboard_protocol::agent::Process;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::verb::Access;
use switchboard_store::{Batch, Durability, Idempotency};

use super::Verbs;

/// A call that the policy let through.
#[derive(Debug)]
pub(crate) struct Context {
    /// The caller.
    pub(crate) caller: Caller,
    /// Key of the call; `None` if the caller can't repeat it.
    pub(crate) idempotency: Option<Idempotency>,
    /// Durability at which the call is answered, from the verb's row.
    pub(crate) durability: Durability,
}

// === impl Context ===

impl Context {
    /// Builds the context of a call; `args` is the digest of its arguments.
    pub(crate) fn new(
        caller: Caller,
        (verb, effect): (&'static str, Access),
        key: Option<String>,
        args: Digest,
    ) -> Self {
        let folded = caller.name.folded();
        let idempotency = key.map(|key| Idempotency { key, caller: folded, verb, args });
        let durability = match effect {
            Access::Read | Access::Synced => Durability::Synced,
            Access::Written => Durability::Written,
        };
        Self { caller, idempotency, durability }
    }

    /// Returns an empty batch with the call's key and durability.
    pub(crate) fn batch(&self) -> Batch {
        Batch { idempotency: self.idempotency.clone(), ..Batch::new(self.durability) }
    }

    /// Returns the caller's name, as events record it.
    pub(crate) fn by(&self) -> &str {
        self.caller.name.as_str()
    }

    /// Converts the call to the form that the bus takes.
    pub(crate) fn on_bus(&self, verbs: &Verbs) -> switchboard_bus::Call {
        let tokens = Arc::clone(&verbs.tokens);
        switchboard_bus::Call {
            caller: self.caller.clone(),
            idempotency: self.idempotency.clone(),
            durability: self.durability,
            root: Some(verbs.place.root.clone()),
            limits: verbs.limits,
            is_alive: switchboard_bus::IsAlive(Arc::new(move |holder: &Process| tokens.is_there(holder))),
        }
    }

    /// Returns bits for an id that the caller doesn't provide: the same for the same key, so that a repeated call has the same effect.
    pub(crate) fn fresh_bits(&self) -> Result<u64, Failure> {
        match &self.idempotency {
            Some(call) => {
                let digest = Digest::of_parts(&[call.caller.as_bytes(), call.key.as_bytes()]);
                Ok(digest.0[..8].iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)))
            }
            None => getrandom::u64().map_err(|error| Failure::new("internal.bug", error.to_string())),
        }
    }
}
