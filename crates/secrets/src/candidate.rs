//! A value that may be a credential, with what is known of its surroundings.

use crate::file_kind::FileKind;

/// How much speaks for a value being a live credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// Weak, made for a test or a manual, or locked: it is listed.
    Weak,
    /// A person should see it.
    Fair,
    /// As live ones are.
    Strong,
}

/// A name and the literal that is assigned to it.
pub(crate) struct Assigned<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) kind: FileKind,
    /// `==` instead of `=`.
    pub(crate) is_compared: bool,
    /// A literal in quotes, where a name may stand without them.
    pub(crate) is_quoted: bool,
}
