//! Set-up commands of new work trees.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// A command that is run in a new work tree before its worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupCommand {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Lock file that the command was derived from: it is not run where the tree has no such file. `None` if the plan names the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}
