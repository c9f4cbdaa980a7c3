//! Private keys in DER: PKCS#8 (RFC 5958), PKCS#1 (RFC 8017), SEC 1 (RFC 5915), OpenSSL's DSA, PKCS#12 (RFC 7292).

use super::lock::Lock;

/// An element: its tag, its content and the bytes behind it.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    rest: &'a [u8],
}

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// 1.2.840.113549.1.5 (password-based encryption, PKCS#5) and 1.2.840.113549.1.12.1 (that of PKCS#12), without their
/// last parts.
const PASSWORD_BASED: [&[u8]; 2] =
    [&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05], &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01]];
/// 1.2.840.113549.1.12.10.1.1: an unencrypted key in a PKCS#12 file.
const PLAIN_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x01];
/// 1.2.840.113549.1.7: the content types of PKCS#7, without their last parts.
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07];
/// Minimum length of the secret scalar of an elliptic curve in use, in bytes: secp112r1.
const SHORTEST_SCALAR: usize = 14;
/// Minimum length of a modulus, in bytes: RSA with 384 bits.
const SHORTEST_MODULUS: usize = 48;

/// Reads a private key that fills the bytes; returns `None` for anything else.
pub(super) fn private_key(bytes: &[u8]) -> Option<Lock> {
    let whole = element(bytes).filter(|whole| whole.tag == SEQUENCE && whole.rest.is_empty())?;
    let first = element(whole.content)?;
    match first.tag {
        SEQUENCE => encrypted(&first),
        INTEGER => numbered(&first, bytes),
        _ => None,
    }
}

/// Reads an `EncryptedPrivateKeyInfo`: the encryption algorithm and the octets.
fn encrypted(algorithm: &Element<'_>) -> Option<Lock> {
    let object = element(algorithm.content).filter(|object| object.tag == OBJECT)?;
    let octets = element(algorithm.rest).filter(|octets| octets.tag == OCTETS)?;
    let is_password_based = PASSWORD_BASED.iter().any(|prefix| object.content.starts_with(prefix));
    (is_password_based && !octets.content.is_empty()).then_some(Lock::Passphrase)
}

/// Reads a key that begins with a version.
fn numbered(version: &Element<'_>, bytes: &[u8]) -> Option<Lock> {
    let next = element(version.rest)?;
    match (version.content, next.tag) {
        // A key with its algorithm; below, the numbers of RSA and DSA.
        ([0 | 1], SEQUENCE) => {
            let key = element(next.rest).filter(|key| key.tag == OCTETS)?;
            let is_algorithm = element(next.content).is_some_and(|object| object.tag == OBJECT);
            (is_algorithm && key.content.len() >= SHORTEST_SCALAR).then_some(Lock::Open)
        }
        ([0], INTEGER) => {
            let numbers = numbers(version.rest)?;
            (numbers >= 5 && next.content.len() >= SHORTEST_MODULUS).then_some(Lock::Open)
        }
        ([1], OCTETS) => (next.content.len() >= SHORTEST_SCALAR).then_some(Lock::Open),
        // A store of keys and certificates.
        ([3], SEQUENCE) => {
            let object = element(next.content).filter(|object| object.tag == OBJECT)?;
            let is_store = object.content.starts_with(CONTENT_TYPE);
            let is_plain = memchr::memmem::find(bytes, PLAIN_BAG).is_some();
            is_store.then_some(if is_plain { Lock::Open } else { Lock::Passphrase })
        }
        _ => None,
    }
}

/// Counts the integers that fill the bytes; returns `None` if there is anything else.
fn numbers(mut rest: &[u8]) -> Option<usize> {
    let mut count = 0;
    while !rest.is_empty() {
        let number = element(rest).filter(|number| number.tag == INTEGER)?;
        (count, rest) = (count + 1, number.rest);
    }
    Some(count)
}

fn element(bytes: &[u8]) -> Option<Element<'_>> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        // Indefinite length: the element fills the rest.
        0x80 => (rest.len(), rest),
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some(Element { tag, content, rest })
}
