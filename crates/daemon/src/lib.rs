//! Wires the parts together: boot, verbs, MCP, HTTP. It has no rules of its own.

pub mod face;
pub mod http;
pub mod mcp;
