//! The decision point: Rego rules in, a decision out.
