//! Consequences of an event.

use switchboard_protocol::run::RunEvent;

/// Further events that follow from an event, such as `TaskBlocked` and `TaskDepFailed`; recorded in the same
/// transaction.
pub type Consequences = Vec<RunEvent>;
