//! Rules of a team: what its roles may write, how a task is sized, tiered and retried, and when a role that makes no progress is stopped.
//!
//! Every rule is a function of what it is given. A refusal names what was found and what to do instead; a [`repeat::Finding`] also says whether it
//! warns, stops the worker or asks a person.

pub mod explorer;
pub mod fallback;
pub mod limits;
pub mod preflight;
mod prose;
pub mod rationalise;
pub mod repeat;
pub mod retry;
pub mod size;
pub mod tier;
pub mod verdict;
