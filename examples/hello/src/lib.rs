//! Says hello in a few languages.
//!
//! ```
//! use hello::{greet, Language};
//!
//! assert_eq!(greet("Ada", Language::German), "Hallo, Ada!");
//! ```

mod greeting;
mod language;
mod name;

pub use greeting::greet;
pub use language::{Language, UnknownLanguage};
pub use name::{Name, NameError};
