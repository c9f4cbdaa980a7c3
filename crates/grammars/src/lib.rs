//! The tree-sitter languages, compiled once.
