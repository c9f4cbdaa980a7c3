//! A value that may be a credential, with its context.

use crate::file_kind::FileKind;

/// Likelihood that a value is a live credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// A weak, sample or locked credential: it is only listed.
    Weak,
    /// A credential that a person should see.
    Fair,
    /// A credential that looks live.
    Strong,
}

/// A name and the literal that is assigned to it.
pub(crate) struct Assigned<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) kind: FileKind,
    /// True for `==` instead of `=`.
    pub(crate) is_compared: bool,
    /// True if the value is a quoted literal rather than a bare word, which may be a name.
    pub(crate) is_quoted: bool,
}
