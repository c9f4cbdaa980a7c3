//! Wires the parts together: boot, verbs, MCP, HTTP. It has no rules of its own.
