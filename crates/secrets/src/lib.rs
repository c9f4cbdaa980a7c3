//! Finds credentials in text: keys, tokens and passwords in any kind of file.
//!
//! [`scan`] makes one pass of a keyword search over a text; behind every keyword, its detectors examine a few hundred
//! bytes. A [`Hit`] holds the position of a value and the rule that found it, never the value itself.

mod assignment;
mod call;
mod candidate;
mod checksum;
mod command;
mod context;
mod detector;
mod encoded;
mod escaped;
mod file_kind;
mod header;
mod judge;
mod jwk;
mod jwt;
mod key;
mod key_file;
mod keywords;
mod name;
mod nkey;
mod password;
mod placed;
mod prefixless;
mod redact;
mod scan;
mod table;
mod url;
mod value;
mod words;

pub use file_kind::is_text_type;
pub use key_file::is_key_file;
pub use redact::redact;
pub use scan::{Hit, scan};
pub use table::rules;
pub use words::is_random;
