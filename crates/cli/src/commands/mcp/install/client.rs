//! The MCP clients: the files in which they keep their MCP servers, and the format of each.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard_protocol::id::AgentName;
use toml_edit::{Array, InlineTable, Table, value};

use crate::environment::Environment;

/// Environment variable that names the agent.
const VARIABLE: &str = "SWITCHBOARD_AGENT";

/// An MCP client that Switchboard can be installed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// OpenCode.
    Opencode,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
}

/// Format of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON, possibly with comments.
    Json,
    /// TOML.
    Toml,
}

// === impl Client ===

impl Client {
    /// Returns the file of the repository's settings.
    pub(crate) fn project_file(self, root: &Path) -> PathBuf {
        match self {
            Self::Claude => root.join(".mcp.json"),
            Self::Codex => root.join(".codex/config.toml"),
            Self::Opencode => existing(root.join("opencode.jsonc"), root.join("opencode.json")),
            Self::Gemini => root.join(".gemini/settings.json"),
            Self::Qwen => root.join(".qwen/settings.json"),
        }
    }

    /// Returns the file of the user's settings; `None` without a home folder.
    pub(crate) fn user_file(self, environment: &Environment) -> Option<PathBuf> {
        let below = |path: &str| environment.home().map(|home| home.join(path));
        let named = |variable: &str| environment.variable(variable).map(PathBuf::from);
        match self {
            Self::Claude => Some(named("CLAUDE_CONFIG_DIR").or_else(|| environment.home())?.join(".claude.json")),
            Self::Codex => Some(named("CODEX_HOME").or_else(|| below(".codex"))?.join("config.toml")),
            Self::Opencode => {
                let folder = named("XDG_CONFIG_HOME").or_else(|| below(".config"))?.join("opencode");
                Some(existing(folder.join("opencode.jsonc"), folder.join("opencode.json")))
            }
            Self::Gemini => below(".gemini/settings.json"),
            Self::Qwen => below(".qwen/settings.json"),
        }
    }

    /// Returns the name of the client's program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
        }
    }

    /// Returns what a person has to do if the client does not list a server of the repository's settings, or waits.
    pub(crate) fn left_to_do(self) -> &'static str {
        match self {
            Self::Claude => "start claude here once and approve the server (/mcp shows it)",
            Self::Codex => {
                "start codex here once and trust the folder, or install it for everything you do: --scope user"
            }
            Self::Opencode => "start opencode here once; `opencode mcp list` says what it makes of it",
            Self::Gemini => "start gemini here once and trust the folder (/permissions), or start it with --skip-trust",
            Self::Qwen => "start qwen here once and trust the folder (/trust)",
        }
    }

    /// Returns the format of both files.
    pub(crate) fn syntax(self) -> Syntax {
        match self {
            Self::Codex => Syntax::Toml,
            Self::Claude | Self::Opencode | Self::Gemini | Self::Qwen => Syntax::Json,
        }
    }

    /// Returns the path of the entry in the settings.
    pub(crate) fn path(self) -> [&'static str; 2] {
        match self {
            Self::Codex => ["mcp_servers", "switchboard"],
            Self::Opencode => ["mcp", "switchboard"],
            Self::Claude | Self::Gemini | Self::Qwen => ["mcpServers", "switchboard"],
        }
    }

    /// Returns the entry in JSON.
    pub(crate) fn json_block(self, command: &str, name: Option<&AgentName>) -> Value {
        let env = name.map_or_else(|| json!({}), |name| json!({ (VARIABLE): name }));
        match self {
            Self::Opencode => json!({ "type": "local", "command": [command, "mcp"], "environment": env }),
            Self::Gemini | Self::Qwen => json!({ "command": command, "args": ["mcp"], "env": env, "trust": true }),
            Self::Claude | Self::Codex => json!({ "command": command, "args": ["mcp"], "env": env }),
        }
    }

    /// Returns the entry in TOML. Without the approval mode, Codex refuses every tool of a server when no person is present.
    pub(crate) fn toml_block(self, command: &str, name: Option<&AgentName>) -> Table {
        let mut table = Table::new();
        table.insert("command", value(command));
        table.insert("args", value(Array::from_iter(["mcp"])));
        table.insert("default_tools_approval_mode", value("approve"));
        if let Some(name) = name {
            table.insert("env", value(InlineTable::from_iter([(VARIABLE, name.as_str())])));
        }
        table
    }
}

fn existing(first: PathBuf, second: PathBuf) -> PathBuf {
    if first.exists() { first } else { second }
}
