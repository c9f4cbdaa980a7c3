//! The annotations of the verifier Verus, without the verifier.
//!
//! regorus states in them what its arithmetic must satisfy, and its developers prove that with Verus. Any other compiler gets the
//! same code without them. The crate of this name removes them with a parser, a printer and macros of its own, which take as long to
//! compile as a crate of ours; regorus uses three of those macros, and for these it is enough to leave out what they are given.

/// What regorus imports.
pub mod prelude {
    pub use crate::proof;
    pub use switchboard_macros_off::{verus_spec, verus_verify};
}

/// Generates nothing: a proof has no effect on what runs.
#[macro_export]
macro_rules! proof {
    ($($proof:tt)*) => {};
}
