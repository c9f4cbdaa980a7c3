//! Keys of OpenSSH (PROTOCOL.key in its sources) and of SSH Communications Security.

use super::lock::Lock;

/// First bytes of every OpenSSH key.
const MAGIC: &[u8] = b"openssh-key-v1\0";
/// First bytes of every key of SSH Communications Security.
const SSH2_MAGIC: &[u8] = &[0x3f, 0x6f, 0xf9, 0xeb];

/// Reads the beginning of OpenSSH's format: the magic and the name of the cipher.
pub(super) fn lock(bytes: &[u8]) -> Option<Lock> {
    let (cipher, _) = string(bytes.strip_prefix(MAGIC)?)?;
    Some(of_cipher(cipher))
}

/// Reads the beginning of the other format: the magic, a length, the type of key, the name of the cipher.
pub(super) fn ssh2_lock(bytes: &[u8]) -> Option<Lock> {
    let (_type, rest) = string(bytes.strip_prefix(SSH2_MAGIC)?.get(4..)?)?;
    let (cipher, _) = string(rest)?;
    Some(of_cipher(cipher))
}

fn of_cipher(cipher: &[u8]) -> Lock {
    if cipher == b"none" { Lock::Open } else { Lock::Passphrase }
}

/// Splits off a string that its length precedes.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}
