//! Decisions only: plans, task states, gates, scheduling. No clock, no disk, no network.
