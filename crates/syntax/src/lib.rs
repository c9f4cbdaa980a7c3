//! Finds where code no longer parses: the part of `syntax_check` that does not read files.
//!
//! [`judge`] compares one [`Source`] with its base. [`lines`], [`tree`] and [`notes`] are shared with other checks of a
//! parsed file.

mod accepted_by_grammar;
mod balance;
mod brackets;
mod caution;
mod conditions;
mod csharp;
mod directives;
mod format;
mod front_matter;
mod go;
mod grammar;
mod java;
mod javascript;
mod judge;
pub mod kotlin;
mod lines;
mod node;
pub mod notes;
mod overwrite;
mod parsers;
mod php;
mod plain;
mod problem;
mod python;
mod ruby;
mod rust;
mod shell;
mod source;
mod tidied;
pub mod tree;

pub use format::kind_of;
pub use judge::{Judged, Mistake, judge};
pub use lines::Lines;
pub use parsers::Parsers;
pub use source::{Base, Source};
