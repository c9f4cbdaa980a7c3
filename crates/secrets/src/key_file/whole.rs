//! Files that are a private key, or a store of keys, from their first byte to their last.

use super::lock::Lock;
use super::{der, pgp};
use crate::context::Found;

/// Stores of Java: JKS and JCEKS. Their keys are encrypted.
const JAVA: [&[u8]; 2] = [&[0xfe, 0xed, 0xfe, 0xed], &[0xce, 0xce, 0xce, 0xce]];
/// The larger ones are something else.
const LARGEST: usize = 1 << 20;

/// Reads a file; `None` if it is no key.
pub(crate) fn key(text: &[u8]) -> Option<Found> {
    // Text begins with a letter or a mark, which is no beginning of any of these but for PKCS.
    let is_binary = |text: &[u8]| text.iter().take(64).any(|byte| !byte.is_ascii() || *byte == 0);
    if text.len() < 40 || text.len() > LARGEST || !is_binary(text) {
        return None;
    }
    let java = JAVA.iter().any(|magic| text.starts_with(magic)).then_some(Lock::Passphrase);
    let lock = java.or_else(|| der::private_key(text)).or_else(|| pgp::lock(text))?;
    Some(lock.found(0..text.len()))
}
