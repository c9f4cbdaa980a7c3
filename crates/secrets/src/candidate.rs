//! A value that may be a credential, with what is known of its surroundings.

use crate::file_kind::FileKind;

/// A name and the literal that is assigned to it.
pub(crate) struct Assigned<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) kind: FileKind,
    /// `==` instead of `=`.
    pub(crate) is_compared: bool,
}
