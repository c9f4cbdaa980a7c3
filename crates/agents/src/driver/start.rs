//! What a driver starts.

use std::path::PathBuf;

use switchboard_process::env::Env;
use switchboard_process::sandbox::Sandbox;
use switchboard_protocol::frame::McpCommand;
use switchboard_protocol::isolation::{Host, Tool};

/// What a driver is told to start.
#[derive(Debug, Clone)]
pub struct Start {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The work tree.
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: Env,
    /// MCP server that the agent is offered.
    pub mcp: Option<McpCommand>,
    /// What it is held to; `None` gives it our rights. An agent in a sandbox is told to offer its model four tools only.
    pub sandbox: Option<Sandbox>,
    /// The tools that a constrained one is cut to; empty for all four.
    pub tools: Vec<Tool>,
    /// Hosts that one in a network of its own reaches through a proxy of ours.
    pub hosts: Vec<Host>,
    /// The model that it is told to use; its own choice where nothing is said.
    pub model: Option<Model>,
    /// Whether a command's input stays open after its prompt, until no more comes.
    pub keeps_input: bool,
}

/// The model that an agent is to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The agent's own name for it.
    pub name: String,
    /// Whether its program was told by its arguments or environment.
    pub is_given: bool,
}
