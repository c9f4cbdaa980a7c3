//! What follows from an event.

use switchboard_protocol::run::RunEvent;

/// What else an event made true: `TaskBlocked` and `TaskDepFailed`, to be recorded in the same transaction.
pub type Consequences = Vec<RunEvent>;
