//! Messages of the protocol.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_protocol::frame::McpCommand;

/// Version of the protocol.
pub(super) const VERSION: u64 = 1;

/// JSON-RPC error: the method is not offered.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;

/// JSON-RPC error: the arguments can't be used.
pub(super) const INVALID_PARAMS: i64 = -32602;

/// JSON-RPC error: the agent failed.
pub(super) const INTERNAL: i64 = -32603;

/// ACP error: a login is required.
pub(super) const AUTH_REQUIRED: i64 = -32000;

/// Any message of an agent.
#[derive(Debug, Deserialize)]
pub(super) struct Incoming {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Value,
    pub(super) result: Option<Value>,
    pub(super) error: Option<Fault>,
}

/// An error answer.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Fault {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
    /// Additional data of the error.
    #[serde(default)]
    pub(super) data: Value,
}

// === impl Fault ===

impl Fault {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }

    /// Returns what the data adds to the message: its text, else all of it. A list of login methods adds nothing to read.
    fn details(&self) -> String {
        if self.data["authMethods"].is_array() {
            return String::new();
        }
        let words = ["details", "message", "error"].iter().find_map(|field| self.data[*field].as_str());
        match (words.or(self.data.as_str()), &self.data) {
            (Some(words), _) => words.to_owned(),
            (None, Value::Null) => String::new(),
            (None, data) => data.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, details) = (crate::beginning(&self.message, 500), self.details());
        match details.is_empty() || message.contains(&details) {
            true => write!(f, "{message} ({})", self.code),
            false => write!(f, "{message}: {} ({})", crate::beginning(&details, 500), self.code),
        }
    }
}

/// Builds `initialize`. We read and write no files for an agent and keep no terminals; agents have their own means.
pub(super) fn initialize() -> Value {
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
        "clientInfo": { "name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// Builds `session/new` with our server, whose tools need no permission, because the daemon decides what they may do. One agent reads that
/// from `_meta`; for the others their command lines say it ([`crate::catalog`]). `tools` are all built-in tools that the agent may have.
pub(super) fn new_session(cwd: &Path, mcp: Option<&McpCommand>, tools: Option<&[&str]>) -> Value {
    let server = |mcp: &McpCommand| {
        let env: Vec<_> = mcp.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        let (command, args) = mcp.argv.split_first()?;
        Some(json!({ "name": mcp.name, "command": command, "args": args, "env": env }))
    };
    let allowed: Vec<_> = mcp.iter().map(|mcp| format!("mcp__{}", mcp.name)).collect();
    // Claude Code retries a refused call ten times without a message unless it is asked to report that.
    let told = json!([{ "type": "system", "subtype": "api_retry" }]);
    let mut options = json!({ "allowedTools": allowed });
    if let Some(tools) = tools {
        // Servers named in the work tree's own settings would add tools.
        (options["tools"], options["strictMcpConfig"]) = (json!(tools), true.into());
    }
    json!({
        "cwd": cwd,
        "mcpServers": mcp.and_then(server).into_iter().collect::<Vec<_>>(),
        "_meta": { "claudeCode": { "options": options, "emitRawSDKMessages": told } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constrained_session_has_the_tools_that_are_named_and_no_server_but_ours() {
        let session = |tools| new_session(Path::new("/tree"), None, tools)["_meta"]["claudeCode"]["options"].clone();

        assert_eq!(session(None), json!({ "allowedTools": [] }));
        let cut = session(Some(&["Read", "Bash"]));
        assert_eq!(cut, json!({ "allowedTools": [], "tools": ["Read", "Bash"], "strictMcpConfig": true }));
    }

    #[test]
    fn a_fault_shows_what_its_data_adds() {
        let shown = |fault: Value| serde_json::from_value::<Fault>(fault).unwrap().to_string();

        let internal = json!({ "code": -32603, "message": "Internal error", "data": { "details": "401 no key" } });

        assert_eq!(shown(internal), "Internal error: 401 no key (-32603)");
        assert_eq!(shown(json!({ "code": 5, "message": "no", "data": "why" })), "no: why (5)");
        assert_eq!(shown(json!({ "code": 5, "message": "no: why", "data": "why" })), "no: why (5)");
        assert_eq!(shown(json!({ "code": 5, "message": "no", "data": { "n": 1 } })), "no: {\"n\":1} (5)");
        assert_eq!(shown(json!({ "code": 5, "message": "no" })), "no (5)");
        let methods = json!({ "authMethods": [{ "id": "key", "_meta": { "type": "terminal" } }] });
        assert_eq!(shown(json!({ "code": -32000, "message": "log in", "data": methods })), "log in (-32000)");
    }
}
