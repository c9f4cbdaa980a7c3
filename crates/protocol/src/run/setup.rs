//! What a new work tree is set up with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command that is run in a new work tree before its worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupCommand {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The lock file that it follows from: where the tree has no such file, it is not run. `None` if the plan asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}
