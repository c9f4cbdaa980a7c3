//! OpenPGP packets of secret keys (RFC 9580, 5.5.3).

use super::lock::Lock;

/// Tags of a secret key and a secret subkey.
const SECRET: [u8; 2] = [5, 7];

/// Reads the first packet; returns `None` if it is no secret key.
pub(super) fn lock(bytes: &[u8]) -> Option<Lock> {
    let (tag, body) = packet(bytes)?;
    if !SECRET.contains(&tag) {
        return None;
    }
    let version = *body.first()?;
    let algorithm = *body.get(5)?;
    let rest = match version {
        4 => body.get(6..)?,
        5 | 6 => body.get(10..)?,
        _ => return None,
    };
    // The byte behind the public numbers shows how the secret ones are protected: 0 for not at all.
    Some(match public(algorithm, rest).and_then(|rest| rest.first()) {
        Some(0) | None => Lock::Open,
        Some(_) => Lock::Passphrase,
    })
}

fn packet(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (&head, rest) = bytes.split_first()?;
    let (first, second) = (usize::from(*rest.first()?), rest.get(1).copied().map(usize::from));
    match head {
        0xc0.. => {
            let skip = match first {
                0..=191 => 1,
                192..=223 => 2,
                255 => 5,
                _ => 1,
            };
            Some((head & 0x3f, rest.get(skip..)?))
        }
        0x80..=0xbf => {
            let skip = [1, 2, 4, 0][usize::from(head & 3)];
            // A key never has a two-byte length that small: this rules out data that only looks like a packet.
            let fits = skip != 2 || second.is_some_and(|second| first << 8 | second <= rest.len() * 4);
            fits.then_some(((head >> 2) & 0xf, rest.get(skip..)?))
        }
        _ => None,
    }
}

/// Skips the public numbers of a key.
fn public(algorithm: u8, rest: &[u8]) -> Option<&[u8]> {
    match algorithm {
        1..=3 => numbers(rest, 2),
        16 | 20 => numbers(rest, 3),
        17 => numbers(rest, 4),
        18 => numbers(curve(rest)?, 1).and_then(curve),
        19 | 22 => numbers(curve(rest)?, 1),
        25 | 27 => rest.get(32..),
        26 => rest.get(56..),
        28 => rest.get(57..),
        _ => None,
    }
}

/// Skips numbers, each after its length in bits.
fn numbers(rest: &[u8], count: usize) -> Option<&[u8]> {
    (0..count).try_fold(rest, |rest, _| {
        let (bits, rest) = rest.split_first_chunk::<2>()?;
        rest.get(usize::from(u16::from_be_bytes(*bits)).div_ceil(8)..)
    })
}

/// Skips the name of a curve, or what follows a number, after its length in one byte.
fn curve(rest: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = rest.split_first()?;
    rest.get(usize::from(length)..)
}
