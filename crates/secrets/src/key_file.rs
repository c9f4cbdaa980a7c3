//! Private keys in the formats of the programs that make them: armoured blocks, lines with a comment, whole binary files.
//!
//! A format says itself whether the key is locked with a passphrase: a locked one is listed and does not block.

pub(crate) mod armour;
pub(crate) mod commented;
mod der;
mod lock;
mod openssh;
mod pgp;
pub(crate) mod whole;

/// Returns whether a file is a private key, or a store of keys, from its first byte to its last.
#[must_use]
pub fn is_key_file(bytes: &[u8]) -> bool {
    whole::key(bytes).is_some()
}
