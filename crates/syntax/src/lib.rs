//! Code in, the places where it no longer parses out: `syntax_check` without its files.
//!
//! [`judge`] looks at one [`Source`] beside its base. [`lines`], [`tree`] and [`notes`] are what other checks of a parsed
//! file share with it.

mod balance;
mod brackets;
mod caution;
mod conditions;
mod csharp;
mod directives;
mod forgiven;
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
