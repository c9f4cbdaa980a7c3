//! Gateway between agents and the MCP servers that they use. Empty until it is written.
