//! The process behind a call and its ancestors, as `/proc` shows them at one moment.
//!
//! [`of_peer`] and [`of_pid`] read, [`identify`] decides.

mod ancestors;
mod bridge;
mod identify;
mod peer;
mod read;

pub use ancestors::{Lineage, Part, Process};
pub use identify::{Claims, Identity, Known, Root, identify};
pub use peer::of_peer;
pub use read::of_pid;
