//! What a worker may ask for at the end of its turn, as the policy decides; wired by the daemon.

use serde_json::Value;
use switchboard_protocol::error::Failure;

use crate::identity::WorkerIdentity;

/// The policy, asked on behalf of a worker.
pub trait WorkerRules: Send + Sync + 'static {
    /// Refuses a verb's call with these arguments.
    ///
    /// # Errors
    /// The policy's refusal.
    fn may(&self, worker: &WorkerIdentity, verb: &str, args: &Value) -> Result<(), Failure>;
}
