//! `JsonSchema` of types whose schemas are generated into files: verbs, events, answers and plans.
//!
//! Only `cargo xtask schemas` turns the feature `schemas` on and compiles the code that generates them. Other builds read
//! the files: that code would be two fifths of this crate's.
//!
//! Types in settings derive `schemars::JsonSchema` instead: the binary generates their schema.

#[cfg(feature = "schemas")]
pub use schemars::JsonSchema;
#[cfg(not(feature = "schemas"))]
pub use switchboard_macros_off::JsonSchema;

/// Type with a JSON schema, which is in a file.
#[cfg(not(feature = "schemas"))]
pub trait JsonSchema {}

#[cfg(not(feature = "schemas"))]
impl<T: ?Sized> JsonSchema for T {}
