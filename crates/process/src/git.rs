//! The git calls that running work needs: typed, with limits of time and output, without hooks, prompts or the user's identity.
//!
//! Start with [`Git::find`], then [`Git::discover`], which returns a [`Repo`]; [`Repo::worktree_add`] returns a [`Worktree`] for an agent,
//! and [`Worktree::capture`] makes its change a commit. Only [`Repo::advance_checkout`] reads or writes the user's index, files or branch.

mod advance;
mod archive;
mod call;
mod capture;
mod diff;
mod discover;
mod ignored;
mod ignored_small;
mod last_listed;
mod left_out;
mod merge;
mod objects;
mod refs;
mod repo;
mod status;
mod tracked;
mod trees;
mod types;
mod unusual;
mod worktree;

pub use advance::Advanced;
pub use capture::Captured;
pub use diff::{DiffText, Side};
pub use ignored_small::Ignored;
pub use merge::Merged;
pub use repo::{COMMITTER, Git, OLDEST, OWN_FOLDER, Repo};
pub use status::Dirty;
pub use types::{Author, Change, Entry, Head, Oid};
pub use unusual::link_leads;
pub use worktree::{Listed, Worktree};
