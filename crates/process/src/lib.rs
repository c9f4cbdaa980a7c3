//! The one home of spawning: argv, environment, process group, limits, reaping, and git.
