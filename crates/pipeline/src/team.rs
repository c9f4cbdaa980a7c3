//! Rules of a team: what its roles may write, how a task is sized, tiered and retried, and when a role that makes no progress is stopped.
//!
//! Every rule is a pure function. A refusal names what was found and what to do instead; a [`repeat::Finding`] also says whether to warn, to stop the
//! worker or to ask a person.

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
