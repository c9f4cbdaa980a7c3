//! Policy for the actions that a worker requests at the end of its turn; provided by the daemon.

use serde_json::Value;
use switchboard_protocol::error::Failure;

use crate::identity::WorkerIdentity;

/// Policy checks on behalf of a worker.
pub trait WorkerRules: Send + Sync + 'static {
    /// Refuses a verb's call with these arguments.
    ///
    /// # Errors
    /// The refusal of the policy.
    fn may(&self, worker: &WorkerIdentity, verb: &str, args: &Value) -> Result<(), Failure>;
}
