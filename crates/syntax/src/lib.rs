//! Code in, the places where it no longer parses out: `syntax_check` without its files.
//!
//! [`judge`] looks at one [`Source`] beside its base. [`lines`], [`tree`] and [`notes`] are what other checks of a parsed
//! file share with it.

mod brackets;
mod caution;
mod forgiven;
mod go;
mod java;
mod javascript;
mod judge;
pub mod lines;
mod node;
pub mod notes;
mod parsers;
mod problem;
mod python;
mod rust;
mod source;
mod tidied;
pub mod tree;

pub use judge::{Judged, Mistake, judge};
pub use parsers::Parsers;
pub use source::{Base, Source};
