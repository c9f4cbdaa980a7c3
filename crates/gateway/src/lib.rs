//! Stands between agents and the MCP servers they use. Empty until the gateway lands.
