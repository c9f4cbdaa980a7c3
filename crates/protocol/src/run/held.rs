//! The lease that delays the merge of a change that no gate refuses.

use serde::{Deserialize, Serialize};

use crate::id::AgentName;
use crate::schema::JsonSchema;
use crate::time::Millis;

/// The lease of another agent that a merge waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct HeldBy {
    /// Name of the agent that has reserved the files.
    pub holder: AgentName,
    /// Files of the change that are reserved; may be cut to fit.
    pub files: Vec<String>,
    /// Time at which the lease ends unless it is renewed.
    pub until: Millis,
}
