//! What a driver needs to start an agent.

use std::path::PathBuf;

use switchboard_process::env::Env;
use switchboard_process::sandbox::Sandbox;
use switchboard_protocol::frame::McpCommand;
use switchboard_protocol::isolation::{Host, Tool};

/// Parameters with which a driver starts an agent.
#[derive(Debug, Clone)]
pub struct Start {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Path of the work tree.
    pub cwd: PathBuf,
    /// Complete environment.
    pub env: Env,
    /// MCP server that is offered to the agent.
    pub mcp: Option<McpCommand>,
    /// Sandbox of the agent; `None` gives it our rights. A sandboxed agent may offer its model only four tools.
    pub sandbox: Option<Sandbox>,
    /// Tools that a constrained agent is limited to; empty for all four.
    pub tools: Vec<Tool>,
    /// Hosts that an agent in its own network reaches through our proxy.
    pub hosts: Vec<Host>,
    /// Model to use; `None` leaves the choice to the agent.
    pub model: Option<Model>,
    /// True if a command's input stays open after its prompt, until no more prompts come.
    pub keeps_input: bool,
}

/// The model that an agent is to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Name of the model, as the agent spells it.
    pub name: String,
    /// True if the program's arguments or environment already set the model.
    pub is_given: bool,
}
