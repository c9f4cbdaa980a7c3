//! Addressed, durable, acknowledged messages between agents and people.
