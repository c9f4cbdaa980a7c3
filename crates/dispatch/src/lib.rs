//! Runs work: schedules tasks, makes worktrees, starts workers, holds them to gates, merges.
