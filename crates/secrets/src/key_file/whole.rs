//! Files that consist of a private key or a key store.

use super::lock::Lock;
use super::{der, pgp};
use crate::context::Found;

/// Magic bytes of Java key stores, JKS and JCEKS. Their keys are encrypted.
const JAVA: [&[u8]; 2] = [&[0xfe, 0xed, 0xfe, 0xed], &[0xce, 0xce, 0xce, 0xce]];
/// Maximum size of a file in bytes; a larger one is no key.
const LARGEST: usize = 1 << 20;

/// Reads a file; returns `None` if it is no key.
pub(crate) fn key(text: &[u8]) -> Option<Found> {
    // Text begins with a letter or a mark, and of these formats only PKCS does.
    let is_binary = |text: &[u8]| text.iter().take(64).any(|byte| !byte.is_ascii() || *byte == 0);
    if text.len() < 40 || text.len() > LARGEST || !is_binary(text) {
        return None;
    }
    let java = JAVA.iter().any(|magic| text.starts_with(magic)).then_some(Lock::Passphrase);
    let lock = java.or_else(|| der::private_key(text)).or_else(|| pgp::lock(text))?;
    Some(lock.found(0..text.len()))
}
