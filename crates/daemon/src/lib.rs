//! Wires the parts together: boot, verbs, MCP, HTTP. It has no rules of its own.
//!
//! [`serve`] is the boot order, top to bottom. A call comes in by a face ([`mcp`], [`http`], [`socket`]), which identifies
//! the caller; [`verbs`] finds the row, asks the policy and passes the call to the part that owns the verb. [`launch`] starts a
//! daemon for a command that needs one; [`RootPaths`] holds the paths of a repository's files.

mod agent_token;
pub mod agents;
mod authority;
mod blocking;
mod boot;
mod bound;
mod denials;
mod error;
mod expiry;
pub mod face;
mod files;
mod for_dispatch;
mod head;
mod head_notes;
pub mod http;
mod idle_work;
mod janitor;
mod launch;
pub mod mcp;
mod needs;
mod owner;
mod place;
mod project;
mod record;
mod retention;

mod sessions;
mod socket;
mod token;
pub mod trust;
mod verbs;

pub use boot::{Ended, Options, ReadSettings, serve};
pub use error::Error;
pub use launch::{Launch, is_below_a_worker, launch, wait_for_start};
pub use owner::Owner;
pub use place::{Adoption, RootPaths, belongs, refuse_foreign_owner};
pub use project::{FOLDER, ServerInfo, unsafe_folder};
pub use record::{
    Checked, RestoredStore, accept_loss, backup_store, restore_store, sign_store, verify_export, verify_store,
};
pub use switchboard_dispatch::{NamedFolder, ReadLimits, ReadWorktrees};
pub use switchboard_files::policy_problem;
pub use switchboard_pipeline::roles;
pub use token::{rotate as rotate_token, rotate_key, sign_message};
