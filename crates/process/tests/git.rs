//! The git calls, on real repositories with a separate home folder.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its fixtures too")]

#[path = "git/advance.rs"]
mod advance;
#[path = "git/capture.rs"]
mod capture;
#[path = "git/fixture.rs"]
mod fixture;
#[path = "git/repository.rs"]
mod repository;
#[path = "git/worktree.rs"]
mod worktree;
