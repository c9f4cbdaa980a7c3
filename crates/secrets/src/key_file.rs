//! Private keys in the formats of the programs that create them: armoured blocks, lines with a comment, whole binary
//! files.
//!
//! The format shows whether the key is locked with a passphrase: a locked one is listed and does not block.

pub(crate) mod armour;
pub(crate) mod commented;
mod der;
mod lock;
mod openssh;
mod pgp;
pub(crate) mod whole;

/// Returns whether a file consists of a private key or a key store.
#[must_use]
pub fn is_key_file(bytes: &[u8]) -> bool {
    whole::key(bytes).is_some()
}
